"""A file that is whole or not there: written beside, flushed to disk, renamed; read only if its checksum holds.

The first line is a JSON object with what the file is, its version, and the SHA-256 of all that follows. A kill at any
moment leaves the old file or the new one (fsync of the file, rename, fsync of the folder). A damaged file is set aside
under `NAME.damaged-N` and said to be so: it is never read as if it were whole, and never deleted.
"""

import contextlib
import os
import stat
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

MAX_BYTES = 1 << 28  # 256 MiB: what a reading may take
MAX_SET_ASIDE = 10
READ_WRITE_BY_OWNER = 0o600


class Trouble(StrEnum):
    """Why a file gave nothing."""

    MISSING = "missing"
    TOO_LARGE = "too_large"
    DAMAGED = "damaged"  # cut short, changed, or no such file at all
    OTHER_KIND = "other_kind"
    OTHER_VERSION = "other_version"  # written by another Lanewatch: not damaged, and left where it is
    UNREADABLE = "unreadable"  # the system says no, or it is no regular file


class Head(msgspec.Struct, frozen=True):
    """The first line."""

    file: str
    version: int
    sha256: str


class Loaded(NamedTuple):
    """The body, or why there is none, and where a damaged file was put."""

    body: bytes | None
    trouble: Trouble | None = None
    set_aside: Path | None = None


def write_checked(path: Path, file: str, version: int, body: bytes) -> None:
    """Write all or nothing. Raises OSError; then the old file is as it was."""
    head = msgspec.json.encode(Head(file, version, sha256(body).hexdigest()))
    temporary = path.with_name(f".{path.name}.new")  # one name: a kill leaves one file at most
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, READ_WRITE_BY_OWNER)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(head + b"\n" + body)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_checked(path: Path, file: str, version: int, *, aside: bool = True) -> Loaded:
    """Read a file that `write_checked` wrote. A damaged one is set aside, unless `aside` is False: whoever was told a
    path by a person does not rename what is there.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # a pipe may keep the reader for ever, a device never ends
            return Loaded(None, Trouble.UNREADABLE)
        if found.st_size > MAX_BYTES:
            return Loaded(None, Trouble.TOO_LARGE)
        content = path.read_bytes()
    except FileNotFoundError:
        return Loaded(None, Trouble.MISSING)
    except OSError:
        return Loaded(None, Trouble.UNREADABLE)
    first, _, body = content.partition(b"\n")
    try:
        head = msgspec.json.decode(first, type=Head)
    except msgspec.DecodeError:
        return Loaded(None, Trouble.DAMAGED, set_aside(path) if aside else None)
    if head.file != file:
        return Loaded(None, Trouble.OTHER_KIND)
    if head.version != version:
        return Loaded(None, Trouble.OTHER_VERSION)
    if sha256(body).hexdigest() != head.sha256:
        return Loaded(None, Trouble.DAMAGED, set_aside(path) if aside else None)
    return Loaded(body)


def set_aside(path: Path) -> Path | None:
    """Rename a damaged file, so that it can be looked at; None where that failed or there are ten already."""
    for number in range(1, MAX_SET_ASIDE + 1):
        aside = path.with_name(f"{path.name}.damaged-{number}")
        if not aside.exists():
            try:
                path.rename(aside)
            except OSError:
                return None
            return aside
    return None
