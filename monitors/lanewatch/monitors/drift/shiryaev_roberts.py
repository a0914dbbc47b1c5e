"""The e-SR detector: a mixture of Shiryaev-Roberts statistics over alternatives, on increments of log wealth.

M_k <- (M_k + dt) exp(l_k); W = sum of prior_k M_k; alarm at W >= A, then M = 0. Where each exp(l_k) has expectation at
most 1 given the past, W - t is a supermartingale, so A E[false alarms in T minutes] <= T, whatever the dependence, the
length of ticks, or the rule by which one looks (Shin, Ramdas and Rinaldo, "E-detectors", 2023, arXiv:2203.03532). The
time of change is where the leading alternative's CUSUM (Page 1954) left 0 last.

>>> detector = ShiryaevRoberts(np.ones(1), limit=100.0)
>>> for tick in range(60):
...     ratio = detector.update(np.array([-0.1 if tick < 40 else 0.7]), 1.0, tick)
...     if ratio >= 1:
...         break
>>> tick, int(detector.onset())
(43, 40)
"""

import msgspec
import numpy as np
from numpy.typing import NDArray

from lanewatch.monitors.drift.distances import Floats

CEILING = 1e300  # far beyond every alarm line, and still a float when it is mixed


class SrState(msgspec.Struct):
    """What a detector must remember: per alternative its statistic, its CUSUM, and the tick in which that left 0."""

    evidence: list[float]
    cusum: list[float]
    since: list[int]


def sr_step(evidence: Floats, log_increments: Floats, minutes: float) -> Floats:
    """(M + dt) exp(l), bounded.

    >>> float(sr_step(np.array([1.0]), np.array([0.0]), 0.5)[0])
    1.5
    """
    with np.errstate(over="ignore"):  # infinity is held to the ceiling
        grown = (evidence + minutes) * np.exp(np.maximum(np.minimum(log_increments, 600.0), -700.0))
    return np.minimum(grown, CEILING)


def cusum_step(statistic: Floats, log_increments: Floats) -> Floats:
    """Page's recursion max(0, S + l).

    >>> float(cusum_step(np.array([1.0]), np.array([-3.0]))[0])
    0.0
    """
    return np.maximum(statistic + log_increments, 0.0)


class ShiryaevRoberts:
    """One detector; with a `shape`, as many at once. `limit` is the alarm line A, in minutes."""

    def __init__(self, prior: Floats, limit: float, shape: tuple[int, ...] = ()) -> None:
        """`prior` holds the weight of each alternative."""
        self.prior = prior
        self.limit = limit
        self._evidence = np.zeros((*shape, len(prior)))
        self._cusum = np.zeros_like(self._evidence)
        self._since = np.zeros(self._evidence.shape, np.int64)

    def update(self, log_increments: Floats, minutes: float, index: int) -> Floats:
        """Take in a tick; returns W/A: an alarm at 1 or more."""
        self._evidence = sr_step(self._evidence, log_increments, minutes)
        np.copyto(self._since, index, where=self._cusum <= 0)
        self._cusum = cusum_step(self._cusum, log_increments)
        return self.ratio()

    def ratio(self) -> Floats:
        """W/A as it stands."""
        return np.asarray((self._evidence @ self.prior) / self.limit)

    def leader(self) -> Floats:
        """The alternative that explains most: the one with the largest part of W."""
        return np.asarray((self._evidence * self.prior).argmax(axis=-1))

    def onset(self) -> Floats:
        """The tick in which the leading alternative's evidence began to grow."""
        leader = self._cusum.argmax(axis=-1)
        return np.asarray(np.take_along_axis(self._since, leader[..., None], axis=-1)[..., 0])

    def restart(self, where: NDArray[np.bool_] | None = None) -> None:
        """Begin at 0 again, after an alarm; in `where` of several."""
        chosen = slice(None) if where is None else where
        self._evidence[chosen] = 0.0
        self._cusum[chosen] = 0.0

    def state(self) -> SrState:
        """What to write down."""
        return SrState(self._evidence.ravel().tolist(), self._cusum.ravel().tolist(), self._since.ravel().tolist())

    def restore(self, state: SrState) -> bool:
        """Go on from a state; False, and nothing is changed, where it is of another shape or no number."""
        shape = self._evidence.shape
        values = [np.array(field, float) for field in (state.evidence, state.cusum)]
        if any(value.size != self._evidence.size or not (value >= 0).all() for value in values):
            return False
        if len(state.since) != self._evidence.size or not all(np.isfinite(value).all() for value in values):
            return False
        self._evidence, self._cusum = (value.reshape(shape) for value in values)
        self._since = np.array(state.since, np.int64).reshape(shape)
        return True
