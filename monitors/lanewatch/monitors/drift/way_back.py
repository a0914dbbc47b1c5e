"""Evidence that a change is over: the same e-SR, with the sides exchanged.

Shares q were the reference's; p is half of them and half of what the alarm found, because what has just reached an alarm
line looks larger than it is, and a bin that was empty by chance must not clear by being used. A tick's counts c are given l = sum c ln(q/p)/2 + n ln BC, with
the Bhattacharyya coefficient BC = sum sqrt(p q). Under p, exp(l) has expectation BC^2 <= 1, and under the point half way
from q to p exactly 1: what has come back less than half way clears nothing, however long one waits.
"""

import msgspec
import numpy as np

from lanewatch.monitors.drift.distances import Floats

CLEAR_MINUTES = 1000.0  # mean time to a false all-clear, at least; none was seen in 60 days of alarms


class BinsBack(msgspec.Struct, frozen=True, tag="bins"):
    """What an alarm found, as ratios to the expected shares; `component` of an embedding, or None."""

    ratios: tuple[float, ...]
    component: int | None = None


class MeanBack(msgspec.Struct, frozen=True, tag="mean"):
    """What an alarm found, as the shift of an embedding's whitened mean."""

    shift: tuple[float, ...]


def bins_back(observed: Floats, expected: Floats, component: int | None = None) -> BinsBack:
    """From smoothed shares at the alarm, and those that were expected."""
    return BinsBack(tuple(((observed + expected) / (2 * expected)).tolist()), component)


def log_back(found: BinsBack, counts: Floats, expected: Floats) -> float:
    """The log factor of a tick's counts, in an hour that expects these shares.

    >>> found = bins_back(np.array([0.8, 0.2]), np.array([0.5, 0.5]))
    >>> log_back(found, np.array([5.0, 5.0]), np.array([0.5, 0.5])) > 0 > log_back(found, np.array([8.0, 2.0]),
    ...     np.array([0.5, 0.5]))
    True
    """
    drifted = expected * np.array(found.ratios)
    drifted = drifted / drifted.sum()
    bhattacharyya = float(np.sqrt(expected * drifted).sum())
    return float(counts @ np.log(expected / drifted) / 2 + counts.sum() * np.log(bhattacharyya))


def log_mean_back(found: MeanBack, total: float, shifted: Floats) -> float:
    """The same for Gaussian means: n whitened vectors whose sum, less what was expected, is `shifted`."""
    delta = np.array(found.shift)
    return float(-(shifted @ delta) / 2 + total * float(delta @ delta) / 8)
