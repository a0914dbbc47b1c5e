"""When handoffs are written, and when they are only counted."""

import json
from pathlib import Path
from typing import Any

import pytest
from lanewatch.adapters.records import Outcome
from lanewatch.config.keys import Config
from lanewatch.handoffs.desk import TOO_MANY, WRITTEN, HandoffDesk
from lanewatch.rules import NO_RULES

from tests.handoffs.test_handoff import DROPPED, observed
from tests.monitors.records import answer, request


def test_lines_beyond_those_of_a_minute_are_counted_and_not_written(tmp_path: Path) -> None:
    """Where every trace fails, hiding what is in them must not hold up the reading of others; a minute later there is room."""
    settings = {"file": str(tmp_path / "h.jsonl"), "per_minute": 2}
    now = 0.0
    desk = HandoffDesk(Config.model_validate({"handoff": settings}), NO_RULES, lambda: now)

    first = [desk.write(observed(**DROPPED, trace_id=f"{n:032x}")) for n in range(4)]
    now = 60.0
    later = desk.write(observed(**DROPPED, trace_id="ff" * 16))

    assert (first, later) == ([WRITTEN, WRITTEN, TOO_MANY, TOO_MANY], WRITTEN)
    written = [json.loads(line)["trace_id"] for line in (tmp_path / "h.jsonl").read_text().splitlines()]
    assert written == ["00" * 16, f"{1:032x}", "ff" * 16]


def test_a_trace_that_is_handed_to_nobody_takes_no_room(tmp_path: Path) -> None:
    """Only lines count."""
    desk = HandoffDesk(Config.model_validate({"handoff": {"file": str(tmp_path / "h"), "per_minute": 1}}), NO_RULES)

    assert [desk.write(observed()) for _ in range(3)] == [None] * 3
    assert desk.write(observed(**DROPPED)) == WRITTEN


@pytest.mark.parametrize(
    "large",
    [
        {"requests": tuple(request("pay", call_id=str(n), outcome=Outcome.NOT_DISPATCHED) for n in range(100))},
        {**DROPPED, "responses": (answer("a word " * 5_000),)},
    ],
)
def test_a_large_trace_takes_the_room_of_several(tmp_path: Path, large: dict[str, Any]) -> None:
    """A trace of 10,000 calls takes 2 s: the bound is on the time that handoffs take from reading."""
    desk = HandoffDesk(Config.model_validate({"handoff": {"file": str(tmp_path / "h"), "per_minute": 4}}), NO_RULES)

    assert [desk.write(observed(**fields)) for fields in (DROPPED, large, DROPPED)] == [WRITTEN, WRITTEN, TOO_MANY]
