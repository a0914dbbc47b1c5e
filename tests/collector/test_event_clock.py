"""The clock of a replay: it follows the timestamps, and false ones don't carry it away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.collector.event_clock import EventClock
from lanewatch.collector.skeleton_groups import Skeleton
from lanewatch.collector.spans import CloseReason, Decoded, LogRecord, Span

from tests.collector.gathering import Gathering, assert_conserved, decoded, sid, tid

START = 1_700_000_000  # seconds
DAY = 86_400
YEAR_2554 = 18_446_744_073


def request(*ends: float) -> Decoded:
    """Spans that end at these seconds."""
    return decoded(*(Span(tid(1), sid(n + 1), end_ns=int(end * 1e9)) for n, end in enumerate(ends)))


def readings(*requests: Decoded) -> list[float]:
    """What the clock shows after each request, in seconds since START."""
    clock = EventClock()
    return [clock.event_time(one) - START for one in requests]


def test_now_is_the_newest_end_and_never_goes_back() -> None:
    """Requests come in relay order: older times among them change nothing."""
    assert readings(request(START + 5, START + 9), request(START + 7), request(START + 10)) == [9, 9, 10]


def test_all_kinds_of_items_carry_time() -> None:
    """Skeletons by their end, log records by their time, an unfinished span by its start."""
    clock = EventClock()
    parts = (
        LogRecord(tid(1), time_ns=START * 10**9),
        Skeleton(tid(1), sid(1), b"", 1, (START + 1) * 10**9),
        Span(tid(1), sid(2), start_ns=(START + 2) * 10**9),
    )

    assert [clock.event_time(decoded(part)) - START for part in parts] == [0, 1, 2]


def test_a_request_without_time_leaves_the_clock_alone() -> None:
    """Empty requests, and times of 0."""
    assert readings(request(START), request(), request(0)) == [0, 0, 0]
    assert readings(request(0), request(START), request(START + 1)) == [-START, 0, 1]
    assert EventClock().event_time(request()) == 0


@pytest.mark.parametrize("false", [YEAR_2554, START + DAY + 10, 1.0], ids=["2554", "next day", "1970"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_false_timestamp_among_others_is_left_out(false: float, place: int) -> None:
    """Wherever the span with it stands."""
    ends = [START + 1.0, START + 2.0]
    ends.insert(place, false)

    assert readings(request(*ends), request(START + 3)) == [2, 3]
    assert readings(request(START), request(*ends), request(START + 3)) == [0, 2, 3]


@pytest.mark.parametrize("false", [YEAR_2554, 1.0])
def test_a_request_that_is_off_as_a_whole_does_not_move_the_clock(false: float) -> None:
    """One bad exporter's request between two good ones."""
    assert readings(request(START), request(false), request(START + 1), request(false), request(START + 2)) == [
        0, 0, 1, 1, 2,
    ]  # fmt: skip


def test_two_requests_that_are_off_by_different_times_confirm_nothing() -> None:
    """Only two that agree do."""
    assert readings(request(START), request(YEAR_2554), request(1.0), request(START + 1)) == [0, 0, 0, 1]


@pytest.mark.parametrize("gap", [3 * DAY, -3 * DAY])
def test_a_recording_that_goes_on_at_another_time_runs_on(gap: int) -> None:
    """The second request there confirms it; the gap itself is no time passed, the steps after it are."""
    later = START + gap

    assert readings(request(START), request(later), request(later + 5), request(later + 7)) == [0, 0, 0, 2]
    assert readings(request(START), request(later + 5), request(later), request(later + 7)) == [0, 0, 0, 2]


def test_a_false_beginning_is_left_behind() -> None:
    """If the very first timestamp is of the year 2554, the clock still runs."""
    clock = EventClock()
    shown = [
        clock.event_time(one) for one in (request(YEAR_2554), request(START), request(START + 1), request(START + 4))
    ]

    assert [now - shown[0] for now in shown] == pytest.approx([0, 0, 0, 3], abs=1e-4)


@given(st.lists(st.lists(st.floats(0, 2e10), max_size=4)))
def test_the_clock_never_goes_back(batches: list[list[float]]) -> None:
    """Whatever the timestamps are."""
    clock = EventClock()
    shown = [clock.event_time(request(*ends)) for ends in batches]

    assert shown == sorted(shown)


def test_a_far_future_span_does_not_close_the_other_traces() -> None:
    """The trace that was open before it stays open, and closes when its own time has come."""
    g, clock = Gathering(), EventClock()

    def replay(trace: int, number: int, parent: int, end: float) -> None:
        one = Span(tid(trace), sid(number), sid(parent) if parent else b"", end_ns=int(end * 1e9))
        g.add(one, now=clock.event_time(decoded(one)))

    replay(1, 2, 1, START)
    replay(2, 1, 0, YEAR_2554)
    assert g.delivered == []

    replay(1, 1, 0, START + 1)
    replay(3, 1, 0, START + 3)
    g.stop()

    reasons = {trace.trace_id: (trace.reason, len(trace.spans)) for trace in g.delivered}
    assert reasons[tid(1)] == (CloseReason.ROOT, 2)
    assert_conserved(g)
