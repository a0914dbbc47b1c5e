"""What the report says to do: something for every reason for which a lane is handed to somebody."""

from pathlib import Path

import pytest
from lanewatch.config.keys import Config
from lanewatch.handoffs.handoff import lane_handoffs
from lanewatch.monitors.tools import UNREGISTERED
from lanewatch.replaying.next_steps import RECORDS, STATES, next_step
from lanewatch.replaying.playback import replay

CORPUS = Path(__file__).parents[1] / "corpus"


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("state", STATES)
def test_evidence_of_any_kind_that_is_not_whole_has_a_step(record: str, state: str) -> None:
    """By its state, whatever the record."""
    assert next_step((f"{record}_{state}",)) == STATES[state]


@pytest.mark.parametrize(
    ("reasons", "word"),
    [
        (("not_dispatched:blocked",), "guard"),
        (("unrequested:repeated",), "who calls the tool"),
        (("policy:no_refund_without_order",), "policy"),
        (("artifact_missing",), "producer"),
        (("outcome_unknown",), "fact"),
    ],
)
def test_a_reason_with_more_behind_it_has_the_step_of_its_kind(reasons: tuple[str, ...], word: str) -> None:
    """A policy's name and a producer's fault are open lists."""
    assert word in (next_step(reasons) or "")


def test_what_says_nothing_has_no_step() -> None:
    """And a further reason is looked at."""
    assert next_step(("no_tool_call",)) is None
    assert next_step(()) is None
    assert next_step(("something_new", "refusal")) == next_step(("refusal",))


def test_every_lane_that_recordings_hand_over_has_a_step() -> None:
    """Over one stack of each shape: a reason that is new must not leave who was paged without a word."""
    captures = [
        path for stack in ("langchain_oi", "openai_oi", "pydantic-ai-fmt6") for path in (CORPUS / stack).iterdir()
    ]
    handed = [
        one.reasons
        for path in captures
        for seen in replay(path, Config()).observations
        for one in lane_handoffs(seen, UNREGISTERED)
    ]

    assert len(handed) > 20
    assert [reasons for reasons in handed if next_step(reasons) is None] == []
