"""JSON files that others wrote: one value, or one a line, within bounds, and none that readers differ in.

A file is read and parsed once, whatever is looked for in it: a pipe can't be read again. A fault is told with its place,
never with a value.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from lanewatch.adapters.json_text import is_ambiguous, is_too_deep, parse_members

MAX_BYTES = 64 * 2**20


class JsonFile(msgspec.Struct, frozen=True):
    """A file's JSON value, or that of each of its lines: (place, value)."""

    path: Path
    values: tuple[tuple[str, Any], ...]


class RecordFault(ValueError):  # noqa: N818 - wrong input, told to a person
    """A file that can't be read as what it should be. `str()` says what is wrong and where."""


def read_lines(path: Path) -> list[tuple[int, str]]:
    """(number from 1, line) of each line that is not empty. Raises RecordFault."""
    return _numbered(_text(path))


def _numbered(text: str) -> list[tuple[int, str]]:
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def read_json(path: Path) -> JsonFile:
    """A file, as one value or as lines. Raises RecordFault."""
    text = _text(path)
    try:
        return JsonFile(path, (("$", _unambiguous(path, "$", _parsed(text))),))
    except RecordFault:
        raise
    except ValueError as fault:
        lines = _numbered(text)
        if len(lines) < 2:  # noqa: PLR2004 - one line that is no JSON is no JSON lines either
            raise RecordFault(f"{path}: no JSON{_where(fault)}") from None
        return JsonFile(path, tuple(_of_line(path, number, line) for number, line in lines))


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RecordFault(f"{path}: more than {MAX_BYTES} bytes")
        return path.read_text("utf-8")
    except OSError as error:
        raise RecordFault(f"{path}: {error.strerror or 'it cannot be read'}") from None
    except UnicodeDecodeError:
        raise RecordFault(f"{path}: not UTF-8") from None


def _of_line(path: Path, number: int, line: str) -> tuple[str, Any]:
    place = f"line {number}"
    try:
        return place, _unambiguous(path, place, _parsed(line))
    except RecordFault:
        raise
    except ValueError:
        raise RecordFault(f"{path}: {place}: no JSON") from None


def _unambiguous(path: Path, place: str, value: Any) -> Any:
    if is_ambiguous(value):
        raise RecordFault(f"{path}: {place}: an object names a member twice")
    return value


def _parsed(text: str) -> Any:
    try:
        value = parse_members(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if is_too_deep(value):
        raise ValueError("nested too deeply")
    return value


def _where(fault: ValueError) -> str:
    return f" (line {fault.lineno}, column {fault.colno})" if isinstance(fault, json.JSONDecodeError) else f" ({fault})"
