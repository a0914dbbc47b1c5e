"""Hotelling's T2 (1931) of an embedding's mean over the last 5, 15, 60, 240 and 1440 minutes, on 8 and 64 components.

T2 = |mean - expected mean|^2/(phi/n + inverse_n), chi-square with k degrees of freedom where nothing changed, at a level
for the ten tests together. A shift of a quarter of a standard deviation along a random direction of 384 is beyond every
method; one that many components share is found in minutes.
"""

from typing import NamedTuple

import numpy as np

from lanewatch.monitors.drift.calibration import hotelling_t2
from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.projection import LEADING
from lanewatch.monitors.drift.quantiles import chi2_quantile
from lanewatch.monitors.drift.tick import TICKS_PER_MINUTE
from lanewatch.monitors.drift.windows import RingState, Windows

WINDOWS = (5, 15, 60, 240, 1440)
LEAST_N = 50


class MeanReference(NamedTuple):
    """Where an embedding's mean lies: (H, k) by hour of the week (or 1 for all), and how uncertain that is."""

    means: Floats
    inverse_n: float  # phi/N + 1/kappa_day
    phi: float


class HotellingWindows:
    """Ten tests, once a minute. `ratio` is the largest statistic over its critical value.

    >>> test = HotellingWindows(MeanReference(np.zeros((1, 8)), 0.0, 1.0), alpha=1 / 43_200)
    >>> for index in range(60):
    ...     if test.update(index, 0, 20.0, 20.0, np.full(8, 0.3) * 20) >= 1:
    ...         break
    >>> index
    5
    """

    def __init__(self, reference: MeanReference, alpha: float) -> None:
        """`alpha` is the chance of a false alarm that one minute's check may have."""
        self.reference = reference
        self.alpha = alpha
        self.ratio = 0.0
        self._k = reference.means.shape[1]
        self._leading = min(LEADING, self._k)
        self._pairs = np.triu_indices(self._leading)
        # Weights, weighted components, weighted products of the leading ones.
        self._sums = Windows((1 + self._k + len(self._pairs[0]),))
        self._longest = WINDOWS[0]
        self._minute = -1

    def update(self, index: int, cell: int, weight: float, squares: float, sums: Floats) -> float:
        """Count a tick: sum of weights, of their squares, and of weighted components and products. At a minute's end, test."""
        self.look(index, cell, weight, squares, sums)
        minute = (index + 1) // TICKS_PER_MINUTE - 1
        if minute > self._minute:
            self._minute = minute
            self.ratio = 0.0
            for minutes in WINDOWS:
                self._test(minutes)
        return self.ratio

    def look(self, index: int, cell: int, weight: float, squares: float, sums: Floats) -> None:
        """Count a tick to be shown alone."""
        row = np.zeros(self._sums.shape)
        row[0], row[1 : 1 + len(sums)] = weight, sums
        self._sums.add_sums(index, cell, row, np.array(squares))

    def moments(self, minutes: int, now: int) -> tuple[float, Floats, Floats]:
        """(n, mean, covariance) of the leading components in a window that ends with the minute `now`."""
        counts = np.asarray(self._sums.sums(minutes, now)[0], float).sum(axis=0)
        n = max(float(counts[0]), 1e-300)
        mean = counts[1 : 1 + self._leading] / n
        second = np.zeros((self._leading, self._leading))
        second[self._pairs] = second[self._pairs[::-1]] = counts[1 + self._k :] / n
        return float(counts[0]), mean, second - np.outer(mean, mean)

    def shift(self, minutes: int) -> tuple[Floats, float]:
        """(mean less what the hours let expect, effective number) of a window; zeros where it is empty."""
        counts, squares, cells = self._sums.sums(minutes, self._minute)
        weights = np.asarray(counts[:, 0], float)
        total = float(weights.sum())
        if total <= 0:
            return np.zeros(self._k), 0.0
        expected = weights @ self.reference.means[cells % len(self.reference.means)] / total
        mean = np.asarray(counts[:, 1 : 1 + self._k], float).sum(axis=0) / total
        return np.asarray(mean - expected), total**2 / float(np.asarray(squares, float).sum())

    def onset(self) -> int:
        """The tick at which the window began that gave the largest ratio."""
        return (self._minute + 1 - self._longest) * TICKS_PER_MINUTE

    def restart(self) -> None:
        """Forget what was counted."""
        self._sums.clear()
        self.ratio = 0.0

    def state(self) -> list[RingState]:
        """What to write down."""
        return self._sums.state()

    def restore(self, state: list[RingState]) -> bool:
        """Go on from a state; False where it does not fit."""
        return self._sums.restore(state)

    def _test(self, minutes: int) -> None:
        shift, n = self.shift(minutes)
        if n < LEAST_N:
            return
        sizes = sorted({min(LEADING, self._k), self._k})
        level = self.alpha / (len(WINDOWS) * len(sizes))
        worth, reference_n = n / self.reference.phi, 1 / max(self.reference.inverse_n, 1e-12)
        for k in sizes:
            ratio = hotelling_t2(shift[:k], worth, reference_n) / chi2_quantile(level, k)
            if ratio > self.ratio:
                self.ratio, self._longest = ratio, minutes
