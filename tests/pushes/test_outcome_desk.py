"""Pushed outcomes meet their traces in any order, within bounds, and none of them is lost without being counted."""

from collections.abc import Callable
from typing import Any

import pytest
from lanewatch.adapters.outcome_facts import MOST
from lanewatch.adapters.records import TraceRecord
from lanewatch.collector.outcomes import RefusalReason, Refused
from lanewatch.monitors.lanes import Lane
from lanewatch.observation import Observation
from lanewatch.pushes.artifact_desk import ArtifactDesk, DeskLimits
from lanewatch.pushes.artifact_push import parse_push
from lanewatch.pushes.outcome_box import BoxLimits, OutcomeBox
from lanewatch.pushes.outcome_push import PushedOutcome, parse_outcome

from tests.monitors.records import record

CANARY = b"canary-3f9c"


def trace(number: int, session: str | None = None) -> TraceRecord:
    """A trace of a session."""
    return record(trace_id=f"{number:032x}", session_id=session, start_ns=number)


def desk(lost: list[int] | None = None, now: list[float] | None = None, **limits: Any) -> ArtifactDesk:
    """A desk; `lost` gets an item for each outcome that is given up."""
    clock, gone = now if now is not None else [0.0], lost if lost is not None else []
    box = OutcomeBox(BoxLimits(**limits), lambda: clock[0], lambda: gone.append(1))
    return ArtifactDesk(DeskLimits(), lambda: clock[0], box=box)


def statuses(observations: list[Observation]) -> list[tuple[str, str]]:
    """(end of trace id, status of the outcome lane)."""
    return [(seen.record.trace_id[-1], seen.lanes[Lane.OUTCOME].status.value) for seen in observations]


def of_trace(number: int, status: Any = "fail", **fields: Any) -> PushedOutcome:
    """An outcome of a trace."""
    return PushedOutcome("refund", trace_id=f"{number:032X}", status=status, **fields)


def test_an_outcome_after_its_trace_changes_the_outcome_lane() -> None:
    """And no other trace's."""
    at = desk()
    at.seen(Observation(trace(1), (), {}), 10)
    at.seen(Observation(trace(2), (), {}), 10)

    assert statuses(at.told(of_trace(1), 5)) == [("1", "fail")]
    assert statuses(at.told(of_trace(2, "pass"), 5)) == [("2", "pass")]


def test_an_outcome_before_its_trace_waits_for_it() -> None:
    """Whoever checks the state may be faster than an exporter's batch."""
    at = desk()

    assert at.told(of_trace(1), 5) == []
    assert at.waiting == 1
    assert statuses(at.seen(Observation(trace(1), (), {}), 10)) == [("1", "fail")]
    assert at.waiting == 0


def test_a_trace_that_is_read_again_keeps_its_outcomes() -> None:
    """A late span takes nothing back that somebody saw."""
    at = desk()
    at.seen(Observation(trace(1), (), {}), 10)
    at.told(of_trace(1), 5)

    assert statuses(at.seen(Observation(trace(1), (), {}), 10)) == [("1", "fail")]


def test_a_later_outcome_of_one_name_counts_and_a_time_orders_them() -> None:
    """Refunded, and then taken back; an older sighting that arrives late changes nothing."""
    at = desk()
    at.seen(Observation(trace(1), (), {}), 10)

    assert statuses(at.told(of_trace(1, "pass", time=100.0), 5)) == [("1", "pass")]
    assert statuses(at.told(of_trace(1, "fail", time=200.0), 5)) == [("1", "fail")]
    assert statuses(at.told(of_trace(1, "pass", time=150.0), 5)) == [("1", "fail")]


def test_an_outcome_of_a_session_is_of_its_latest_trace_and_of_no_other_session() -> None:
    """The state after a conversation is the state after its last turn so far."""
    at = desk()
    for number, session in ((1, "a"), (2, "a"), (3, "b")):
        at.seen(Observation(trace(number, session), (), {}), 10)

    assert statuses(at.told(PushedOutcome("refund", session_id="a", status="fail"), 5)) == [("2", "fail")]
    assert at.told(PushedOutcome("refund", session_id="c", status="fail"), 5) == []
    assert statuses(at.seen(Observation(trace(4, "c"), (), {}), 10)) == [("4", "fail")]


def test_what_waits_is_bounded_in_number_bytes_and_time_and_told_when_it_goes() -> None:
    """The oldest goes first."""
    lost: list[int] = []
    now = [0.0]
    at = desk(lost, now, waiting=2, waiting_bytes=100, waiting_seconds=10)
    for number in range(3):
        at.told(of_trace(number), 10)
    assert len(lost) == 1
    at.told(of_trace(9), 95)
    assert (len(lost), at.waiting) == (3, 1)
    now[0] = 11.0
    at.seen(Observation(trace(9), (), {}), 10)
    assert (len(lost), at.waiting) == (4, 0)
    at.told(of_trace(7), 1)
    at.close()

    assert (len(lost), at.waiting) == (5, 0)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"", "not JSON"),
        (b"[]", "at its top"),
        (b'{"name": ""}', "$.name"),
        (b'{"name": "x", "status": "pass"}', "one of trace_id and session_id"),
        (b'{"name": "x", "status": "pass", "trace_id": "zz"}', "32 hexadecimal"),
        (b'{"name": "x", "session_id": "s"}', "status is needed"),
        (b'{"name": "x", "session_id": "s", "expected": 1}', "status is needed"),
        (b'{"name": "x", "session_id": "s", "status": "' + CANARY + b'"}', "$.status"),
        (b'{"name": "x", "session_id": "s", "status": "pass", "time": -1}', "$.time"),
        (b'{"a": ' * 5000, "not JSON"),
    ],
)
def test_a_body_that_tells_no_outcome_is_refused_with_its_place(body: bytes, place: str) -> None:
    """And without its content."""
    with pytest.raises(Refused, match=r".*") as refused:
        parse_outcome(body)

    assert refused.value.reason is RefusalReason.NO_OUTCOME
    assert place in str(refused.value)
    assert CANARY.decode() not in str(refused.value)


def test_null_is_a_state_like_any_other() -> None:
    """An expected null that was found is right; one that is not there is missing."""
    body = b'{"name": "x", "session_id": "s", "expected": null, "observed": null}'

    assert parse_outcome(body).fact().held is True


def test_a_flood_of_outcomes_for_one_trace_is_bounded_and_told() -> None:
    """Each judges all that were told before anew: what comes after a thousand is given up."""
    lost: list[int] = []
    at = desk(lost, [0.0])
    at.seen(Observation(trace(1), (), {}), 10)
    for _ in range(MOST):
        assert at.told(of_trace(1), 10)

    assert at.told(of_trace(1), 10) == []
    assert len(lost) == 1


def test_memory_of_what_is_told_counts_and_not_its_json() -> None:
    """A list of nothing takes three bytes of JSON and sixty of memory."""
    body = b'{"name": "x", "session_id": "s", "observed": 1, "expected": [' + b"[]," * 10_000 + b"1]}"

    assert parse_outcome(body).memory() > 10 * len(body)


@pytest.mark.parametrize("parse", [parse_outcome, parse_push])
def test_a_body_of_very_many_parts_is_refused_before_it_is_read(parse: Callable[[bytes], object]) -> None:
    """A million lists in four megabytes kept all threads waiting for a second."""
    with pytest.raises(Refused, match="100000 lists and objects"):
        parse(b"[" * 50_001 + b"{" * 50_000)
