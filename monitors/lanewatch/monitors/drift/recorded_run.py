"""The same monitor on recorded traces, and what it saw: evidence over time, and every bin then and now.

Traces must come in order of their end; they are the clock. Nothing of a trace is kept but what the monitor counts.
"""

from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from lanewatch.monitors.drift.bins import EventBins
from lanewatch.monitors.drift.budget import Budget
from lanewatch.monitors.drift.effects import (
    SHOWN_WINDOWS,
    RateEffects,
    ShareEffects,
    rate_effects,
    share_effects,
)
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.monitor import DriftMonitor
from lanewatch.monitors.drift.observer import Told
from lanewatch.monitors.drift.readings import Change, SeriesReading
from lanewatch.monitors.drift.reference import Reference
from lanewatch.monitors.drift.sums import SeriesKey
from lanewatch.monitors.drift.tick import TICK_SECONDS, TICKS_PER_MINUTE
from lanewatch.monitors.drift.windows import Window

STRETCHES = 240  # points of the evidence over time
NANOSECONDS = 1_000_000_000


class Track(msgspec.Struct, frozen=True):
    """One detector over time: its largest evidence over its line in each stretch, None where nothing was counted."""

    detector: str
    direction: str
    ratios: tuple[float | None, ...]


class SeriesRun(msgspec.Struct, frozen=True):
    """A series at the end of the recording.

    `then` holds the shares of its bins that the reference lets expect at the hours of the traffic, `now` those that were
    found; both are empty for vectors. `shares` or `rate` is the effect over the whole recording.
    """

    reading: SeriesReading
    then: tuple[float, ...]
    now: tuple[float, ...]
    observations: float
    shares: ShareEffects | None
    rate: RateEffects | None
    tracks: tuple[Track, ...]


class RecordedRun(msgspec.Struct, frozen=True):
    """All series, the alarms that were raised and cleared, and what was not simply counted. Ticks are of ten seconds."""

    series: tuple[SeriesRun, ...]
    changes: tuple[Change, ...]
    told: Told
    first_tick: int
    last_tick: int
    ticks_a_stretch: int


class _Tracks:
    """The largest ratios of each stretch, by series and detector."""

    def __init__(self, monitor: DriftMonitor, first: int, last: int) -> None:
        self.ticks = max(-(-(last - first + 1) // STRETCHES), 1)
        self.first, self.count = first, (last - first) // self.ticks + 1
        self._monitor, self._minute = monitor, -1
        self._largest: dict[tuple[SeriesKey, str, str], list[float | None]] = {}

    def look(self, tick: int, changes: list[Change]) -> None:
        """Note where all evidence stands. Once a minute is enough, beside the moments of an alarm."""
        for change in changes:
            key = (change.service, change.signal)
            self._note(change.tick, key, change.alarm.detector, change.alarm.direction, change.alarm.ratio)
        if tick // TICKS_PER_MINUTE == self._minute:
            return
        self._minute = tick // TICKS_PER_MINUTE
        for key, watched in self._monitor.watched.items():
            if watched.watch.last >= 0:
                for detector, direction, ratio in watched.watch.series.ratios():
                    self._note(tick, key, detector, direction, ratio)

    def of(self, key: SeriesKey) -> tuple[Track, ...]:
        """The tracks of a series."""
        return tuple(
            Track(detector, direction, tuple(ratios))
            for (its, detector, direction), ratios in self._largest.items()
            if its == key
        )

    def _note(self, tick: int, key: SeriesKey, detector: str, direction: str, ratio: float) -> None:
        ratios = self._largest.setdefault((key, detector, direction), [None] * self.count)
        place = min(max((tick - self.first) // self.ticks, 0), self.count - 1)
        ratios[place] = max(ratio, ratios[place] or 0.0)


def run_recorded(
    reference: Reference,
    traces: Iterable[tuple[Facts, float | None]],
    *,
    first_ns: int,
    last_ns: int,
    budget: Budget | None = None,
    on_progress: Callable[[int], None] = lambda _done: None,
) -> RecordedRun:
    """Watch recorded traces as a sidecar would have, with weights as for an observer.

    `first_ns` and `last_ns` are the ends of the first and the last trace. Raises ValueError for an unknown time zone.
    """
    first, last = (at // (TICK_SECONDS * NANOSECONDS) for at in (first_ns, last_ns))
    monitor = DriftMonitor(reference, budget)
    tracks, changes = _Tracks(monitor, first, last), []
    for done, (facts, weight) in enumerate(traces, 1):
        changed = monitor.observe(facts, weight)
        tracks.look(monitor.observer.tick, changed)
        changes += changed
        on_progress(done)
    changed = monitor.advance(last + TICKS_PER_MINUTE)
    tracks.look(last + TICKS_PER_MINUTE, changed)
    changes += changed
    minutes = max((last - first + 1) // TICKS_PER_MINUTE, 1)
    series = tuple(_series_run(monitor, reading, tracks, minutes) for reading in monitor.readings(SHOWN_WINDOWS))
    return RecordedRun(series, tuple(changes), monitor.observer.told, first, last, tracks.ticks)


def _series_run(monitor: DriftMonitor, reading: SeriesReading, tracks: _Tracks, minutes: int) -> SeriesRun:
    key = (reading.service, reading.signal)
    counts, expected = monitor.counters.counts.get(key), monitor.counters.expected.get(key)
    found = tracks.of(key)
    if counts is None or expected is None:
        return SeriesRun(reading, (), (), 0.0, None, None, found)
    n, lets_expect = float(counts.sum()), float(expected.sum())
    if not (n > 0 and lets_expect > 0):
        return SeriesRun(reading, (), (), 0.0, None, None, found)
    window = Window(counts, np.asarray(n * n / monitor.counters.squares[key]), expected / lets_expect)
    facts, bins = reading.reference, monitor.reference.layout.services[key[0]].bins[key[1]]
    shares, rate = None, None
    if isinstance(bins, EventBins):
        mean = float(window.expected[1])
        rate = rate_effects(minutes, window, mean, min(mean * (facts.tau or 1.0), 1.0), facts.phi)
    else:
        shares = share_effects(minutes, window, facts.inverse_n, facts.phi, bins)
    then, now = tuple(window.expected.tolist()), tuple((counts / n).tolist())
    return SeriesRun(reading, then, now, n, shares, rate, found)
