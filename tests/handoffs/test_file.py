"""The file of handoffs: bounded, private, and read back."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lanewatch.handoffs import file as handoff_file
from lanewatch.handoffs.file import HandoffFile, find
from lanewatch.handoffs.handoff import Handoff, line_of

from tests.handoffs.test_handoff import DROPPED, handed, observed


def line(trace_id: str, revision: int = 0) -> bytes:
    """A handoff of a trace."""
    handoff: Handoff = handed(observed(**DROPPED, trace_id=trace_id, revision=revision))
    made = line_of(handoff, 10**6)
    assert made is not None
    return made


def test_a_file_is_set_aside_at_its_limit_and_the_last_one_goes(tmp_path: Path) -> None:
    """Three lines a file, two files kept beside the newest: the latest lines are found, the first are gone."""
    ids = [f"{number:032x}" for number in range(1, 15)]
    size = len(line(ids[0])) + 1
    file = HandoffFile(tmp_path / "h.jsonl", max_bytes=3 * size, kept=2)

    for one in ids:
        file.append(line(one))

    assert sorted(path.name for path in tmp_path.iterdir()) == ["h.jsonl", "h.jsonl.1", "h.jsonl.2"]
    assert all(path.stat().st_size <= 3 * size for path in tmp_path.iterdir())
    found = [bool(find(tmp_path / "h.jsonl", one, kept=2).handoffs) for one in ids]
    assert found == [False] * 6 + [True] * 8


def test_nothing_is_kept_beside_the_newest_where_none_may_be(tmp_path: Path) -> None:
    """`kept` of 0 is one file."""
    file = HandoffFile(tmp_path / "h.jsonl", max_bytes=65536, kept=0)
    for number in range(60):
        file.append(line(f"{number:032x}"))

    assert [path.name for path in tmp_path.iterdir()] == ["h.jsonl"]
    assert (tmp_path / "h.jsonl").stat().st_size <= 65536


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    """Redacted content is content still."""
    HandoffFile(tmp_path / "h.jsonl", max_bytes=65536, kept=1).append(b"{}")

    assert stat.S_IMODE((tmp_path / "h.jsonl").stat().st_mode) == 0o600


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Somebody who may write to the folder must not choose what is written to."""
    (tmp_path / "h.jsonl").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic links"):
        HandoffFile(tmp_path / "h.jsonl", max_bytes=65536, kept=1).append(b"{}")

    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_an_error_and_holds_nobody_up(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """Opening a pipe that nobody reads would stop the reading of traces for good."""
    make(tmp_path / "h.jsonl")

    with pytest.raises(OSError, match=r"not a regular file|No such device|Is a directory"):
        HandoffFile(tmp_path / "h.jsonl", max_bytes=65536, kept=1).append(b"{}")
    with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
        find(tmp_path / "h.jsonl", "abab", kept=1)


def test_a_line_that_a_full_disk_cuts_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the next line that fits would continue it, and both were lost."""
    whole = os.write
    file = HandoffFile(tmp_path / "h.jsonl", max_bytes=65536, kept=1)
    file.append(line("aa" * 16))
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda descriptor, data: whole(descriptor, data[:100]))
        with pytest.raises(OSError, match="No space"):
            file.append(line("bb" * 16))
    file.append(line("cc" * 16))

    found = [find(tmp_path / "h.jsonl", one * 16, kept=1) for one in ("aa", "bb", "cc")]
    assert [len(one.handoffs) for one in found] == [1, 0, 1]
    assert not any(one.damaged for one in found)


def test_a_file_that_is_set_aside_while_it_is_read_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two openings the sidecar may rename the files: nothing is missed, and nothing told twice."""
    path = tmp_path / "h.jsonl"
    file = HandoffFile(path, max_bytes=1, kept=3)  # a line a file
    for one in ("aa", "bb"):
        file.append(line(one * 16))
    plain, opened = handoff_file._without_waiting, []

    def rotating(name: str, flags: int) -> int:
        descriptor = plain(name, flags)
        opened.append(name)
        if len(opened) == 1:
            file.append(line("cc" * 16))
        return descriptor

    monkeypatch.setattr(handoff_file, "_without_waiting", rotating)

    assert [one.trace_id[:2] for one in find(path, "", kept=3).handoffs] == ["aa", "bb"]


def test_damaged_lines_are_counted_and_the_others_found(tmp_path: Path) -> None:
    """A full disk cuts a line; what another version wrote can't be read."""
    good = line("ab" * 16)
    (tmp_path / "h.jsonl").write_bytes(
        good[: len(good) // 2] + b"\n" + b'{"trace_id":"abab' + b"\n\xff\n" + good + b"\n"
    )

    found = find(tmp_path / "h.jsonl", "abab", kept=0)

    assert (found.damaged, [handoff.trace_id for handoff in found.handoffs]) == (2, ["ab" * 16])


def show(folder: Path, trace_id: str, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run `lanewatch show`."""
    command = [sys.executable, "-m", "lanewatch", "show", trace_id, "--file", str(folder / "h.jsonl"), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_show_prints_the_latest_handoff_with_the_owner(tmp_path: Path) -> None:
    """A revision replaces what was handed over before."""
    (tmp_path / "h.jsonl").write_bytes(line("ab" * 16) + b"\n" + line("ab" * 16, revision=1) + b"\n")

    done = show(tmp_path, "ABAB")

    assert done.returncode == 0
    assert "hand to   agent runtime: tools fail (not_dispatched:dropped)" in done.stdout
    assert done.stdout.count("hand to") == 1
    assert "revision 1" in done.stdout


def test_show_prints_json_on_request(tmp_path: Path) -> None:
    """The same object as in the file."""
    (tmp_path / "h.jsonl").write_bytes(line("ab" * 16) + b"\n")

    assert json.loads(show(tmp_path, "ab" * 16, "--format", "json").stdout) == json.loads(line("ab" * 16))


@pytest.mark.parametrize(
    ("trace_id", "told"),
    [("xyz1", "is no trace id"), ("abc", "at least 4"), ("abab", "no such file"), ("\x1b[31m", "\\x1b[31m")],
)
def test_show_says_what_is_wrong(tmp_path: Path, trace_id: str, told: str) -> None:
    """Status 1 and a remedy; nothing that steers the terminal."""
    done = show(tmp_path, trace_id)

    assert (done.returncode, done.stdout) == (1, "")
    assert told in done.stderr
    assert "\x1b" not in done.stderr


def test_show_says_where_a_trace_may_be_that_is_not_there(tmp_path: Path) -> None:
    """It passed, is open still, or was rotated away."""
    (tmp_path / "h.jsonl").write_bytes(line("ab" * 16) + b"\n")

    done = show(tmp_path, "cdcd")

    assert done.returncode == 1
    assert "rotated away" in done.stderr
