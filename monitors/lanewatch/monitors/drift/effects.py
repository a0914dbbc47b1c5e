"""How large a change is, as it is shown: effect sizes of a window beside what no change would give."""

import math

import msgspec
import numpy as np

from lanewatch.monitors.drift.bins import Bins
from lanewatch.monitors.drift.calibration import jeffreys, psi_null_mean
from lanewatch.monitors.drift.distances import (
    Floats,
    g_statistic,
    js_distance,
    kl,
    psi_contributions,
    shares_toward,
    wasserstein_binned,
)
from lanewatch.monitors.drift.quantiles import chi2_quantile, chi2_tail
from lanewatch.monitors.drift.windows import Window

CHECK = 1 / 43_200  # the level of the line that PSI is shown with: one crossing in 30 days of minutes
SHOWN_WINDOWS = (5, 60, 360, 1440)


class ShareEffects(msgspec.Struct, frozen=True):
    """A distribution's window against its reference. `n` is the sum of weights, `worth` what that is worth."""

    minutes: int
    n: float
    worth: float
    psi: float
    psi_excess: float  # beyond what chance gives
    psi_threshold: float  # exceeded once in 43,200 windows without a change
    kl_nats: float
    js_distance: float
    wasserstein_sd: float | None  # in standard deviations of the reference; None where bins have no distance
    log10_p: float  # of the G test of this window alone
    contributions: tuple[float, ...]  # to the PSI, by bin


class RateEffects(msgspec.Struct, frozen=True):
    """A rate's window against its reference."""

    minutes: int
    n: float
    worth: float
    rate: float
    lower: float  # 95 % Jeffreys interval of what it is worth
    upper: float
    reference: float  # the null's edge: tau p~_h
    ratio: float  # of the rate to the reference's mean


def share_effects(minutes: int, window: Window, inverse_n: float, phi: float, bins: Bins) -> ShareEffects | None:
    """Effect sizes of a window; None where nothing was counted: no data is no zero."""
    n = float(window.counts.sum())
    worth = float(window.effective_n) / phi
    if not (n > 0 and worth > 0):
        return None
    counts, q = window.counts * (worth / n), window.expected
    p = shares_toward(counts, q)
    parts = psi_contributions(p, q)
    value, size = float(parts.sum()), len(q)
    noise = 1 / worth + inverse_n
    bounds = bins.bounds
    distance = None
    if bounds is not None and size > bins.ordered > 0:
        ordered = slice(bins.ordered)
        mass = max(float(p[ordered].sum()), 1e-12), max(float(q[ordered].sum()), 1e-12)
        sd = getattr(bins, "sd", 0.0) or _binned_sd(np.array(bounds), q[ordered] / mass[1])
        moved = float(wasserstein_binned(bounds, p[ordered] / mass[0], q[ordered] / mass[1]))
        distance = moved / sd if sd > 0 else None
    tail = chi2_tail(float(g_statistic(counts, q, inverse_n)), size - 1)
    return ShareEffects(
        minutes,
        n,
        worth,
        value,
        value - psi_null_mean(size, worth, inverse_n),
        chi2_quantile(CHECK, size - 1) * noise,
        float(kl(p, q)),
        float(js_distance(p, q)),
        distance,
        math.log10(max(tail, 1e-300)) if size > 1 else 0.0,
        tuple(parts.tolist()),
    )


def rate_effects(minutes: int, window: Window, mean: float, edge: float, phi: float) -> RateEffects | None:
    """The window's rate; None where there was no trial."""
    n = float(window.counts.sum())
    worth = float(window.effective_n) / phi
    if not (n > 0 and worth > 0):
        return None
    rate = float(window.counts[1]) / n
    lower, upper = jeffreys(min(rate * worth, worth), worth)
    return RateEffects(minutes, n, worth, rate, lower, upper, edge, rate / mean)


def _binned_sd(bounds: Floats, q: Floats) -> float:
    middles = (bounds[:-1] + bounds[1:]) / 2
    mean = float(middles @ q)
    return math.sqrt(max(float(((middles - mean) ** 2) @ q), 0.0))
