"""What survives in the state folder, and what a damaged file leads to."""

import random
from pathlib import Path

import pytest
from lanewatch.monitors.drift import state_folder
from lanewatch.monitors.drift.building import ReferenceBuilder
from lanewatch.monitors.drift.checked_file import Trouble

from tests.monitors.drift.traces import Habits, traces


def learning(count: int) -> ReferenceBuilder:
    """A builder that has seen so many traces, fitted to the first 600."""
    builder = ReferenceBuilder(random.Random(0), fit_traces=600, max_services=2)
    for facts in traces(random.Random(1), count, 4 * 86_400, 1.0, Habits()):
        builder.observe(facts)
    return builder


def test_what_was_learnt_is_read_as_it_was_written(tmp_path: Path) -> None:
    """All of the counting comes back."""
    builder = learning(1500)
    state_folder.write_learning(tmp_path, builder.state())
    read = state_folder.read_learning(tmp_path)
    again = ReferenceBuilder(random.Random(2))
    assert read.value is not None
    again.restore(read.value)

    assert read.trouble is None
    assert again.reference(0) == builder.reference(0)


def test_the_folder_is_made_in_one_that_is_there_and_nowhere_else(tmp_path: Path) -> None:
    """A volume comes empty; a path that is mistyped further up is a fault, and no new tree."""
    state_folder.write_learning(tmp_path / "drift", learning(700).state())

    assert (tmp_path / "drift").stat().st_mode & 0o777 == 0o700
    assert state_folder.read_learning(tmp_path / "drift").value is not None
    with pytest.raises(FileNotFoundError):
        state_folder.write_learning(tmp_path / "varr" / "drift", learning(700).state())


@pytest.mark.parametrize("harm", ["cut", "flipped", "foreign"])
def test_a_damaged_file_is_set_aside_and_said(tmp_path: Path, harm: str) -> None:
    """It is never read as if it were whole, and never deleted."""
    path = tmp_path / state_folder.LEARNING
    if harm == "foreign":
        path.write_bytes(b"not ours at all")
    else:
        state_folder.write_learning(tmp_path, learning(700).state())
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content[: len(content) // 2] if harm == "cut" else content)
    before = path.read_bytes()
    read = state_folder.read_learning(tmp_path)

    assert (read.value, read.trouble) == (None, Trouble.DAMAGED)
    assert read.set_aside is not None
    assert read.set_aside.read_bytes() == before
    assert state_folder.read_learning(tmp_path).trouble is Trouble.MISSING


def test_writing_often_does_not_split_hours() -> None:
    """A state is taken each minute: an hour stays one row however often, else 35 days would not fit."""
    builder = ReferenceBuilder(random.Random(0), fit_traces=600)
    for number, facts in enumerate(traces(random.Random(1), 2400, 4 * 86_400, 0.25, Habits())):
        builder.observe(facts)
        if number % 100 == 0:
            builder.state()
    rows = builder.state().counting
    assert rows is not None

    assert [row.hour for row in rows.rows["shop"]["latency"]] == [96, 97, 98]


def test_services_beyond_the_limit_are_counted_as_other() -> None:
    """Two services of five have series of their own."""
    builder = ReferenceBuilder(random.Random(0), fit_traces=1500, max_services=2)
    streams = [traces(random.Random(k), 800, 4 * 86_400, 0.2, Habits(), f"service {k}") for k in range(5)]
    for seen in zip(*streams, strict=True):
        for facts in seen:
            builder.observe(facts)
    reference = builder.reference(0)
    assert reference is not None

    assert set(reference.layout.services) == {"service 0", "service 1", "other"}
    assert builder.told.folded == (800 - 300) * 3
    assert builder.told.unknown_service == 0
