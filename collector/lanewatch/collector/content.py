"""How much memory decoded content takes, and the digest that tells whether two contents are the same.

Invariants: a size is never far below the truth, whatever the content (the wire says too little by up to fifty times: an empty
map takes four bytes there); a digest depends on the content alone, not on the encoding or the order of keys it came in; both
cost a time in proportion to the content.
"""

from hashlib import blake2b
from operator import itemgetter
from sys import getsizeof
from typing import Any

import msgspec
from msgspec.msgpack import Ext

# Of an attribute beside its characters: two strings' heads and a place in a dictionary, measured on recorded spans.
ATTRIBUTE_BYTES = 160
_LONG = 256  # characters; what isn't ASCII in less is not looked for
_DIGEST_BYTES = 16
_MAPPING, _TEXT, _INTEGER = 1, 2, 3  # extensions
_PLAIN_BITS = 63
_encode = msgspec.msgpack.Encoder(order="sorted").encode


def attributes_bytes(attributes: dict[str, Any]) -> int:
    """Memory of attributes beside their bytes on the wire and what is in arrays and maps (`inner_bytes`).

    One emoji makes a text take four bytes a character, and whoever encodes it (to read JSON in it, say) leaves its UTF-8
    beside it for as long as it lives; so what isn't ASCII in a text counts once more.
    """
    size = ATTRIBUTE_BYTES * len(attributes)
    for value in attributes.values():
        if type(value) is str and len(value) > _LONG and not value.isascii():
            size += getsizeof(value)
    return size


def inner_bytes(value: dict[str, Any] | list[Any], depth: int) -> int:
    """Memory of the elements of an array or map themselves; of the outermost (`depth` 1) its own too."""
    size = getsizeof(value) if depth == 1 else 0
    if isinstance(value, dict):
        return size + sum(map(getsizeof, value)) + sum(map(getsizeof, value.values()))
    return size + sum(map(getsizeof, value))


def value_bytes(value: Any) -> int:
    """Memory of a value with all that is in it, at any depth: arguments, results and messages, as JSON was parsed."""
    size, left = 0, [value]
    while left:
        item = left.pop()
        size += getsizeof(item)
        if isinstance(item, dict):
            size += sum(map(getsizeof, item))
            left.extend(item.values())
        elif isinstance(item, list | tuple):
            left.extend(item)
    return size


def digest(value: object) -> bytes:
    """16 bytes, equal for equal values: mappings in any order; true, 1 and 1.0 apart; NaN equal to itself."""
    try:
        encoded = _encode(value)
    except (OverflowError, UnicodeError):  # JSON can bring integers beyond 64 bits and lone surrogates
        encoded = _encode(_encodable(value))
    return blake2b(encoded, digest_size=_DIGEST_BYTES).digest()


def _encodable(value: Any) -> Any:
    """The value with everything that MessagePack has no form of in one of its extensions; of mappings too, in order of their
    keys.
    """
    if isinstance(value, dict):
        pairs = sorted(((key.encode("utf-8", "surrogatepass"), item) for key, item in value.items()), key=itemgetter(0))
        return Ext(_MAPPING, _encode([(key, _encodable(item)) for key, item in pairs]))
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    if isinstance(value, str) and not value.isascii():
        return Ext(_TEXT, value.encode("utf-8", "surrogatepass"))
    if isinstance(value, int) and value.bit_length() > _PLAIN_BITS:
        return Ext(_INTEGER, hex(value).encode())  # decimal digits take a time with the square of their number
    return value
