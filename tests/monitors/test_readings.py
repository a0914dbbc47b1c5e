"""Readings: what a record adds to the metrics, and what a revision adds to that."""

from collections import Counter

from lanewatch.adapters.records import Outcome
from lanewatch.monitors.divergence import find_divergences
from lanewatch.monitors.lanes import judge_lanes
from lanewatch.monitors.readings import Readings, Revisions, readings

from tests.monitors.records import answer, dispatch, failure, record, request


def counted(**fields: object) -> Readings:
    """Readings of a record made of these fields."""
    made = record(**fields)
    divergences = find_divergences(made)
    return readings(made, divergences, judge_lanes(made, divergences))


def test_each_request_and_run_is_counted_by_tool() -> None:
    """A run is counted by whether its body ran and how it ended."""
    counts = counted(
        requests=(request(), request("close")), dispatches=(dispatch(), dispatch("close", error=failure(), request=1))
    )

    assert counts["lanewatch_tool_requests", ("shop", "refund")] == 1
    assert counts["lanewatch_tool_dispatches", ("shop", "refund", "yes", "ok")] == 1
    assert counts["lanewatch_tool_dispatches", ("shop", "close", "yes", "failure")] == 1


def test_a_dropped_call_is_counted_at_its_boundary() -> None:
    """The labels name service, tool, boundary and kind, and no content."""
    counts = counted(requests=(request(outcome=Outcome.BLOCKED),))

    assert counts["lanewatch_divergences", ("shop", "refund", "dispatch", "not_dispatched")] == 1


def test_a_service_without_a_name_is_unknown() -> None:
    """Its traces are counted all the same."""
    counts = counted(service=None, responses=(answer(refusal=True),))

    assert counts["lanewatch_responses", ("unknown", "refused", "field")] == 1


def test_a_revision_counts_only_its_difference() -> None:
    """A late span adds what it brought; what it took back is told apart."""
    revisions = Revisions(remembered=10)
    first: Readings = Counter({("a", ("x",)): 1, ("b", ("x",)): 1})
    second: Readings = Counter({("a", ("x",)): 2})

    assert revisions.difference("t", first) == (first, Counter())
    assert revisions.difference("t", second) == (Counter({("a", ("x",)): 1}), Counter({("b", ("x",)): 1}))


def test_what_is_remembered_is_bounded() -> None:
    """The trace that was counted longest ago is forgotten first."""
    revisions = Revisions(remembered=2)
    counts: Readings = Counter({("a", ("x",)): 1})
    for trace in ("t1", "t2", "t3"):
        revisions.difference(trace, counts)

    assert revisions.difference("t1", counts)[0] == counts
    assert revisions.difference("t3", counts)[0] == Counter()
