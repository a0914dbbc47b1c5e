"""Standard streams that take every character, and whose failing is told as what it is.

Invariants:

- A write to standard output that fails raises OutputGone and nothing else: no `except OSError` on the way may take it for
  the fault of a file or a connection. Standard error never raises: there is nowhere left to say so.
- A character that the terminal's encoding lacks is written as its escape.
- A descriptor that was closed is taken by a stand-in before any file can get its number and be written into.
"""

import contextlib
import errno
import io
import os
import select
import sys
from typing import Any, TextIO

MAX_COLUMNS = 10_000


class OutputGone(Exception):  # noqa: N818 - what happened to the output, no fault of the program
    """Standard output can't be written. `str()` says why; `status` is the exit status for it."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror or type(error).__name__)
        self.reader_left = error.errno == errno.EPIPE

    @property
    def status(self) -> int:
        """141 as for any command that SIGPIPE ends, 74 (EX_IOERR) for a full disk and the like."""
        return 141 if self.reader_left else 74


class _Output(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            while (written := super().write(data)) is None:  # somebody else made it non-blocking, and it is full
                select.select([], [self], [])
        except OSError as error:
            raise OutputGone(error) from None
        return written


class _Errors(io.FileIO):
    def write(self, data: Any) -> int:
        with contextlib.suppress(OSError):
            return super().write(data) or len(data)
        return len(data)


def prepare_streams() -> None:
    """Put the streams in place, once, at the start of a process. Streams that somebody has replaced are left alone."""
    _fill_closed()
    if sys.stdout is sys.__stdout__:
        sys.stdout = _stream(_Output(1, "w", closefd=False), sys.stdout, line_buffering=_is_terminal(1))
    if sys.stderr is sys.__stderr__:
        sys.stderr = _stream(_Errors(2, "w", closefd=False), sys.stderr, line_buffering=True)
    _forget_impossible_width()


def give_up_output() -> None:
    """What is still buffered goes nowhere: at its end Python would complain that it can't be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _stream(raw: io.FileIO, like: TextIO | None, *, line_buffering: bool) -> TextIO:
    encoding = getattr(like, "encoding", None) or "utf-8"
    through = bool(getattr(like, "write_through", False))
    buffer = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffer, encoding, "backslashreplace", None, line_buffering, through)


def _fill_closed() -> None:
    """In ascending order, since opening takes the lowest number that is free. Writing to a stand-in of 1 fails, as
    writing to what was closed should.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)


def _is_terminal(number: int) -> bool:
    try:
        return os.isatty(number)
    except OSError:
        return False


def _forget_impossible_width() -> None:
    """COLUMNS=0 means that the width is not known; rich would make lines of no width, or of a gigabyte."""
    text = os.environ.get("COLUMNS", "")
    if text.isdecimal() and not 0 < int(text[:10]) <= MAX_COLUMNS:
        del os.environ["COLUMNS"]
