"""A reference: the layout, the hours that were counted in it, and where they come from; one versioned file.

The hours are kept, not what is worked out from them, so that references of replicas and of periods add up, and a better
formula needs no new traffic. The id is worked out from the content and stands on every series that uses it.
"""

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from lanewatch.collector.explained import Explained
from lanewatch.monitors.drift.checked_file import Loaded, Trouble, read_checked, set_aside, write_checked
from lanewatch.monitors.drift.counting import Row, hours_table
from lanewatch.monitors.drift.hours import DAYS_FOR_HOURS, DAYS_FOR_TOLERANCE, Hours
from lanewatch.monitors.drift.layout import Layout
from lanewatch.monitors.drift.sums import SeriesKey

FILE, VERSION = "lanewatch-reference", 1
LEAST_OBSERVATIONS = 500


class Gap(Explained):
    """What a series' reference can't do yet, and what follows for the operator."""

    FEW = "few_observations", f"fewer than {LEAST_OBSERVATIONS} observations: the series is not watched yet"
    NO_HOURS = (
        "no_hours_of_week",
        f"fewer than {DAYS_FOR_HOURS} days: one bound for all hours, as wide as the hours differ",
    )
    NO_DAYS = (
        "no_day_tolerance",
        f"fewer than {DAYS_FOR_TOLERANCE} days: what days differ by is assumed, not measured",
    )


class Reference(msgspec.Struct, frozen=True):
    """All services and signals of one reference. `source` is live, files or window; times are seconds since the epoch."""

    layout: Layout
    rows: dict[str, dict[str, list[Row]]]
    time_zone: str = "UTC"
    source: str = "live"
    created: int = 0

    @property
    def id(self) -> str:
        """Twelve hex digits of the content's SHA-256. When it was made is no content: what replicas, or a second build of the
        same recordings, hold traffic against is one reference.
        """
        content = msgspec.structs.replace(self, created=0)
        return sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()[:12]

    def tables(self) -> dict[SeriesKey, Hours]:
        """The hours of each series that can be watched."""
        return {key: table for key, table in self._tables().items() if table.raw.sum() > 0}

    def gaps(self) -> dict[SeriesKey, tuple[Gap, ...]]:
        """What each series can't do yet; series that can do all are left out."""
        found = {key: _gaps(table, self._observations(key, table)) for key, table in self._tables().items()}
        return {key: gaps for key, gaps in found.items() if gaps}

    def _observations(self, key: SeriesKey, table: Hours) -> float:
        """A vector is counted in every component's bins: those of the first tell how many vectors there were."""
        projection = self.layout.services[key[0]].projections.get(key[1])
        counts = table.raw if projection is None else table.raw[:, : projection.shape.bins]
        return float(counts.sum())

    def _tables(self) -> dict[SeriesKey, Hours]:
        sizes = self.layout.sizes()
        tables = {
            (service, signal): hours_table(rows, sizes[service, signal].numbers)
            for service, signals in self.rows.items()
            for signal, rows in signals.items()
            if (service, signal) in sizes
        }
        return {key: table for key, table in tables.items() if table is not None}


class LoadedReference(NamedTuple):
    """A reference, or why there is none."""

    reference: Reference | None
    trouble: Trouble | None = None
    set_aside: Path | None = None


def save_reference(path: Path, reference: Reference) -> None:
    """Write a reference, all or nothing. Raises OSError."""
    write_checked(path, FILE, VERSION, msgspec.json.encode(reference))


def load_reference(path: Path, *, aside: bool = True) -> LoadedReference:
    """Read a reference; a damaged file is set aside, unless `aside` is False."""
    loaded: Loaded = read_checked(path, FILE, VERSION, aside=aside)
    if loaded.body is None:
        return LoadedReference(None, loaded.trouble, loaded.set_aside)
    try:
        return LoadedReference(msgspec.json.decode(loaded.body, type=Reference))
    except (msgspec.DecodeError, RecursionError):
        # The checksum holds, so whoever wrote it wrote something else.
        return LoadedReference(None, Trouble.DAMAGED, set_aside(path) if aside else None)


def merged(first: Reference, second: Reference) -> Reference:
    """The hours of both. Raises ValueError where the layouts differ: their counts mean different things."""
    if first.layout.id != second.layout.id or first.time_zone != second.time_zone:
        msg = "references of different layouts or time zones can't be added"
        raise ValueError(msg)
    rows = {
        service: {
            signal: [
                *first.rows.get(service, {}).get(signal, []),
                *second.rows.get(service, {}).get(signal, []),
            ]
            for signal in {**first.rows.get(service, {}), **second.rows.get(service, {})}
        }
        for service in {**first.rows, **second.rows}
    }
    return msgspec.structs.replace(first, rows=rows)


def _gaps(table: Hours, observations: float) -> tuple[Gap, ...]:
    short = (
        (Gap.FEW, observations < LEAST_OBSERVATIONS),
        (Gap.NO_HOURS, table.n_days < DAYS_FOR_HOURS),
        (Gap.NO_DAYS, table.n_days < DAYS_FOR_TOLERANCE),
    )
    return tuple(gap for gap, is_short in short if is_short)
