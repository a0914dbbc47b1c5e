"""Reading attribute values leniently: what a value holds, and in what state its content is.

A value that can't be parsed is text, never an exception and never an empty object. A placeholder that an instrumentor
puts in place of content (`__REDACTED__`, ...) is `redacted`: it must not be used as arguments, result or id.
"""

import ast
import warnings
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec

from lanewatch.adapters.json_text import (
    dump,
    is_exact,
    is_too_deep,
    names_twice,
    parse_json,
    parsed,
    without_surrogates,
    written,
)

LITERAL_LIMIT = 256 * 1024  # characters; ast.literal_eval builds a whole syntax tree, about 100 bytes a character
REPEATED = 16 * 1024  # characters of a text that is kept for the next span with the same; 128 of them are
LAYERS = 2  # JSON texts around a JSON text

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
    AMBIGUOUS = (
        "ambiguous"  # arguments that readers take differently: NaN, a number beyond a double, a name given twice
    )


class Content(msgspec.Struct, frozen=True):
    """A value, how it was written, and its state. `structured` tells an object or list from text."""

    value: Any = None
    raw: str | None = None
    state: State = State.ABSENT
    structured: bool = False

    @property
    def text(self) -> str | None:
        """The content as text: as written where it was text, else as JSON."""
        if self.state is State.ABSENT or self.state is State.REDACTED:
            return None
        return self.raw if self.raw is not None else dump(self.value)


NO_CONTENT = Content()
EMPTY_OBJECT = Content({}, "{}", State.CAPTURED, structured=True)


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
        return without_surrogates(value)
    return value if value is None or isinstance(value, int | float) else repr(value)


def is_placeholder(value: Any) -> bool:
    """Whether an instrumentor put this in place of content."""
    if not isinstance(value, str):
        return False
    # Hashing a long text to look it up takes longer than everything else here.
    return (len(value) <= LONGEST_PLACEHOLDER and value in PLACEHOLDERS) or value.startswith(SCRUBBED)


def has_placeholder(value: Any) -> bool:
    """Whether a value within this one, or it itself, stands for hidden content."""
    within = [value]
    for one in within:  # grows on the way
        if isinstance(one, dict):
            within += one.values()
        elif isinstance(one, list):
            within += one
        elif isinstance(one, str) and is_placeholder(one):
            return True
    return False


def read(value: Any, *, literal: bool = False) -> Content:
    """Content of an attribute: objects and lists as they are, JSON text decoded, other text kept.

    Bare JSON scalars in text ("42", "true") stay text: a single string argument looks the same. So does what has NaN or a
    number beyond a double in it: whoever writes it as JSON again would have to write null.
    """
    if value is None:
        return NO_CONTENT
    if not isinstance(value, str):
        if not isinstance(value, dict | list):
            return Content(value, None, State.CAPTURED) if is_exact(value) else _text_of(dump(value))
        if is_too_deep(value):
            return Content(None, None, State.TRUNCATED)
        return Content(value, None, State.CAPTURED, structured=True) if is_exact(value) else _text_of(written(value))
    if is_placeholder(value):
        return Content(None, None, State.REDACTED)
    if _is_structure(value):
        try:
            decoded, finite = parsed(value)
            return Content(decoded, value, State.CAPTURED, structured=True) if finite else _text_of(value)
        except ValueError:
            pass
        if literal:
            try:
                decoded = parse_literal(value)
                return (
                    Content(decoded, value, State.CAPTURED, structured=True) if is_exact(decoded) else _text_of(value)
                )
            except ValueError:
                pass
    return _text_of(value)


def _text_of(text: str) -> Content:
    return Content(text, text, State.CAPTURED)


def _is_structure(text: str) -> bool:
    return text.startswith(("{", "[")) or text.lstrip()[:1] in ("{", "[")


def read_json(value: Any) -> Any:
    """The object or list in an attribute, whether written as JSON text or natively; None for anything else."""
    if isinstance(value, str):
        if not _is_structure(value) or is_placeholder(value):
            return None
        try:
            return parse_json(value)
        except ValueError:
            return None
    return value if isinstance(value, dict | list) and not is_too_deep(value) else None


def read_repeated(value: Any) -> Any:
    """What `read_json` reads, once for all spans that repeat a text, as the tools that models are offered. Not to be
    changed by whoever gets it.
    """
    return _known(value) if isinstance(value, str) and len(value) <= REPEATED else read_json(value)


@lru_cache(maxsize=128)
def _known(text: str) -> Any:
    return read_json(text)


def read_arguments(value: Any, *, literal: bool = False) -> Content:
    """A call's arguments: an object, or the raw text where it is none. Nothing written at all is `{}`, and so is null.

    Models write "" or `null` for a call without arguments; OpenAI's API passes that on, and runtimes run it without any.
    An object with NaN in it, or that names an argument twice, is AMBIGUOUS text: runtimes differ in what they take it for.
    Emitters that encode what is JSON already write a JSON text that holds the JSON text of an object: at most two such
    layers are taken off.
    """
    bare = value.strip() if isinstance(value, str) else value
    if bare is None or bare == "":
        return EMPTY_OBJECT
    if bare == "null":
        return Content({}, value, State.CAPTURED, structured=True)
    content = read(unlayered(value), literal=literal)
    if content.state is State.CAPTURED and not isinstance(content.value, dict):
        raw = content.raw if content.raw is not None else dump(content.value)
        inexact = isinstance(value, dict) or isinstance(read_json(raw), dict)
        return Content(None, raw, State.AMBIGUOUS if inexact else State.CAPTURED)
    if content.structured:
        if content.raw is None:
            return Content(content.value, dump(content.value), State.CAPTURED, structured=True)
        if names_twice(content.raw, content.value):
            return Content(None, content.raw, State.AMBIGUOUS)
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
