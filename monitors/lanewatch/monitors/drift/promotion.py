"""Making a reference of a window of traffic: what is left out of it, of whom it is, and what it can't do yet.

Hours in which a series was alarmed are no part of its reference: else what was found once would be usual from then on.
"""

from collections.abc import Iterable

import msgspec
import numpy as np

from lanewatch.monitors.drift.alarm import Event
from lanewatch.monitors.drift.counting import hours_table
from lanewatch.monitors.drift.readings import Change
from lanewatch.monitors.drift.reference import Gap, Reference
from lanewatch.monitors.drift.signals import BY_NAME, Kind
from lanewatch.monitors.drift.tick import HOUR_TICKS
from lanewatch.monitors.lanes import Lane

HOUR_SECONDS = 3600
SINGLE = frozenset({Kind.NUMERIC, Kind.COUNT, Kind.EVENT})  # at most one observation a trace


class Period(msgspec.Struct, frozen=True):
    """Ticks, both ends included, in which a series was alarmed: from the change that was found to the way back."""

    service: str
    signal: str
    first: int
    last: int


class Population(msgspec.Struct, frozen=True):
    """Whose traffic it is: traces by service, from when to when (seconds since the epoch), on how many days."""

    services: dict[str, int]
    first: int
    last: int
    days: int


class Ability(msgspec.Struct, frozen=True):
    """A series of a reference: how much it was observed, and what it can't do yet. Watched unless it has too few."""

    service: str
    signal: str
    lane: Lane
    observations: int
    days: int
    gaps: tuple[Gap, ...]

    @property
    def watched(self) -> bool:
        """Whether a monitor would watch it."""
        return Gap.FEW not in self.gaps


def alarmed_periods(changes: Iterable[Change], last_tick: int) -> list[Period]:
    """When each series was alarmed; an alarm that stands at the end lasts to `last_tick`."""
    periods, standing = [], {}
    for change in changes:
        key = (change.service, change.signal)
        if change.event == Event.RAISED:
            standing[key] = change.alarm.changed
        elif key in standing:
            periods.append(Period(*key, standing.pop(key), change.tick))
    return periods + [Period(*key, first, last_tick) for key, first in standing.items()]


def without(reference: Reference, periods: Iterable[Period]) -> tuple[Reference, int]:
    """The reference without the hours of these periods, and how many rows of an hour and a series were left out."""
    left_out: dict[tuple[str, str], set[int]] = {}
    for period in periods:
        hours = range(period.first // HOUR_TICKS, period.last // HOUR_TICKS + 1)
        left_out.setdefault((period.service, period.signal), set()).update(hours)
    before = _rows(reference)
    rows = {
        service: {
            signal: [row for row in hours if row.hour not in left_out.get((service, signal), ())]
            for signal, hours in signals.items()
        }
        for service, signals in reference.rows.items()
    }
    kept = msgspec.structs.replace(reference, rows=rows)
    return kept, before - _rows(kept)


def population(reference: Reference) -> Population:
    """Whose traffic a reference was made of."""
    hours = sorted({row.hour for signals in reference.rows.values() for rows in signals.values() for row in rows})
    found = abilities(reference)
    services = {
        service: max(
            (one.observations for one in found if one.service == service and BY_NAME[one.signal].kind in SINGLE),
            default=0,
        )
        for service in reference.rows
    }
    first, last = (hours[0], hours[-1] + 1) if hours else (0, 0)
    days = max((one.days for one in found), default=0)
    return Population(services, first * HOUR_SECONDS, last * HOUR_SECONDS, days)


def abilities(reference: Reference) -> list[Ability]:
    """Every series that has bins, in the order of services and signals."""
    sizes, gaps = reference.layout.sizes(), reference.gaps()
    found = []
    for service, signals in sorted(reference.rows.items()):
        for signal, rows in signals.items():
            key = (service, signal)
            if signal not in BY_NAME or key not in sizes:
                continue
            table = hours_table(rows, sizes[key].numbers)
            # An embedding's first bins are those of its first component: each vector is in one of them.
            projection = reference.layout.services[service].projections.get(signal)
            bins = slice(None) if projection is None else slice(projection.shape.bins)
            n = 0 if table is None else int(np.rint(table.raw[:, bins].sum()))
            days = 0 if table is None else table.n_days
            its = gaps.get(key, () if table is not None else (Gap.FEW,))
            found.append(Ability(service, signal, BY_NAME[signal].lane, n, days, its))
    order = list(BY_NAME)
    return sorted(found, key=lambda one: (one.service, order.index(one.signal)))


def unobserved(reference: Reference) -> dict[str, tuple[str, ...]]:
    """By service, the signals that have no bins: too few of their values were seen, or none."""
    return {
        service: tuple(name for name in BY_NAME if name not in layout.bins and name not in layout.projections)
        for service, layout in sorted(reference.layout.services.items())
    }


def _rows(reference: Reference) -> int:
    return sum(len(rows) for signals in reference.rows.values() for rows in signals.values())
