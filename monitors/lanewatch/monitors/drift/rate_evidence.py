"""Evidence that a rate has risen, or fallen: e-SR on bets against an upper (lower) bound of the reference's rate.

The null is p <= tau p~_h: p~_h is a bound of the hour's rate that allows for what the reference does not know, tau for
what days differ by themselves. Counts are first events of a session, and each bet is a likelihood ratio, or a
Horvitz-Thompson bet where traces carry weights.

>>> rising = rate_evidence(known_rate(0.01), "up", limit=43_200)
>>> for index in range(100):
...     if rising.update(Tick(index, 0, 1 / 6, {1.0: np.array([190.0, 10.0])})) >= 1:
...         break
>>> index
1
"""

import numpy as np

from lanewatch.monitors.drift.betting import rate_table
from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.evidence import Evidence
from lanewatch.monitors.drift.rate_reference import Direction, RateBounds, known_rate
from lanewatch.monitors.drift.recent_weights import RecentWeights
from lanewatch.monitors.drift.tick import Tick

ODDS: dict[Direction, tuple[float, ...]] = {"up": (1.5, 2.0, 3.0, 5.0, 10.0), "down": (0.67, 0.5, 0.2, 0.1)}

__all__ = ["ODDS", "Tick", "known_rate", "rate_evidence"]


def rate_evidence(reference: RateBounds, direction: Direction, limit: float) -> Evidence:
    """A detector of a rise or a fall; its ticks count [non-events, events]."""
    odds = np.array(ODDS[direction])

    def make_table(cell: int, weight: float | None, weights: RecentWeights) -> Floats:
        bound = reference.bound(direction, cell)
        if weight is None:
            return rate_table(bound, odds)
        return rate_table(bound, odds, weight, weights.means()[..., 1], weights.largest)

    prior = np.full(len(odds), 1 / len(odds))
    shape = reference.upper.shape[1:]
    return Evidence(make_table, prior, reference.phi, reference.mean_weights, limit, shape)
