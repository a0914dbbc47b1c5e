"""What a replica counts in a tick, and how replicas' counts become one: integers that add, in any order, once each.

A message is known by (replica, tick): given twice it counts once. Weights stay apart until they are used, and sums of
real numbers are kept in fixed point, so that no order of adding makes a difference, not even in the last digit.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np

from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.tick import Tick, as_counts

FIXED_POINT = 1 << 20
REMEMBERED_TICKS = 360  # an hour: what comes later than that is told apart no more, and refused
GONE_TICKS = 60  # a replica that is silent for ten minutes gives its slot back

SeriesKey: TypeAlias = tuple[str, str]  # service, signal
Counts: TypeAlias = dict[float, list[int]]  # weight -> counts by bin


class Size(NamedTuple):
    """A tick of a series: so many numbers, the first `counts` of which are counts and not negative."""

    numbers: int
    counts: int


class SeriesSums(msgspec.Struct):
    """One series of a message."""

    service: str
    signal: str
    counts: list[tuple[float, list[int]]]


class TickSums(msgspec.Struct):
    """All that one replica counted in one tick. `layout` names the bins that it was counted in."""

    replica: str
    tick: int
    layout: str
    series: list[SeriesSums]


class Merged(StrEnum):
    """What became of a message."""

    ADDED = "added"
    LATE = "late"  # its tick was closed; it counts in the open one
    DUPLICATE = "duplicate"
    TOO_OLD = "too_old"
    OTHER_LAYOUT = "other_layout"
    MALFORMED = "malformed"  # counts that are no counts, or of another length


def add_counts(total: Counts, counts: Counts) -> None:
    """Add counts to a total, weight by weight."""
    for weight, values in counts.items():
        mine = total.get(weight)
        total[weight] = list(values) if mine is None else [a + b for a, b in zip(mine, values, strict=True)]


class PoolState(msgspec.Struct):
    """What a pool must remember to go on: which ticks of which replica were counted, and what is not closed yet."""

    closed: int
    slots: list[str | None]
    seen: dict[str, list[int]]
    waiting: list[TickSums]


class Pool:
    """Messages of replicas, summed by tick."""

    def __init__(self, layout: str, sizes: dict[SeriesKey, Size]) -> None:
        """`sizes` are those of the layout's series."""
        self.slots: list[str | None] = []
        self._layout, self._sizes = layout, sizes
        self._closed = -1
        self._seen: dict[str, set[int]] = {}
        self._waiting: dict[int, dict[str, dict[SeriesKey, Counts]]] = {}

    def add(self, message: TickSums) -> Merged:
        """Take in a message."""
        if message.layout != self._layout:
            return Merged.OTHER_LAYOUT
        seen = self._seen.setdefault(message.replica, set())
        if message.tick in seen:
            return Merged.DUPLICATE
        if message.tick <= self._closed - REMEMBERED_TICKS:
            return Merged.TOO_OLD
        if not all(self._is_sound(series) for series in message.series):
            return Merged.MALFORMED
        seen.add(message.tick)
        if message.replica not in self.slots:
            self._give_slot(message.replica)
        late = message.tick <= self._closed
        parts = self._waiting.setdefault(max(message.tick, self._closed + 1), {}).setdefault(message.replica, {})
        for series in message.series:
            add_counts(parts.setdefault((series.service, series.signal), {}), dict(series.counts))
        return Merged.LATE if late else Merged.ADDED

    def close(self, through: int) -> Iterator[tuple[int, dict[SeriesKey, tuple[Counts, dict[int, Counts]]]]]:
        """Close all ticks up to `through`, in order; for each that has counts, by series: (all, by replica's slot)."""
        for tick in sorted(tick for tick in self._waiting if tick <= through):
            by_replica = self._waiting.pop(tick)
            pooled: dict[SeriesKey, tuple[Counts, dict[int, Counts]]] = {}
            for replica in sorted(by_replica):
                slot = self.slots.index(replica) if replica in self.slots else None
                for key, counts in by_replica[replica].items():
                    total, parts = pooled.setdefault(key, ({}, {}))
                    add_counts(total, counts)
                    if slot is not None and len(self.slots) > 1:
                        add_counts(parts.setdefault(slot, {}), counts)
            yield tick, pooled
        self._closed = max(self._closed, through)
        oldest = self._closed - REMEMBERED_TICKS
        remembered = {replica: {tick for tick in ticks if tick > oldest} for replica, ticks in self._seen.items()}
        self._seen = {replica: ticks for replica, ticks in remembered.items() if ticks}

    def gone(self) -> list[int]:
        """Slots whose replica has been silent; they are free from now on."""
        freed = []
        for slot, replica in enumerate(self.slots):
            if replica is not None and max(self._seen.get(replica, ()), default=-1) <= self._closed - GONE_TICKS:
                self.slots[slot] = None
                freed.append(slot)
        return freed

    def state(self) -> PoolState:
        """What to write down."""
        waiting = [
            TickSums(replica, tick, self._layout, [SeriesSums(*key, list(c.items())) for key, c in parts.items()])
            for tick, by_replica in self._waiting.items()
            for replica, parts in by_replica.items()
        ]
        return PoolState(
            self._closed, list(self.slots), {name: sorted(ticks) for name, ticks in self._seen.items()}, waiting
        )

    def restore(self, state: PoolState) -> None:
        """Go on from a state."""
        self._closed = state.closed
        self.slots = list(state.slots)
        for message in state.waiting:
            self.add(message)
        self._seen = {replica: set(ticks) for replica, ticks in state.seen.items()}

    def _give_slot(self, replica: str) -> None:
        if None in self.slots:
            self.slots[self.slots.index(None)] = replica
        else:
            self.slots.append(replica)

    def _is_sound(self, series: SeriesSums) -> bool:
        size = self._sizes.get((series.service, series.signal))
        # A weight of NaN is not greater than 0.
        return size is not None and all(
            len(counts) == size.numbers and min(counts[: size.counts]) >= 0 and 0 < weight < float("inf")
            for weight, counts in series.counts
        )


def to_tick(index: int, cell: int, minutes: float, counts: Counts, parts: dict[int, Counts]) -> Tick:
    """A detector's tick from pooled counts."""
    by_slot = {slot: as_counts(own) for slot, own in parts.items()}
    return Tick(index, cell, minutes, as_counts(counts), by_slot)


def fixed(values: Floats) -> Floats:
    """Real numbers in fixed point: whole numbers, whose sums are exact in any order.

    >>> fixed(np.array([0.5, -0.25])).tolist()
    [524288.0, -262144.0]
    """
    return np.asarray(np.rint(values * FIXED_POINT))


def real(values: Floats) -> Floats:
    """Fixed point as real numbers again."""
    return values / FIXED_POINT
