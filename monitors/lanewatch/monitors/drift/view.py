"""What others see of drift: made on the reading thread once a tick, then never changed, so that it can be read anywhere."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from lanewatch.monitors.drift.building import ReferenceBuilder
from lanewatch.monitors.drift.monitor import DriftMonitor
from lanewatch.monitors.drift.readings import SeriesReading
from lanewatch.monitors.drift.settings import DriftSettings
from lanewatch.monitors.drift.sums import SeriesKey

WINDOWS = (60, 1440)  # minutes, of the effect sizes that are shown
REST = 6  # ticks, a minute, for which effect sizes stand: a sixth of the series is worked out anew each tick


class Phase(StrEnum):
    """What drift is doing."""

    LEARNING = "learning"  # bins are fitted, or the reference is counted: nothing can alarm yet
    WATCHING = "watching"
    NO_REFERENCE = "no_reference"  # the reference file that is set can't be used


class Counted(msgspec.Struct, frozen=True):
    """A series' own counters since the start: weighted counts and expected ones by bin, observations, squares of weights."""

    counts: tuple[float, ...]
    expected: tuple[float, ...]
    raw: float
    squares: float


class Learning(msgspec.Struct, frozen=True):
    """How far the reference is: traces that bins were fitted to, of how many; seconds counted, of how many."""

    fitted: int
    fit_traces: int
    counted_seconds: float
    learning_seconds: float


class Storage(msgspec.Struct, frozen=True):
    """What became of the state folder: `since` is when it was written last, in seconds since the epoch; 0 is never."""

    written: int = 0
    failed: int = 0
    set_aside: int = 0  # damaged files
    begun_anew: int = 0  # series whose evidence could not be taken up
    since: float = 0.0


class DriftView(msgspec.Struct, frozen=True):
    """All of it. `tick` is the open one; `because` says why there is no reference."""

    phase: Phase
    because: str = ""
    tick: int = -1
    reference: str = ""
    reference_created: int = 0
    budget: float = 1.0
    budget_of: str = "instance"
    readings: tuple[SeriesReading, ...] = ()
    counted: Mapping[SeriesKey, Counted] = {}
    told: Mapping[str, int] = {}
    merged: Mapping[str, int] = {}
    missed: Mapping[SeriesKey, tuple[int, int]] = {}  # traces without an observation: evidence incomplete, or absent
    sessions: int = 0
    learning: Learning | None = None
    storage: Storage = Storage()
    embeddings: Mapping[str, int] = {}  # questions for a local model, by what became of them; empty where there is none


def watching_view(view: DriftView, monitor: DriftMonitor, before: DriftView | None = None) -> DriftView:
    """The view of a monitor as it stands; effect sizes of the view before may stand a minute."""
    counters, tick = monitor.counters, monitor.observer.tick
    counted = {
        key: Counted(
            tuple(counts.tolist()), tuple(counters.expected[key].tolist()), counters.raw[key], counters.squares[key]
        )
        for key, counts in counters.counts.items()
    }
    return msgspec.structs.replace(
        view,
        phase=Phase.WATCHING,
        tick=tick,
        reference=monitor.reference_id,
        reference_created=monitor.reference.created,
        readings=tuple(monitor.readings(WINDOWS, {} if before is None else _standing(before, monitor))),
        counted=counted,
        told=msgspec.structs.asdict(monitor.observer.told),
        missed=monitor.observer.missed(),
        merged={str(outcome): n for outcome, n in monitor.merged.items()},
        sessions=monitor.observer.sessions.tracked(tick),
    )


def _standing(before: DriftView, monitor: DriftMonitor) -> dict[SeriesKey, SeriesReading]:
    """Readings whose effect sizes need not be worked out again: each series has its tick of six, and alarms are at once."""
    tick = monitor.observer.tick
    if before.reference != monitor.reference_id or not 0 <= tick - before.tick < REST:
        return {}
    ticks = range(before.tick + 1, tick + 1)
    return {
        (one.service, one.signal): one
        for place, one in enumerate(before.readings)
        if not any((place + each) % REST == 0 for each in ticks)
        and one.alarm == monitor.watched[one.service, one.signal].watch.alarm
    }


def learning_view(view: DriftView, builder: ReferenceBuilder, settings: DriftSettings) -> DriftView:
    """The view of a builder as it stands."""
    fitted = builder.fitted if builder.layout is None else settings.fit_traces  # or fewer, after a day
    learning = Learning(fitted, settings.fit_traces, builder.counted_seconds, settings.learning_seconds)
    told = msgspec.structs.asdict(builder.told)
    return msgspec.structs.replace(view, phase=Phase.LEARNING, tick=builder.tick, told=told, learning=learning)
