"""Files that a setting names, read with a bound on bytes and time: any name may turn out to be a pipe, or endless."""

import errno
import os
import select
from pathlib import Path

PIPE_SECONDS = 5.0


def read_bounded(path: Path, limit: int) -> bytes:
    """At most one byte more than the limit. Raises OSError. A pipe that nobody writes into raises TimeoutError: opening it the usual way
    would block for ever, and one that somebody does write into is how a shell's `<(...)` comes.
    """
    raw = b""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        _wait_for(descriptor)  # before the first byte a pipe without a writer seems to be at its end
        while len(raw) <= limit:
            try:
                piece = os.read(descriptor, limit + 1 - len(raw))
            except BlockingIOError:
                _wait_for(descriptor)
                continue
            if not piece:
                break
            raw += piece
    finally:
        os.close(descriptor)
    return raw


def _wait_for(descriptor: int) -> None:
    if not select.select([descriptor], [], [], PIPE_SECONDS)[0]:
        raise TimeoutError(errno.ETIMEDOUT, f"a pipe that nobody writes into for {PIPE_SECONDS:g} seconds")
