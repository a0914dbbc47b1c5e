"""Evidence that a distribution has changed: e-SR on a bank of tilted references (tilts.py), each bin's odds and shapes.

The null is that each hour's shares are the reference's, up to z standard errors of what the reference does not know and
of what days differ by themselves: each alternative pays that penalty for every observation.

>>> changed = bank_evidence(known_shares(np.array([0.5, 0.3, 0.2])), limit=86_400)
>>> for index in range(100):
...     if changed.update(Tick(index, 0, 1 / 6, {1.0: np.array([6.0, 3.0, 11.0])})) >= 1:
...         break
>>> index
2
"""

from collections.abc import Callable

import numpy as np

from lanewatch.monitors.drift.betting import ratio_part, ratio_table
from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.evidence import Evidence
from lanewatch.monitors.drift.recent_weights import RecentWeights
from lanewatch.monitors.drift.share_reference import ShareReference, known_shares
from lanewatch.monitors.drift.tick import Tick
from lanewatch.monitors.drift.tilts import (
    COMPONENT_SCALES,
    COMPONENT_SHIFTS,
    bank,
    bank_prior,
    latent_ratios,
    reference_penalty,
)

__all__ = ["Tick", "bank_evidence", "component_evidence", "known_shares"]


def bank_evidence(reference: ShareReference, limit: float) -> Evidence:
    """A detector over all alternatives of the bank."""
    prior = bank_prior(reference.shares.shape[-1], reference.ordered)
    return _evidence(reference, lambda q: bank(q, reference.ordered), prior, limit)


def component_evidence(reference: ShareReference, limit: float) -> Evidence:
    """Detectors over components of an embedding (the axis before the bins), with moves of the whole component alone."""
    count = len(COMPONENT_SHIFTS) + len(COMPONENT_SCALES)
    return _evidence(
        reference,
        lambda q: latent_ratios(q, reference.ordered, COMPONENT_SHIFTS, COMPONENT_SCALES),
        np.full(count, 1 / count),
        limit,
    )


def _evidence(
    reference: ShareReference, alternatives: Callable[[Floats], Floats], prior: Floats, limit: float
) -> Evidence:
    def make_table(cell: int, weight: float | None, weights: RecentWeights) -> Floats:
        q, inverse_n = reference.at(cell)
        ratios = alternatives(q)
        penalty = reference_penalty(q, ratios, inverse_n)
        if weight is None:
            return ratio_table(ratios, penalty)
        part = ratio_part(q, ratios, penalty, weights.means(), weights.largest)
        return ratio_table(ratios, penalty, weight, part)

    shape = reference.shares.shape[1:-1]
    return Evidence(make_table, prior, reference.phi, reference.mean_weights, limit, shape)
