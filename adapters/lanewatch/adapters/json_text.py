"""JSON text and the values that it stands for, and where the two are not the same.

Python's decoders take what JSON does not have (NaN, infinities) and let the last of two members of one name count. Such
values are read, since a conversation around them is worth more than nothing, but they can be told from exact ones.
"""

import json
import math
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from lanewatch.collector.surrogates import repaired_text

DEPTH_LIMIT = 100  # levels of nesting, as protobuf allows; comparing values recurses, and must not run out of stack
LENIENT = re.compile(r"[\x00-\x1f]|NaN|Infinity")  # what Python's own decoder takes and msgspec refuses
SPACED = (" :", "\t:", "\n:", "\r:")  # a name may have white space behind it
decode_json = msgspec.json.Decoder().decode


class Ambiguous(dict[str, Any]):
    """An object that names a member twice. Readers differ in which of the two counts, so as a call's arguments it is no
    object at all; `pairs` are its members as they were written.
    """

    pairs: list[tuple[str, Any]]


def dump(value: Any) -> str:
    """JSON text of a decoded value; bytes and other strangers become their type's name, never an exception."""
    return json.dumps(value, ensure_ascii=False, default=lambda other: f"<{type(other).__name__}>")


def parse_json(text: str) -> Any:
    """Decode JSON; raises ValueError for anything else, and for what is nested deeper than DEPTH_LIMIT.

    NaN and infinities, which Python writes, are read; the last of two members of one name counts. Whether a value is
    exactly what its text says, `read` and `read_arguments` tell.
    """
    return parsed(text)[0]


def parse_json_text(value: Any) -> Any:
    """What JSON text stands for; every other value, text that is no JSON among them, as it is."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return value


def parsed(text: str) -> tuple[Any, bool]:
    """(value, whether its numbers are finite)."""
    finite = True
    try:
        value = decode_json(text)  # three times as fast as json; exact for integers of any size too
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeEncodeError) as error:
        if (whole := repaired_text(text)) != text:  # msgspec refuses halves of pairs, so that most texts need no search
            return parsed(whole)
        # What Python's own decoder takes beyond that, and nothing else: malformed text is not parsed twice.
        if not isinstance(error, msgspec.ValidationError) and not LENIENT.search(text):
            raise ValueError("no JSON") from None
        value = _lenient_json(text)
        finite = is_exact(value)
    # So many levels need as many brackets, of which short texts have not enough.
    if len(text) > 2 * DEPTH_LIMIT and text.count("[") + text.count("{") > DEPTH_LIMIT and is_too_deep(value):
        raise ValueError("nested too deeply")
    return value, finite


def _lenient_json(text: str) -> Any:
    """JSON with NaN, infinities and numbers beyond a double, which become infinities, and with line ends that a model
    left unescaped in a string, as most frameworks read them too (`strict=False`).
    """
    try:
        return json.loads(text, strict=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_members(text: str) -> Any:
    """Decode what `parse_json` decodes; an object that names a member twice comes as Ambiguous. Five times as slow."""
    return json.loads(repaired_text(text), object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    ambiguous = Ambiguous(members)
    ambiguous.pairs = pairs
    return ambiguous


def names_twice(text: str, value: Any) -> bool:
    """Whether an object in a JSON text names a member twice; `value` is what the text was decoded to."""
    members = _members(value)
    if text.count(":") == members:  # none is in a text, and none too many
        return False
    # A quote inside a text is escaped, so that one before a colon ends a name.
    if text.count('":') - text.count('\\":') == members and '\\\\"' not in text and not any(s in text for s in SPACED):
        return False
    try:
        return is_ambiguous(parse_members(text))
    except (ValueError, RecursionError):
        return False


def _members(value: Any) -> int:
    """How many members all objects in a value have."""
    n = 0
    left = [value]
    for item in left:  # grows on the way
        if isinstance(item, dict):
            n += len(item)
            left += item.values()
        elif isinstance(item, list):
            left += item
    return n


def is_ambiguous(value: Any) -> bool:
    """Whether an object within a value names a member twice, as `parse_members` decoded it."""
    if isinstance(value, dict):
        return isinstance(value, Ambiguous) or any(map(is_ambiguous, value.values()))
    return isinstance(value, list) and any(map(is_ambiguous, value))


def is_exact(value: Any) -> bool:
    """Whether JSON can hold a value: numbers are finite, and no object names a member twice."""
    if isinstance(value, dict):
        return not isinstance(value, Ambiguous) and all(map(is_exact, value.values()))
    if isinstance(value, list):
        return all(map(is_exact, value))
    return not isinstance(value, float) or math.isfinite(value)


def written(value: Any) -> str:
    """The text of a value that is not exact, with every member that was written."""
    if isinstance(value, dict):
        members = value.pairs if isinstance(value, Ambiguous) else value.items()
        return "{" + ", ".join(f"{dump(str(key))}: {written(item)}" for key, item in members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return dump(value)


def is_too_deep(value: Any) -> bool:
    """Whether a value is nested deeper than DEPTH_LIMIT levels."""
    level = [value]
    for _ in range(DEPTH_LIMIT + 1):
        level = [item for outer in level for item in _items(outer) if isinstance(item, dict | list | tuple)]
        if not level:
            return False
    return True


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def without_surrogates(text: str) -> str:
    """A text with U+FFFD for each half of a surrogate pair, as Python's literals may escape it too."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
