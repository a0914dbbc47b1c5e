"""Odd spans are counted, whatever the trace they are in."""

import pytest
from lanewatch.collector.counts import Counts
from lanewatch.collector.oddities import METRICS, Oddity, count_oddities
from lanewatch.collector.spans import Span, Trace

from tests.collector.gathering import sid, tid


def a_span(number: int, parent: int = 0, start_ns: int = 100, end_ns: int = 200) -> Span:
    """A span by number, a root where it has no parent."""
    return Span(tid(1), sid(number), sid(parent) if parent else b"", start_ns=start_ns, end_ns=end_ns)


def counted(*spans: Span, revision: int = 0) -> dict[str, int]:
    """What is counted of a trace, without zeros."""
    counts = Counts(METRICS)
    count_oddities(Trace(tid(1), spans, revision=revision), counts)
    return {one.value: n for one in Oddity if (n := counts.value(METRICS[0].name, one))}


@pytest.mark.parametrize(
    ("start_ns", "end_ns"), [(200, 100), (0, 100), (0, 0), ((1 << 64) - 5, (1 << 64) - 1)], ids=str
)
def test_a_time_that_can_not_be_is_counted(start_ns: int, end_ns: int) -> None:
    """S3: ended before it began, no start, or what a subtraction below zero leaves."""
    assert counted(a_span(1), a_span(2, 1, start_ns, end_ns)) == {"bad_time": 1}


def test_a_child_that_begins_before_its_parent_is_counted() -> None:
    """S4: the clocks of two hosts differ; nothing is moved for it."""
    assert counted(a_span(1), a_span(2, 1, start_ns=99)) == {"before_parent": 1}


def test_the_spans_of_a_cycle_are_counted_and_those_below_it_are_not() -> None:
    """S2: two that are each other's parent, one that is its own, and a chain that leads into them."""
    cycle = (a_span(1, 2), a_span(2, 1), a_span(3, 3))

    assert counted(*cycle, a_span(4, 2), a_span(5, 4)) == {"parent_cycle": 3}


def test_an_ordinary_trace_has_nothing_odd() -> None:
    """A parent that is not there is no cycle; a child may begin and end with its parent."""
    assert counted(a_span(1), a_span(2, 1), a_span(3, 2), a_span(4, 99)) == {}


def test_a_revised_trace_is_not_counted_again() -> None:
    """Its spans were, at the first closing."""
    assert counted(a_span(1, start_ns=300), revision=1) == {}


def test_the_deepest_chain_that_a_trace_may_hold_has_nothing_odd() -> None:
    """20,000 spans below each other: nothing recurses."""
    assert counted(*(a_span(number, number - 1) for number in range(1, 20_001))) == {}
