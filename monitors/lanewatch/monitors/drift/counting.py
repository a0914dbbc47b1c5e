"""The second part of a reference: counts of every series by the hour, as the ticks go by.

35 days are kept, an hour a row. Minutes are kept until their hour is over, to measure how much more they vary than
independent counts. Hours that were alarmed are left out by taking their rows away, back to when the change began.
"""

from collections.abc import Callable
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from lanewatch.monitors.drift.dispersion import Pearson, homogeneity
from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.hours import Hours
from lanewatch.monitors.drift.layout import Layout
from lanewatch.monitors.drift.packed import pack, unpack
from lanewatch.monitors.drift.sums import Counts, SeriesKey, Size
from lanewatch.monitors.drift.tick import HOUR_TICKS, TICKS_PER_MINUTE

MAX_HOURS = 35 * 24
LEAST_IN_HOUR = 30  # observations without which an hour tells nothing about its minutes
SCALES = (1, 10)  # minutes


class Row(msgspec.Struct):
    """An hour of one series, packed: counts; sums of weights and of their squares, where any weight is not 1."""

    hour: int
    cell: int
    raw: bytes
    sums: bytes
    squares: bytes
    dispersion: list[tuple[float, float]]


class CountingState(msgspec.Struct):
    """The rows of all series, by service and signal."""

    rows: dict[str, dict[str, list[Row]]]


class _Hour:
    def __init__(self, hour: int, cell: int, length: int, n_counts: int) -> None:
        self.hour, self.cell = hour, cell
        self.raw, self.sums, self.squares = np.zeros((3, length))
        self.minutes = np.zeros((60, n_counts), np.float32)

    def add(self, tick: int, counts: Counts) -> None:
        minute = tick % HOUR_TICKS // TICKS_PER_MINUTE
        for weight, values in counts.items():
            row = np.array(values, float)
            self.raw += row
            self.sums += weight * row
            self.squares += weight * weight * row
            self.minutes[minute] += row[: self.minutes.shape[1]]

    def row(self, groups: tuple[slice, ...]) -> Row:
        unit = bool((self.sums == self.raw).all())
        return Row(
            self.hour,
            self.cell,
            pack(self.raw),
            b"" if unit else pack(self.sums),
            b"" if unit else pack(self.squares),
            [self._dispersion(groups, minutes) for minutes in SCALES],
        )

    def _dispersion(self, groups: tuple[slice, ...], minutes: int) -> tuple[float, float]:
        windows = self.minutes.reshape(60 // minutes, minutes, -1).sum(axis=1)
        each = [
            homogeneity(windows[:, group]) if windows[:, group].sum() >= LEAST_IN_HOUR else Pearson(0.0, 0.0)
            for group in groups
        ]
        return float(sum(pearson.x2 for pearson in each)), float(sum(pearson.df for pearson in each))


class _SeriesCounting:
    def __init__(self, length: int, groups: tuple[slice, ...], max_hours: int) -> None:
        self.rows: list[Row] = []
        self.length, self.groups, self.max_hours = length, groups, max_hours
        self._open: _Hour | None = None

    def add(self, tick: int, cell: int, counts: Counts) -> None:
        hour = tick // HOUR_TICKS
        if self._open is None or hour > self._open.hour:
            self.close()
            self._open = _Hour(hour, cell, self.length, self.groups[-1].stop)
        self._open.add(tick, counts)

    def close(self) -> None:
        if self._open is not None:
            self.rows.append(self._open.row(self.groups))
            self._open = None
            del self.rows[: -self.max_hours]

    def leave_out(self, first: int, last: int) -> int:
        self.close()
        kept = [row for row in self.rows if not first // HOUR_TICKS <= row.hour <= last // HOUR_TICKS]
        left_out, self.rows = len(self.rows) - len(kept), kept
        return left_out

    def all_rows(self) -> list[Row]:
        """The closed hours, and the open one as far as it is: it stays open, else each writing would split it."""
        return self.rows if self._open is None else [*self.rows, self._open.row(self.groups)][-self.max_hours :]

    def table(self) -> Hours | None:
        return hours_table(self.all_rows(), self.length)


class Counting:
    """Counts all series of a layout. `cell_of` gives a tick's hour of the week."""

    def __init__(self, layout: Layout, cell_of: Callable[[int], int], max_hours: int = MAX_HOURS) -> None:
        """Nothing is counted yet; of each series the last `max_hours` are kept."""
        self._cell_of = cell_of
        self.first_tick: int | None = None  # of all that is counted; after a restart the begin of its hour
        self._series = {
            key: _SeriesCounting(size.numbers, _groups(layout, key, size), max_hours)
            for key, size in layout.sizes().items()
        }

    def add(self, tick: int, pooled: dict[SeriesKey, Counts]) -> None:
        """Count a closed tick."""
        cell = self._cell_of(tick)
        self.first_tick = tick if self.first_tick is None else min(tick, self.first_tick)
        for key, counts in pooled.items():
            series = self._series.get(key)
            if series is not None:
                series.add(tick, cell, counts)

    def leave_out(self, key: SeriesKey, first: int, last: int) -> int:
        """Take away the hours from tick `first` to tick `last`, which were alarmed; returns how many there were."""
        return self._series[key].leave_out(first, last) if key in self._series else 0

    def tables(self) -> dict[SeriesKey, Hours]:
        """The hours of each series that has any."""
        found = {key: series.table() for key, series in self._series.items()}
        return {key: table for key, table in found.items() if table is not None and table.raw.sum() > 0}

    def state(self) -> CountingState:
        """What to write down, the open hour as far as it is."""
        rows: dict[str, dict[str, list[Row]]] = {}
        for (service, signal), series in self._series.items():
            rows.setdefault(service, {})[signal] = list(series.all_rows())
        return CountingState(rows)

    def restore(self, state: CountingState) -> None:
        """Go on from a state."""
        for (service, signal), series in self._series.items():
            rows = state.rows.get(service, {}).get(signal, [])
            if hours_table(rows, series.length) is not None:
                series.rows = rows[-series.max_hours :]
                first = min(row.hour for row in rows) * HOUR_TICKS
                self.first_tick = first if self.first_tick is None else min(first, self.first_tick)


def hours_table(rows: list[Row], length: int) -> Hours | None:
    """Rows as one table; None where there is none, or where they are not of this length."""
    raw = _columns([row.raw for row in rows], length)
    if raw is None:
        return None
    sums = _columns([row.sums or row.raw for row in rows], length)
    squares = _columns([row.squares or row.raw for row in rows], length)
    if sums is None or squares is None or any(len(row.dispersion) != len(SCALES) for row in rows):
        return None
    dispersion = np.array([row.dispersion for row in rows], float).reshape(len(rows), len(SCALES), 2)
    return Hours(_whole([row.hour for row in rows]), _whole([row.cell for row in rows]), raw, sums, squares, dispersion)


def _columns(packed: list[bytes], length: int) -> Floats | None:
    rows = [unpack(data, length) for data in packed]
    if not rows or any(row is None for row in rows):
        return None
    return np.stack([row for row in rows if row is not None])


def _whole(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def _groups(layout: Layout, key: SeriesKey, size: Size) -> tuple[slice, ...]:
    """The parts of a series' numbers that are distributions by themselves."""
    projection = layout.services[key[0]].projections.get(key[1])
    if projection is None:
        return (slice(0, size.counts),)
    shape = projection.shape
    edges = [i * shape.bins for i in range(shape.components + 1)]
    return (*(slice(a, b) for a, b in pairwise(edges)), slice(edges[-1], shape.counts))
