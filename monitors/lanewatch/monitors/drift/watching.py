"""Builds what watches each series out of a reference."""

from typing import Any

import numpy as np

from lanewatch.monitors.drift.alarm import Watch
from lanewatch.monitors.drift.bins import EventBins
from lanewatch.monitors.drift.distances import AnyFloats
from lanewatch.monitors.drift.hours import Hours
from lanewatch.monitors.drift.rate_reference import rate_bounds
from lanewatch.monitors.drift.rate_series import RateSeries, RateState
from lanewatch.monitors.drift.readings import ReferenceFacts
from lanewatch.monitors.drift.reference import Gap, Reference
from lanewatch.monitors.drift.share_reference import share_reference
from lanewatch.monitors.drift.share_series import ShareSeries, ShareState
from lanewatch.monitors.drift.sums import SeriesKey
from lanewatch.monitors.drift.vector_reference import vector_reference
from lanewatch.monitors.drift.vector_series import VectorSeries, VectorState


class Watched:
    """A series, its alarm, and what it is held against."""

    def __init__(
        self, series: RateSeries | ShareSeries | VectorSeries, expected: AnyFloats, facts: ReferenceFacts
    ) -> None:
        """`expected` holds shares by hour of the week (H, B)."""
        self.watch = Watch(series)
        self.expected, self.facts = expected, facts
        self._series = series
        # The names of its bins; an embedding's have none.
        self.bins: tuple[str, ...] = ()
        if isinstance(series, RateSeries):
            self.bins = EventBins.names
        elif isinstance(series, ShareSeries):
            self.bins = series.bins.names

    @property
    def counted(self) -> bool:
        """Whether its bins can be counted for Prometheus; an embedding's can't."""
        return not isinstance(self._series, VectorSeries)

    @property
    def critical(self) -> float | None:
        """What G must reach, of a distribution."""
        return self._series.g.critical if isinstance(self._series, ShareSeries) else None

    def restore(self, state: RateState | ShareState | VectorState) -> bool:
        """Go on from a state; False, and begun anew, where it does not fit."""
        match self._series, state:
            case (RateSeries(), RateState()) | (ShareSeries(), ShareState()) | (VectorSeries(), VectorState()):
                fits = self._series.restore(state)  # type: ignore[arg-type]
            case _:
                fits = False
        if not fits:
            self._series.restart()
        return fits

    def effects(self, windows: tuple[int, ...]) -> dict[str, Any]:
        """Effect sizes by window under the field of a reading that they belong to."""
        found = tuple(e for minutes in windows if (e := self._series.effects(minutes)) is not None)
        match self._series:
            case RateSeries():
                return {"rates": found}
            case ShareSeries():
                return {"shares": found}
            case _:
                return {"vectors": found}


def watch_all(reference: Reference) -> dict[SeriesKey, Watched]:
    """A watch for each series that has enough observations."""
    gaps, name = reference.gaps(), reference.id
    watched = {}
    for key, table in reference.tables().items():
        of_series = gaps.get(key, ())
        if Gap.FEW not in of_series:
            watched[key] = _watched(reference, key, table, name, tuple(of_series))
    return watched


def _watched(reference: Reference, key: SeriesKey, table: Hours, name: str, gaps: tuple[str, ...]) -> Watched:
    layout = reference.layout.services[key[0]]
    days = table.n_days
    projection = layout.projections.get(key[1])
    if projection is not None:
        shape = projection.shape
        vectors = vector_reference(table, shape)
        worth, wobble = 1 / max(vectors.mean.inverse_n, 1e-12), vectors.mean.inverse_n
        facts = ReferenceFacts(name, days, worth, wobble, vectors.mean.phi, None, None, gaps)
        return Watched(VectorSeries(shape, vectors), vectors.residual.shares, facts)
    bins = layout.bins[key[1]]
    if isinstance(bins, EventBins):
        bounds = rate_bounds(table)
        worth, phi = float(bounds.effective_n), float(bounds.phi)
        facts = ReferenceFacts(name, days, worth, 1 / max(worth, 1e-9), phi, float(bounds.tau), None, gaps)
        return Watched(RateSeries(bounds), np.stack([1 - bounds.mean, bounds.mean], axis=-1), facts)
    shares = share_reference(table, bins.ordered)
    phi, inverse_n = float(shares.phi), float(shares.inverse_n.mean())
    kappa = shares.kappa_day if np.isfinite(shares.kappa_day) else None
    facts = ReferenceFacts(name, days, float(table.raw.sum()) / phi, inverse_n, phi, None, kappa, gaps)
    return Watched(ShareSeries(bins, shares), shares.shares, facts)
