"""Stand-ins for hidden values: equal values under one key have equal tokens, and a token tells nothing else.

A token is HMAC-SHA-256 (RFC 2104) of the value's canonical text, cut to 128 bits, with the id of its key. Without a key
there is no token, only a mark, and two marks never compare.
"""

import hmac
import json
import re
from decimal import Decimal
from hashlib import sha256
from typing import Any

import msgspec

DOMAIN = b"lanewatch redaction 1\0"  # no other use of the same key can give the same bytes
DIGITS = 32  # hexadecimal: 128 bits
SHORTEST_KEY = 16  # bytes; NIST SP 800-107 wants at least 112 bits
MARK = "<redacted>"  # what the adapters read as hidden, should it ever come back as a span
START = MARK[:-1]  # of both
TOKEN = re.compile(rf"<redacted:([0-9a-f]{{8}}):([0-9a-f]{{{DIGITS}}})>")


class UnusableKeyError(ValueError):
    """A key can't be used; `str()` says why and what to do, never the key."""


class Key(msgspec.Struct, frozen=True):
    """A secret and the id by which its tokens are told from another key's. The id is made from the secret, one way."""

    id: str
    secret: bytes

    def __repr__(self) -> str:
        return f"Key({self.id})"


def key_of(secret: bytes) -> Key:
    """The key of a secret; white space around it, as editors leave it, is not part of it.

    Raises UnusableKeyError where it is shorter than 16 bytes.
    """
    secret = secret.strip()
    if len(secret) < SHORTEST_KEY:
        raise UnusableKeyError(
            f"the redaction key has {len(secret)} bytes; at least {SHORTEST_KEY} are needed: openssl rand -hex 32"
        )
    return Key(hmac.new(secret, DOMAIN + b"id", sha256).hexdigest()[:8], secret)


def token(value: Any, key: Key | None) -> str:
    """What stands for a value; the mark that never compares where there is no key."""
    if key is None:
        return MARK
    digest = hmac.new(key.secret, DOMAIN + canonical_text(value).encode(), sha256).hexdigest()[:DIGITS]
    return f"<redacted:{key.id}:{digest}>"


def canonical_text(value: Any) -> str:
    """One text for equal values as `identity.canonical` takes them, typed: "1" and 1 differ, 1 and 1.0 do not.

    >>> canonical_text({"b": [1.0, None], "a": "1"})
    '{"a":"1","b":[1,null]}'
    """
    match value:
        case dict():
            members = sorted((json.dumps(str(key)), canonical_text(item)) for key, item in value.items())
            return "{" + ",".join(f"{key}:{item}" for key, item in members) + "}"
        case list() | tuple():
            return "[" + ",".join(map(canonical_text, value)) + "]"
        case bool() | None:
            return json.dumps(value)
        case int():
            return format(Decimal(value), "f")
        case float():
            return _number(value)
        case str():
            return json.dumps(value)
        case _:
            return json.dumps(repr(value))


def _number(value: float) -> str:
    exact = Decimal(repr(value))
    if not exact.is_finite():
        return str(exact)
    if not exact:
        return "0"  # -0.0 equals it
    return format(exact.to_integral_value() if exact == exact.to_integral_value() else exact.normalize(), "f")


def is_hidden(value: Any) -> bool:
    """Whether a value is a token or mark, or a text that holds one."""
    # Nearly no value holds one, and a search for a fixed text takes a tenth of the pattern's.
    return isinstance(value, str) and START in value and (MARK in value or TOKEN.search(value) is not None)


def same_hidden(a: Any, b: Any, key: Key | None) -> bool | None:
    """Whether two values, of which one or both are tokens, are the same; None where nobody here can tell.

    A token compares with a token of the same key, and with a plain value where that key is at hand. A text with a token
    inside compares with another such text alone.
    """
    if not isinstance(a, str) or not is_hidden(a):
        a, b = b, a
    whole = TOKEN.fullmatch(a) if isinstance(a, str) else None
    if is_hidden(b):
        keys = {found[1] for text in (a, b) for found in TOKEN.finditer(text)}
        return None if MARK in a or MARK in b or len(keys) != 1 else bool(a == b)
    if whole is None or key is None or whole[1] != key.id:
        return None
    return hmac.compare_digest(token(b, key), a)
