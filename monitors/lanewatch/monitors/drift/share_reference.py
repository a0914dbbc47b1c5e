"""What a distribution is held against: each hour of the week's shares, and how uncertain they are.

Hours are shrunk toward the whole by how much they differ (a Dirichlet prior fitted by moments), and what days differ by
themselves is one more uncertainty, 1/kappa_day, that no amount of data takes away.
"""

from typing import NamedTuple

import numpy as np

from lanewatch.monitors.drift.distances import AnyFloats, Floats, shares
from lanewatch.monitors.drift.hours import (
    DAYS_FOR_TOLERANCE,
    Hours,
    effective,
    grouped,
    mean_weights,
    overdispersion,
)
from lanewatch.monitors.drift.tick import HOURS_OF_WEEK

UNKNOWN_KAPPA_DAY = 1000.0  # where nobody had looked: a share of a third wobbles by 1.5 points
PSEUDO_COUNT = 0.5
CLEAR = 2.0  # standard deviations


class ShareReference(NamedTuple):
    """A distribution's reference. Arrays have hours of the week first (168, or 1 for all), then any shape."""

    shares: AnyFloats  # (H, ..., B)
    inverse_n: Floats  # (H, ...): phi/N + 1/kappa_day, what an hour's shares are uncertain by
    phi: Floats  # (...): overdispersion, at least 1
    mean_weights: Floats  # (..., B)
    ordered: int  # how many bins, from the first, have an order
    kappa_day: float = np.inf

    def at(self, cell: int) -> tuple[Floats, Floats]:
        """Shares and their uncertainty at an hour of the week."""
        hour = cell % len(self.shares)
        return np.asarray(self.shares[hour], float), self.inverse_n[hour]


def known_shares(values: Floats, ordered: int = 0) -> ShareReference:
    """A reference that is known and never differs."""
    q = np.asarray(values, float)
    return ShareReference(q[None], np.zeros(1), np.array(1.0), np.ones_like(q), ordered)


def share_reference(table: Hours, ordered: int) -> ShareReference:
    """The reference from the hours of a period. Raises ValueError where nothing was counted."""
    if table.raw.sum() <= 0:
        msg = "a reference needs observations"
        raise ValueError(msg)
    phi = overdispersion(table)
    counts = effective(table) / phi
    whole = shares(counts.sum(axis=0), PSEUDO_COUNT)
    n = float(counts.sum())
    if table.by_hour_of_week:
        by_cell = grouped(counts, table.cells, HOURS_OF_WEEK)
        kappa = dirichlet_kappa(by_cell, whole)
        strength = min(kappa, 1e9)
        worth = by_cell.sum(axis=1) + strength
        q = (by_cell + strength * whole) / worth[:, None]
        inverse_n = 1 / worth + 1 / n
        between_hours = np.inf
    else:
        q, inverse_n = whole[None], np.array([1 / n])
        # One cell stands for all hours: what they differ by is an uncertainty.
        between_hours = dirichlet_kappa(counts, whole)
    kappa_day = _kappa_day(counts, q, table)
    # An hour of the week was seen on as many days as there were weeks: their wobble is in its shares, and stays.
    wobble = (1 + 7 / table.n_days) / kappa_day if table.by_hour_of_week else 1 / min(kappa_day, between_hours)
    return ShareReference(q, inverse_n + wobble, np.array(phi), mean_weights(table), ordered, kappa_day)


def dirichlet_kappa(counts: Floats, expected: Floats, fitted: float = 0.0) -> float:
    """The strength of the Dirichlet that groups' shares are drawn from, around `expected` (B) or (G, B); inf where none.

    E[X2] = df + sum (N - 1)(B - 1)/(kappa + 1) over groups of N (Mosimann 1962). `fitted` groups' worth of freedom was
    used up by the expectation.
    """
    n = counts.sum(axis=1)
    used = n > 0
    counts, n = counts[used], n[used]
    bins = int((counts.sum(axis=0) > 0).sum())
    expected = np.broadcast_to(expected, (len(used), counts.shape[1]))[used]
    df = (len(n) - 1 - fitted) * (bins - 1)
    if df <= 0:
        return float(np.inf)
    x2 = float((n[:, None] * (counts / n[:, None] - expected) ** 2 / expected).sum())
    room = float(np.maximum(n - 1, 0).sum()) * (bins - 1) * (df / ((len(n) - 1) * (bins - 1)))
    # An excess that chance may have made is none: it would cost every alarm a tenth of its speed.
    return max(room / (x2 - df) - 1, 1.0) if x2 - df > CLEAR * np.sqrt(2 * df) else float(np.inf)


def _kappa_day(counts: Floats, q: Floats, table: Hours) -> float:
    days, n_days = table.days, int(table.days.max()) + 1
    if table.n_days < DAYS_FOR_TOLERANCE:
        return UNKNOWN_KAPPA_DAY
    by_day = grouped(counts, days, n_days)
    expected = grouped(counts.sum(axis=1, keepdims=True) * q[table.cells % len(q)], days, n_days)
    fitted = 6 if table.by_hour_of_week else 0  # each day of the week has hours of its own
    return dirichlet_kappa(by_day, shares(expected), fitted)
