"""The simulation in short: quiet where nothing changes, in time where something does, and able to fail."""

import math

import numpy as np
import pytest
from lanewatch.monitors.drift.rate_evidence import rate_evidence
from lanewatch.monitors.drift.rate_reference import RateBounds

from tests.simulation.running import false_alarms
from tests.simulation.scenarios import SCENARIOS, Found, Quiet
from tests.simulation.simulate_drift import found_row, quiet_row, summary, upper_bound
from tests.simulation.traffic import RHYTHM, rate_days

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["rate-all-slow", "rate-resampled", "tools-calm", "lengths-calm"])
def test_nothing_fires_where_nothing_changes(name: str) -> None:
    """A tenth of the series: fewer than half a false alarm would be allowed, so two are too many."""
    result = SCENARIOS[name](0.1, 11)
    assert isinstance(result, Quiet)

    assert result.false_alarms <= 1


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("found-refusals-slow", 0.04),
        ("found-tools", 0.1),
        ("found-longer", 0.1),
        ("found-tail", 0.1),
        ("found-cohort", 0.1),
    ],
)
def test_changes_are_found_in_time(name: str, part: float) -> None:
    """A tenth of the runs: the median within 1.7 times the figure to reach, where the full simulation takes 1.3."""
    result = SCENARIOS[name](part, 11)
    assert isinstance(result, Found)

    assert np.median(np.nan_to_num(result.minutes, nan=math.inf)) <= 1.7 * result.target


def test_a_bound_that_knows_no_hours_fires_all_the_time() -> None:
    """The same traffic against one rate for all hours: the simulation can tell."""
    one, series = np.full((1, 4), 0.01), 4
    bounds = RateBounds(one, one, one, np.full(4, 1.05), np.ones(4), np.ones((4, 2)), np.full(4, np.inf))
    fired = false_alarms(
        [rate_evidence(bounds, "up", 86_400.0)],
        rate_days(np.random.default_rng(0), series, 2, 0.01, RHYTHM, days=range(3)),
    )

    assert fired > 4


def test_misses_are_told() -> None:
    """Too many false alarms, or a late median, are rows that say MISSED."""
    quiet, found = Quiet("q", 20, 30, 40), Found("f", 10.0, (20.0, 20.0, math.nan))

    assert upper_bound(0) == pytest.approx(2.9957, abs=1e-3)
    assert not quiet_row(quiet)[1]
    assert not found_row(found)[1]
    assert not summary({"q": quiet})[1]
    assert summary({"q": Quiet("q", 20, 30, 3), "f": Found("f", 10.0, (9.0, 11.0, 30.0))})[1]
