"""What a detector is given every ten seconds: counts by bin, per weight, and how much time they stand for."""

from collections.abc import Mapping

import msgspec
import numpy as np

from lanewatch.monitors.drift.distances import Floats

TICK_SECONDS = 10
TICKS_PER_MINUTE = 6
HOUR_TICKS = 60 * TICKS_PER_MINUTE
HOURS_OF_WEEK = 168


class Tick(msgspec.Struct, frozen=True):
    """A closed tick of one series.

    `index` counts ticks from the Unix epoch, `cell` is the hour of the week (0 to 167, from Monday midnight in the
    service's time zone), `minutes` the time since the tick that was given before. `counts` holds, for each weight,
    observations by bin (..., B). `replicas` holds the same for each replica's slot, where there are several.
    """

    index: int
    cell: int
    minutes: float
    counts: Mapping[float, Floats]
    replicas: Mapping[int, Mapping[float, Floats]] = {}

    @property
    def unit(self) -> bool:
        """Whether every observation has weight 1."""
        counts = self.counts
        return (len(counts) == 1 and 1.0 in counts) or all(weight == 1 for weight in counts)

    def weighted(self, power: int = 1) -> Floats | None:
        """Sum of weights (or of their squares) by bin; None where nothing was counted."""
        total: Floats | None = None
        for weight, counts in self.counts.items():
            part = counts if weight == 1 else counts * weight**power
            total = part if total is None else total + part
        return total

    def worth(self) -> Floats:
        """Counts by bin that are worth what the weighted ones are: weighted shares times Kish's n."""
        weighted, squares = self.weighted(), self.weighted(2)
        assert weighted is not None
        assert squares is not None
        total = float(squares.sum())
        return weighted * (float(weighted.sum()) / total) if total > 0 else weighted


def as_counts(values: Mapping[float, list[int]]) -> dict[float, Floats]:
    """Counts as arrays."""
    return {weight: np.array(counts, float) for weight, counts in values.items()}
