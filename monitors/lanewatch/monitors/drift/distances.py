"""How far two distributions over the same bins are apart: PSI, KL, JS, G, W1 as pure functions.

Effect sizes to look at; none of them is alarmed on by a fixed threshold. At n = 50, PSI > 0.1 fires on 86 % of unchanged
windows, at n = 5,000 it is blind (docs/decisions/0005-drift.md). Arrays have the bins last; leading axes are kept. What
can't be compared (a negative or infinite count, sides of different length) raises ValueError: it never becomes a number.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
AnyFloats: TypeAlias = NDArray[np.floating]  # of any precision, as large tables are kept


def shares(counts: ArrayLike, pseudo_count: float = 0.0) -> Floats:
    """Shares of the bins, after `pseudo_count` was added to each. Nothing counted at all gives equal shares.

    >>> shares([3, 1], pseudo_count=0.5).tolist()
    [0.7, 0.3]
    >>> shares([0, 0]).tolist()
    [0.5, 0.5]
    """
    padded = _counts(counts) + pseudo_count
    total = padded.sum(axis=-1, keepdims=True)
    equal = np.full_like(padded, 1 / padded.shape[-1])
    return np.asarray(np.divide(padded, total, out=equal, where=total > 0))


def shares_toward(counts: ArrayLike, reference: ArrayLike, kappa: float | None = None) -> Floats:
    """Shares of `counts` with `kappa` pseudo-observations in the reference's proportions: (c + kappa q)/(n + kappa).

    Smoothing toward the reference leaves equal shares equal and makes a bin that nobody uses cost next to nothing, where
    a constant pseudo-count would look like drift. Default kappa: half the number of bins. No count gives the reference.

    >>> shares_toward([0, 0], [0.9, 0.1]).tolist()
    [0.9, 0.1]
    """
    c, q = _counts(counts), _same_bins(counts, reference)
    weight = c.shape[-1] / 2 if kappa is None else kappa
    if weight <= 0 or not np.isfinite(weight):
        msg = "kappa must be positive and finite"
        raise ValueError(msg)
    return np.asarray((c + weight * q) / (c.sum(axis=-1, keepdims=True) + weight))


def psi(p: ArrayLike, q: ArrayLike) -> Floats:
    """Population stability index of two sets of shares: sum (p - q) ln(p/q), in nats; inf where only one side has a bin.

    Kullback's J-divergence KL(p||q) + KL(q||p) (Kullback and Leibler 1951; Yurdakul 2018).

    >>> float(psi([0.5, 0.5], [0.7, 0.3]).round(6))
    0.16946
    """
    a, b = _counts(p), _same_bins(p, q)
    return np.asarray(_terms(a, b).sum(axis=-1))


def psi_contributions(p: ArrayLike, q: ArrayLike) -> Floats:
    """Each bin's term of the PSI; a single empty bin often makes most of it, so show them.

    >>> psi_contributions([0.5, 0.5], [0.7, 0.3]).round(4).tolist()
    [0.0673, 0.1022]
    """
    return _terms(_counts(p), _same_bins(p, q))


def kl(p: ArrayLike, q: ArrayLike, base: float = np.e) -> Floats:
    """Kullback-Leibler divergence KL(p||q) of current p from reference q: sum p ln(p/q), with 0 ln 0 = 0.

    >>> float(kl([1.0, 0.0], [0.5, 0.5], base=2))
    1.0
    """
    a, b = _counts(p), _same_bins(p, q)
    ratio = np.divide(a, b, out=np.full(np.broadcast(a, b).shape, np.inf), where=b > 0)
    terms = np.where(a > 0, a * np.log(np.where(a > 0, ratio, 1.0)), 0.0)
    # Rounding may leave -1e-17 where both sides are equal.
    return np.asarray(np.maximum(terms.sum(axis=-1), 0.0) / np.log(base))


def js_distance(p: ArrayLike, q: ArrayLike, base: float = 2.0) -> Floats:
    """Jensen-Shannon distance, the root of the divergence; from 0 to 1 in base 2, finite with empty bins (Lin 1991).

    >>> float(js_distance([1, 0], [0, 1]))
    1.0
    """
    a, b = _counts(p), _same_bins(p, q)
    middle = (a + b) / 2
    return np.asarray(np.sqrt((kl(a, middle, base) + kl(b, middle, base)) / 2))


def g_statistic(counts: ArrayLike, reference: ArrayLike, inverse_reference_n: ArrayLike = 0.0) -> Floats:
    """Likelihood-ratio statistic G = 2 n KL(counts/n||q), divided by 1 + n/N for a reference of N observations.

    Chi-square with B - 1 degrees of freedom where nothing changed (Wilks 1938). The current side needs no smoothing; of
    the statistics tried it alone keeps its level in the deep tail. Nothing counted gives 0.

    >>> float(g_statistic([6, 4], [0.5, 0.5]).round(4))
    0.4027
    """
    c, q = _counts(counts), _same_bins(counts, reference)
    n = c.sum(axis=-1)
    raw = 2 * n * kl(shares(c), q)
    return np.asarray(np.where(n > 0, raw, 0.0) / (1 + n * np.asarray(inverse_reference_n, float)))


def wasserstein_binned(edges: ArrayLike, p: ArrayLike, q: ArrayLike) -> Floats:
    """Wasserstein-1 distance of two binned distributions, in the value's unit: sum |F - G| times the step.

    `edges` are B + 1 bounds of B bins; the mass of a bin sits at its middle.

    >>> float(wasserstein_binned([0, 10, 20], [1, 0], [0, 1]))
    10.0
    """
    a, b = _counts(p), _same_bins(p, q)
    bounds = np.asarray(edges, float)
    if bounds.shape != (a.shape[-1] + 1,) or not np.isfinite(bounds).all():
        msg = f"{a.shape[-1]} bins need {a.shape[-1] + 1} finite edges"
        raise ValueError(msg)
    middles = (bounds[:-1] + bounds[1:]) / 2
    gaps = np.abs(np.cumsum(a - b, axis=-1))[..., :-1]
    return np.asarray((gaps * np.diff(middles)).sum(axis=-1))


def gaussian_kl(mean: ArrayLike, covariance: ArrayLike) -> float:
    """KL(N(mean, covariance)||N(0, 1)) in the reference's whitened space: (tr C + m'm - k - ln det C)/2.

    >>> gaussian_kl([1.0], [[1.0]])
    0.5
    """
    m, c = np.asarray(mean, float), np.asarray(covariance, float)
    sign, log_det = np.linalg.slogdet(c)
    if sign <= 0 or not np.isfinite(m).all():
        msg = "a covariance must be positive definite and a mean finite"
        raise ValueError(msg)
    return float((np.trace(c) + m @ m - m.size - log_det) / 2)


def _terms(p: Floats, q: Floats) -> Floats:
    both = (p > 0) & (q > 0)
    ratio = np.divide(p, q, out=np.ones(np.broadcast(p, q).shape), where=both)
    lost = np.where((p > 0) ^ (q > 0), np.inf, 0.0)
    return np.asarray(np.where(both, (p - q) * np.log(ratio), lost))


def _counts(values: ArrayLike) -> Floats:
    array = np.asarray(values, float)
    if array.ndim == 0 or array.shape[-1] == 0:
        msg = "a distribution needs at least one bin"
        raise ValueError(msg)
    if not (np.isfinite(array).all() and (array >= 0).all()):
        msg = "counts and shares must be finite and not negative"
        raise ValueError(msg)
    return array


def _same_bins(values: ArrayLike, reference: ArrayLike) -> Floats:
    array = _counts(reference)
    if array.shape[-1] != np.shape(values)[-1]:
        msg = f"{np.shape(values)[-1]} bins can't be compared with {array.shape[-1]}"
        raise ValueError(msg)
    return array
