"""Drift in a running process: learns a reference or takes the one that is set, watches, survives, and can be looked at.

One thread owns it, the one that reads traces; `view` alone may be read elsewhere. Its clock is that of the events: the
newest trace's end, and from there on as many seconds as have passed since that trace came, never ahead of the clock on
the wall. So a backlog is judged by its own times, and silence still ends a tick.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import TypeVar

import msgspec

from lanewatch.monitors.drift.building import ReferenceBuilder
from lanewatch.monitors.drift.checked_file import Trouble
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.gates import Gate, judge_gate
from lanewatch.monitors.drift.monitor import DriftMonitor
from lanewatch.monitors.drift.readings import Change
from lanewatch.monitors.drift.reference import Gap, Reference, load_reference, save_reference
from lanewatch.monitors.drift.settings import DriftSettings, monitor_from
from lanewatch.monitors.drift.snapshots import SnapshotThread
from lanewatch.monitors.drift.state_folder import (
    LEARNING,
    REFERENCE,
    STATE,
    Read,
    read_learning,
    read_state,
    write_learning,
    write_state,
)
from lanewatch.monitors.drift.tick import TICK_SECONDS
from lanewatch.monitors.drift.view import DriftView, Phase, Storage, learning_view, watching_view
from lanewatch.monitors.label_text import label_text

NANOSECONDS = 1_000_000_000
ASK_SECONDS = 60.0  # between two looks at whether enough was learnt

T = TypeVar("T")
Say = Callable[[str, str], None]  # (what happened, the file's name or what it is about)


class LiveDrift:
    """Traces in, changes of alarms out. Reads its files when it is made."""

    def __init__(
        self,
        settings: DriftSettings,
        *,
        clock: Callable[[], float] = time.time,
        passed: Callable[[], float] = time.monotonic,
        rng: Random | None = None,
        say: Say = lambda _what, _about: None,
    ) -> None:
        """`clock` gives seconds since the epoch, `passed` seconds that never go back, `rng` chooses what bins are fitted
        to. `say` is told of damaged files and of the like, for the log.

        Raises ValueError for an unknown time zone.
        """
        self._settings, self._clock, self._passed, self._say = settings, clock, passed, say
        self.snapshots = SnapshotThread(clock)
        self._set_aside = self._begun_anew = 0
        self._looked_at = -2  # the tick of the last view of a monitor
        self._newest_ns = 0
        self._came = self._saved = passed()
        self._asked = -ASK_SECONDS  # when the learnt reference was looked at last
        self._because = ""
        self._held: dict[str, Gate] = {}
        self.view = DriftView(Phase.LEARNING)
        self.monitor: DriftMonitor | None = None
        self._builder: ReferenceBuilder | None = None
        reference = self._reference()
        if reference is not None:
            self._watch(reference)
            self._take_up()
        elif not self._because:
            self._builder = self._learn(rng or Random())  # noqa: S311 - it chooses a sample
        self.view = self._look()

    # ---- what comes in

    def observe(self, facts: Facts, weight: float | None = 1.0) -> list[Change]:
        """Take in a finished trace; `weight` None where its sampling is unknown."""
        self._newest_ns = max(self._newest_ns, facts.record.end_ns)
        self._came = self._passed()
        if self.monitor is not None:
            return self.monitor.observe(facts, weight)
        if self._builder is not None:
            self._builder.observe(facts, weight)
        return []

    def advance(self) -> list[Change]:
        """Time has passed: close what is over, learn enough, write what must survive. To be called every few seconds."""
        changes: list[Change] = []
        tick = self._tick()
        if tick is not None and self.monitor is not None:
            changes = self.monitor.advance(tick)
        elif tick is not None and self._builder is not None:
            self._builder.advance(tick)
        if self._builder is not None and self._builder.counted_seconds >= self._settings.learning_seconds:
            self._adopt_learnt(self._builder)
        if self._passed() - self._saved >= self._settings.snapshot_seconds:
            self._saved = self._passed()
            write = self._writing()
            if write is not None:
                self.snapshots.offer(write)
        self.view = self._look()
        return changes

    def acknowledge(self, service: str, signal: str) -> bool:
        """A person has seen an alarm: it ends. The service may be named as its label has it. False where none stands."""
        if self.monitor is None:
            return False
        named = {key for key in self.monitor.watched if key[1] == signal and service in {key[0], label_text(key[0])}}
        ended = [self.monitor.acknowledge(*key) for key in named]
        self._looked_at = -2
        self.view = self._look()
        return any(ended)

    def hold_back(self, name: str, gate: Gate | None) -> None:
        """Shut a gate, or open it (None): no alarm and no all-clear of what is behind it, whose state is UNSURE.

        A gate stays shut, also for a reference that is taken up later, until it is opened.
        """
        if gate is None:
            self._held.pop(name, None)
        else:
            self._held[name] = gate
        if self.monitor is not None:
            _set_gate(self.monitor, name, gate)
            self._looked_at = -2
            self.view = self._look()

    def hold_back_scores(self, metrics: Iterable[str]) -> None:
        """Hold back the signals of these judge scores, of all services, and those of no other metric any more.

        For whoever runs the judge's canaries: to be called with the metrics whose judge has shifted, none where all is well.
        """
        name, gate = judge_gate(metrics)
        self.hold_back(name, gate if gate.signals else None)

    def close(self) -> list[Change]:
        """The process ends: count the open tick, and write what must survive."""
        changes: list[Change] = []
        if self.monitor is not None:
            changes = self.monitor.advance(self.monitor.observer.tick + 1)
        elif self._builder is not None:
            self._builder.advance(self._builder.tick + 1)
        write = self._writing()
        if write is not None:
            self.snapshots.now(write)
        self.view = self._look()
        return changes

    # ---- the reference

    def _reference(self) -> Reference | None:
        settings = self._settings
        path = settings.reference_file
        if path is None:
            if settings.state_folder is None:
                return None
            path = settings.state_folder / REFERENCE
        loaded = load_reference(path)
        if loaded.set_aside is not None:
            self._set_aside += 1
        if loaded.reference is None and loaded.trouble is not None:
            if settings.reference_file is not None:
                # Learning one in its place would not be what was asked for.
                self._because = loaded.trouble
                self._say(f"reference_{loaded.trouble}", "reference_file")
            elif loaded.trouble is not Trouble.MISSING:
                self._say(loaded.trouble, REFERENCE)
        return loaded.reference

    def _watch(self, reference: Reference) -> None:
        self.monitor = monitor_from(reference, self._settings, clock=self._clock)
        for name, gate in self._held.items():
            _set_gate(self.monitor, name, gate)

    def _take_up(self) -> None:
        """Go on with the evidence of before."""
        assert self.monitor is not None
        state = self._read(STATE, read_state)
        if state is not None:
            lost = self.monitor.restore(state)
            # Time goes on from there: silence after a restart is silence.
            self._newest_ns = max(self.monitor.observer.tick, 0) * TICK_SECONDS * NANOSECONDS
            self._begun_anew = len(lost)
            if lost:
                self._say("begun_anew", STATE)

    def _learn(self, rng: Random) -> ReferenceBuilder:
        settings = self._settings
        builder = ReferenceBuilder(
            rng,
            settings.time_zone,
            self._clock,
            fit_traces=settings.fit_traces,
            max_services=settings.max_services,
        )
        state = self._read(LEARNING, read_learning)
        if state is not None:
            builder.restore(state)
        return builder

    def _read(self, name: str, read: Callable[[Path], Read[T]]) -> T | None:
        if self._settings.state_folder is None:
            return None
        found = read(self._settings.state_folder)
        self._set_aside += found.set_aside is not None
        if found.trouble is not None and found.trouble is not Trouble.MISSING:
            self._say(found.trouble, name)
        return found.value

    def _adopt_learnt(self, builder: ReferenceBuilder) -> None:
        if self._passed() < self._asked + ASK_SECONDS:
            return
        self._asked = self._passed()
        reference = builder.reference(int(self._clock()), "live")
        if reference is None or all(Gap.FEW in reference.gaps().get(key, ()) for key in reference.tables()):
            return  # too little traffic so far: go on
        folder = self._settings.state_folder
        self._builder = None
        self._watch(reference)
        if folder is not None:
            self.snapshots.now(lambda: _save_learnt(folder, reference))

    # ---- surviving

    def _writing(self) -> Callable[[], None] | None:
        folder = self._settings.state_folder
        if folder is None:
            return None
        if self.monitor is not None:
            state = self.monitor.snapshot()
            return lambda: write_state(folder, state)
        if self._builder is not None and self._builder.layout is not None:
            learning = self._builder.state()
            return lambda: write_learning(folder, learning)
        return None

    # ---- time and looks

    def _tick(self) -> int | None:
        """The tick that is open by the clock of the events; None before the first trace of this process."""
        if not self._newest_ns:
            return None
        now = self._newest_ns / NANOSECONDS + (self._passed() - self._came)
        return int(min(now, self._clock()) // TICK_SECONDS)

    def _look(self) -> DriftView:
        """The view; what takes long is only worked out anew once a tick."""
        budget, snapshots = self._settings.budget, self.snapshots
        storage = Storage(snapshots.written, snapshots.failed, self._set_aside, self._begun_anew, snapshots.since)
        if self.monitor is not None:
            if self.monitor.observer.tick == self._looked_at:
                return msgspec.structs.replace(self.view, storage=storage)
            self._looked_at = self.monitor.observer.tick
        view = DriftView(
            Phase.NO_REFERENCE,
            self._because,
            budget=budget.false_alarms_per_30_days,
            budget_of=budget.of,
            storage=storage,
        )
        if self.monitor is not None:
            return watching_view(view, self.monitor, self.view)
        return view if self._builder is None else learning_view(view, self._builder, self._settings)


def _set_gate(monitor: DriftMonitor, name: str, gate: Gate | None) -> None:
    if gate is None:
        monitor.gates.open(name)
    else:
        monitor.gates.shut(name, gate)


def _save_learnt(folder: Path, reference: Reference) -> None:
    save_reference(folder / REFERENCE, reference)
    (folder / LEARNING).unlink(missing_ok=True)
