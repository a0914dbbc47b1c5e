"""The file of handoffs: JSON lines, bounded and rotated, read back by trace id.

`NAME` is written to; at its limit it becomes `NAME.1`, `NAME.1` becomes `NAME.2`, and the last one goes. Only the owner may
read it. A line that can't be written is counted and said once, and nothing else waits for it.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from lanewatch.handoffs.handoff import Handoff, decoder

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
        """Write one line whole, or nothing of it. Raises OSError, also for what is no regular file: a pipe would block."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, PRIVATE)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            if not status.st_size or status.st_size + len(line) + 1 <= self._max_bytes:
                _write_whole(descriptor, line + b"\n", status.st_size)
                return
        finally:
            os.close(descriptor)
        self._rotate()
        self.append(line)

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
    with contextlib.ExitStack() as stack:
        for file in reversed(_opened(path, kept, stack)):
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


def _write_whole(descriptor: int, line: bytes, size: int) -> None:
    """A full disk takes a part of a line, which would spoil the next one too: that part is taken back."""
    try:
        written = os.write(descriptor, line)
    except OSError:
        os.ftruncate(descriptor, size)
        raise
    if written < len(line):
        os.ftruncate(descriptor, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _opened(path: Path, kept: int, stack: contextlib.ExitStack) -> list[BinaryIO]:
    """The files, newest first, each once. All are opened before one is read, from the newest on: what is set aside in the
    meantime is met again under its new name, and never missed.
    """
    files: dict[tuple[int, int], BinaryIO] = {}
    for name in numbered(path, kept):
        try:
            # Without waiting: opening a pipe that nobody writes into would block.
            file = stack.enter_context(open(name, "rb", opener=_without_waiting))  # noqa: SIM115 - the stack closes it
        except FileNotFoundError:
            continue
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        files.setdefault((status.st_dev, status.st_ino), file)
    return list(files.values())


def _without_waiting(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NONBLOCK)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(LONGEST_LINE + 1):
        yield line
