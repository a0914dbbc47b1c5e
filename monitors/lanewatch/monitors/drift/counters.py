"""What a replica itself has counted since it started, for Prometheus to add up over replicas.

Beside each bin stands what the reference let expect, so that a query over any window, across hours of different shares,
has the right denominator; rates likewise.
"""

import numpy as np

from lanewatch.monitors.drift.distances import AnyFloats, Floats
from lanewatch.monitors.drift.sums import Counts, SeriesKey, TickSums

Expected = dict[SeriesKey, AnyFloats]  # shares by hour of the week (H, B), of series that are distributions or rates


class BinCounters:
    """Weighted counts by bin, expected counts, raw observations, and squares of weights; never reset."""

    def __init__(self, expected: Expected) -> None:
        """Every bin of every series stands at 0 from the start."""
        self.counts: dict[SeriesKey, Floats] = {key: np.zeros(shares.shape[1]) for key, shares in expected.items()}
        self.expected: dict[SeriesKey, Floats] = {key: np.zeros(shares.shape[1]) for key, shares in expected.items()}
        self.raw: dict[SeriesKey, float] = dict.fromkeys(expected, 0.0)
        self.squares: dict[SeriesKey, float] = dict.fromkeys(expected, 0.0)
        self._shares = expected

    def add(self, message: TickSums, cell: int) -> None:
        """Count a tick of this replica."""
        for series in message.series:
            key = (series.service, series.signal)
            shares = self._shares.get(key)
            if shares is not None:
                self._add(key, shares[cell % len(shares)], dict(series.counts))

    def _add(self, key: SeriesKey, shares: AnyFloats, by_weight: Counts) -> None:
        for weight, values in by_weight.items():
            n = sum(values)
            self.counts[key] += weight * np.array(values, float)
            self.expected[key] += weight * n * shares
            self.raw[key] += n
            self.squares[key] += weight * weight * n
