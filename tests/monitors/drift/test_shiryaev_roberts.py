"""The e-SR recursion: what it promises, where it fires, and that it goes on where it stopped."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.drift.betting import increments, odds_moved, rate_table
from lanewatch.monitors.drift.shiryaev_roberts import CEILING, ShiryaevRoberts, SrState, sr_step

ODDS = [1.5, 2.0, 3.0, 5.0, 10.0]


def golden(rate_after: float, seed: int) -> int | None:
    """The tick at which a rate of 1 % that changes at tick 2000 fires, 20 trials a tick, 30-day budget."""
    rng = np.random.default_rng(seed)
    detector = ShiryaevRoberts(np.full(5, 0.2), limit=43_200.0)
    table = rate_table(0.01, ODDS)
    for tick in range(6000):
        x = rng.binomial(20, 0.01 if tick < 2000 else rate_after)
        if detector.update(increments([20 - x, x], table), 1 / 6, tick) >= 1:
            return tick
    return None


@pytest.mark.parametrize(
    ("rate", "seed", "tick"), [(0.10, 1, 2009), (0.05, 1, 2013), (0.05, 2, 2019), (0.02, 1, 2201), (0.01, 1, None)]
)
def test_it_fires_where_it_has_always_fired(rate: float, seed: int, tick: int | None) -> None:
    """Golden positions: a change of the mathematics moves them."""
    assert golden(rate, seed) == tick


@pytest.mark.parametrize("bound", [0.01, 0.3])
@pytest.mark.parametrize("weight", [1.0, 7.0])
def test_each_bet_is_fair_or_worse_under_the_null(bound: float, weight: float) -> None:
    """E exp(l) <= 1 at and below the bound, for every alternative, whatever the weight: this carries the guarantee."""
    table = np.exp(rate_table(bound, ODDS, weight, 1.0, weight))
    for p in (bound, bound / 2, bound / 100):
        assert (table @ np.array([1 - p, p]) <= 1 + 1e-12).all()


def test_bets_on_a_fall_are_fair_above_the_bound() -> None:
    """The same with the sides exchanged."""
    table = np.exp(rate_table(0.05, [0.67, 0.5, 0.2, 0.1], 3.0, 1.0, 3.0))
    for p in (0.05, 0.2, 1.0):
        assert (table @ np.array([1 - p, p]) <= 1 + 1e-12).all()


def test_w_less_time_has_expectation_zero() -> None:
    """Over all outcomes of three ticks, exactly: the supermartingale at the null's edge."""
    bound, table = 0.2, rate_table(0.2, ODDS)
    mean = 0.0
    for outcome in range(8):
        xs = [outcome >> k & 1 for k in range(3)]
        detector = ShiryaevRoberts(np.full(5, 0.2), limit=1.0)
        for tick, x in enumerate(xs):
            w = float(detector.update(increments([1 - x, x], table), 0.5, tick))
        mean += w * math.prod(bound if x else 1 - bound for x in xs)

    assert mean == pytest.approx(1.5)


@given(st.lists(st.floats(-800, 800), min_size=1, max_size=50))
def test_evidence_stays_a_finite_number(steps: list[float]) -> None:
    """Whatever comes: no overflow, no NaN, never negative."""
    evidence = np.zeros(1)
    for step in steps:
        evidence = sr_step(evidence, np.array([step]), 1.0)
        assert 0 <= evidence[0] <= CEILING


def test_silence_grows_no_alarm() -> None:
    """Time alone adds at most itself."""
    detector = ShiryaevRoberts(np.ones(1), limit=1000.0)
    for tick in range(100):
        detector.update(np.zeros(1), 1.0, tick)

    assert float(detector.ratio()) == pytest.approx(0.1)


def test_a_state_goes_on_where_it_stopped() -> None:
    """Written to numbers and read again, it fires at the same tick with the same evidence."""
    rng = np.random.default_rng(0)
    whole, first = (ShiryaevRoberts(np.full(5, 0.2), 43_200.0) for _ in range(2))
    table = rate_table(0.01, ODDS)
    for tick in range(400):
        x = rng.binomial(20, 0.03)
        step = increments([20 - x, x], table)
        ratio = whole.update(step, 1 / 6, tick)
        second = ShiryaevRoberts(np.full(5, 0.2), 43_200.0)
        assert second.restore(first.state())
        assert second.update(step, 1 / 6, tick) == ratio
        assert second.onset() == whole.onset()
        assert second.leader() == whole.leader()
        first = second


@pytest.mark.parametrize(
    "state",
    [
        SrState([1.0], [0.0], [0]),
        SrState([math.nan] * 5, [0.0] * 5, [0] * 5),
        SrState([math.inf] * 5, [0.0] * 5, [0] * 5),
        SrState([-1.0] * 5, [0.0] * 5, [0] * 5),
        SrState([1.0] * 5, [0.0] * 5, [0]),
    ],
)
def test_a_state_that_is_none_is_refused(state: SrState) -> None:
    """Another length, or no number: then nothing is changed."""
    detector = ShiryaevRoberts(np.full(5, 0.2), 10.0)

    assert not detector.restore(state)
    assert float(detector.ratio()) == 0


def test_many_at_once_are_as_each_alone() -> None:
    """A shape in front makes no difference, and one may begin anew without the others."""
    rng = np.random.default_rng(3)
    steps = rng.normal(0, 1, (50, 3, 5))
    together = ShiryaevRoberts(np.full(5, 0.2), 50.0, (3,))
    alone = [ShiryaevRoberts(np.full(5, 0.2), 50.0) for _ in range(3)]
    for tick, step in enumerate(steps):
        ratios = together.update(step, 1.0, tick)
        for k, detector in enumerate(alone):
            assert float(detector.update(step[k], 1.0, tick)) == pytest.approx(float(ratios[k]), rel=1e-12)
        fired = ratios >= 1
        together.restart(fired)
        for number in np.flatnonzero(fired).tolist():
            alone[number].restart()


def test_odds_are_moved_by_their_ratio() -> None:
    """1 % times 5 is 4.81 %: odds, not shares."""
    assert float(odds_moved(0.01, [5.0])[0]) == pytest.approx(0.05 / 1.04)
