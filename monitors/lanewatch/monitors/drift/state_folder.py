"""The folder in which drift survives: evidence, what is being learnt, and the reference that was learnt.

    state       a MonitorState: only the reference that it was made with can take it up
    learning    a BuilderState, until there is a reference
    reference   the reference that was learnt; the same format as `lanewatch baseline` writes
    window      the last hours of live traffic, a BuilderState: what a next reference can be made of

Each is whole or not there (checked_file.py). A damaged one is set aside and said; what can't be read is begun anew.
"""

from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import msgspec

from lanewatch.monitors.drift.building import BuilderState
from lanewatch.monitors.drift.checked_file import Trouble, read_checked, set_aside, write_checked
from lanewatch.monitors.drift.monitor import MonitorState

STATE, LEARNING, REFERENCE, WINDOW = "state", "learning", "reference", "window"
VERSION = 2

T = TypeVar("T")


class Read(NamedTuple, Generic[T]):
    """What a file held, or why it gave nothing, and where a damaged one was put."""

    value: T | None
    trouble: Trouble | None = None
    set_aside: Path | None = None


def write_state(folder: Path, state: MonitorState) -> None:
    """Write evidence, all or nothing. Raises OSError."""
    _write(folder, STATE, state)


def write_learning(folder: Path, state: BuilderState) -> None:
    """Write what is being learnt, all or nothing. Raises OSError."""
    _write(folder, LEARNING, state)


def write_window(folder: Path, state: BuilderState) -> None:
    """Write the last hours, all or nothing. Raises OSError."""
    write_checked(folder / WINDOW, _kind(WINDOW), VERSION, msgspec.json.encode(state))


def read_state(folder: Path) -> Read[MonitorState]:
    """Evidence as it was written last."""
    return _read(folder, STATE, MonitorState)


def read_learning(folder: Path) -> Read[BuilderState]:
    """What had been learnt when it was written last."""
    return _read(folder, LEARNING, BuilderState)


def read_window(folder: Path) -> Read[BuilderState]:
    """The last hours as they were written last."""
    return _read(folder, WINDOW, BuilderState)


def _kind(name: str) -> str:
    return f"lanewatch-drift-{name}"


def _write(folder: Path, name: str, state: MonitorState | BuilderState) -> None:
    """The folder is made where it stands in one that is there: a volume comes empty."""
    folder.mkdir(mode=0o700, exist_ok=True)
    write_checked(folder / name, _kind(name), VERSION, msgspec.json.encode(state))


def _read(folder: Path, name: str, type_: type[T]) -> Read[T]:
    path = folder / name
    loaded = read_checked(path, _kind(name), VERSION)
    if loaded.body is None:
        return Read(None, loaded.trouble, loaded.set_aside)
    try:
        return Read(msgspec.json.decode(loaded.body, type=type_))
    except (msgspec.DecodeError, RecursionError):
        # The checksum holds, so whoever wrote it wrote something else.
        return Read(None, Trouble.DAMAGED, set_aside(path))
