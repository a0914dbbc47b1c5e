"""Closed traces: content for a while, ids for longer, all of it bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.collector.closed import ClosedTraces
from lanewatch.collector.gathered import Gathered
from lanewatch.collector.spans import CloseReason

from tests.collector.gathering import tid


def memory(max_traces: int = 10, max_bytes: int = 1_000, window_seconds: float = 300.0) -> ClosedTraces:
    """A memory with small limits."""
    return ClosedTraces(max_traces=max_traces, max_bytes=max_bytes, window_seconds=window_seconds)


def gathered(n: int, n_bytes: int = 100) -> Gathered:
    """A closed trace of that many bytes."""
    return Gathered(tid(n), opened_at=0.0, touched_at=0.0, n_bytes=n_bytes)


def test_a_kept_trace_comes_back_whole() -> None:
    """Late spans get the very object back, and its memory is no longer counted here."""
    closed, trace = memory(), gathered(1)
    closed.keep(trace, 0.0)

    assert closed.take(tid(1)) is trace
    assert (len(closed), closed.n_bytes) == (0, 0)


def test_content_is_forgotten_after_the_window_and_the_id_stays() -> None:
    """The window is counted from the closing."""
    closed = memory(window_seconds=300)
    closed.keep(gathered(1), 0.0)
    closed.keep(gathered(2), 1.0)

    closed.expire(300.0)

    assert list(closed.kept) == [tid(2)]
    assert closed.recall(tid(1)) == (True, None)


def test_content_is_forgotten_oldest_first_when_bytes_are_short() -> None:
    """Three traces of 400 bytes don't fit in 1,000."""
    closed = memory(max_bytes=1_000)
    for n in range(3):
        closed.keep(gathered(n, 400), float(n))

    assert list(closed.kept) == [tid(1), tid(2)]
    assert closed.n_bytes == 800
    assert closed.recall(tid(0)) == (True, None)


def test_a_trace_larger_than_the_memory_leaves_its_id_alone() -> None:
    """It must not push out everything else first."""
    closed = memory(max_bytes=1_000)
    closed.keep(gathered(1), 0.0)

    closed.keep(gathered(2, 1_001), 0.0)

    assert list(closed.kept) == [tid(1)]
    assert closed.recall(tid(2)) == (True, None)


def test_the_limit_that_cut_a_trace_is_remembered() -> None:
    """So that what comes later is counted under it."""
    closed = memory()
    closed.keep_id(tid(1), CloseReason.EVICTED)

    assert closed.recall(tid(1)) == (True, CloseReason.EVICTED)


def test_an_id_that_late_spans_still_name_outlives_the_others() -> None:
    """Least recently used goes first."""
    closed = memory(max_traces=2)
    closed.keep_id(tid(1))
    closed.keep_id(tid(2))
    closed.recall(tid(1))

    closed.keep_id(tid(3))

    assert closed.recall(tid(2)) == (False, None)
    assert closed.recall(tid(1)) == (True, None)


def test_ids_go_before_content() -> None:
    """An id alone is worth less than a trace that can be revised."""
    closed = memory(max_traces=2)
    closed.keep_id(tid(1))
    closed.keep(gathered(2), 0.0)

    closed.keep(gathered(3), 0.0)

    assert list(closed.kept) == [tid(2), tid(3)]
    assert closed.recall(tid(1)) == (False, None)


@pytest.mark.parametrize("max_traces", [0, 1])
def test_the_smallest_memories_work(max_traces: int) -> None:
    """Zero switches the memory off."""
    closed = memory(max_traces=max_traces)
    for n in range(3):
        closed.keep(gathered(n), 0.0)

    assert len(closed) == max_traces
    assert closed.n_bytes == 100 * max_traces


def test_content_can_be_given_up_for_memory() -> None:
    """The ids stay, so that late spans are still known as late."""
    closed = memory()
    closed.keep(gathered(1), 0.0)

    closed.forget_content()

    assert (closed.n_bytes, closed.recall(tid(1))) == (0, (True, None))


@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from(["keep", "keep_id", "take", "recall", "later"]))))
def test_the_memory_stays_within_its_limits(steps: list[tuple[int, str]]) -> None:
    """After any steps: no id stands twice, bytes are the sum of what is kept, and both limits hold."""
    closed, now = memory(max_traces=4, max_bytes=300, window_seconds=3.0), 0.0
    for n, step in steps:
        known = tid(n) in closed.kept or closed.recall(tid(n))[0]
        if step == "keep" and not known:
            closed.keep(gathered(n, 10 * n), now)
        elif step == "keep_id" and not known:
            closed.keep_id(tid(n))
        elif step == "take" and tid(n) in closed.kept:
            closed.take(tid(n))
        elif step == "later":
            now += 1
            closed.expire(now)

        assert len(closed) <= 4
        assert closed.n_bytes == sum(trace.n_bytes for trace in closed.kept.values()) <= 300
        assert not any(closed.recall(trace_id)[0] for trace_id in closed.kept)
        assert all(trace.closed_at + 3 > now for trace in closed.kept.values())
