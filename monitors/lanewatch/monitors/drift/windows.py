"""Counts of the last minutes and hours: a ring of minutes for an hour, a ring of quarters of an hour for a day.

156 slots of float32, about 10 kB for 16 bins. Time is the tick's, so gaps empty the rings by themselves.
"""

import math
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from lanewatch.monitors.drift.distances import AnyFloats, Floats
from lanewatch.monitors.drift.tick import HOURS_OF_WEEK, TICKS_PER_MINUTE, Tick

MINUTES, QUARTER, DAY = 60, 15, 1440
UNUSED = -(1 << 31)


class Window(NamedTuple):
    """What was counted in a window: weighted counts by bin, Kish's effective number, and the shares that were expected."""

    counts: Floats  # (..., B)
    effective_n: Floats  # (...)
    expected: Floats  # (..., B)


class RingState(msgspec.Struct):
    """The used slots of a ring: which stretch of time each holds, its hour of the week, squares of weights, counts (float32)."""

    stretches: list[int]
    cells: list[int]
    squares: bytes
    counts: bytes


class _Ring:
    def __init__(self, slots: int, shape: tuple[int, ...]) -> None:
        self.stretches = [UNUSED] * slots
        self.cells = np.zeros(slots, np.uint8)
        self.counts = np.zeros((slots, *shape), np.float32)
        self.squares = np.zeros((slots, *shape[:-1]), np.float32)

    def add(self, stretch: int, cell: int, counts: Floats, squares: Floats) -> None:
        slot = stretch % len(self.stretches)
        if self.stretches[slot] != stretch:
            self.stretches[slot], self.cells[slot] = stretch, cell
            self.counts[slot], self.squares[slot] = counts, squares
        else:
            self.counts[slot] += counts
            self.squares[slot] += squares

    def several(self, firsts: list[int], last: int, shares: AnyFloats) -> tuple[Floats, Floats, Floats]:
        """(counts, squares, expected counts) since each of `firsts`."""
        oldest = min(firsts)
        used = self.since(oldest, last)
        stretches, cells = np.array(self.stretches)[used], self.cells[used] % len(shares)
        counts, squares = self.counts[used].astype(float), self.squares[used].astype(float)
        chosen = (stretches >= np.array(firsts)[:, None]).astype(float)
        expected = counts.sum(axis=-1)[..., None] * shares[cells]
        return _rows(chosen, counts), _rows(chosen, squares), _rows(chosen, expected)

    def since(self, first: int, last: int) -> NDArray[np.bool_]:
        stretches = np.array(self.stretches)
        return np.asarray((stretches >= first) & (stretches <= last))

    def clear(self) -> None:
        self.stretches = [UNUSED] * len(self.stretches)

    def state(self) -> RingState:
        used = np.array(self.stretches) > UNUSED
        return RingState(
            [stretch for stretch in self.stretches if stretch > UNUSED],
            self.cells[used].tolist(),
            self.squares[used].astype("<f4").tobytes(),
            self.counts[used].astype("<f4").tobytes(),
        )

    def restore(self, state: RingState) -> bool:
        n = len(state.stretches)
        squares, counts = (_floats(data) for data in (state.squares, state.counts))
        if squares is None or counts is None or n > len(self.stretches) or len(state.cells) != n:
            return False
        if squares.size != n * self.squares[0].size or counts.size != n * self.counts[0].size:
            return False
        slots = [stretch % len(self.stretches) for stretch in state.stretches]
        for slot, stretch, cell in zip(slots, state.stretches, state.cells, strict=True):
            self.stretches[slot], self.cells[slot] = stretch, cell % HOURS_OF_WEEK
        self.counts[slots] = counts.reshape(n, *self.counts.shape[1:])
        self.squares[slots] = squares.reshape(n, *self.squares.shape[1:])
        return True


def _floats(data: bytes) -> NDArray[np.float32] | None:
    """Finite numbers, or None."""
    values = np.frombuffer(data[: len(data) // 4 * 4], "<f4")
    return values if len(data) % 4 == 0 and np.isfinite(values).all() else None


def _rows(chosen: Floats, values: Floats) -> Floats:
    """(W, slots) by (slots, ...) to (W, ...)."""
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    return np.asarray((chosen @ flat).reshape(len(chosen), *values.shape[1:]))


class Windows:
    """Sums over the last 1 to 60 minutes, and to 24 hours in steps of a quarter.

    >>> windows = Windows((2,))
    >>> for index in range(12):
    ...     windows.add(Tick(index, 0, 1 / 6, {1.0: np.array([3.0, 1.0])}))
    >>> windows.window(1, 1, np.array([[0.5, 0.5]])).counts.tolist()
    [18.0, 6.0]
    """

    def __init__(self, shape: tuple[int, ...], quarter: int = QUARTER) -> None:
        """`shape` is (..., B), that of a tick's counts; beyond an hour steps are of `quarter` minutes."""
        self.shape = shape
        self._quarter = quarter
        self._minutes = _Ring(MINUTES, shape)
        self._quarters = _Ring(DAY // quarter, shape)

    def add(self, tick: Tick) -> None:
        """Count a tick."""
        counts = tick.weighted()
        if counts is not None:
            squares = counts if tick.unit else tick.weighted(2)
            assert squares is not None
            self.add_sums(tick.index, tick.cell, counts, squares.sum(axis=-1))

    def add_sums(self, index: int, cell: int, counts: Floats, squares: Floats) -> None:
        """Count sums of any kind that add up."""
        minute = index // TICKS_PER_MINUTE
        self._minutes.add(minute, cell, counts, squares)
        self._quarters.add(minute // self._quarter, cell, counts, squares)

    def window(self, minutes: int, now: int, shares: AnyFloats) -> Window:
        """The window of so many minutes that ends with the minute `now` (counted from the epoch).

        `shares` (H, ..., B) are those of the reference by hour of the week; each slot expects those of its own hour.
        """
        several = self.several((minutes,), now, shares)
        return Window(several.counts[0], several.effective_n[0], several.expected[0])

    def several(self, windows: tuple[int, ...], now: int, shares: AnyFloats) -> Window:
        """The same for several windows at once, as one more axis in front."""
        short = [minutes for minutes in windows if minutes <= MINUTES]
        long = [minutes for minutes in windows if minutes > MINUTES]
        parts = []
        if short:
            parts.append(self._minutes.several([now - minutes + 1 for minutes in short], now, shares))
        if long:
            quarter = now // self._quarter
            firsts = [quarter - self._steps(minutes) + 1 for minutes in long]
            parts.append(self._quarters.several(firsts, quarter, shares))
        counts, squares, expected = (np.concatenate(field) for field in zip(*parts, strict=True))
        n = counts.sum(axis=-1)
        effective = np.divide(n * n, squares, out=np.zeros_like(squares), where=squares > 0)
        total = expected.sum(axis=-1, keepdims=True)
        whole = np.broadcast_to(shares[0].astype(float), expected.shape)
        return Window(counts, effective, np.divide(expected, total, out=whole.copy(), where=total > 0))

    def sums(self, minutes: int, now: int) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.uint8]]:
        """(counts, squares, hours of the week) of each slot in the window."""
        ring, chosen = self._chosen(minutes, now)
        return ring.counts[chosen], ring.squares[chosen], ring.cells[chosen]

    def clear(self, where: NDArray[np.bool_] | None = None) -> None:
        """Forget all; in `where` of several."""
        for ring in (self._minutes, self._quarters):
            if where is None:
                ring.clear()
            else:
                ring.counts[:, where], ring.squares[:, where] = 0, 0

    def state(self) -> list[RingState]:
        """What to write down."""
        return [self._minutes.state(), self._quarters.state()]

    def restore(self, state: list[RingState]) -> bool:
        """Go on from a state; False where it does not fit."""
        rings = (self._minutes, self._quarters)
        return len(state) == len(rings) and all(ring.restore(its) for ring, its in zip(rings, state, strict=True))

    def _chosen(self, minutes: int, now: int) -> tuple[_Ring, NDArray[np.bool_]]:
        if minutes <= MINUTES:
            return self._minutes, self._minutes.since(now - minutes + 1, now)
        quarter = now // self._quarter
        return self._quarters, self._quarters.since(quarter - self._steps(minutes) + 1, quarter)

    def _steps(self, minutes: int) -> int:
        """As many steps as cover so many minutes."""
        return -(-minutes // self._quarter)
