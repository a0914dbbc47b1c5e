"""Tails and quantiles of the chi-square, beta and normal distributions.

They are written out here because importing scipy.special costs 12 MB of the sidecar's resident memory, a tenth of what it
may take at rest (docs/decisions/0005-drift.md). Held to scipy's figures by tests/monitors/drift/test_quantiles.py.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

EPSILON = 1.2e-16  # 1 - EPSILON is the largest float below 1
TINY = 1e-300
MAX_TERMS = 100_000
NORMAL = NormalDist()


def normal_quantile(p: float) -> float:
    """The p-quantile of N(0, 1).

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return NORMAL.inv_cdf(p)


def chi2_tail(x: float, df: float) -> float:
    """P(X > x) for X ~ chi-square with `df` degrees of freedom: the regularised upper incomplete gamma Q(df/2, x/2).

    Series below x/2 < df/2 + 1, continued fraction above (Press et al., Numerical Recipes, 6.2).

    >>> f"{chi2_tail(37.3, 9):.3g}"
    '2.33e-05'
    """
    if df <= 0:
        return 0.0  # a distribution with one bin can't deviate
    a, half = df / 2, x / 2
    if half <= 0:
        return 1.0
    scale = math.exp(a * math.log(half) - half - math.lgamma(a))
    if half < a + 1:
        term = total = 1 / a
        for n in range(1, MAX_TERMS):
            term *= half / (a + n)
            total += term
            if term < total * EPSILON:
                break
        return 1 - scale * total
    return scale / _lentz(half + 1 - a, lambda i: (-i * (i - a), half + 1 - a + 2 * i))


@lru_cache(maxsize=1024)
def chi2_quantile(tail: float, df: float) -> float:
    """The x with P(X > x) = `tail`: Wilson and Hilferty's cube as a start, then Newton on the logarithm of the tail.

    >>> [round(chi2_quantile(1 / 43_200, df), 1) for df in (6, 9, 14, 19)]
    [31.2, 37.3, 46.5, 55.0]
    """
    if df <= 0:
        return 0.0
    z = -normal_quantile(tail)
    x = max(df * (1 - 2 / (9 * df) + z * math.sqrt(2 / (9 * df))) ** 3, 1e-8 * df)
    low, high = 0.0, math.inf
    for _ in range(200):
        q = chi2_tail(x, df)
        low, high = (x, high) if q > tail else (low, x)
        density = math.exp((df / 2 - 1) * math.log(x) - x / 2 - df / 2 * math.log(2) - math.lgamma(df / 2))
        step = q * math.log(q / tail) / density if density > 0 and q > 0 else math.inf
        new = x + step
        if not low < new < high:
            new = (low + high) / 2 if math.isfinite(high) else 2 * x
        if abs(new - x) <= 1e-13 * x:
            return new
        x = new
    return x


def beta_cdf(x: float, a: float, b: float) -> float:
    """P(X <= x) for X ~ Beta(a, b), by the continued fraction of Numerical Recipes, 6.4."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    scale = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return scale * _beta_fraction(x, a, b) / a
    return 1 - scale * _beta_fraction(1 - x, b, a) / b


def beta_quantile(p: float, a: float, b: float) -> float:
    """The p-quantile of Beta(a, b), by Newton between bounds.

    >>> round(beta_quantile(0.975, 0.5, 10.5), 10)
    0.2171962675
    """
    low, high, x = 0.0, 1.0, min(max(_beta_start(p, a, b), 1e-300), 1 - 1e-16)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    for _ in range(300):
        error = beta_cdf(x, a, b) - p
        low, high = (low, x) if error > 0 else (x, high)
        density = math.exp((a - 1) * math.log(x) + (b - 1) * math.log1p(-x) - log_beta)
        new = x - error / density if density > 0 else math.nan
        if not low < new < high:
            new = min((low + high) / 2, 1 - EPSILON)
        if abs(new - x) <= 1e-14 * min(x, 1 - x):
            return new
        x = new
    return x


def _beta_start(p: float, a: float, b: float) -> float:
    """Near the p-quantile: a hundredth of a standard deviation where a, b >= 50 (Abramowitz and Stegun 26.5.22)."""
    if min(a, b) < 1:
        return a / (a + b)
    y = -normal_quantile(p)
    inverse_a, inverse_b = 1 / (2 * a - 1), 1 / (2 * b - 1)
    h = 2 / (inverse_a + inverse_b)
    shape = (y * y - 3) / 6
    w = y * math.sqrt(h + shape) / h if h + shape > 0 else 0.0
    w -= (inverse_b - inverse_a) * (shape + 5 / 6 - 2 / (3 * h))
    return a / (a + b * math.exp(min(2 * w, 600.0)))


def _beta_fraction(x: float, a: float, b: float) -> float:
    def term(i: int) -> tuple[float, float]:
        half = i // 2
        if i % 2:
            return -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1)), 1.0
        return half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half)), 1.0

    return 1 / _lentz(1.0, term)


def _lentz(first: float, term: Callable[[int], tuple[float, float]]) -> float:
    """The continued fraction first + a1/(b1 + a2/(b2 + ...)) with (a_i, b_i) = term(i), by Lentz's method."""
    value = c = first or TINY
    d = 0.0
    for i in range(1, MAX_TERMS):
        a, b = term(i)
        d = 1 / (b + a * d or TINY)
        c = b + a / c or TINY
        value *= c * d
        if abs(c * d - 1) < EPSILON * 10:
            break
    return value
