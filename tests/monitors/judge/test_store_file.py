"""The file: its owner's alone, set aside where it is not ours, and typed faults where the disk says no."""

import errno
import os
import sqlite3
import stat
from pathlib import Path

import pytest
from lanewatch.monitors.judge.settings import StoreLimits
from lanewatch.monitors.judge.store_file import (
    NAME,
    SLACK,
    Lock,
    StoreFault,
    Trouble,
    faults,
    make_folder,
    open_store,
    set_aside,
    shrink,
    sweep_set_aside,
    used_bytes,
    writing,
)
from lanewatch.monitors.judge.store_queue import add_jobs, queue_state

from tests.monitors.judge.stores import MIB, a_job, a_store, closed_stores  # noqa: F401 - a fixture


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    """The folder, the file, and the log of writes beside it, whatever the umask."""
    before = os.umask(0)
    try:
        make_folder(tmp_path / "judge")
        db = a_store(tmp_path / "judge")
        add_jobs(db, [a_job()], StoreLimits(), 0.0)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "judge").iterdir()}

    assert stat.S_IMODE((tmp_path / "judge").stat().st_mode) == 0o700
    assert modes == {NAME: 0o600, f"{NAME}-wal": 0o600, f"{NAME}-shm": 0o600}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"SQLite format 3\x00" + b"\xff" * 5000, "is damaged"),
        (b"a text of somebody's", "is damaged"),
        (b"\x00" * 4096, "is damaged"),
    ],
)
def test_what_is_no_store_is_set_aside_and_said(tmp_path: Path, content: bytes, told: str) -> None:
    """It is neither read nor deleted, and judging goes on."""
    (tmp_path / NAME).write_bytes(content)
    said: list[str] = []
    db = open_store(tmp_path, MIB, mend=True, say=said.append)

    assert queue_state(db, 0.0).jobs["waiting"] == 0
    assert told in said[0]
    assert f"{NAME}.set-aside-1" in said[0]
    assert (tmp_path / f"{NAME}.set-aside-1").read_bytes() == content


def test_another_program_s_file_is_set_aside_whole(tmp_path: Path) -> None:
    """Its log of writes goes with it, so that its owner finds all of it."""
    other = sqlite3.connect(tmp_path / NAME)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("CREATE TABLE t (x)")
    other.execute("INSERT INTO t VALUES (7)")
    other.commit()
    said: list[str] = []
    a_db = open_store(tmp_path, MIB, mend=True, say=said.append)
    other.close()
    found = sqlite3.connect(tmp_path / f"{NAME}.set-aside-1").execute("SELECT x FROM t").fetchall()

    assert "another program" in said[0]
    assert found == [(7,)]
    a_db.close()


def test_another_version_is_set_aside(tmp_path: Path) -> None:
    """A newer Lanewatch's tables are not guessed at."""
    db = a_store(tmp_path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    said: list[str] = []
    open_store(tmp_path, MIB, mend=True, say=said.append).close()

    assert "another version" in said[0]


def test_what_was_ours_and_set_aside_is_deleted_after_the_retention_and_nothing_else(tmp_path: Path) -> None:
    """It holds content without end otherwise; what was another program's, or does not tell, is not ours to delete."""
    now = 1_800_000_000.0
    db = a_store(tmp_path)
    add_jobs(db, [a_job("t")], StoreLimits(), 0.0)
    db.close()
    ours = (tmp_path / NAME).read_bytes()
    old, fresh, written = (tmp_path / f"{NAME}.set-aside-{number}" for number in (1, 2, 3))
    for path in (old, fresh, written):
        path.write_bytes(ours)
    theirs = tmp_path / f"{NAME}.set-aside-4"
    sqlite3.connect(theirs).execute("CREATE TABLE t (x)").connection.close()
    unknown = tmp_path / f"{NAME}.set-aside-5"
    unknown.write_bytes(b"no database")
    log = tmp_path / f"{NAME}.set-aside-1-wal"
    log.write_bytes(b"log")
    later = tmp_path / f"{NAME}.set-aside-3-wal"
    later.write_bytes(b"log")
    for path in (old, written, theirs, unknown, log, tmp_path / NAME):
        os.utime(path, (now - 11, now - 11))
    os.utime(fresh, (now, now))
    os.utime(later, (now, now))

    assert sweep_set_aside(tmp_path, now - 10) == [old.name]
    assert not old.exists()
    assert not log.exists()
    assert all(path.exists() for path in (fresh, written, later, theirs, unknown, tmp_path / NAME))


def test_what_can_t_be_set_aside_is_a_fault(tmp_path: Path) -> None:
    """Ten that nobody looked at are enough."""
    for number in range(1, 11):
        (tmp_path / f"{NAME}.set-aside-{number}").touch()
    (tmp_path / NAME).write_bytes(b"x" * 5000)

    with pytest.raises(StoreFault) as fault:
        open_store(tmp_path, MIB, mend=True)
    assert fault.value.trouble is Trouble.DAMAGED
    assert set_aside(tmp_path / "not there") is None


def test_the_worker_mends_nothing(tmp_path: Path) -> None:
    """A file that the sidecar has set aside must not come back by the worker's hand."""
    with pytest.raises(StoreFault):
        open_store(tmp_path, MIB, mend=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_damaged_in_its_middle_is_set_aside(tmp_path: Path) -> None:
    """What a disk lost behind a whole header is found at the start, not a week later."""
    db = a_store(tmp_path)
    add_jobs(db, [a_job(f"t{n}", answer="x" * 3000) for n in range(50)], StoreLimits(), 0.0)
    shrink(db)
    db.close()
    content = bytearray((tmp_path / NAME).read_bytes())
    content[4096 * 3 : 4096 * 9] = os.urandom(4096 * 6)
    (tmp_path / NAME).write_bytes(content)
    said: list[str] = []
    again = open_store(tmp_path, MIB, mend=True, say=said.append)

    assert "damaged" in said[0]
    assert queue_state(again, 0.0).jobs["waiting"] == 0


def test_a_full_disk_is_a_fault_and_nothing_half_written(tmp_path: Path) -> None:
    """SQLite's own limit of pages stands in for the disk's: the same error of the same statement."""
    db = open_store(tmp_path, MIB, mend=True)
    db.execute("PRAGMA max_page_count = 60")

    with pytest.raises(StoreFault) as fault:
        add_jobs(db, [a_job(f"t{n}", answer="x" * 4000) for n in range(200)], StoreLimits(), 0.0)
    assert fault.value.trouble is Trouble.FULL
    assert queue_state(db, 0.0).jobs["waiting"] == 0
    add_jobs(db, [a_job()], StoreLimits(), 0.0)
    assert queue_state(db, 0.0).jobs["waiting"] == 1


def test_a_folder_that_can_t_be_made_is_a_fault(tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "file").touch()

    with pytest.raises(StoreFault) as fault:
        make_folder(tmp_path / "file" / "judge")
    assert fault.value.trouble is Trouble.UNREADABLE


@pytest.mark.parametrize(
    ("raised", "trouble"),
    [
        (OSError(errno.ENOSPC, ""), Trouble.FULL),
        (OSError(errno.EROFS, ""), Trouble.READ_ONLY),
        (PermissionError(errno.EACCES, ""), Trouble.UNREADABLE),
        (sqlite3.DatabaseError("x"), Trouble.BROKEN),
    ],
)
def test_each_fault_has_its_kind_and_remedy(raised: Exception, trouble: Trouble) -> None:
    """Whoever reads the log knows what to do."""
    with pytest.raises(StoreFault, match=r"judge\.store|disk") as fault, faults():
        raise raised
    assert fault.value.trouble is trouble


def test_a_file_that_may_not_be_written_is_a_fault(tmp_path: Path) -> None:
    """Read-only by SQLite's own switch, as tests may run as a user whom no mode stops."""
    db = a_store(tmp_path)
    db.execute("PRAGMA query_only = ON")

    with pytest.raises(StoreFault) as fault:
        add_jobs(db, [a_job()], StoreLimits(), 0.0)
    assert fault.value.trouble is Trouble.READ_ONLY


def test_another_s_lock_is_waited_for_and_then_a_fault(tmp_path: Path) -> None:
    """The other process writes for milliseconds; one that hangs is no reason to hang too."""
    db, other = a_store(tmp_path), a_store(tmp_path)
    db.execute("PRAGMA busy_timeout = 1")
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreFault) as fault:
        add_jobs(db, [a_job()], StoreLimits(), 0.0)
    assert fault.value.trouble is Trouble.BUSY
    other.execute("ROLLBACK")
    add_jobs(db, [a_job()], StoreLimits(), 0.0)


def test_what_failed_half_way_leaves_nothing(tmp_path: Path) -> None:
    """One transaction, all or nothing, also where the fault is not the disk's."""
    db = a_store(tmp_path)

    def fail() -> None:
        with writing(db):
            db.execute("INSERT INTO facts VALUES ('x', 1)")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert db.execute("SELECT count(*) FROM facts").fetchone() == (0,)


def test_deleted_content_leaves_the_disk(tmp_path: Path) -> None:
    """Neither free pages nor the log of writes keep what was deleted."""
    db = a_store(tmp_path)
    add_jobs(db, [a_job(answer="a secret of a customer" * 50)], StoreLimits(), 0.0)
    written = used_bytes(db)
    with writing(db):
        db.execute("DELETE FROM jobs")
        db.execute("DELETE FROM samples")
    shrink(db)
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert b"secret" not in left
    assert used_bytes(db) < written
    assert SLACK > 1


def test_a_lock_is_one_s_alone_until_it_is_released(tmp_path: Path) -> None:
    """Two sidecars, or two workers, on one folder would judge everything twice."""
    mine, other = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")

    assert mine.take()
    assert not other.take()
    mine.release()
    assert other.take()
    other.release()
