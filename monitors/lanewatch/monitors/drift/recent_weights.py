"""The weights that observations have had lately, per bin: what the size of a bet is fitted to.

Only what was before the current tick counts, so that a bet is settled before its outcome is known; the one exception is
a weight larger than any before, which is taken over at once, since a bet must never lose more than everything. What is
older than two days is forgotten: one odd trace must not make bets small for ever.
"""

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.tick import Tick

PRIOR_N = 10.0  # observations that the reference's mean weights stand for
PERIOD_TICKS = 8640  # a day


class WeightState(msgspec.Struct):
    """What to remember: this day's and the day before's counts and sums of weights by bin, and the largest weight."""

    day: int
    counts: list[list[float]]
    sums: list[list[float]]
    largest: list[float]


class RecentWeights:
    """Mean weight by bin and the largest weight, of the last one to two days."""

    def __init__(self, mean_weights: ArrayLike) -> None:
        """`mean_weights` (..., B) are those of the reference."""
        self._reference = np.asarray(mean_weights, float)
        self._counts = np.zeros((2, *self._reference.shape))
        self._sums = np.zeros_like(self._counts)
        self._largest = [0.0, 0.0]
        self._day = -1
        self._reference_largest = float(self._reference.max())
        self._reference_unit = bool((self._reference == 1).all())
        self.unit = self._reference_unit  # whether every weight has been 1, in the reference and lately

    @property
    def largest(self) -> float:
        """The largest weight."""
        return max(self._reference_largest, *self._largest, 1.0)

    def means(self) -> Floats:
        """Mean weight by bin: the reference's as a start, then what came."""
        return np.asarray((self._reference * PRIOR_N + self._sums.sum(axis=0)) / (PRIOR_N + self._counts.sum(axis=0)))

    def exceeded_by(self, tick: Tick) -> bool:
        """Whether the tick has a weight that no bet was made for; it is taken over."""
        if self.unit and tick.unit:
            return False
        largest = max(tick.counts, default=0.0)
        if largest <= self.largest and not (self.unit and not tick.unit):
            return False
        self._largest[0] = max(self._largest[0], largest)
        self._see()
        return True

    def add(self, tick: Tick) -> None:
        """Take in a tick, after the bets on it are settled."""
        day = tick.index // PERIOD_TICKS
        if day != self._day:
            self._counts[1], self._sums[1], self._largest[1] = self._counts[0], self._sums[0], self._largest[0]
            if day != self._day + 1:
                self._counts[1], self._sums[1], self._largest[1] = 0.0, 0.0, 0.0
            self._counts[0], self._sums[0], self._largest[0], self._day = 0.0, 0.0, 0.0, day
            self._see()
        if self.unit and tick.unit:
            return  # while all are 1 there is nothing to learn
        for weight, counts in tick.counts.items():
            self._counts[0] += counts
            self._sums[0] += weight * counts
            self._largest[0] = max(self._largest[0], weight)
        self._see()

    def state(self) -> WeightState:
        """What to write down."""
        pair = range(2)
        return WeightState(
            self._day,
            [self._counts[k].ravel().tolist() for k in pair],
            [self._sums[k].ravel().tolist() for k in pair],
            list(self._largest),
        )

    def restore(self, state: WeightState) -> bool:
        """Go on from a state; False, and nothing is changed, where it does not fit."""
        counts, sums = (np.array(field, float) for field in (state.counts, state.sums))
        size = (2, self._reference.size)
        if counts.shape != size or sums.shape != size or len(state.largest) != len(self._largest):
            return False
        if not (np.isfinite(counts).all() and np.isfinite(sums).all() and np.isfinite(state.largest).all()):
            return False
        self._counts, self._sums = counts.reshape(self._counts.shape), sums.reshape(self._counts.shape)
        self._largest, self._day = list(state.largest), state.day
        self._see()
        return True

    def _see(self) -> None:
        self.unit = self._reference_unit and max(self._largest) <= 1
