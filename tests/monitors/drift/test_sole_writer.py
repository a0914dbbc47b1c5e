"""Two processes with one folder: neither writes over what the other left there, and one of them is told."""

from pathlib import Path

import pytest
from lanewatch.monitors.drift.checked_file import write_checked
from lanewatch.monitors.drift.sole_writer import SharedFolderError, SoleWriter


def write(writer: SoleWriter, folder: Path, body: bytes) -> None:
    """As the state is written: beside, then renamed."""
    writer.write("state", lambda: write_checked(folder / "state", "kind", 1, body))


def test_one_process_writes_as_often_as_it_likes(tmp_path: Path) -> None:
    """The file may be there before it, or be put aside in between."""
    write_checked(tmp_path / "state", "kind", 1, b"before")
    writer = SoleWriter(tmp_path, ("state",))
    write(writer, tmp_path, b"one")
    (tmp_path / "state").unlink()
    write(writer, tmp_path, b"two")
    write(writer, tmp_path, b"two")

    assert (tmp_path / "state").read_bytes().endswith(b"two")


def test_of_two_the_first_goes_on_and_the_other_is_refused_each_time(tmp_path: Path) -> None:
    """Taking turns would leave each with the other's evidence after a restart."""
    first, second = SoleWriter(tmp_path, ("state",)), SoleWriter(tmp_path, ("state",))
    for _ in range(3):
        write(first, tmp_path, b"first")
        with pytest.raises(SharedFolderError):
            write(second, tmp_path, b"second")

    assert (tmp_path / "state").read_bytes().endswith(b"first")


def test_a_successor_is_refused_one_turn_by_what_its_predecessor_wrote_last(tmp_path: Path) -> None:
    """Then nobody else writes there."""
    old, new = SoleWriter(tmp_path, ("state",)), SoleWriter(tmp_path, ("state",))
    write(old, tmp_path, b"old")
    with pytest.raises(SharedFolderError):
        write(new, tmp_path, b"new")
    write(new, tmp_path, b"new")

    assert (tmp_path / "state").read_bytes().endswith(b"new")
