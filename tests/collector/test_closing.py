"""Closing: times, limits and the choice of what to evict, as pure functions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.collector.closing import CUT, AssemblerLimits, due, impact, limit_passed
from lanewatch.collector.spans import CloseReason

LIMITS = AssemblerLimits(
    quiet_after_root_seconds=2, trace_timeout_seconds=60, max_trace_spans=10, max_trace_bytes=1_000
)
seconds = st.floats(0, 1e6)


@pytest.mark.parametrize(
    ("opened_at", "touched_at", "root_seen", "expected"),
    [
        pytest.param(100, 130, False, (160, CloseReason.TIMEOUT), id="no root: the timeout, whatever else came"),
        pytest.param(100, 130, True, (132, CloseReason.ROOT), id="root: quiet since the newest"),
        pytest.param(100, 158, True, (160, CloseReason.ROOT), id="quiet and timeout at once: the root is the reason"),
        pytest.param(100, 159, True, (160, CloseReason.TIMEOUT), id="never quiet: the timeout"),
    ],
)
def test_a_trace_is_due_by_root_or_timeout(
    opened_at: float, touched_at: float, root_seen: bool, expected: tuple[float, CloseReason]
) -> None:
    """Root and quiet close a trace; the timeout is the latest."""
    assert due(opened_at, touched_at, root_seen=root_seen, limits=LIMITS) == expected


@given(opened_at=seconds, waited=seconds, root_seen=st.booleans())
def test_nothing_moves_a_trace_beyond_its_timeout(opened_at: float, waited: float, root_seen: bool) -> None:
    """However long spans keep coming, and whether the root has, the cap stands."""
    at, _ = due(opened_at, opened_at + waited, root_seen=root_seen, limits=LIMITS)

    assert at <= opened_at + LIMITS.trace_timeout_seconds


@pytest.mark.parametrize(
    ("n_items", "n_bytes", "expected"),
    [
        (10, 1_000, None),
        (11, 1_000, CloseReason.SPAN_LIMIT),
        (10, 1_001, CloseReason.BYTE_LIMIT),
        (11, 1_001, CloseReason.SPAN_LIMIT),
    ],
)
def test_a_limit_may_be_reached_but_not_passed(n_items: int, n_bytes: int, expected: CloseReason | None) -> None:
    """Exactly the limit fits."""
    assert limit_passed(n_items, n_bytes, LIMITS) is expected


def test_the_impact_grows_fivefold_until_the_timeout() -> None:
    """Refinery's factor: 1 when new, 5 at the timeout and beyond."""
    impacts = [impact(100, age, 60.0) for age in (0, 30, 60, 600)]

    assert impacts == [100, 300, 500, 500]


def test_a_timeout_of_zero_divides_by_nothing() -> None:
    """All traces are as old as can be then."""
    assert impact(100, 0.0, 0.0) == 500


def test_what_cuts_a_trace_is_a_limit() -> None:
    """Time and shutdown lose nothing by themselves."""
    assert {CloseReason.SPAN_LIMIT, CloseReason.BYTE_LIMIT, CloseReason.EVICTED} == CUT
