"""When two calls are the same call: names, ids and arguments.

Arguments compare as typed canonical JSON: key order never matters, bool, null, text and number are distinct, integers
compare exactly at any size, 1 equals 1.0 in value, and texts compare in composed form (NFC). Anything looser is a
pairing rule with a name of its own.
"""

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any
from unicodedata import normalize

from lanewatch.adapters.records import IdQuality

SEPARATORS = re.compile(r"[-./:]|__")
PUNCTUATION = re.compile(r"[\W_]+")
SHORT_NAME = 64  # characters of the names that are remembered, as many as models' APIs allow
PLACEHOLDER_IDS = frozenset({"", "unknown", "none", "null", "<not specified>", "n/a"})


def canonical(value: Any) -> Any:
    """A hashable form in which equal values, and only those, are equal.

    >>> canonical({"a": 1, "b": [True]}) == canonical({"b": [True], "a": 1.0})
    True
    >>> canonical(1) == canonical(True) or canonical("1") == canonical(1)
    False
    """
    if isinstance(value, str):
        return ("text", composed(value))
    if isinstance(value, dict):
        return ("object", frozenset((composed(str(key)), canonical(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return ("array", tuple(canonical(item) for item in value))
    if isinstance(value, bool) or value is None:
        return ("literal", str(value))
    if isinstance(value, int):
        return ("number", value)
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124 - not a number is one value here, so that a value equals itself
            return ("number", "nan")
        return ("number", int(value) if value.is_integer() and abs(value) < 2**53 else Decimal(repr(value)))
    return ("text", repr(value))


def composed(text: str) -> str:
    """A text in Unicode's composed form (NFC): `e` with an accent is one letter, however it was typed or passed on."""
    return text if text.isascii() else normalize("NFC", text)


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal as typed JSON."""
    if isinstance(a, str) and isinstance(b, str):
        return a == b or composed(a) == composed(b)
    return a is b or bool(canonical(a) == canonical(b))


def fold(name: str) -> str:
    """A tool's name without case and punctuation, as frameworks sanitise it for a model.

    >>> fold("Delegate work to coworker") == fold("delegate_work_to_coworker")
    True
    """
    return _folded(name) if len(name) <= SHORT_NAME else PUNCTUATION.sub("", composed(name).casefold()) or name


@lru_cache(maxsize=512)
def _folded(name: str) -> str:
    """Few tools are called over and over, and each call's name is folded some ten times."""
    return PUNCTUATION.sub("", composed(name).casefold()) or name


def same_name(a: str, b: str) -> bool:
    """Whether two names are one tool's: equal when folded, or one is the other with a plugin's or server's prefix.

    >>> same_name("mcp__mail__send", "send"), same_name("Billing-refund", "refund"), same_name("refund", "fund")
    (True, True, False)
    """
    if a == b or fold(a) == fold(b):
        return True
    long, short = (a, b) if len(a) > len(b) else (b, a)
    tail = SEPARATORS.split(long)
    return len(tail) > 1 and fold(tail[-1]) == fold(short) != ""


def name_keys(name: str) -> tuple[str, ...]:
    """Folded forms of a name: two names that are the same share one.

    >>> name_keys("mcp__mail__send"), name_keys("send")
    (('mcpmailsend', 'send'), ('send',))
    """
    return _short_name_keys(name) if len(name) <= SHORT_NAME else _name_keys(name)


def _name_keys(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((fold(name), fold(SEPARATORS.split(name)[-1]))))


_short_name_keys = lru_cache(maxsize=512)(_name_keys)


def id_quality(call_id: str | None, name: str) -> IdQuality:
    """How far an id can be trusted. `{name}_{n}` is made up by an instrumentor and repeats in every turn."""
    if call_id is None:
        return IdQuality.MISSING
    if call_id.strip().lower() in PLACEHOLDER_IDS or "," in call_id:
        return IdQuality.PLACEHOLDER
    if call_id.startswith(f"{name}_") and call_id[len(name) + 1 :].isdecimal():
        return IdQuality.SYNTHETIC
    if call_id.startswith(("fc_", "ctc_")):
        return IdQuality.ITEM
    return IdQuality.REAL
