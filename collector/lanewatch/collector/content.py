"""How much memory decoded content takes, and the digest that tells whether two contents are the same.

Invariants: both depend on the content alone, not on the encoding or the order of keys it came in; both cost a time in
proportion to the content, and no nesting is followed that the decoders would not make (`DecodeLimits.max_depth`).
"""

from collections.abc import Iterable
from hashlib import blake2b
from sys import getsizeof
from typing import Any

import msgspec

_DIGEST_BYTES = 16
_SHORT = 256
_encode = msgspec.msgpack.Encoder(order="sorted").encode


def attributes_bytes(attributes: dict[str, Any]) -> int:
    """Memory of attributes, of their keys and values too."""
    return getsizeof(attributes) + sum(map(getsizeof, attributes)) + _values_bytes(attributes.values())


def value_bytes(value: Any) -> int:
    """Memory of one attribute value."""
    if isinstance(value, dict):
        return attributes_bytes(value)
    if isinstance(value, list):
        return getsizeof(value) + _values_bytes(value)
    return text_bytes(value)


def text_bytes(value: Any) -> int:
    """Memory of a text, or of any other value that holds no further one.

    One emoji makes a text take four bytes a character, and whoever encodes it (to read JSON in it, say) leaves its UTF-8
    beside it for as long as it lives; so what isn't ASCII counts twice.
    """
    size = getsizeof(value)
    return size * 2 if size > _SHORT and isinstance(value, str) and not value.isascii() else size


def digest(value: object) -> bytes:
    """16 bytes, equal for equal values: mappings in any order; true, 1 and 1.0 apart; NaN equal to itself."""
    try:
        encoded = _encode(value)
    except (OverflowError, UnicodeError):  # JSON can bring integers beyond 64 bits and lone surrogates
        encoded = repr(value).encode("utf-8", "surrogatepass")
    return blake2b(encoded, digest_size=_DIGEST_BYTES).digest()


def _values_bytes(values: Iterable[Any]) -> int:
    total = 0
    for value in values:
        size = getsizeof(value)
        kind = type(value)
        if kind is dict or kind is list or size > _SHORT:
            size = value_bytes(value)
        total += size
    return total
