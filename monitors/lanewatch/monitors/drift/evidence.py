"""Evidence of one kind of change in one series: tables of bets for the hour, and e-SR detectors on what they win.

One detector takes the counts of all replicas together. Where there are several replicas, each has a detector of its own
as well, and the evidence is half the pooled W and half the mean of the replicas' W: any fixed mixture of valid evidence
is valid, and one bad replica of sixteen is found in 6 minutes instead of 17. The mean is over all slots ever in use, so
that a replica that is lost can only make it smaller.
"""

from collections.abc import Callable, Mapping

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lanewatch.monitors.drift.betting import increments
from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.recent_weights import RecentWeights, WeightState
from lanewatch.monitors.drift.shiryaev_roberts import ShiryaevRoberts, SrState
from lanewatch.monitors.drift.tick import HOUR_TICKS, Tick

# Log factors (..., K, B) for an hour of the week and a weight (None: all are 1), given what weights there were.
MakeTable = Callable[[int, float | None, RecentWeights], Floats]


class EvidenceState(msgspec.Struct):
    """What to remember of one kind of evidence."""

    pooled: SrState
    replicas: list[SrState] = []
    weights: WeightState | None = None


class Evidence:
    """Mixture e-SR over alternatives whose bets are given by tables. `ratio` is W/A of the last update."""

    def __init__(
        self,
        make_table: MakeTable,
        prior: Floats,
        phi: ArrayLike,
        mean_weights: ArrayLike,
        limit: float,
        shape: tuple[int, ...] = (),
    ) -> None:
        """`phi` divides the log wealth of counts that cluster; `mean_weights` are the reference's, by bin."""
        self.ratio: Floats = np.zeros(shape)
        self._make = make_table
        self._prior, self._phi, self._shape = prior, np.asarray(phi, float)[..., None], shape
        self._weights = RecentWeights(mean_weights)
        self._tables: dict[float | None, Floats] = {}
        self._hour = (-1, -1)
        self._pooled = ShiryaevRoberts(prior, limit, shape)
        self._replicas: list[ShiryaevRoberts] = []

    @property
    def limit(self) -> float:
        """The alarm line A, in minutes between false alarms."""
        return self._pooled.limit

    @limit.setter
    def limit(self, limit: float) -> None:
        for detector in (self._pooled, *self._replicas):
            detector.limit = limit

    def update(self, tick: Tick) -> Floats:
        """Take in a tick; returns W/A: an alarm at 1 or more."""
        # Where zones differ by half hours, the cell changes within an hour of the epoch.
        hour = tick.index // HOUR_TICKS, tick.cell
        # Not short-circuited: a weight larger than all before must be taken over in any case.
        if self._weights.exceeded_by(tick) | (hour != self._hour):
            self._tables.clear()
            self._hour = hour
        self.ratio = self._pooled.update(self._won(tick.counts, tick.cell), tick.minutes, tick.index)
        self._update_replicas(tick)
        self._weights.add(tick)
        return self.ratio

    def leader(self) -> Floats:
        """The alternative that explains most of the evidence."""
        return self._pooled.leader()

    def onset(self) -> Floats:
        """The tick in which the evidence began to grow."""
        return self._pooled.onset()

    def restart(self, where: NDArray[np.bool_] | None = None) -> None:
        """Begin at 0 again, after an alarm."""
        for detector in (self._pooled, *self._replicas):
            detector.restart(where)

    def forget_replica(self, slot: int) -> None:
        """A replica has gone: its evidence is dropped, its slot stays for the next."""
        if slot < len(self._replicas):
            self._replicas[slot].restart()

    def state(self) -> EvidenceState:
        """What to write down."""
        weights = None if self._weights.unit else self._weights.state()
        return EvidenceState(self._pooled.state(), [replica.state() for replica in self._replicas], weights)

    def restore(self, state: EvidenceState) -> bool:
        """Go on from a state; False where it does not fit."""
        if not self._pooled.restore(state.pooled):
            return False
        if state.weights is not None and not self._weights.restore(state.weights):
            return False
        self._grow(len(state.replicas))
        return all(mine.restore(its) for mine, its in zip(self._replicas, state.replicas, strict=True))

    def _update_replicas(self, tick: Tick) -> None:
        if not tick.replicas and not self._replicas:
            return
        self._grow(max(tick.replicas, default=-1) + 1)
        for slot, detector in enumerate(self._replicas):
            detector.update(self._won(tick.replicas.get(slot, {}), tick.cell), tick.minutes, tick.index)
        if len(self._replicas) > 1:
            mean = sum(detector.ratio() for detector in self._replicas) / len(self._replicas)
            self.ratio = np.asarray((self.ratio + mean) / 2)

    def _grow(self, slots: int) -> None:
        while len(self._replicas) < slots:
            self._replicas.append(ShiryaevRoberts(self._prior, self.limit, self._shape))

    def _won(self, counts: Mapping[float, Floats], cell: int) -> Floats:
        won: Floats | None = None
        for weight, by_bin in counts.items():
            key = None if self._weights.unit else weight
            table = self._tables.get(key)
            if table is None:
                table = self._tables[key] = self._make(cell, key, self._weights)
            part = increments(by_bin, table)
            won = part if won is None else won + part
        return np.zeros((*self._shape, len(self._prior))) if won is None else np.asarray(won / self._phi)
