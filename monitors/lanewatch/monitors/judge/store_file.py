"""The judge's one file: SQLite that two processes share, made readable by its owner alone, and never trusted blindly.

Invariants: what is not ours, is damaged or of another version is set aside under `NAME.set-aside-N` and said, and never read; of
those files what was ours is deleted once it is older than the retention, and no other; what is deleted is overwritten (`secure_delete`) and leaves the log of writes with the next `shrink`; every fault
of the disk is a `StoreFault` of a known kind. The sidecar opens and mends it, the worker opens only what is whole.
"""

import contextlib
import errno
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

NAME = "judge.sqlite"
APPLICATION_ID = 0x4C574A31  # "LWJ1", in the file's header: https://sqlite.org/fileformat.html#application_id
VERSION = 1
BUSY_SECONDS = 5.0  # the other process writes for milliseconds
MOST_SET_ASIDE = 10
PAGE_BYTES = 4096
SLACK = 1.25  # of the limit: results must still be written where jobs have filled it
OWNER_ONLY, OWNER_ONLY_FOLDER = 0o600, 0o700

SCHEMA = """
CREATE TABLE samples (digest BLOB PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    metric TEXT NOT NULL, purpose TEXT NOT NULL, stratum TEXT NOT NULL, weight REAL NOT NULL, priority INTEGER NOT NULL,
    trace TEXT NOT NULL, sample BLOB, state TEXT NOT NULL, added REAL NOT NULL, tries INTEGER NOT NULL DEFAULT 0,
    key BLOB, result BLOB, ended REAL, took REAL
);
CREATE INDEX jobs_waiting ON jobs (priority DESC, id) WHERE state = 'waiting';
CREATE INDEX jobs_waiting_since ON jobs (added) WHERE state = 'waiting';
CREATE INDEX jobs_waiting_of ON jobs (trace, metric) WHERE state = 'waiting';
CREATE INDEX jobs_running ON jobs (id) WHERE state = 'running';
CREATE INDEX jobs_finished ON jobs (id) WHERE state = 'finished';
CREATE INDEX jobs_told ON jobs (ended) WHERE state = 'told';
CREATE INDEX jobs_sample ON jobs (sample) WHERE sample IS NOT NULL;
CREATE INDEX jobs_key ON jobs (key) WHERE key IS NOT NULL;
CREATE TABLE calls (job INTEGER NOT NULL, key TEXT NOT NULL, sent REAL NOT NULL, response BLOB, cost BLOB, PRIMARY KEY (job, key))
    WITHOUT ROWID;
CREATE TABLE held (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, metric TEXT NOT NULL, dollars REAL, tokens INTEGER NOT NULL
);
CREATE TABLE spent (
    minute INTEGER NOT NULL, metric TEXT NOT NULL, dollars REAL NOT NULL, tokens INTEGER NOT NULL, PRIMARY KEY (minute, metric)
) WITHOUT ROWID;
CREATE TABLE workers (instance TEXT PRIMARY KEY, beat INTEGER NOT NULL, status BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE told_calls (id INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL);
CREATE TABLE said (id INTEGER PRIMARY KEY AUTOINCREMENT, level INTEGER NOT NULL, text TEXT NOT NULL);
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""
# Came later, and is missing in a file of before: a new version of it would set all that waits aside.
LATER = """
CREATE TABLE IF NOT EXISTS unpriced (
    minute INTEGER NOT NULL, metric TEXT NOT NULL, tokens INTEGER NOT NULL, PRIMARY KEY (minute, metric)
) WITHOUT ROWID
"""


class Trouble(StrEnum):
    """What is wrong with the store."""

    FULL = "full"
    READ_ONLY = "read_only"
    UNREADABLE = "unreadable"
    DAMAGED = "damaged"
    BUSY = "busy"
    IN_USE = "in_use"  # another sidecar has this folder
    BROKEN = "broken"  # the disk fails


LASTING = frozenset({Trouble.DAMAGED, Trouble.BROKEN})  # until the file is opened anew, or set aside
REMEDIES = MappingProxyType(
    {
        Trouble.FULL: "the disk is full, or judge.max_store_bytes reached: make room, change that setting, or name another folder in judge.store",
        Trouble.READ_ONLY: "the folder or its file can't be written: name one in judge.store that this user may write",
        Trouble.UNREADABLE: "the folder or its file can't be opened: name one in judge.store that this user may read and write",
        Trouble.DAMAGED: "the file is damaged, and could not be set aside: move it out of judge.store",
        Trouble.BUSY: "another process keeps the file locked: look for one that has judge.store open",
        Trouble.IN_USE: "another sidecar has this folder: give each one a judge.store of its own",
        Trouble.BROKEN: "the disk reports errors: look at the system's log, and name another folder in judge.store",
    }
)
# By the primary result code: https://sqlite.org/rescode.html
TROUBLES = MappingProxyType(
    {
        sqlite3.SQLITE_FULL: Trouble.FULL,
        sqlite3.SQLITE_READONLY: Trouble.READ_ONLY,
        sqlite3.SQLITE_PERM: Trouble.UNREADABLE,
        sqlite3.SQLITE_CANTOPEN: Trouble.UNREADABLE,
        sqlite3.SQLITE_AUTH: Trouble.UNREADABLE,
        sqlite3.SQLITE_CORRUPT: Trouble.DAMAGED,
        sqlite3.SQLITE_NOTADB: Trouble.DAMAGED,
        sqlite3.SQLITE_BUSY: Trouble.BUSY,
        sqlite3.SQLITE_LOCKED: Trouble.BUSY,
    }
)


class StoreFault(Exception):  # noqa: N818 - a finding about the disk
    """The store can't be used now. `str()` is the remedy, and holds nothing of what is stored."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(REMEDIES[trouble])
        self.trouble = trouble


@contextlib.contextmanager
def faults() -> Iterator[None]:
    """Turns what SQLite and the system raise into StoreFault."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        raise StoreFault(TROUBLES.get((code or 0) & 0xFF, Trouble.BROKEN)) from error
    except OSError as error:
        raise StoreFault(_trouble_of(error)) from error


@contextlib.contextmanager
def writing(db: sqlite3.Connection, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
    """One transaction, all or nothing. Raises StoreFault.

    A commit survives the end of a process by itself; `durable` ones also survive that of the machine, at the cost of a wait
    for the disk: https://sqlite.org/pragma.html#pragma_synchronous
    """
    with faults():
        if durable:
            db.execute("PRAGMA synchronous = FULL")
        try:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK") if db.in_transaction else None
                raise
            db.execute("COMMIT")
        except sqlite3.Error:
            if db.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
            raise
        finally:
            if durable:
                db.execute("PRAGMA synchronous = NORMAL")


def make_folder(folder: Path) -> None:
    """The folder, for its owner alone where it is made here. Raises StoreFault."""
    with faults():
        folder.mkdir(mode=OWNER_ONLY_FOLDER, parents=True, exist_ok=True)


def open_store(
    folder: Path, max_bytes: int, *, mend: bool, say: Callable[[str], None] = lambda _: None
) -> sqlite3.Connection:
    """A connection for one thread. Raises StoreFault.

    With `mend` a file that can't be used is set aside, which `say` is told in words, and begun anew; one that is not there is
    made.
    """
    path = folder / NAME
    for last in (not mend, True):
        if mend:
            _make(path)
        why = None
        with faults():
            db, why = _opened(path, max_bytes)
        if db is not None:
            return db
        if last:
            break
        aside = set_aside(path)
        if aside is None:
            break
        say(f"the store {why}: it was set aside as {aside.name}, which may hold content, and is begun anew")
    raise StoreFault(Trouble.DAMAGED)


def set_aside(path: Path) -> Path | None:
    """Rename what can't be used, with its log of writes; None where that failed or there are ten already."""
    for number in range(1, MOST_SET_ASIDE + 1):
        aside = path.with_name(f"{path.name}.set-aside-{number}")
        if os.path.lexists(aside):
            continue
        try:
            path.rename(aside)
            for suffix in ("-wal", "-shm"):
                log = path.with_name(path.name + suffix)
                if os.path.lexists(log):
                    log.rename(aside.with_name(aside.name + suffix))
        except OSError:
            return None
        return aside
    return None


def sweep_set_aside(folder: Path, oldest: float) -> list[str]:
    """Delete files set aside that were last written before `oldest` (Unix seconds), since they hold content; their names. One that does
    not tell by its header that it was ours is somebody's, and stays. Raises StoreFault.
    """
    gone = []
    with faults():
        for path in sorted(folder.glob(f"{NAME}.set-aside-*")):
            if path.name.endswith(("-wal", "-shm")) or path.is_symlink() or not path.is_file():
                continue
            parts = [part for end in ("-wal", "-shm", "") if (part := path.with_name(path.name + end)).is_file()]
            if max(part.stat().st_mtime for part in parts) >= oldest or not _was_ours(path):
                continue
            for part in parts:
                part.unlink()
            gone.append(path.name)
    return gone


def _was_ours(path: Path) -> bool:
    """By SQLite's header: https://sqlite.org/fileformat.html#the_database_header."""
    with path.open("rb") as file:
        header = file.read(72)
    return header.startswith(b"SQLite format 3\0") and header[68:72] == APPLICATION_ID.to_bytes(4, "big")


def shrink(db: sqlite3.Connection) -> None:
    """Give pages that hold nothing back to the system, and empty the log of writes, in which deleted content may still stand.
    Raises StoreFault; while the other process reads, the log is emptied next time.
    """
    with faults():
        db.execute("PRAGMA incremental_vacuum").fetchall()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def used_bytes(db: sqlite3.Connection) -> int:
    """Bytes of the file that hold something."""
    with faults():
        (pages,), (free,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "freelist_count"))
    return int(pages - free) * PAGE_BYTES


class Lock:
    """Held by one process at a time, and let go by the system when that ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Whether it is ours now. Raises StoreFault where its file can't be made."""
        with faults():
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Let it go."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _make(path: Path) -> None:
    """An empty file that only its owner may read; SQLite gives its log the same mode."""
    with faults(), contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, OWNER_ONLY))


def _opened(path: Path, max_bytes: int) -> tuple[sqlite3.Connection | None, str]:
    """The connection, or why what is there is not ours to use. Raises what SQLite raises for anything else."""
    if not path.is_file():
        return None, "is no file"
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        why = _unusable(db)
        if why is None:
            _prepare(db, max_bytes)
            return db, ""
    except sqlite3.DatabaseError as error:
        db.close()
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if TROUBLES.get(code) is not Trouble.DAMAGED:
            raise
        return None, "is damaged, or no file of SQLite"
    except BaseException:
        db.close()
        raise
    db.close()
    return None, why


def _unusable(db: sqlite3.Connection) -> str | None:
    (application,), (version,) = (
        db.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if application == version == 0 and not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return None
    if application != APPLICATION_ID:
        return "is a file of another program"
    if version != VERSION:
        return "was written by another version of Lanewatch"
    if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        return "is damaged"
    return None


def _prepare(db: sqlite3.Connection, max_bytes: int) -> None:
    db.execute("PRAGMA secure_delete = ON")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA journal_size_limit = 0")
    db.execute("PRAGMA cache_size = -1024")  # KiB: two processes, and rows that are read once
    db.execute(f"PRAGMA max_page_count = {int(max_bytes * SLACK) // PAGE_BYTES}")
    if not db.execute("PRAGMA user_version").fetchone()[0]:
        db.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")
    db.execute(LATER)


def _trouble_of(error: OSError) -> Trouble:
    if isinstance(error, PermissionError):
        return Trouble.UNREADABLE

    known = {errno.ENOSPC: Trouble.FULL, errno.EDQUOT: Trouble.FULL, errno.EROFS: Trouble.READ_ONLY}
    return known.get(error.errno or 0, Trouble.UNREADABLE)
