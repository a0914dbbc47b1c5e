"""A vector as 64 whitened components and the length of what they leave out; fitted on one half of a reference.

Shares and means must come from the other half: on the half that was fitted, a residual looks smaller than it will be,
and 488 false alarms in 56 days were the price (docs/decisions/0005-drift.md).
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lanewatch.monitors.drift.bins import DECILES, numeric_bins, quantile_edges
from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.sums import fixed

COMPONENTS = 64
BINNED = 32  # components that have bins
LEADING = 8  # components whose covariance is kept
LEAST_SAMPLE = 200  # vectors without which nothing is fitted
MAX_SAMPLE = 2000
MAX_DIMENSIONS = 4096
FARTHEST = 1e4  # a component is held to this many standard deviations


class Projection(msgspec.Struct, frozen=True, omit_defaults=True):
    """Mean, whitening directions (k, D) in float32, and bin edges; all as plain numbers or bytes.

    `embedder` names the local model that made the vectors; empty: traces carried them. Those of two models never meet.
    """

    dimensions: int
    mean: bytes
    directions: bytes
    variances: tuple[float, ...]
    edges: tuple[tuple[float, ...], ...]  # of the binned components
    residual_edges: tuple[float, ...]
    embedder: str = ""

    @property
    def k(self) -> int:
        """Components."""
        return len(self.variances)

    @property
    def shape(self) -> "Shape":
        """How a tick's numbers are divided."""
        bins = max(map(len, self.edges)) + 1
        return Shape(len(self.edges), bins, len(self.residual_edges) + 1, self.k, min(LEADING, self.k))


class Shape(NamedTuple):
    """A tick of a vector series: counts of each component's bins, of the residual's bins, then real sums."""

    components: int  # that have bins
    bins: int  # of each
    residual_bins: int
    k: int  # sums of whitened components
    leading: int  # of which the products are summed too

    @property
    def counts(self) -> int:
        """Numbers that are counts."""
        return self.components * self.bins + self.residual_bins

    @property
    def length(self) -> int:
        """All numbers."""
        return self.counts + self.k + self.leading * (self.leading + 1) // 2


class Projector:
    """A projection at work. Vectors of another length, or with a part that is no number, are not placed."""

    def __init__(self, projection: Projection) -> None:
        """Unpack the arrays."""
        self.projection = projection
        # Views of the projection's own bytes, where the machine has them in that order: 250 kB for hashed text.
        self._mean = np.asarray(np.frombuffer(projection.mean, "<f4"), np.float32)
        self._directions = np.asarray(np.frombuffer(projection.directions, "<f4"), np.float32).reshape(projection.k, -1)
        self._offset = self._directions @ self._mean
        self._variances = np.array(projection.variances)
        self._shape = projection.shape
        n, bins = self._shape.components, self._shape.bins
        self._edges = np.full((n, bins - 1), np.inf)
        for row, edges in zip(self._edges, projection.edges, strict=True):
            row[: len(edges)] = edges
        self._starts = np.arange(n) * bins
        self._pairs = np.triu_indices(self._shape.leading)
        self._residual_edges = np.array(projection.residual_edges)

    @property
    def length(self) -> int:
        """How many numbers `numbers` gives."""
        return self._shape.length

    def project(self, vectors: NDArray[np.float32]) -> tuple[Floats, Floats]:
        """(whitened components (n, k), lengths of the residuals (n))."""
        # One by one: in a product of matrices a vector's last digits would depend on its neighbours.
        z = (np.stack([self._directions @ vector for vector in vectors]) - self._offset).astype(float)
        centred = vectors - self._mean
        residual = np.einsum("ij,ij->i", centred, centred).astype(float) - np.einsum("ij,j->i", z * z, self._variances)
        return z, np.sqrt(np.maximum(residual, 0.0))

    def numbers(self, vectors: ArrayLike) -> Floats | None:
        """What vectors (n, D) add to a tick, as whole numbers: counts of bins, then real sums in fixed point.

        Those with a part that is no number must be left out before (`sound`); None where all are of another length.
        """
        x = np.asarray(vectors, np.float32)
        if not len(x) or x.shape[1] != self.projection.dimensions:
            return None
        z, residual = self.project(x)
        n = len(self._edges)
        bins = (z[:, :n, None] > self._edges).sum(axis=2) + self._starts
        last = n * self._shape.bins + np.searchsorted(self._residual_edges, residual)
        counts = np.bincount(np.concatenate([bins.ravel(), last]), minlength=self._shape.counts)
        held = np.clip(z, -FARTHEST, FARTHEST)
        products = held[:, self._pairs[0]] * held[:, self._pairs[1]]
        sums = fixed(np.concatenate([held, products], axis=1)).sum(axis=0)
        return np.concatenate([counts, sums])

    def sound(self, vector: Sequence[float] | NDArray[np.floating]) -> bool:
        """Whether a vector can be placed: of the projection's length, and all of it numbers."""
        x = np.asarray(vector, float)
        return x.shape == (self.projection.dimensions,) and bool(np.isfinite(x).all())


def fit_projection(sample: Floats) -> Projection:
    """Principal components of a sample (n, D), whitened (Hotelling 1933). Raises ValueError where it is too small."""
    x = np.asarray(sample, float)
    n, dimensions = x.shape
    if n < LEAST_SAMPLE or dimensions > MAX_DIMENSIONS or not np.isfinite(x).all():
        msg = f"a projection needs {LEAST_SAMPLE} vectors of at most {MAX_DIMENSIONS} finite numbers"
        raise ValueError(msg)
    mean = x.mean(axis=0)
    centred = x - mean
    values, vectors = np.linalg.eigh(centred.T @ centred / (n - 1))
    # No more components than the sample can tell apart, and none without spread.
    kept = [i for i in range(dimensions - 1, -1, -1) if values[i] > 1e-9 * max(values[-1], 1e-30)]
    kept = kept[: min(COMPONENTS, n // 4)]
    if not kept:
        msg = "vectors that are all the same have no components"
        raise ValueError(msg)
    directions = (vectors[:, kept] / np.sqrt(values[kept])).T
    z = centred @ directions.T
    residuals = np.sqrt(np.maximum((centred**2).sum(axis=1) - (z**2) @ values[kept], 0.0))
    edges = tuple(tuple(quantile_edges(z[:, i].tolist(), DECILES)) for i in range(min(BINNED, len(kept))))
    return Projection(
        dimensions,
        mean.astype("<f4").tobytes(),
        directions.astype("<f4").tobytes(),
        tuple(values[kept].tolist()),
        edges,
        numeric_bins(residuals.tolist()).edges,
    )
