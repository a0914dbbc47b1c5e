"""The recorded captures are whole, bounded, and made by the copy script alone."""

import gzip
import json
from pathlib import Path

import pytest

from tests.corpus.copy_captures import BUDGET_BYTES, main

HERE = Path(__file__).resolve().parent
CAPTURES = sorted(path.parent for path in HERE.glob("*/*/truth.json"))


def test_every_capture_has_a_truth_and_bodies_that_can_be_read() -> None:
    """A folder is STACK/SCENARIO as its truth says, and each body is one complete gzip member."""
    for capture in CAPTURES:
        truth = json.loads((capture / "truth.json").read_text())
        bodies = sorted(capture.glob("*.gz"))

        assert (truth["stack"], truth["scenario"]) == (capture.parent.name, capture.name)
        assert bodies
        assert all(gzip.decompress(body.read_bytes()) for body in bodies)
        assert len(list(capture.iterdir())) == len(bodies) + 1


def test_the_captures_cover_every_stack_and_scenario_within_the_budget() -> None:
    """30 stacks and 39 scenarios; the repository stays small enough to clone in seconds."""
    size = sum(path.stat().st_size for capture in CAPTURES for path in capture.iterdir())

    assert len({capture.parent.name for capture in CAPTURES}) == 30
    assert len({capture.name for capture in CAPTURES}) == 39
    assert size <= BUDGET_BYTES


def test_copying_replaces_captures_and_is_reproducible(tmp_path: Path) -> None:
    """The same capture always gives the same bytes, and an old capture does not linger."""
    source, target = tmp_path / "source", tmp_path / "target"
    capture = source / "stack" / "01_right_tool"
    capture.mkdir(parents=True)
    (capture / "truth.json").write_text("{}")
    (capture / "request-000.pb").write_bytes(b"spans")
    (target / "old" / "01_right_tool").mkdir(parents=True)
    (target / "old" / "01_right_tool" / "truth.json").write_text("{}")

    main(source, target)
    first = (target / "stack" / "01_right_tool" / "request-000.pb.gz").read_bytes()
    main(source, target)

    assert (target / "stack" / "01_right_tool" / "request-000.pb.gz").read_bytes() == first
    assert gzip.decompress(first) == b"spans"
    assert not (target / "old" / "01_right_tool").exists()


def test_a_folder_without_captures_removes_nothing(tmp_path: Path) -> None:
    """A wrong argument must not empty the corpus."""
    kept = tmp_path / "target" / "stack" / "scenario" / "truth.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")

    with pytest.raises(SystemExit, match="0 captures"):
        main(tmp_path / "empty", tmp_path / "target")

    assert kept.exists()
