"""What can be read of a series at any time: its state and why, its evidence, its alarm, and how large the change is."""

from typing import Any

import msgspec

from lanewatch.monitors.drift.alarm import Alarm, State
from lanewatch.monitors.drift.effects import RateEffects, ShareEffects
from lanewatch.monitors.drift.signals import Kind
from lanewatch.monitors.drift.vector_series import VectorEffects
from lanewatch.monitors.lanes import Lane


class Detecting(msgspec.Struct, frozen=True):
    """One detector: evidence over its line; an alarm at 1."""

    detector: str
    direction: str
    ratio: float


class ReferenceFacts(msgspec.Struct, frozen=True):
    """What a series is held against."""

    id: str
    days: int
    worth: float  # observations
    inverse_n: float  # at this hour: what the shares are uncertain by, in 1/observations
    phi: float
    tau: float | None  # of rates
    kappa_day: float | None  # of distributions; None where days do not differ
    gaps: tuple[str, ...]


class SeriesReading(msgspec.Struct, frozen=True):
    """A series as it stands."""

    service: str
    signal: str
    lane: Lane
    kind: Kind
    state: State
    because: tuple[str, ...]  # shut gates, or that nothing was observed
    alarm: Alarm | None
    alarms: int
    budget: float  # false alarms per 30 days
    detecting: tuple[Detecting, ...]
    reference: ReferenceFacts
    bins: tuple[str, ...] = ()  # their names; an embedding's have none
    critical: float | None = None  # what G must reach in any of its windows
    rates: tuple[RateEffects, ...] = ()
    shares: tuple[ShareEffects, ...] = ()
    vectors: tuple[VectorEffects, ...] = ()


def effects_of(reading: SeriesReading) -> dict[str, Any]:
    """The fields of a reading that hold effect sizes."""
    return {"rates": reading.rates, "shares": reading.shares, "vectors": reading.vectors}


class Change(msgspec.Struct, frozen=True):
    """An alarm that was raised or cleared at a tick."""

    tick: int
    service: str
    signal: str
    event: str
    alarm: Alarm


def ranked(readings: list[SeriesReading]) -> list[SeriesReading]:
    """Series by how far they moved: alarms first, then by evidence. Within one lane only: lanes are never blended.

    Raises ValueError where the readings are of several lanes.
    """
    if len({reading.lane for reading in readings}) > 1:
        msg = "signals of different lanes are not ranked against each other"
        raise ValueError(msg)
    return sorted(
        readings, key=lambda r: (r.alarm is None, -max((d.ratio for d in r.detecting), default=0.0), r.signal)
    )
