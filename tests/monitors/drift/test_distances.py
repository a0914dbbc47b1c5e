"""Distances: never negative, zero for equal shares, finite where there is anything, and never a number out of nonsense."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lanewatch.monitors.drift.calibration import jeffreys, wilson
from lanewatch.monitors.drift.distances import (
    g_statistic,
    gaussian_kl,
    js_distance,
    kl,
    psi,
    psi_contributions,
    shares,
    shares_toward,
    wasserstein_binned,
)

COUNTS = st.integers(1, 20).flatmap(
    lambda bins: st.tuples(*(st.lists(st.integers(0, 10_000), min_size=bins, max_size=bins) for _ in range(2)))
)


@given(COUNTS)
def test_psi_is_not_negative_and_finite_after_smoothing(counts: tuple[list[int], list[int]]) -> None:
    """One bin, empty sides and constants included."""
    q = shares(counts[1], 0.5)
    p = shares_toward(counts[0], q)
    value = float(psi(p, q))

    assert 0 <= value < math.inf
    assert value == pytest.approx(float(psi_contributions(p, q).sum()))
    assert value == pytest.approx(float(kl(p, q) + kl(q, p)), abs=1e-12)


@given(COUNTS)
def test_equal_shares_are_at_no_distance(counts: tuple[list[int], list[int]]) -> None:
    """PSI(p, p) = KL(p, p) = JS(p, p) = 0, and so is G where the counts are in the reference's proportions."""
    q = shares(counts[0], 0.5)

    assert float(psi(q, q)) == 0
    assert float(kl(q, q)) == 0
    assert float(js_distance(q, q)) == 0
    assert float(g_statistic(q * 1000, q)) == pytest.approx(0, abs=1e-9)
    assert float(psi(shares_toward(q * 1000, q), q)) == pytest.approx(0, abs=1e-12)


@given(COUNTS)
def test_js_distance_is_symmetric_and_at_most_one(counts: tuple[list[int], list[int]]) -> None:
    """In base 2, whatever is empty."""
    p, q = shares(counts[0]), shares(counts[1])

    assert float(js_distance(p, q)) == pytest.approx(float(js_distance(q, p)))
    assert 0 <= float(js_distance(p, q)) <= 1 + 1e-12


@given(COUNTS, st.floats(1, 1e6))
def test_g_grows_with_n_and_shrinks_with_a_poor_reference(counts: tuple[list[int], list[int]], n: float) -> None:
    """G of twice the counts is twice G; an estimated reference makes it smaller."""
    c, q = np.array(counts[0], float), shares(counts[1], 0.5)
    assume(c.sum() > 0)

    assert float(g_statistic(2 * c, q)) == pytest.approx(2 * float(g_statistic(c, q)), rel=1e-9)
    assert float(g_statistic(c, q, 1 / n)) <= float(g_statistic(c, q)) + 1e-12


@given(st.lists(st.floats(0, 1), min_size=2, max_size=10), st.floats(0.1, 10))
def test_wasserstein_of_a_shift_by_one_bin_is_the_bins_width(values: list[float], width: float) -> None:
    """All mass moves by one bin of this width."""
    assume(sum(values) > 0.01)
    mass = np.array(values) / sum(values)
    edges = np.arange(len(values) + 2) * width

    assert float(wasserstein_binned(edges, [*mass, 0], [0, *mass])) == pytest.approx(width)


@pytest.mark.parametrize("bad", [[math.nan, 1.0], [math.inf, 1.0], [-1.0, 2.0], [], 3.0])
def test_nonsense_never_becomes_a_number(bad: Any) -> None:
    """NaN, infinity, negative counts and nothing at all are refused on either side."""
    for function in (psi, kl, js_distance, g_statistic, shares_toward):
        with pytest.raises(ValueError, match=r"counts|bin"):
            function(bad, [0.5, 0.5])
        with pytest.raises(ValueError, match=r"counts|bin"):
            function([0.5, 0.5], bad)
    with pytest.raises(ValueError, match=r"counts|bin"):
        shares(bad)


def test_different_bins_are_not_compared() -> None:
    """Three bins against two would broadcast into a number without a meaning."""
    with pytest.raises(ValueError, match="can't be compared"):
        psi([0.2, 0.3, 0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match="finite edges"):
        wasserstein_binned([0, 1], [0.5, 0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match="kappa"):
        shares_toward([1, 1], [0.5, 0.5], 0)
    with pytest.raises(ValueError, match="positive definite"):
        gaussian_kl([0.0], [[0.0]])


def test_an_empty_baseline_gives_equal_shares_and_an_empty_window_the_reference() -> None:
    """No data says nothing, so it moves nothing."""
    assert shares([0, 0, 0, 0]).tolist() == [0.25] * 4
    assert float(g_statistic([0, 0], [0.3, 0.7])) == 0
    assert shares_toward([0, 0], [0.3, 0.7]).tolist() == [0.3, 0.7]


def test_the_leading_axes_are_kept() -> None:
    """Many windows at once give the same as one by one."""
    rng = np.random.default_rng(0)
    counts, q = rng.integers(0, 50, (3, 4, 5)), shares(rng.integers(1, 50, (4, 5)))
    together = g_statistic(counts, q, 0.01)

    assert together.shape == (3, 4)
    assert float(together[1, 2]) == float(g_statistic(counts[1, 2], q[2], 0.01))
    assert float(psi(shares(counts, 1.0), q)[2, 3]) == float(psi(shares(counts[2, 3], 1.0), q[3]))


@given(st.integers(0, 500), st.integers(1, 500))
def test_intervals_hold_the_rate(events: int, more: int) -> None:
    """Lower bound, rate, upper bound, in this order and within 0 to 1."""
    n = events + more
    for interval in (jeffreys(events, n), wilson(events, n)):
        assert 0 <= interval[0] <= events / n <= interval[1] <= 1


@pytest.mark.parametrize(("events", "n"), [(-1, 5), (6, 5), (math.nan, 5), (1, math.inf)])
def test_an_impossible_rate_has_no_interval(events: float, n: float) -> None:
    """More events than trials, or no number."""
    for interval in (jeffreys, wilson):
        with pytest.raises(ValueError, match="rate needs"):
            interval(events, n)
    with pytest.raises(ValueError, match="without a trial"):
        wilson(0, 0)
