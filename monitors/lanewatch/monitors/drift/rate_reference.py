"""What a rate is held against: for each hour of the week a bound that its true rate is below (above).

Hours are shrunk toward the whole by how much they differ (empirical Bayes, a beta prior fitted by moments), and the
bound is a quantile of each hour's posterior; days may differ by tau without an alarm. Estimating these is what turns 31
to 1,662 false alarms a month of a fixed bound into 0.1 to 0.3 (docs/decisions/0005-drift.md).
"""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.hours import (
    DAYS_FOR_TOLERANCE,
    Hours,
    grouped,
    mean_weights,
    overdispersion,
)
from lanewatch.monitors.drift.quantiles import beta_quantile
from lanewatch.monitors.drift.tick import HOURS_OF_WEEK
from lanewatch.monitors.drift.weights import weighted_rate

Direction: TypeAlias = Literal["up", "down"]
LEAST, MOST = 1e-9, 1 - 1e-6  # a bound of 0 or 1 could never be bet against
LEAST_TAU = 1.05
DAY_SPREADS = 2.5  # standard deviations between days that are no alarm: 2 gave 1.5 false alarms a month at 2 requests/s
UNKNOWN_TAU = 1.5  # days were seen to differ by a factor of 1.5 where nobody had looked
EVENTS_A_DAY = 5.0  # fewer don't tell how days differ
HOUR_QUANTILE, WHOLE_QUANTILE = 0.90, 0.95
WORST_HOUR = 0.99


class RateBounds(NamedTuple):
    """A rate's reference. Arrays have hours of the week first (168, or 1 for all), then any shape."""

    upper: Floats  # p~_h for rises
    lower: Floats  # and for falls
    mean: Floats  # the posterior mean, to show
    tau: Floats  # day-to-day tolerance, at least 1
    phi: Floats  # overdispersion, at least 1
    mean_weights: Floats  # (..., 2): of non-events and of events
    effective_n: Floats  # what the whole reference is worth

    def bound(self, direction: Direction, cell: int) -> Floats:
        """The null's edge at an hour: tau p~_h, or p~_h/tau for falls."""
        hour = cell % len(self.upper)
        edge = self.upper[hour] * self.tau if direction == "up" else self.lower[hour] / self.tau
        return np.asarray(np.clip(edge, LEAST, MOST))


def known_rate(rate: float) -> RateBounds:
    """Bounds of a rate that is known and never differs."""
    p = np.array([rate])
    return RateBounds(p, p, p, np.array(1.0), np.array(1.0), np.ones(2), np.array(np.inf))


def rate_bounds(table: Hours) -> RateBounds:
    """Bounds from the hours of a reference period; bins are [non-events, events].

    Raises ValueError where there was no trial.
    """
    if table.raw.sum() <= 0:
        msg = "a reference needs observations"
        raise ValueError(msg)
    phi = overdispersion(table)
    by_hour = table.by_hour_of_week
    n_cells = HOURS_OF_WEEK if by_hour else 1
    events, trials = _worth(table, table.cells % n_cells, n_cells, phi)
    rate = float(events.sum() / trials.sum())
    row_events, row_trials = _worth(table, np.arange(len(table.hours)), len(table.hours), phi)
    if by_hour and 0 < rate < 1:
        kappa = beta_kappa(events, trials)
        a, b = events + kappa * rate, trials - events + kappa * (1 - rate)
        level = HOUR_QUANTILE
    else:
        # What never (or always) happened differs between no hours: all of them are one, worth every trial. An hour by
        # itself, of 17 trials without an event, would let a rate of 11 % pass; all 2,880 of them let 0.07 %.
        happened = np.full(n_cells, events.sum())
        a, b = happened + 0.5, trials.sum() - happened + 0.5
        level = WHOLE_QUANTILE
    # Where nothing or everything happened, a and b would be 0.
    a, b = np.maximum(a, 0.5), np.maximum(b, 0.5)
    upper, lower = _quantiles(level, a, b), _quantiles(1 - level, a, b)
    if not by_hour and 0 < rate < 1:
        # One cell stands for all hours: its bound is that of the hours that differ most.
        kappa = beta_kappa(row_events, row_trials)
        upper = np.maximum(upper, beta_quantile(WORST_HOUR, kappa * rate, kappa * (1 - rate)))
        lower = np.minimum(lower, beta_quantile(1 - WORST_HOUR, kappa * rate, kappa * (1 - rate)))
    means = a / (a + b)
    tau = day_tolerance(row_events, row_trials * means[table.cells % n_cells], table, phi)
    return RateBounds(
        upper, lower, means, np.array(tau), np.array(phi), mean_weights(table), np.array(float(trials.sum()))
    )


def beta_kappa(events: Floats, trials: Floats) -> float:
    """The strength of the beta prior that groups' rates are drawn from: g(1-g)/v - 1, by moments.

    v is the variance between groups beyond what chance gives; none gives 10^7 or more, so that all groups are one.
    """
    n = trials.sum()
    rate = events.sum() / n
    used = trials > 0
    p = events[used] / trials[used]
    between = float((trials[used] * (p - rate) ** 2).sum() / n)
    chance = float(used.sum() * rate * (1 - rate) / n)
    return float(max(rate * (1 - rate) / max(between - chance, 1e-9) - 1, 1e-3))


def day_tolerance(events: Floats, expected: Floats, table: Hours, phi: float) -> float:
    """The factor tau = max(1.05, exp(2.5 s)) that days may differ by; s^2 is the variance of ln(observed/expected).

    Chance is taken out (1.15/O a day), and what the hours' own bounds took up of it is put back.
    """
    days = table.days
    n_days = table.n_days
    observed_ = grouped(events[:, None], days, int(days.max()) + 1)[:, 0] * phi
    expected_ = grouped(expected[:, None], days, int(days.max()) + 1)[:, 0] * phi
    used = expected_ > 0
    observed, expected = observed_[used], expected_[used]
    if n_days < DAYS_FOR_TOLERANCE or observed.mean() < EVENTS_A_DAY:
        return UNKNOWN_TAU
    spread = float(np.var(np.log((observed + 0.5) / (expected + 0.5)), ddof=1))
    chance = float(np.mean(1.15 * phi / np.maximum(observed, 1.0)))
    fitted = n_days / (n_days - 7) if table.by_hour_of_week else 1.0
    # One standard deviation of the estimate is taken for chance as well: days that are all alike would else differ.
    between = max(spread - chance * (1 + np.sqrt(2 / (n_days - 1))), 0.0)
    return max(LEAST_TAU, float(np.exp(DAY_SPREADS * np.sqrt(between * fitted))))


def _worth(table: Hours, groups: object, n_groups: int, phi: float) -> tuple[Floats, Floats]:
    """(events, trials) by group, as many as they are worth when weights and clusters are allowed for."""
    rows = np.asarray(groups)
    raw, sums, squares = (grouped(values, rows, n_groups) for values in (table.raw, table.sums, table.squares))
    if table.unit():
        return raw[:, 1] / phi, raw.sum(axis=1) / phi
    events, trials = np.zeros(n_groups), np.zeros(n_groups)
    for group in np.flatnonzero(sums.sum(axis=1) > 0):
        w, w2 = sums[group], squares[group]
        estimate = weighted_rate(float(w[1]), float(w.sum()), float(w2[1]), float(w2.sum()))
        trials[group] = estimate.effective_n / phi
        events[group] = estimate.rate * trials[group]
    return events, trials


def _quantiles(level: float, a: Floats, b: Floats) -> Floats:
    return np.array([beta_quantile(level, x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)])
