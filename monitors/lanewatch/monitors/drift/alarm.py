"""An alarm's life: raised by evidence, latched, cleared by evidence of return or by a person.

While it stands nothing fires again. While a gate is shut - the judge's canaries drift, or traces hide what a signal
needs - no evidence is taken in at all, and the state is UNSURE, which is not OK.
"""

import math
from enum import StrEnum
from typing import NamedTuple, Protocol

import msgspec

from lanewatch.monitors.drift.shiryaev_roberts import CEILING
from lanewatch.monitors.drift.sums import Counts, to_tick
from lanewatch.monitors.drift.tick import TICKS_PER_MINUTE, Tick
from lanewatch.monitors.drift.way_back import CLEAR_MINUTES, BinsBack, MeanBack

LONGEST_MINUTES = 60.0  # a tick stands for no more: silence is no evidence
SILENT_TICKS = 8640  # a day without an observation
MOST_MOVED = 3
SHORTEST_WAIT, LONGEST_WAIT = 30, 360  # ticks


class State(StrEnum):
    """What can be said of a series."""

    OK = "ok"
    ALARM = "alarm"
    UNSURE = "unsure"


class Event(StrEnum):
    """What a tick changed."""

    RAISED = "raised"
    CLEARED = "cleared"


class Fired(NamedTuple):
    """Evidence that reached its line. `changed` is the tick in which it began to grow."""

    detector: str
    direction: str
    ratio: float
    changed: int


class Moved(msgspec.Struct, frozen=True):
    """A bin that moved: its share as expected, and as found."""

    name: str
    expected: float
    found: float


class Alarm(msgspec.Struct):
    """A standing alarm. `back` is the evidence of return, in minutes; it clears at 1000."""

    detector: str
    direction: str
    ratio: float
    raised: int
    changed: int
    moved: list[Moved]
    found: BinsBack | MeanBack
    settled: bool = False  # whether `found` has been seen long enough to tell a return from it
    back: float = 0.0


class Series(Protocol):
    """A series of any kind, as an alarm sees it."""

    def detect(self, tick: Tick) -> Fired | None:
        """Take a tick in; the strongest evidence if it reached its line."""
        ...

    def look(self, tick: Tick) -> None:
        """Take a tick in to be shown alone."""
        ...

    def found(self, fired: Fired) -> tuple[list[Moved], BinsBack | MeanBack]:
        """What moved since the change, and what to look for if it comes back."""
        ...

    def back(self, found: BinsBack | MeanBack, tick: Tick) -> float:
        """The log factor of a tick as evidence of return."""
        ...

    def restart(self) -> None:
        """Begin all evidence anew."""
        ...

    def ratios(self) -> list[tuple[str, str, float]]:
        """(detector, direction, evidence over its line) of each detector."""
        ...

    def forget_replica(self, slot: int) -> None:
        """A replica has gone."""
        ...

    def allow(self, alarms_per_30_days: float) -> None:
        """Set the false alarms that the series may have."""
        ...


class WatchState(msgspec.Struct):
    """What to remember of a watch, beside its series."""

    last: int
    alarm: Alarm | None
    alarms: int


class Watch:
    """A series with its alarm."""

    def __init__(self, series: Series) -> None:
        """No alarm stands."""
        self.series = series
        self.alarm: Alarm | None = None
        self.cleared: Alarm | None = None  # the last one that ended
        self.alarms = 0
        self.shut: tuple[str, ...] = ()
        self.last = -1

    def state(self, now: int, shut: tuple[str, ...] = ()) -> State:
        """What can be said now (a tick). `shut` names the gates that are shut, whether or not a tick has come since."""
        if shut or self.shut or self.last < 0 or now - self.last > SILENT_TICKS:
            return State.UNSURE
        return State.OK if self.alarm is None else State.ALARM

    def update(
        self, index: int, cell: int, counts: Counts, parts: dict[int, Counts], shut: tuple[str, ...] = ()
    ) -> Event | None:
        """Take in a closed tick that has counts. `shut` names the gates that are shut."""
        since = index - self.last if self.last >= 0 else 1
        self.last, self.shut = index, shut
        if shut:
            return None
        tick = to_tick(index, cell, min(since / TICKS_PER_MINUTE, LONGEST_MINUTES), counts, parts)
        if self.alarm is not None:
            return self._look_back(self.alarm, tick)
        fired = self.series.detect(tick)
        if fired is None:
            return None
        moved, found = self.series.found(fired)
        self.alarm = Alarm(fired.detector, fired.direction, fired.ratio, index, fired.changed, moved, found)
        self.alarms += 1
        return Event.RAISED

    def acknowledge(self) -> bool:
        """A person has seen the alarm: it ends, and evidence begins anew. False where there is none."""
        if self.alarm is None:
            return False
        self._end()
        return True

    def snapshot(self) -> WatchState:
        """What to write down."""
        return WatchState(self.last, self.alarm, self.alarms)

    def restore(self, state: WatchState) -> None:
        """Go on from a state."""
        self.last, self.alarm, self.alarms = state.last, state.alarm, state.alarms

    def _look_back(self, alarm: Alarm, tick: Tick) -> Event | None:
        self.series.look(tick)
        if not alarm.settled:
            # As long again as it took to find, five minutes to an hour: what just reached a line looks too large.
            wait = min(max(alarm.raised - alarm.changed, SHORTEST_WAIT), LONGEST_WAIT)
            if tick.index - alarm.raised >= wait:
                fired = Fired(alarm.detector, alarm.direction, alarm.ratio, alarm.changed)
                alarm.moved, alarm.found = self.series.found(fired)
                alarm.settled = True
            return None
        gained = min(max(self.series.back(alarm.found, tick), -700.0), 600.0)
        alarm.back = min((alarm.back + tick.minutes) * math.exp(gained), CEILING)
        if alarm.back < CLEAR_MINUTES:
            return None
        self._end()
        return Event.CLEARED

    def _end(self) -> None:
        self.cleared, self.alarm = self.alarm, None
        self.series.restart()


def most_moved(names: tuple[str, ...], expected: list[float], found: list[float]) -> list[Moved]:
    """The bins that add most to the PSI.

    >>> [moved.name for moved in most_moved(("a", "b", "c"), [0.5, 0.3, 0.2], [0.5, 0.1, 0.4])]
    ['b', 'c']
    """
    terms = [
        ((p - q) * math.log(p / q), Moved(name, q, p))
        for name, q, p in zip(names, expected, found, strict=True)
        if p > 0 and q > 0
    ]
    ranked = sorted(terms, key=lambda term: -term[0])
    return [moved for term, moved in ranked[:MOST_MOVED] if term > 0]
