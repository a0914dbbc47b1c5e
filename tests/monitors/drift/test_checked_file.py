"""A file that is whole or not there; a damaged one is set aside and said, never read."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.drift.checked_file import Loaded, Trouble, read_checked, write_checked

BODY = b'{"a": [1, 2, 3]}'


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Byte for byte, readable by its owner alone, with nothing left beside it."""
    path = tmp_path / "state"
    write_checked(path, "kind", 1, BODY)

    assert read_checked(path, "kind", 1) == Loaded(BODY)
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_not_there_is_missing(tmp_path: Path) -> None:
    """No file is no damage."""
    assert read_checked(tmp_path / "none", "kind", 1) == Loaded(None, Trouble.MISSING)
    assert read_checked(tmp_path, "kind", 1).trouble is Trouble.UNREADABLE


def test_a_pipe_and_a_device_are_not_read(tmp_path: Path) -> None:
    """The one may keep its reader waiting for ever, the other has no end: neither is ever what Lanewatch wrote."""
    os.mkfifo(tmp_path / "pipe")

    assert read_checked(tmp_path / "pipe", "kind", 1).trouble is Trouble.UNREADABLE
    assert read_checked(Path("/dev/zero"), "kind", 1).trouble is Trouble.UNREADABLE


@given(st.data())
def test_any_damage_is_found_and_set_aside(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Cut anywhere, or one byte changed anywhere: never read as if it were whole."""
    path = tmp_path_factory.mktemp("damage") / "state"
    write_checked(path, "kind", 1, BODY)
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    flip = data.draw(st.integers(1, 255))
    cut = data.draw(st.booleans())
    broken = whole[:place] if cut else whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :]
    path.write_bytes(broken)
    loaded = read_checked(path, "kind", 1)

    assert loaded.body is None
    assert loaded.trouble in {Trouble.DAMAGED, Trouble.OTHER_KIND, Trouble.OTHER_VERSION}
    if loaded.trouble is Trouble.DAMAGED:
        assert loaded.set_aside is not None
        assert loaded.set_aside.read_bytes() == broken
        assert not path.exists()


def test_another_version_is_left_where_it_is(tmp_path: Path) -> None:
    """A newer Lanewatch may have written it: it is not damaged."""
    path = tmp_path / "state"
    write_checked(path, "kind", 2, BODY)

    assert read_checked(path, "kind", 1) == Loaded(None, Trouble.OTHER_VERSION)
    assert read_checked(path, "other", 2) == Loaded(None, Trouble.OTHER_KIND)
    assert read_checked(path, "kind", 2).body == BODY


def test_at_most_ten_damaged_files_are_kept(tmp_path: Path) -> None:
    """A disk that breaks every file does not fill up with them."""
    path = tmp_path / "state"
    for _ in range(15):
        path.write_bytes(b"nonsense")
        read_checked(path, "kind", 1)

    assert len(list(tmp_path.glob("state.damaged-*"))) == 10


def test_a_kill_before_the_rename_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the process ends while it writes: the old file is whole, and the next write succeeds."""
    path = tmp_path / "state"
    write_checked(path, "kind", 1, b"old")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", killed)
        with pytest.raises(KeyboardInterrupt):
            write_checked(path, "kind", 1, b"new")

    assert read_checked(path, "kind", 1).body == b"old"
    write_checked(path, "kind", 1, b"new")
    assert read_checked(path, "kind", 1).body == b"new"


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """The caller must say that nothing was saved."""
    with pytest.raises(OSError, match="No such file"):
        write_checked(tmp_path / "none" / "state", "kind", 1, BODY)


# Ends the process with SIGKILL at one step of a writing: nothing is cleaned up, no handler runs.
KILLED_AT = """
import os, signal, sys
from pathlib import Path
from lanewatch.monitors.drift import checked_file

step, path = sys.argv[1], Path(sys.argv[2])
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
real_fdopen, real_fsync, real_replace = os.fdopen, os.fsync, Path.replace
synced = 0

class HalfWritten:
    def __init__(self, stream): self.stream = stream
    def __enter__(self): return self
    def __exit__(self, *_): die()
    def write(self, content):
        self.stream.write(content[: len(content) // 2]); self.stream.flush(); die()

def fsync(descriptor):
    global synced
    synced += 1
    if step == ("file_sync", "folder_sync")[synced - 1]: die()
    real_fsync(descriptor)
    if step == "folder_synced" and synced == 2: die()

if step == "open": os.open = die
if step == "half_written": os.fdopen = lambda *given: HalfWritten(real_fdopen(*given))
if step == "rename": Path.replace = die
if step == "renamed": Path.replace = lambda self, target: (real_replace(self, target), die())
os.fsync = fsync
checked_file.write_checked(path, "kind", 1, b"new" * 1000)
"""


@pytest.mark.parametrize(
    ("step", "left"),
    [
        ("open", b"old"),
        ("half_written", b"old"),
        ("file_sync", b"old"),
        ("rename", b"old"),
        ("renamed", b"new" * 1000),
        ("folder_sync", b"new" * 1000),
        ("folder_synced", b"new" * 1000),
    ],
)
def test_a_kill_at_any_step_leaves_the_old_file_or_the_new_one(tmp_path: Path, step: str, left: bytes) -> None:
    """A real SIGKILL: whole either way, nothing set aside, and the next writing succeeds over what was left."""
    path = tmp_path / "state"
    write_checked(path, "kind", 1, b"old")
    done = subprocess.run([sys.executable, "-c", KILLED_AT, step, str(path)], timeout=60, check=False)

    assert done.returncode == -signal.SIGKILL
    assert read_checked(path, "kind", 1) == Loaded(left)
    write_checked(path, "kind", 1, b"next")
    assert read_checked(path, "kind", 1) == Loaded(b"next")
    assert list(tmp_path.iterdir()) == [path]
