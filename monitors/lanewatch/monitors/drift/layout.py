"""Where every series of every service is counted: bins, text models and projections, under one id.

Counts of different layouts never meet: the id is worked out from the content, and stands on every message and file.
"""

from hashlib import sha256

import msgspec

from lanewatch.monitors.drift.bins import Bins
from lanewatch.monitors.drift.projection import Projection
from lanewatch.monitors.drift.sums import SeriesKey, Size
from lanewatch.monitors.drift.text_features import TextModel


class ServiceLayout(msgspec.Struct, frozen=True):
    """The series of one service by signal. A signal without bins or projection is not counted."""

    bins: dict[str, Bins] = {}
    projections: dict[str, Projection] = {}
    text: TextModel | None = None


class Layout(msgspec.Struct, frozen=True):
    """All services."""

    services: dict[str, ServiceLayout] = {}

    @property
    def id(self) -> str:
        """Twelve hex digits of the content's SHA-256."""
        return sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:12]

    def sizes(self) -> dict[SeriesKey, Size]:
        """What a tick has for each series."""
        found: dict[SeriesKey, Size] = {}
        for service, layout in self.services.items():
            for signal, bins in layout.bins.items():
                found[service, signal] = Size(len(bins.names), len(bins.names))
            for signal, projection in layout.projections.items():
                found[service, signal] = Size(projection.shape.length, projection.shape.counts)
        return found
