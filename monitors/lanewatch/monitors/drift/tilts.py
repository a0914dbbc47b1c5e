"""The alternatives of a distribution's bank: one bin's odds changed, or the whole shifted or stretched.

Each alternative is given by its likelihood ratios r = q_k/q over the bins, with sum q r = 1. What isn't in the bank is
left to the multi-window G test.
"""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from lanewatch.monitors.drift.distances import Floats

ODDS = (0.5, 2.0, 8.0)
SHIFTS, SCALES = (-0.5, -0.25, 0.25, 0.5), (1 / 1.2, 1.2)
# Of an embedding's components: smaller moves, and no single bins.
COMPONENT_SHIFTS, COMPONENT_SCALES = (-0.5, -0.25, -0.12, 0.12, 0.25, 0.5), (1 / 1.15, 1.15)
CAUTION = 3.0  # standard errors of the reference that an alternative must be beyond
_NORMAL = NormalDist()


def tilt(shares: ArrayLike, bin_index: int, odds_ratio: float) -> Floats:
    """Shares after one bin's odds are multiplied; the others keep their proportions.

    >>> tilt([0.5, 0.3, 0.2], 1, 2).round(4).tolist()
    [0.3846, 0.4615, 0.1538]
    """
    moved = np.array(shares, float)
    moved[..., bin_index] *= odds_ratio
    return np.asarray(moved / moved.sum(axis=-1, keepdims=True))


def odds_ratios(shares: ArrayLike, odds: tuple[float, ...] = ODDS) -> Floats:
    """Likelihood ratios (..., B x len(odds), B) of each bin's odds times each of `odds`."""
    q = np.asarray(shares, float)
    return np.stack([tilt(q, b, o) / q for b in range(q.shape[-1]) for o in odds], axis=-2)


def latent_ratios(shares: ArrayLike, ordered: int, shifts: tuple[float, ...], scales: tuple[float, ...]) -> Floats:
    """Likelihood ratios of an ordered distribution that is shifted, or stretched about its middle.

    The bins are cut out of a standard normal at the reference's shares; the first `ordered` bins move, the rest keep
    their share.

    >>> latent_ratios([0.5, 0.5], 2, (0.5,), ()).round(4).tolist()
    [[0.6171, 1.3829]]
    """
    q = np.asarray(shares, float)
    mass = q[..., :ordered].sum(axis=-1, keepdims=True)
    cuts = np.cumsum(q[..., : ordered - 1], axis=-1) / mass
    z = _each(_NORMAL.inv_cdf, np.clip(cuts, 1e-12, 1 - 1e-12))
    ratios = []
    for moved in [*(z - shift for shift in shifts), *(z / scale for scale in scales)]:
        cdf = _each(_NORMAL.cdf, moved)
        ends = np.zeros((*cdf.shape[:-1], 1)), np.ones((*cdf.shape[:-1], 1))
        r = np.ones_like(q)
        r[..., :ordered] = np.diff(np.concatenate([ends[0], cdf, ends[1]], axis=-1), axis=-1) * mass / q[..., :ordered]
        ratios.append(np.maximum(r, 1e-9))
    return np.stack(ratios, axis=-2)


def bank(shares: ArrayLike, ordered: int) -> Floats:
    """All alternatives (..., K, B) of a signal: odds of each bin, and shifts and scales where the bins have an order."""
    tilts = odds_ratios(shares)
    if ordered <= 1:
        return tilts
    return np.concatenate([tilts, latent_ratios(shares, ordered, SHIFTS, SCALES)], axis=-2)


def bank_prior(bins: int, ordered: int) -> Floats:
    """The weight of each alternative of `bank`: half of it on each family.

    >>> float(bank_prior(16, 15).sum().round(9)), len(bank_prior(16, 15))
    (1.0, 54)
    """
    tilts, moves = bins * len(ODDS), (len(SHIFTS) + len(SCALES)) * (ordered > 1)
    share = 0.5 if moves else 1.0
    return np.concatenate([np.full(tilts, share / tilts), np.full(moves, 0.5 / max(moves, 1))])


def reference_penalty(shares: ArrayLike, ratios: ArrayLike, inverse_n: ArrayLike, caution: float = CAUTION) -> Floats:
    """What an observation must pay because the reference is an estimate: ln(1 + z sd_q(r) sqrt(1/N + 1/kappa_day)).

    With probability Phi(z) over the reference sample, the expectation of r under the true distribution is below that.

    >>> float(reference_penalty([0.2, 0.5, 0.3], [1.6, 0.9, 0.9], 1 / 20_000).round(5))
    0.00592
    """
    q, r = np.asarray(shares, float), np.asarray(ratios, float)
    if r.ndim > q.ndim:
        q = q[..., None, :]
    mean = (q * r).sum(axis=-1)
    variance = np.maximum((q * r * r).sum(axis=-1) - mean * mean, 0.0)
    inverse = np.asarray(inverse_n, float)
    if variance.ndim > inverse.ndim > 0:
        inverse = inverse[..., None]
    return np.asarray(np.log1p(caution * np.sqrt(variance * inverse)))


def _each(function: object, values: Floats) -> Floats:
    assert callable(function)
    return np.array([function(value) for value in values.ravel().tolist()], float).reshape(values.shape)
