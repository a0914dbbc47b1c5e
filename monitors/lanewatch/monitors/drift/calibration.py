"""What the effect sizes are worth: thresholds, p-values and intervals under no change, for samples of a given size.

c = 1/n + 1/N is the noise of a window of n observations against a reference of N (+ 1/kappa_day where days differ by
themselves). Counts that cluster (sessions) are worth n/phi of them.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from lanewatch.monitors.drift.quantiles import beta_quantile, chi2_quantile, chi2_tail, normal_quantile


def psi_threshold(bins: int, n: float, reference_n: float, alpha: float, phi: float = 1.0) -> float:
    """The PSI that unchanged windows exceed with probability alpha: chi2 quantile times phi (1/n + 1/N).

    Yurdakul and Naranjo 2020; overdispersion phi after Rao and Scott 1984. `reference_n` inf: the reference is known.

    >>> round(psi_threshold(10, 373, math.inf, 1 / 43_200), 3)  # the only n at which "0.1" is right
    0.1
    """
    return chi2_quantile(alpha, bins - 1) * phi * (1 / n + 1 / reference_n)


def psi_p_value(psi: float, bins: int, n: float, reference_n: float) -> float:
    """P(PSI of an unchanged window > psi) = P(chi2_{B-1} > psi/(1/n + 1/N)).

    >>> round(psi_p_value(0.05, 10, 400, 10_000), 4)
    0.0233
    """
    return chi2_tail(psi / (1 / n + 1 / reference_n), bins - 1)


def psi_null_mean(bins: int, n: float, inverse_reference_n: float) -> float:
    """The PSI that no change gives on average: (B - 1)(1/n + 1/N). Less it, PSI is the `excess`.

    >>> round(psi_null_mean(10, 200, 1 / 5000), 4)
    0.0468
    """
    return (bins - 1) * (1 / n + inverse_reference_n)


def hotelling_t2(mean: ArrayLike, n: float, reference_n: float) -> float:
    """Hotelling's T2 of a window's mean in the reference's whitened space: n N/(n + N) |mean|^2 (Hotelling 1931).

    >>> round(hotelling_t2([0.1, -0.2, 0.05], 400, 10_000), 3)
    20.192
    """
    m = np.asarray(mean, float)
    return float(m @ m) / (1 / n + 1 / reference_n)


def hotelling_p_value(t2: float, k: int) -> float:
    """P(T2 of an unchanged window > t2): chi-square with k degrees of freedom.

    >>> f"{hotelling_p_value(35.3, 8):.2g}"
    '2.4e-05'
    """
    return chi2_tail(t2, k)


def jeffreys(events: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Jeffreys interval of a rate: quantiles of Beta(x + 1/2, n - x + 1/2), 0 at x = 0 and 1 at x = n (Brown et al. 2001).

    Effective numbers are welcome. Raises ValueError unless 0 <= x <= n.

    >>> [round(bound, 4) for bound in jeffreys(12, 1200)]
    [0.0055, 0.0169]
    """
    _check_rate(events, n)
    tail = (1 - confidence) / 2
    low = 0.0 if events <= 0 else beta_quantile(tail, events + 0.5, n - events + 0.5)
    high = 1.0 if events >= n else beta_quantile(1 - tail, events + 0.5, n - events + 0.5)
    return low, high


def wilson(events: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a rate (Wilson 1927). Raises ValueError unless 0 <= x <= n and n > 0.

    >>> [round(bound, 4) for bound in wilson(0, 10)]
    [0.0, 0.2775]
    """
    _check_rate(events, n)
    if n <= 0:
        msg = "no interval without a trial"
        raise ValueError(msg)
    z = normal_quantile((1 + confidence) / 2)
    p = events / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low = 0.0 if events <= 0 else middle - half
    high = 1.0 if events >= n else middle + half
    return low, high


def _check_rate(events: float, n: float) -> None:
    if not (0 <= events <= n < math.inf):
        msg = "a rate needs 0 <= events <= trials, both finite"
        raise ValueError(msg)
