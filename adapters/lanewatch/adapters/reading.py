"""Reading attribute values leniently: what a value holds, and in what state its content is.

A value that can't be parsed is text, never an exception and never an empty object. A placeholder that an instrumentor
puts in place of content (`__REDACTED__`, ...) is `redacted`: it must not be used as arguments, result or id.
"""

import ast
import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import msgspec

LITERAL_LIMIT = 256 * 1024  # characters; ast.literal_eval builds a whole syntax tree, about 100 bytes a character

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
    },
)
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
EMPTY_OBJECT = Content({}, "{}", State.CAPTURED, structured=True)


def dump(value: Any) -> str:
    """JSON text of a decoded value; bytes and other strangers become their repr's kind, never an exception."""
    return json.dumps(value, ensure_ascii=False, default=lambda other: f"<{type(other).__name__}>")


def parse_json(text: str) -> Any:
    """Decode JSON; raises ValueError for anything else, however deep or long."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_literal(text: str) -> Any:
    """Decode a Python literal, as str() and repr() write them; raises ValueError for anything else."""
    if len(text) > LITERAL_LIMIT:
        raise ValueError("too long for a literal")
    try:
        return ast.literal_eval(text.strip())
    except (SyntaxError, TypeError, MemoryError, RecursionError, ValueError):
        raise ValueError("no literal") from None


def is_placeholder(value: Any) -> bool:
    """Whether an instrumentor put this in place of content."""
    return isinstance(value, str) and (value in PLACEHOLDERS or value.startswith(SCRUBBED))


def read(value: Any, *, literal: bool = False) -> Content:
    """Content of an attribute: objects and lists as they are, JSON text decoded, other text kept.

    Bare JSON scalars in text ("42", "true") stay text: a single string argument looks the same.
    """
    if value is None:
        return NO_CONTENT
    if isinstance(value, dict | list):
        return Content(value, None, State.CAPTURED, structured=True)
    if not isinstance(value, str):
        return Content(value, None, State.CAPTURED)
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

    Models write "" for a call without arguments; OpenAI's API passes that on.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return EMPTY_OBJECT
    content = read(value, literal=literal)
    if content.state is State.CAPTURED and not isinstance(content.value, dict):
        raw = content.raw if content.raw is not None else dump(content.value)
        return Content(None, raw, State.CAPTURED)
    if content.structured and content.raw is None:
        return Content(content.value, dump(content.value), State.CAPTURED, structured=True)
    return content


def unflatten(attributes: dict[str, Any], prefix: str) -> Any:
    """The tree below a flattened key: `a.0.b`, `a.1.b` under prefix `a.` become [{b}, {b}]; None where there is none.

    Indices are sorted as numbers (10 comes after 9) and holes are legal.
    """
    tree: dict[str, Any] = {}
    size = len(prefix)
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        node = tree
        *path, leaf = key[size:].split(".")
        for step in path:
            below = node.setdefault(step, {})
            if not isinstance(below, dict):
                below = node[step] = {"": below}
            node = below
        if isinstance(node.get(leaf), dict):
            node[leaf][""] = value
        else:
            node[leaf] = value
    return _lists(tree) if tree else None


def _lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node and all(key.isdecimal() for key in node):
        return [_lists(node[key]) for key in sorted(node, key=int)]
    return {key: _lists(below) for key, below in node.items()}


def dictionaries(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list, passing over anything else; one object stands for a list of it."""
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list | tuple):
        yield from (item for item in value if isinstance(item, dict))
