"""The ledger of references: who proposed, compared, adopted or took back which one, when, why, and of whose traffic.

A file of JSON lines that is only ever appended to. Each line holds an entry, the SHA-256 of the line before it, and its
own; so a line that was changed, cut short or taken out is told, and the lines around it are still read. Only a loss at the
very end can't be seen from the file itself. Writers of one machine take turns by a lock on the file, and each line is
on the disk before the next may come. A torn last line, left by a kill, is ended and stays: nothing is ever rewritten.
"""

import fcntl
import os
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from lanewatch.monitors.drift.promotion import Population

MAX_BYTES = 1 << 26  # 64 MiB: some 100,000 entries
MAX_TEXT = 2000  # characters of a reason
READ_WRITE_BY_OWNER = 0o600
NOTHING = "0" * 64  # what stands before the first line


class Action(StrEnum):
    """What was done."""

    PROPOSED = "proposed"
    COMPARED = "compared"
    ADOPTED = "adopted"
    REVERTED = "reverted"


class Comparison(msgspec.Struct, frozen=True):
    """The old and the new reference on the same traffic: how much of it, and the alarms that each would have raised."""

    traces: int
    first: int  # seconds since the epoch
    last: int
    old_alarms: int
    new_alarms: int


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that was done to `reference`; `before` was in use until then."""

    action: Action
    at: int  # seconds since the epoch
    by: str
    reason: str
    reference: str
    before: str | None = None
    population: Population | None = None
    comparison: Comparison | None = None


class Damage(NamedTuple):
    """A line that can't be trusted, or a place where lines are missing before it. Lines count from 1."""

    line: int
    what: str


class Ledger(NamedTuple):
    """What a ledger tells: entries in the order in which they were written, and what is damaged."""

    entries: tuple[Entry, ...]
    damages: tuple[Damage, ...] = ()

    @property
    def adopted(self) -> str | None:
        """The reference in use, as far as the readable lines tell."""
        return next((entry.reference for entry in reversed(self.entries) if entry.action in IN_USE), None)

    def previous(self) -> str | None:
        """What was in use before the reference that is in use now was adopted: what a revert goes back to."""
        stack: list[str] = []
        for entry in self.entries:
            if entry.action is Action.ADOPTED:
                # What was in use before the ledger began is the first to go back to.
                if not stack and entry.before is not None:
                    stack.append(entry.before)
                stack.append(entry.reference)
            elif entry.action is Action.REVERTED and stack:
                stack.pop()
        return stack[-2] if len(stack) > 1 else None

    def last(self, action: Action, reference: str | None = None) -> Entry | None:
        """The last entry of this kind, of one reference where it is given."""
        return next(
            (
                entry
                for entry in reversed(self.entries)
                if entry.action is action and reference in (None, entry.reference)
            ),
            None,
        )


IN_USE = frozenset({Action.ADOPTED, Action.REVERTED})


class _Line(msgspec.Struct, frozen=True):
    before: str
    entry: msgspec.Raw
    sha256: str


def append(path: Path, entry: Entry) -> None:
    """Write an entry behind the last one, and wait for the disk. Raises OSError, ValueError where the file is full.

    Safe with other writers of the same machine. A file that was not there is made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, READ_WRITE_BY_OWNER)
    with os.fdopen(descriptor, "r+b") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)  # let go when the file is closed
        size = os.fstat(stream.fileno()).st_size
        if size > MAX_BYTES:
            msg = f"the ledger has more than {MAX_BYTES} bytes: move it away, and begin another"
            raise ValueError(msg)
        content = stream.read()
        torn = b"" if content.endswith(b"\n") or not content else b"\n"
        lines = _lines(content)
        stream.write(torn + _line(entry, _digest(lines[-1]) if lines else NOTHING))
        stream.flush()
        os.fsync(stream.fileno())
    if not size:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_ledger(path: Path) -> Ledger:
    """Read all that can be read, and tell what can't. A file that is not there is an empty ledger. Raises OSError."""
    try:
        with path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH)  # no writer is half-way
            content = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return Ledger(())
    entries: list[Entry] = []
    damages: list[Damage] = []
    if len(content) > MAX_BYTES:
        damages.append(Damage(0, f"only its first {MAX_BYTES} bytes were read"))
        content = content[:MAX_BYTES]
    before, whole_before = NOTHING, True
    for number, raw in enumerate(_lines(content), 1):
        read = _read(raw)
        if isinstance(read, str):
            damages.append(Damage(number, read))
        else:
            if read[0] != before and whole_before:
                damages.append(Damage(number, "the line before it is not the one that was there when it was written"))
            entries.append(read[1])
        before, whole_before = _digest(raw), not isinstance(read, str)
    return Ledger(tuple(entries), tuple(damages))


def _lines(content: bytes) -> list[bytes]:
    lines = content.split(b"\n")
    return lines if lines[-1] else lines[:-1]  # the last one may be torn: it has no end


def _line(entry: Entry, before: str) -> bytes:
    body = msgspec.json.encode(entry)
    line = _Line(before, msgspec.Raw(body), _own(before, body))
    return msgspec.json.encode(line) + b"\n"


def _read(raw: bytes) -> tuple[str, Entry] | str:
    """(digest of the line before, entry), or what is wrong."""
    try:
        line = msgspec.json.decode(raw, type=_Line)
    except msgspec.DecodeError:
        return "it is no entry: cut short, or overwritten"
    if _own(line.before, bytes(line.entry)) != line.sha256:
        return "its checksum does not fit: it was changed after it was written"
    try:
        return line.before, msgspec.json.decode(line.entry, type=Entry)
    except msgspec.DecodeError:
        return "it was written by another version of Lanewatch"


def _own(before: str, body: bytes) -> str:
    return sha256(before.encode() + b"\n" + body).hexdigest()


def _digest(raw: bytes) -> str:
    return sha256(raw).hexdigest()
