"""The file of handoffs: JSON lines, bounded and rotated, read back by trace id.

`NAME` is written to; at its limit it becomes `NAME.1`, `NAME.1` becomes `NAME.2`, and the last one goes. Only the owner may
read it. A line that can't be written is counted and said once, and nothing else waits for it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from lanewatch.handoff import Handoff, decoder

PRIVATE = 0o600
LONGEST_LINE = 2**20  # bytes
FIRST_PIECE = 4096  # bytes of a line in which its trace id stands


class HandoffFile:
    """Appends lines; belongs to one thread. The file is opened with the first line."""

    def __init__(self, path: Path, *, max_bytes: int, kept: int) -> None:
        """`max_bytes` of one file; `kept` full ones beside the one that is written."""
        self._path = path
        self._max_bytes = max_bytes
        self._kept = kept

    def append(self, line: bytes) -> None:
        """Write one line whole. Raises OSError."""
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE)
        try:
            size = os.fstat(descriptor).st_size
            if size and size + len(line) + 1 > self._max_bytes:
                os.close(descriptor)
                descriptor = -1
                self._rotate()
                self.append(line)
                return
            os.write(descriptor, line + b"\n")
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _rotate(self) -> None:
        names = numbered(self._path, self._kept)
        if not self._kept:
            self._path.unlink()
            return
        for older, newer in zip(names[::-1], names[-2::-1], strict=False):
            if newer.exists():
                newer.replace(older)


def numbered(path: Path, kept: int) -> list[Path]:
    """The file that is written and the full ones, newest first."""
    return [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, kept + 1))]


class Found(msgspec.Struct):
    """What a search came to: handoffs oldest first, and how many lines can't be read."""

    handoffs: list[Handoff] = []
    damaged: int = 0
    files: int = 0


def find(path: Path, trace_id: str, kept: int) -> Found:
    """The handoffs of the traces whose id begins so. Raises OSError for a file that can't be read."""
    found = Found()
    wanted = trace_id.lower().encode()
    for file in reversed(numbered(path, kept)):
        if not file.exists():
            continue
        found.files += 1
        for line in _lines(file):
            if b'"trace_id":"' + wanted not in line[:FIRST_PIECE]:
                continue
            try:
                handoff = decoder.decode(line)
            except (msgspec.DecodeError, RecursionError):
                found.damaged += 1
                continue
            if handoff.trace_id.startswith(trace_id.lower()):
                found.handoffs.append(handoff)
    return found


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while line := opened.readline(LONGEST_LINE + 1):
            yield line
