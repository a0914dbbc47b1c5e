"""Text that others wrote - traced, in a file, in a file's name - as a terminal may show it: one line, bounded, inert.

Invariants:

- Nothing that comes out steers a terminal or reorders what stands beside it: control characters, line ends, lone
  surrogates, and format characters (bidirectional ones, those without width) are escaped as Python and JSON write them.
- The length is bounded, whatever comes in; what was cut is said with the whole length.
"""

import json
import os
import sys
import unicodedata
from pathlib import Path
from typing import Any

VALUE_LENGTH = 200  # characters of one value; the whole stands in --format jsonl
LINE_LENGTH = 10_000  # of a sentence that names a path, which may have 4,096 bytes, each of them escaped

# Unicode's general categories; C1 controls are Cc, and xterm takes U+009B for the start of a sequence.
STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def shown(value: Any, length: int = VALUE_LENGTH) -> str:
    """A value on one line: text as it is, anything else as JSON; cut beyond `length` characters."""
    text = (
        value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, default=lambda v: f"<{type(v).__name__}>")
    )
    whole = escaped(text[: length + 1])  # cut first: a value of a megabyte must not be escaped for 200 characters of it
    if len(text) <= length and len(whole) <= length:
        return whole
    return f"{whole[:length]}... ({len(text)} characters)"


def shown_line(text: str) -> str:
    """A sentence that names paths, or repeats what another program said."""
    return shown(text, LINE_LENGTH)


def counted(n: float, noun: str) -> str:
    """A number with its noun, which is one that takes an s.

    >>> counted(1, "trace")
    '1 trace'
    """
    return f"{n:g} {noun}{'' if n == 1 else 's'}"


def shown_path(path: str | Path) -> str:
    """A path; bytes that are no UTF-8 are escaped too."""
    return shown(os.fspath(path), LINE_LENGTH)


def write_json_line(line: bytes) -> None:
    """Write one line of JSON to standard output: to a terminal with what steers it escaped, which is the same JSON."""
    sys.stdout.buffer.write((inert_json(line) if sys.stdout.isatty() else line) + b"\n")
    sys.stdout.buffer.flush()


def inert_json(line: bytes) -> bytes:
    """The same JSON without a character that steers a terminal: outside of its texts there are none but ASCII."""
    text = line.decode("utf-8", "replace")
    if text.isascii() and text.isprintable():
        return line
    return "".join(f"\\u{ord(c):04x}" if c == "\x7f" else _in_json(c) for c in text).encode()


def _in_json(char: str) -> str:
    return json.dumps(char)[1:-1] if unicodedata.category(char) in STEERING else char


def escaped(text: str) -> str:
    """The text with whatever steers a terminal written out, as Python and JSON write it."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(ascii(char)[1:-1] if unicodedata.category(char) in STEERING else char for char in text)
