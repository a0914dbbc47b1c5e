"""Counts of a reference period, hour by hour: the table that every reference is worked out from.

Tables of replicas, and of periods, add up. An hour that was alarmed is left out by leaving out its row.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanewatch.monitors.drift.dispersion import Pearson, phi_of
from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.tick import HOURS_OF_WEEK

DAYS_FOR_HOURS = 14  # below, an hour of the week was seen once or never: all hours are one cell
DAYS_TO_COMPARE = 3
CLEAR = 3.0
DAYS_FOR_TOLERANCE = 7  # below, what days differ by can't be told


class Hours(NamedTuple):
    """R hours of one series. `hours` count from the epoch; B bins.

    `raw` counts observations, `sums` their weights, `squares` the squares of the weights. `dispersion` (R, scales, 2)
    holds Pearson's X2 and df of the minutes, and of the ten minutes, of each hour against that hour.
    """

    hours: NDArray[np.int64]
    cells: NDArray[np.int64]  # hours of the week
    raw: Floats
    sums: Floats
    squares: Floats
    dispersion: Floats

    @property
    def days(self) -> NDArray[np.int64]:
        """Each row's day, counted from 0 in order of time."""
        # The hour of the week tells local days, whatever the time zone.
        return np.asarray(np.unique(self.hours - self.cells % 24, return_inverse=True)[1])

    @property
    def n_days(self) -> int:
        """How many days have an hour with observations."""
        used = self.raw.sum(axis=1) > 0
        return len(np.unique(self.days[used]))

    @property
    def by_hour_of_week(self) -> bool:
        """Whether there is enough for cells by the hour of the week."""
        return self.n_days >= DAYS_FOR_HOURS

    def strata(self) -> list[Pearson]:
        """For each scale, X2 and df summed over the hours."""
        totals = self.dispersion.sum(axis=0)
        return [Pearson(float(x2), float(df)) for x2, df in totals]

    def unit(self) -> bool:
        """Whether every observation had weight 1."""
        return bool((self.sums == self.raw).all() and (self.squares == self.raw).all())


def plain_hours(hours: NDArray[np.int64], raw: Floats, utc_offset_hours: int = 0) -> Hours:
    """A table of unweighted counts whose dispersion was not measured."""
    cells = (hours + utc_offset_hours + 72) % HOURS_OF_WEEK  # the epoch was a Thursday
    return Hours(hours, cells, raw, raw, raw, np.zeros((len(hours), 2, 2)))


def grouped(values: Floats, groups: NDArray[np.int64], n_groups: int) -> Floats:
    """Rows summed by group: (R, B) to (n_groups, B)."""
    totals = np.zeros((n_groups, *values.shape[1:]))
    np.add.at(totals, groups, values)
    return np.asarray(totals)


def effective(table: Hours) -> Floats:
    """Counts (R, B) that are worth what the weighted ones are: weighted shares times Kish's n."""
    if table.unit():
        return table.raw
    n, squares = table.sums.sum(axis=1, keepdims=True), table.squares.sum(axis=1, keepdims=True)
    return np.asarray(table.sums * np.divide(n, squares, out=np.zeros_like(n), where=squares > 0))


def mean_weights(table: Hours) -> Floats:
    """Mean weight by bin; of a bin that was never used, the mean of all."""
    n, total = table.raw.sum(axis=0), table.sums.sum(axis=0)
    overall = total.sum() / n.sum() if n.sum() > 0 else 1.0
    return np.asarray(np.divide(total, n, out=np.full_like(n, overall), where=n > 0))


def overdispersion(table: Hours) -> float:
    """How much more counts vary than independent ones: the largest phi at 1, 10 and 60 minutes.

    A scale counts where its X2 is beyond what chance makes of it, three standard deviations; else phi would be above 1
    for every signal, and every alarm later by that much.
    """
    scales = [*table.strata(), _between_hours(table)]
    clear = [scale for scale in scales if scale.x2 - scale.df > CLEAR * np.sqrt(2 * scale.df)]
    return max((phi_of([scale]) for scale in clear), default=1.0)


def _between_hours(table: Hours) -> Pearson:
    """X2 of hours against what their day and their hour of the week let expect."""
    days = table.days
    n_days = int(days.max(initial=-1)) + 1
    cells = table.cells if table.by_hour_of_week else table.cells % 24
    n_cells = HOURS_OF_WEEK if table.by_hour_of_week else 24
    if n_days < DAYS_TO_COMPARE:
        return Pearson(0.0, 0.0)
    counts = _frequent(table.raw, 5 * n_days)
    n = counts.sum(axis=1)
    used = n > 0
    counts, n, days, cells = counts[used], n[used], days[used], cells[used]
    by_cell = grouped(counts, cells, n_cells)
    q = (by_cell / np.maximum(by_cell.sum(axis=1, keepdims=True), 1))[cells]
    expected = n[:, None] * q
    by_day, expected_by_day = grouped(counts, days, n_days), grouped(expected, days, n_days)
    moved = expected * (by_day / np.maximum(expected_by_day, 1e-9))[days]
    moved *= n[:, None] / np.maximum(moved.sum(axis=1, keepdims=True), 1e-9)
    df = (len(n) - n_days - len(np.unique(cells)) + 1) * (counts.shape[1] - 1)
    if df <= 0:
        return Pearson(0.0, 0.0)
    x2 = np.divide((counts - moved) ** 2, moved, out=np.zeros_like(moved), where=moved > 0).sum()
    return Pearson(float(x2), float(df))


def _frequent(counts: Floats, least: float) -> Floats:
    """Counts with all bins of fewer than `least` made one."""
    frequent = counts.sum(axis=0) >= least
    rest = counts[:, ~frequent].sum(axis=1, keepdims=True)
    kept = counts[:, frequent]
    return np.concatenate([kept, rest], axis=1) if rest.sum() >= least else kept
