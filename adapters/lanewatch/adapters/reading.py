"""Reading attribute values leniently: what a value holds, and in what state its content is.

A value that can't be parsed is text, never an exception and never an empty object. A placeholder that an instrumentor
puts in place of content (`__REDACTED__`, ...) is `redacted`: it must not be used as arguments, result or id.
"""

import ast
import json
import re
import warnings
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

import msgspec

LITERAL_LIMIT = 256 * 1024  # characters; ast.literal_eval builds a whole syntax tree, about 100 bytes a character
LAYERS = 2  # JSON texts around a JSON text
DEPTH_LIMIT = 100  # levels of nesting, as protobuf allows; comparing values recurses, and must not run out of stack
# Half of a surrogate pair alone, as JSON may escape it: no text that could be written as UTF-8 again.
LONE_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]"
)

PLACEHOLDERS = frozenset(
    {
        "__REDACTED__",  # OpenInference
        "[redacted]",  # Vercel
        "[REDACTED]",  # Strands
        "<REDACTED>",
        "<redacted>",
        "FILTERED",  # Traceloop, Azure content filter
        "<fully masked due to failed mask function>",  # Langfuse
        "<not serializable>",
        "<not specified>",  # Google ADK
        "redacted-by-litellm",
        "<elided>",  # Google ADK's logs with content off
    },
)
LONGEST_PLACEHOLDER = max(map(len, PLACEHOLDERS))
SCRUBBED = "[Scrubbed due to "  # Logfire, with the pattern's name behind it


class State(StrEnum):
    """State of a piece of content (see 0.3 of the conventions: capture is off by default in most instrumentors)."""

    CAPTURED = "captured"
    ABSENT = "absent"
    REDACTED = "redacted"
    TRUNCATED = "truncated"


class Content(msgspec.Struct, frozen=True):
    """A value, how it was written, and its state. `structured` tells an object or list from text."""

    value: Any = None
    raw: str | None = None
    state: State = State.ABSENT
    structured: bool = False

    @property
    def text(self) -> str | None:
        """The content as text: as written where it was text, else as JSON."""
        if self.state is not State.CAPTURED and self.state is not State.TRUNCATED:
            return None
        return self.raw if self.raw is not None else dump(self.value)


NO_CONTENT = Content()
decode_json = msgspec.json.Decoder().decode
EMPTY_OBJECT = Content({}, "{}", State.CAPTURED, structured=True)


def dump(value: Any) -> str:
    """JSON text of a decoded value; bytes and other strangers become their type's name, never an exception."""
    return json.dumps(value, ensure_ascii=False, default=lambda other: f"<{type(other).__name__}>")


def parse_json(text: str) -> Any:
    """Decode JSON; raises ValueError for anything else, and for what is nested deeper than DEPTH_LIMIT."""
    try:
        value = decode_json(text)  # three times as fast as json; exact for integers of any size too
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeEncodeError):
        value = _lenient_json(text)
    if text.count("[") + text.count("{") > DEPTH_LIMIT and is_too_deep(value):
        raise ValueError("nested too deeply")
    # Looking for the letters first costs a twentieth of the pattern's search, which took twice as long as decoding.
    escaped = "\\ud" in text or "\\uD" in text
    return _as_json(value) if escaped and LONE_SURROGATE.search(text) else value


def _lenient_json(text: str) -> Any:
    """What Python's own decoder takes and msgspec does not: lone surrogates, NaN, numbers beyond a double, and line ends
    that a model left unescaped in a string, as most frameworks read them too (`strict=False`).
    """
    try:
        return json.loads(text, strict=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_literal(text: str) -> Any:
    """Decode a Python literal, as str() and repr() write them, into what JSON can hold; raises ValueError for anything
    else.
    """
    if len(text) > LITERAL_LIMIT:
        raise ValueError("too long for a literal")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a SyntaxWarning would print the text
            value = ast.literal_eval(text.strip())
    except (SyntaxError, TypeError, MemoryError, RecursionError, ValueError):
        raise ValueError("no literal") from None
    if is_too_deep(value):
        raise ValueError("nested too deeply")
    return _as_json(value)


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {_as_json(key) if isinstance(key, str) else str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_as_json(item) for item in value]
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value if value is None or isinstance(value, int | float) else repr(value)


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


def is_placeholder(value: Any) -> bool:
    """Whether an instrumentor put this in place of content."""
    if not isinstance(value, str):
        return False
    # Hashing a long text to look it up takes longer than everything else here.
    return (len(value) <= LONGEST_PLACEHOLDER and value in PLACEHOLDERS) or value.startswith(SCRUBBED)


def read(value: Any, *, literal: bool = False) -> Content:
    """Content of an attribute: objects and lists as they are, JSON text decoded, other text kept.

    Bare JSON scalars in text ("42", "true") stay text: a single string argument looks the same.
    """
    if value is None:
        return NO_CONTENT
    if not isinstance(value, str):
        if isinstance(value, dict | list) and is_too_deep(value):
            return Content(None, None, State.TRUNCATED)
        return Content(value, None, State.CAPTURED, structured=isinstance(value, dict | list))
    if is_placeholder(value):
        return Content(None, None, State.REDACTED)
    head = value.lstrip()[:1]
    if head in ("{", "["):
        for parse in (parse_json, parse_literal) if literal else (parse_json,):
            try:
                return Content(parse(value), value, State.CAPTURED, structured=True)
            except ValueError:
                continue
    return Content(value, value, State.CAPTURED)


def read_json(value: Any) -> Any:
    """The object or list in an attribute, whether written as JSON text or natively; None for anything else."""
    content = read(value)
    return content.value if content.structured else None


def read_arguments(value: Any, *, literal: bool = False) -> Content:
    """A call's arguments: an object, or the raw text where it is none. Nothing written at all is `{}`.

    Models write "" for a call without arguments; OpenAI's API passes that on. Emitters that encode what is JSON already
    write a JSON text that holds the JSON text of an object: at most two such layers are taken off.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return EMPTY_OBJECT
    content = read(unlayered(value), literal=literal)
    if content.state is State.CAPTURED and not isinstance(content.value, dict):
        raw = content.raw if content.raw is not None else dump(content.value)
        return Content(None, raw, State.CAPTURED)
    if content.structured and content.raw is None:
        return Content(content.value, dump(content.value), State.CAPTURED, structured=True)
    return content


def unlayered(text: Any) -> Any:
    """The JSON text of an object out of the JSON texts around it; anything else as it came."""
    if not isinstance(text, str) or text.lstrip()[:1] != '"':
        return text
    inner: Any = text
    for _ in range(LAYERS):
        try:
            inner = parse_json(inner)
        except ValueError:
            return text
        if not isinstance(inner, str):
            return text
        if inner.lstrip()[:1] == "{":
            return inner
    return text


def unflatten(attributes: dict[str, Any], prefix: str) -> Any:
    """The tree below a flattened key: `a.0.b`, `a.1.b` under prefix `a.` become [{b}, {b}]; None where there is none.

    Indices are sorted as numbers (10 comes after 9) and holes are legal.
    """
    size = len(prefix)
    below = {key[size:]: value for key, value in attributes.items() if key.startswith(prefix)}
    return nested(below) if below else None


def nested(flat: dict[str, Any]) -> Any:
    """The tree of dotted keys, as `unflatten` makes it."""
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        node, leaf = tree, key
        if "." in key:
            *path, leaf = key.split(".")
            for step in path:
                below = node.get(step)
                if not isinstance(below, dict):
                    below = node[step] = {"": below} if step in node else {}
                node = below
        if isinstance(node.get(leaf), dict):
            node[leaf][""] = value
        else:
            node[leaf] = value
    return _lists(tree)


def _lists(node: dict[str, Any]) -> Any:
    if dict in map(type, node.values()):
        node = {key: _lists(below) if isinstance(below, dict) else below for key, below in node.items()}
    # The first key tells nearly always; to ask all of them takes as long as all the rest.
    if node and next(iter(node)).isdecimal() and all(map(str.isdecimal, node)):
        return [node[key] for key in sorted(node, key=int)]
    return node


def dictionaries(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list, passing over anything else; one object stands for a list of it."""
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list | tuple):
        yield from (item for item in value if isinstance(item, dict))
