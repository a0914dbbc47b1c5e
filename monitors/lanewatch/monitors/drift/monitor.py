"""All of drift in one object: traces in, alarms and readings out, ticks merged over replicas, state that survives.

Single owner, no locks: the thread that reads traces calls `observe`, and `advance` every ten seconds. A state is only
taken up by the reference it was made with.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

import msgspec

from lanewatch.monitors.drift.alarm import Event, State, Watch, WatchState
from lanewatch.monitors.drift.budget import Budget
from lanewatch.monitors.drift.calendar import hours_of_week
from lanewatch.monitors.drift.counters import BinCounters
from lanewatch.monitors.drift.counting import Counting
from lanewatch.monitors.drift.effects import SHOWN_WINDOWS
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.gates import Gates, evidence_gate
from lanewatch.monitors.drift.observer import Observer
from lanewatch.monitors.drift.rate_series import RateSeries, RateState
from lanewatch.monitors.drift.readings import Change, Detecting, SeriesReading, effects_of
from lanewatch.monitors.drift.reference import Reference
from lanewatch.monitors.drift.sessions import SessionState
from lanewatch.monitors.drift.share_series import ShareSeries, ShareState
from lanewatch.monitors.drift.signals import BY_NAME
from lanewatch.monitors.drift.sums import Merged, Pool, PoolState, SeriesKey, TickSums
from lanewatch.monitors.drift.vector_series import VectorSeries, VectorState
from lanewatch.monitors.drift.watching import Watched, watch_all

INCOMPLETE = "incomplete_"


class SeriesState(msgspec.Struct):
    """One series' state."""

    watch: WatchState
    series: RateState | ShareState | VectorState


class MonitorState(msgspec.Struct):
    """All that must survive a restart. `reference` is the id of what it was made with."""

    reference: str
    tick: int
    pool: PoolState
    sessions: SessionState
    series: dict[str, dict[str, SeriesState]]


class DriftMonitor:
    """Watches every series of a reference."""

    def __init__(
        self,
        reference: Reference,
        budget: Budget | None = None,
        *,
        replica: str = "",
        clock: Callable[[], float] | None = None,
        grace_ticks: int = 0,
        counting: Counting | None = None,
    ) -> None:
        """`clock` (seconds since the epoch) bounds what traces may call now; None lets recorded traces be the clock.

        A tick is closed `grace_ticks` after it is over, so that other replicas' counts can come. `counting` is given
        all closed ticks, to make the next reference of. Raises ValueError for an unknown time zone.
        """
        self.reference, self.reference_id = reference, reference.id
        self.gates = Gates()
        self.observer = Observer(reference.layout, replica, clock)
        self.cell_of = hours_of_week(reference.time_zone)
        self.pool = Pool(reference.layout.id, reference.layout.sizes())
        self.watched: dict[SeriesKey, Watched] = watch_all(reference)
        self.counters = BinCounters({key: watched.expected for key, watched in self.watched.items() if watched.counted})
        self.counting = counting
        self.merged: dict[Merged, int] = dict.fromkeys(Merged, 0)
        self.budget = budget or Budget()
        self._per_series = self.budget.per_series(len(self.watched))
        self._grace = grace_ticks
        for watched in self.watched.values():
            watched.watch.series.allow(self._per_series)

    # ---- traces and ticks in

    def observe(self, facts: Facts, weight: float | None = 1.0) -> list[Change]:
        """Count a trace, and close the ticks that are over by its time."""
        before = self.observer.tick
        messages = self.observer.observe(facts, weight)
        return self._closed(messages, self.observer.tick) if self.observer.tick != before else []

    def advance(self, tick: int) -> list[Change]:
        """It is `tick` now: close what is before."""
        return self._closed(self.observer.advance(tick), tick)

    def merge(self, message: TickSums) -> Merged:
        """Take in another replica's tick. Given twice, it counts once."""
        outcome = self.pool.add(message)
        self.merged[outcome] += 1
        return outcome

    # ---- what people do

    def acknowledge(self, service: str, signal: str) -> bool:
        """End a standing alarm; False where there is none."""
        watched = self.watched.get((service, signal))
        if watched is None or not watched.watch.acknowledge():
            return False
        self._keep_gate(service, signal, watched.watch)
        return True

    # ---- what can be read

    def state(self, service: str, signal: str) -> State | None:
        """A series' state now; None where it is not watched."""
        watched = self.watched.get((service, signal))
        shut = self.gates.before(service, signal)
        return None if watched is None else watched.watch.state(self.observer.tick, shut)

    def readings(
        self, windows: Iterable[int] = SHOWN_WINDOWS, known: Mapping[SeriesKey, SeriesReading] = MappingProxyType({})
    ) -> Iterator[SeriesReading]:
        """Every series as it stands, with the effect sizes of these windows (minutes), or those of `known` readings where
        a series has one: working them out takes most of the time.
        """
        minutes = tuple(windows)
        for key, watched in self.watched.items():
            service, signal = key
            before = known.get(key)
            effects = watched.effects(minutes) if before is None else effects_of(before)
            watch = watched.watch
            # A gate that was opened counts until the next tick, which alone can tell anything again.
            shut = tuple(dict.fromkeys((*self.gates.before(*key), *watch.shut)))
            state = watch.state(self.observer.tick, shut)
            silent = ("no_observations",) if state is State.UNSURE and not shut else ()
            yield SeriesReading(
                service,
                signal,
                BY_NAME[signal].lane,
                BY_NAME[signal].kind,
                state,
                shut + silent,
                watch.alarm,
                watch.alarms,
                self._per_series,
                tuple(Detecting(*ratio) for ratio in watch.series.ratios()),
                watched.facts,
                watched.bins,
                watched.critical,
                **effects,
            )

    # ---- surviving

    def follow(self, before: "DriftMonitor") -> None:
        """Go on where a monitor of another reference stops: its time, its sessions, and what it counted of all traces.

        Evidence begins anew.
        """
        self.observer.follow(before.observer)
        for key, watched in self.watched.items():
            if (other := before.watched.get(key)) is not None:
                watched.watch.alarms = other.watch.alarms

    def snapshot(self) -> MonitorState:
        """All that must survive."""
        series: dict[str, dict[str, SeriesState]] = {}
        for (service, signal), watched in self.watched.items():
            one = watched.watch.series
            assert isinstance(one, RateSeries | ShareSeries | VectorSeries)
            series.setdefault(service, {})[signal] = SeriesState(watched.watch.snapshot(), one.state())
        tick = self.observer.tick
        return MonitorState(self.reference_id, tick, self.pool.state(), self.observer.sessions.state(tick), series)

    def restore(self, state: MonitorState) -> list[SeriesKey]:
        """Go on from a state; returns the series that could not, and began anew. All, where the reference is another."""
        if state.reference != self.reference_id:
            return list(self.watched)
        self.pool.restore(state.pool)
        self.observer.tick = state.tick
        lost = [] if self.observer.sessions.restore(state.sessions) else list(self.watched)
        for key, watched in self.watched.items():
            saved = state.series.get(key[0], {}).get(key[1])
            if saved is None or not watched.restore(saved.series):
                lost.append(key)
            else:
                watched.watch.restore(saved.watch)
                self._keep_gate(*key, watched.watch)
        return lost

    def _closed(self, messages: list[TickSums], now: int) -> list[Change]:
        for message in messages:
            self.merged[self.pool.add(message)] += 1
            self.counters.add(message, self.cell_of(message.tick))
        changes: list[Change] = []
        for tick, pooled in self.pool.close(now - 1 - self._grace):
            cell = self.cell_of(tick)
            for key, (total, parts) in pooled.items():
                watched = self.watched.get(key)
                if watched is not None:
                    shut = self.gates.before(*key)
                    event = watched.watch.update(tick, cell, total, parts, shut)
                    changes += self._told(tick, key, watched.watch, event)
            if self.counting is not None:
                usual = {key: total for key, (total, _) in pooled.items() if self._is_usual(key)}
                self.counting.add(tick, usual)
        for slot in self.pool.gone():
            for watched in self.watched.values():
                watched.watch.series.forget_replica(slot)
        return changes

    def _is_usual(self, key: SeriesKey) -> bool:
        """Whether a series may become a part of the next reference: no alarm stands, and nothing is held back."""
        watched = self.watched.get(key)
        return watched is None or (watched.watch.alarm is None and not watched.watch.shut)

    def _told(self, tick: int, key: SeriesKey, watch: Watch, event: Event | None) -> list[Change]:
        if event is None:
            return []
        service, signal = key
        alarm = watch.alarm if event is Event.RAISED else watch.cleared
        assert alarm is not None
        self._keep_gate(service, signal, watch)
        if event is Event.RAISED and self.counting is not None:
            self.counting.leave_out(key, alarm.changed, tick)
        return [Change(tick, service, signal, event, alarm)]

    def _keep_gate(self, service: str, signal: str, watch: Watch) -> None:
        """Traces that began to hide something hold back what is read of them."""
        if signal.startswith(INCOMPLETE):
            name, gate = evidence_gate(service, signal.removeprefix(INCOMPLETE))
            if watch.alarm is not None and watch.alarm.direction == "up":
                self.gates.shut(name, gate)
            else:
                self.gates.open(name)
