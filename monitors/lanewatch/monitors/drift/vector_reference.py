"""What an embedding is held against: shares of its components' and its residual's bins, and where its mean lies.

Each by the hour of the week, shrunk toward the whole by how much hours differ, as for every other signal.
"""

from typing import NamedTuple

import numpy as np

from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.hotelling import MeanReference
from lanewatch.monitors.drift.hours import Hours, grouped
from lanewatch.monitors.drift.projection import Shape
from lanewatch.monitors.drift.share_reference import ShareReference, share_reference
from lanewatch.monitors.drift.sums import real
from lanewatch.monitors.drift.tick import HOURS_OF_WEEK


class VectorReference(NamedTuple):
    """References of the binned components (one axis more), of the residual, and of the mean."""

    components: ShareReference
    residual: ShareReference
    mean: MeanReference


def vector_reference(table: Hours, shape: Shape) -> VectorReference:
    """The reference from the hours of a period. Raises ValueError where nothing was counted."""
    each = [
        share_reference(columns(table, slice(i * shape.bins, (i + 1) * shape.bins)), shape.bins)
        for i in range(shape.components)
    ]
    components = ShareReference(
        # 168 hours of 32 components of 10 bins: in float32 215 kB, and as exact as shares of some thousand vectors can be.
        np.stack([reference.shares for reference in each], axis=1).astype(np.float32),
        np.stack([reference.inverse_n for reference in each], axis=1),
        np.stack([reference.phi for reference in each]),
        np.stack([reference.mean_weights for reference in each]),
        shape.bins,
    )
    residual_columns = slice(shape.components * shape.bins, shape.counts)
    residual = share_reference(columns(table, residual_columns), shape.residual_bins)
    phi = max(float(np.median(components.phi)), float(residual.phi))
    return VectorReference(components, residual, _mean(table, shape, phi, [r.kappa_day for r in each]))


def columns(table: Hours, chosen: slice) -> Hours:
    """A part of the columns of a table."""
    return table._replace(raw=table.raw[:, chosen], sums=table.sums[:, chosen], squares=table.squares[:, chosen])


def _mean(table: Hours, shape: Shape, phi: float, kappas: list[float]) -> MeanReference:
    counted = slice(shape.components * shape.bins, shape.counts)
    n, squares = table.sums[:, counted].sum(axis=1), table.squares[:, counted].sum(axis=1)
    sums = real(table.sums[:, shape.counts : shape.counts + shape.k])
    total = float(n.sum())
    whole = sums.sum(axis=0) / total
    worth = total**2 / float(squares.sum()) / phi
    wobble = float(np.mean([1 / kappa for kappa in kappas]))  # of a component's mean: its variance is 1
    if not table.by_hour_of_week:
        return MeanReference(whole[None], 1 / worth + wobble, phi)
    by_hour = grouped(n[:, None], table.cells, HOURS_OF_WEEK)[:, 0]
    hourly = grouped(sums, table.cells, HOURS_OF_WEEK)
    seen = by_hour > 0
    inverse = phi / np.maximum(by_hour, 1e-9)
    means: Floats = np.where(seen[:, None], hourly / np.maximum(by_hour, 1e-9)[:, None], whole)
    between = np.maximum(((means[seen] - whole) ** 2).mean(axis=0) - inverse[seen].mean(), 0.0)
    kept = np.where(seen[:, None], between / (between + inverse[:, None]), 0.0)
    # What an hour's mean is uncertain by after shrinking, at most.
    uncertain = float((kept * inverse[:, None])[seen].mean()) / max(HOURS_OF_WEEK / 24, 1)
    weeks = table.n_days / 7
    return MeanReference(whole + kept * (means - whole), 1 / worth + uncertain + wobble * (1 + 1 / weeks), phi)
