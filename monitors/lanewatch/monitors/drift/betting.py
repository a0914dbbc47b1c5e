"""Bets against the null: how much each observation multiplies the wealth of one who backs an alternative.

A factor 1 + lam w (x - b) has expectation at most 1 while E[w (x - b)] <= 0, whatever the dependence and however the
sampling (weight w) depends on the outcome: wealth is a test supermartingale (Waudby-Smith and Ramdas 2024). With unit
weights it is the likelihood ratio. Tables hold the logarithm of the factor per alternative and bin, so that a tick of
counts costs one product.
"""

import numpy as np
from numpy.typing import ArrayLike

from lanewatch.monitors.drift.distances import Floats

MOST = 0.9  # the largest part of the wealth that one observation may cost


def odds_moved(rate: ArrayLike, odds_ratios: ArrayLike) -> Floats:
    """Rates whose odds are `odds_ratios` times those of `rate`: (...) and (K) give (..., K).

    >>> odds_moved(0.01, [5]).round(4).tolist()
    [0.0481]
    """
    b = np.asarray(rate, float)[..., None]
    moved = np.asarray(odds_ratios, float) * b / (1 - b)
    return np.asarray(moved / (1 + moved))


def stake(bound: ArrayLike, rate: ArrayLike) -> Floats:
    """The lam that makes the bet a binomial likelihood ratio: (p - b)/(b (1 - b)).

    >>> round(float(1 + stake(0.01, odds_moved(0.01, [5])[0]) * (1 - 0.01)), 4)
    4.8077
    """
    b, p = np.asarray(bound, float), np.asarray(rate, float)
    return np.asarray((p - b) / (b * (1 - b)))


def log_wealth(x: ArrayLike, weight: ArrayLike, bound: ArrayLike, lam: ArrayLike) -> Floats:
    """The logarithm of each bet's factor, ln(1 + lam w (x - b)).

    >>> float(np.exp(log_wealth([0, 1, 0], [10, 1, 10], 0.01, 1.8).sum()).round(4))
    1.8706
    """
    x_, w, b = np.asarray(x, float), np.asarray(weight, float), np.asarray(bound, float)
    return np.asarray(np.log1p(np.asarray(lam, float) * w * (x_ - b)))


def rate_table(
    bound: ArrayLike,
    odds_ratios: ArrayLike,
    weight: float = 1.0,
    event_weight: ArrayLike = 1.0,
    max_weight: float = 1.0,
) -> Floats:
    """Log factors (..., K, 2) of a non-event and an event of this weight, for each alternative.

    lam = stake/event_weight, held to what `max_weight` lets a bet lose at most. Unit weights give the binomial log LR.
    """
    b = np.asarray(bound, float)[..., None]
    lam = stake(b, odds_moved(bound, odds_ratios)) / np.asarray(event_weight, float)[..., None]
    if max_weight != 1:
        lam = np.clip(lam, -MOST / ((1 - b) * max_weight), MOST / (b * max_weight))
    return np.stack([log_wealth(0.0, weight, b, lam), log_wealth(1.0, weight, b, lam)], axis=-1)


def ratio_table(ratios: ArrayLike, penalty: ArrayLike, weight: float | None = None, part: ArrayLike = 1.0) -> Floats:
    """Log factors (..., K, B) of an observation in each bin, for alternatives with these likelihood ratios.

    Without a weight: ln r - penalty. With one: ln(1 + c w (r - e^penalty)), the same to first order at c w = 1.
    """
    r, pen = np.asarray(ratios, float), np.asarray(penalty, float)[..., None]
    if weight is None:
        return np.asarray(np.log(r) - pen)
    return np.asarray(np.log1p(np.asarray(part, float)[..., None] * weight * (r - np.exp(pen))))


def ratio_part(
    q: ArrayLike, ratios: ArrayLike, penalty: ArrayLike, mean_weights: ArrayLike, max_weight: float
) -> Floats:
    """The part c (..., K) of a full bet when bins carry these mean weights: D/D_w, as far as `max_weight` allows.

    D = sum q |r - 1| and D_w = sum q |r - 1| wbar: the bet is scaled by what the weights of the bins it is about are.
    """
    r, pen = np.asarray(ratios, float), np.exp(np.asarray(penalty, float))
    distance = np.asarray(q, float)[..., None, :] * np.abs(r - 1)
    weighted = (distance * np.asarray(mean_weights, float)[..., None, :]).sum(axis=-1)
    scale = distance.sum(axis=-1) / np.maximum(weighted, 1e-300)
    return np.asarray(np.minimum(scale, MOST / (max_weight * np.maximum(pen - r.min(axis=-1), 1e-12))))


def increments(counts: ArrayLike, table: ArrayLike) -> Floats:
    """What counts (..., B) add to the log wealth of each alternative (..., K) of a table (..., K, B)."""
    return np.asarray(np.matmul(np.asarray(table, float), np.asarray(counts, float)[..., None])[..., 0])


def multinomial_log_lr(counts: ArrayLike, null: ArrayLike, alternative: ArrayLike) -> float:
    """Log likelihood ratio of counts: sum c ln(alternative/null).

    >>> round(multinomial_log_lr([4, 9, 2], [0.5, 0.3, 0.2], [5 / 13, 6 / 13, 2 / 13]), 4)
    2.3029
    """
    ratios = np.asarray(alternative, float) / np.asarray(null, float)
    return float(increments(counts, ratio_table(ratios[None], [0.0]))[0])
