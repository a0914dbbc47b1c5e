"""Readings: what a record adds to the metrics, and what a revision adds to that."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from lanewatch.adapters.records import Outcome
from lanewatch.monitors.divergence import find_divergences
from lanewatch.monitors.lanes import judge_lanes
from lanewatch.monitors.readings import Difference, Readings, Revisions, Series, readings

from tests.monitors.records import answer, dispatch, failure, record, request


def counted(**fields: object) -> Readings:
    """Readings of a record made of these fields."""
    made = record(**fields)
    divergences = find_divergences(made)
    return Counter(readings(made, divergences, judge_lanes(made, divergences)))


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
    revisions: Revisions[Series] = Revisions(remembered=10)
    first: Readings = Counter({("a", ("x",)): 1, ("b", ("x",)): 1})
    second: Readings = Counter({("a", ("x",)): 2})

    assert revisions.difference("t", first) == Difference(first, Counter())
    assert revisions.difference("t", second) == Difference(Counter({("a", ("x",)): 1}), Counter({("b", ("x",)): 1}))


def test_what_is_remembered_is_bounded() -> None:
    """The trace that was counted longest ago is forgotten first."""
    revisions: Revisions[Series] = Revisions(remembered=2)
    counts: Readings = Counter({("a", ("x",)): 1})
    for trace in ("t1", "t2", "t3"):
        revisions.difference(trace, counts)

    assert revisions.difference("t1", counts).added == counts
    assert revisions.difference("t3", counts).added == Counter()


def test_what_is_remembered_is_bounded_in_bytes() -> None:
    """A trace may have asked for thousands of tools."""
    revisions: Revisions[Series] = Revisions(remembered=1000, max_bytes=100_000)
    for trace in range(100):
        revisions.difference(f"t{trace}", Counter({("a", (str(n),)): 1 for n in range(200)}))

        assert revisions.n_bytes <= 100_000
    revisions.difference("huge", Counter({("a", (str(n),)): 1 for n in range(2000)}))

    assert revisions.n_bytes == 0


def test_a_trace_read_again_after_it_was_forgotten_is_not_counted_again() -> None:
    """A related trace can bring it back long after; then nothing is counted, and that is told."""
    revisions: Revisions[Series] = Revisions(remembered=1)
    counts: Readings = Counter({("a", ("x",)): 1})
    revisions.difference("t1", counts)
    revisions.difference("t2", counts)
    late: Readings = Counter({("a", ("x",)): 3})

    assert revisions.difference("t1", counts, again=True) == Difference(Counter(), Counter(), unknown=True)
    assert revisions.difference("t1", late, again=True).unknown


@given(
    st.lists(st.tuples(st.integers(0, 4), st.dictionaries(st.integers(0, 3), st.integers(1, 3))), max_size=40),
    st.integers(1, 5),
)
def test_nothing_is_counted_twice(read: list[tuple[int, dict[int, int]]], remembered: int) -> None:
    """On a trace's account the counters never hold more than it was read as at the most, whatever was forgotten between."""
    revisions: Revisions[Series] = Revisions(remembered)
    exported: dict[int, Readings] = {}
    highest: dict[int, Readings] = {}
    for trace, values in read:
        counts: Readings = Counter({("a", (str(label),)): n for label, n in values.items()})
        change = revisions.difference(str(trace), counts, again=trace in highest)
        exported[trace] = exported.get(trace, Counter()) + change.added
        highest[trace] = highest.get(trace, Counter()) | counts

        assert exported[trace] <= highest[trace]
        assert change.unknown or exported[trace] >= counts or remembered < 5
    assert remembered < 5 or exported == highest
