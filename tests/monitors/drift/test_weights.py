"""Weights of sampled traces."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.drift.weights import adjusted_count, kish_n, rounded_weight, weight_of, weighted_rate


@pytest.mark.parametrize(
    ("tracestate", "weight"),
    [
        ("ot=th:0", 1.0),
        ("ot=th:c", 4.0),
        ("x=1,ot=rv:abc;th:8;y:z", 2.0),
        (" ot=th:fd70a4 ", pytest.approx(100, rel=1e-4)),
        ("ot=th:", None),
        ("ot=th:xyz", None),
        ("ot=th:0123456789abcdef", None),
        ("ot=th:-1", None),
        ("other=th:8", None),
        ("ot=rv:1", None),
        ("", None),
        (None, None),
    ],
)
def test_the_weight_is_what_the_tracestate_tells(tracestate: str | None, weight: float | None) -> None:
    """2^56/(2^56 - T), or unknown; a threshold that is none is never taken for one."""
    assert weight_of(tracestate) == weight


@given(st.integers(1, 14).flatmap(lambda n: st.text("0123456789abcdef", min_size=n, max_size=n)))
def test_every_threshold_gives_a_weight_of_at_least_one(threshold: str) -> None:
    """And a finite one, up to 2^56."""
    assert 1 <= adjusted_count(threshold) <= 2**56


@given(st.floats(1, 1000))
def test_rounding_keeps_the_expectation(weight: float) -> None:
    """Up with the chance that makes up for down."""
    chances = [k / 1000 + 0.0005 for k in range(1000)]
    mean = sum(rounded_weight(weight, chance) for chance in chances) / 1000

    assert mean == pytest.approx(weight, rel=1e-3)


@given(st.lists(st.tuples(st.booleans(), st.floats(1, 1000)), min_size=1, max_size=50))
def test_a_weighted_rate_is_between_its_bounds(trials: list[tuple[bool, float]]) -> None:
    """Equal weights give the plain rate and n."""
    total, squares = sum(w for _, w in trials), sum(w * w for _, w in trials)
    events = sum(w for x, w in trials if x), sum(w * w for x, w in trials if x)
    found = weighted_rate(events[0], total, events[1], squares)

    assert 0 <= found.rate <= 1
    assert 0 < found.kish_n <= len(trials) + 1e-6
    assert found.kish_n == pytest.approx(kish_n([w for _, w in trials]))
    assert math.isfinite(found.effective_n)


def test_no_trial_has_no_rate() -> None:
    """Zero of zero is not zero."""
    with pytest.raises(ValueError, match="without a trial"):
        weighted_rate(0, 0, 0, 0)
    assert kish_n([]) == 0
