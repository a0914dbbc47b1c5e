"""How much more counts vary from window to window than independent observations would: phi = Pearson's X2/df.

Sticky sessions repeat themselves: 5 requests a session with an intra-class correlation of 0.3 give phi 2 to 3.5, and up
to 100 false alarms a month to a detector that does not divide by it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Pearson(NamedTuple):
    """Pearson's X2 of windows against one distribution, with its degrees of freedom; both add up over strata."""

    x2: float
    df: float


def homogeneity(counts: ArrayLike) -> Pearson:
    """X2 of T windows of B bins against their pooled shares: sum (c - n q)^2/(n q), df = (T - 1)(B' - 1).

    Empty windows and bins do not count. Sparse counts are no trouble: where nothing but chance is at work, the
    expectation of X2 is exactly df N/(N - 1) for N counts in all.

    >>> homogeneity([[5, 5], [5, 5]])
    Pearson(x2=0.0, df=1.0)
    """
    c = np.asarray(counts, float)
    n = c.sum(axis=-1)
    c, n = c[n > 0], n[n > 0]
    totals = c.sum(axis=0)
    c, totals = c[:, totals > 0], totals[totals > 0]
    total = n.sum()
    if min(c.shape) <= 1:
        return Pearson(0.0, 0.0)
    expected = np.outer(n, totals / total)
    x2 = float(((c - expected) ** 2 / expected).sum())
    return Pearson(x2, float((len(n) - 1) * (len(totals) - 1)))


def dispersion_phi(events: ArrayLike, trials: ArrayLike) -> float:
    """Overdispersion of a rate, phi = max(1, X2/df), over windows of given trials (McCullagh and Nelder 1989, 4.5).

    >>> round(dispersion_phi([3, 0, 1, 9, 0, 2, 14, 1], [100, 90, 110, 100, 95, 105, 100, 100]), 3)
    7.093
    """
    x, n = np.asarray(events, float), np.asarray(trials, float)
    return phi_of([homogeneity(np.stack([n - x, x], axis=-1))])


def phi_of(strata: list[Pearson]) -> float:
    """Overdispersion max(1, sum X2 / sum df) over strata, each compared with itself: what changes between them is no dispersion.

    >>> phi_of([Pearson(8.0, 4.0), Pearson(4.0, 2.0)])
    2.0
    """
    df = sum(stratum.df for stratum in strata)
    return max(1.0, sum(stratum.x2 for stratum in strata) / df) if df > 0 else 1.0
