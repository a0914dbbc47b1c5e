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

from lanewatch.monitors.drift.building import BuilderState, ReferenceBuilder
from lanewatch.monitors.drift.calendar import hours_of_week
from lanewatch.monitors.drift.checked_file import Trouble
from lanewatch.monitors.drift.counting import Counting
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.gates import CLOCK, Gate, clock_gate, judge_gate
from lanewatch.monitors.drift.monitor import DriftMonitor
from lanewatch.monitors.drift.observer import UNKNOWN_SERVICE
from lanewatch.monitors.drift.question_embedding import QuestionEmbedding, Whose
from lanewatch.monitors.drift.readings import Change
from lanewatch.monitors.drift.reference import Gap, Reference, load_reference, save_reference
from lanewatch.monitors.drift.reference_file import LOOK_SECONDS, ReferenceFile
from lanewatch.monitors.drift.sessions import session_hash
from lanewatch.monitors.drift.settings import DriftSettings, monitor_from
from lanewatch.monitors.drift.snapshots import SnapshotThread
from lanewatch.monitors.drift.sole_writer import SoleWriter
from lanewatch.monitors.drift.state_folder import (
    LEARNING,
    REFERENCE,
    STATE,
    WINDOW,
    Read,
    read_learning,
    read_state,
    read_window,
    write_learning,
    write_state,
    write_window,
)
from lanewatch.monitors.drift.tick import TICK_SECONDS
from lanewatch.monitors.drift.view import DriftView, Phase, Storage, learning_view, watching_view
from lanewatch.monitors.drift.weights import MAX_WEIGHT
from lanewatch.monitors.label_text import label_text

NANOSECONDS = 1_000_000_000
HOUR_SECONDS = 3600
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
        embedding: QuestionEmbedding | None = None,
    ) -> None:
        """`clock` gives seconds since the epoch, `passed` seconds that never go back, `rng` chooses what bins are fitted
        to. `say` is told of damaged files and of the like, for the log. `embedding` makes vectors of questions where traces
        carry none.

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
        self._embedding, self._told_trouble = embedding, False
        self.learnt = False  # whether this process has learnt a reference
        self._held: dict[str, Gate] = {}
        folder = settings.state_folder
        names = (STATE, LEARNING, WINDOW)
        self._sole = None if folder is None else SoleWriter(folder, names, lambda name: say("shared", name))
        self.view = DriftView(Phase.LEARNING)
        self.monitor: DriftMonitor | None = None
        self._builder: ReferenceBuilder | None = None
        self._file: ReferenceFile | None = None  # made before the file is read: what changes meanwhile is seen
        path = _path_in_use(settings)
        if path is not None:
            self._file = ReferenceFile(path, self._monitor)
        self._looked = self._kept = passed()
        reference = self._reference()
        if reference is not None:
            self.monitor = self._monitor(reference)
            self._go_on()
        elif not self._because:
            self._builder = self._learn(rng or Random())  # noqa: S311 - it chooses a sample
        self.view = self._look()

    # ---- what comes in

    def observe(self, facts: Facts, weight: float | None = 1.0) -> list[Change]:
        """Take in a finished trace; `weight` None where its sampling is unknown."""
        self._newest_ns = max(self._newest_ns, facts.record.end_ns)
        self._came = self._passed()
        if self._embedding is not None and facts.question and facts.embedding is None and not facts.record.revision:
            record, held = facts.record, weight if weight is not None and weight >= 1 else 1.0
            name = record.service or UNKNOWN_SERVICE
            whose = Whose(name, session_hash(name, record.session_id or record.trace_id), min(held, MAX_WEIGHT))
            self._embedding.offer(facts.question, whose)
        if self.monitor is not None:
            return self.monitor.observe(facts, weight)
        if self._builder is not None:
            self._builder.observe(facts, weight)
        return []

    def advance(self) -> list[Change]:
        """Time has passed: close what is over, learn enough, write what must survive. To be called every few seconds."""
        changes: list[Change] = []
        self._collect()
        tick = self._tick()
        if tick is not None and self.monitor is not None:
            changes = self.monitor.advance(tick)
            gate = clock_gate(tick, self.monitor.observer.tick)
            if (gate is None) is (CLOCK in self._held):
                self.hold_back(CLOCK, gate)
        elif tick is not None and self._builder is not None:
            self._builder.advance(tick)
        if self._builder is not None and self._builder.counted_seconds >= self._settings.learning_seconds:
            self._adopt_learnt(self._builder)
        changes += self._take_up()
        if self._passed() - self._saved >= self._settings.snapshot_seconds:
            self._saved = self._passed()
            write = self._writing()
            if write is not None:
                self.snapshots.offer(write)
        if self._passed() - self._kept >= HOUR_SECONDS:
            keep = self._keeping()
            if keep is None or self.snapshots.offer(keep):
                self._kept = self._passed()
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
        for write in (self._writing(), self._keeping()):
            if write is not None:
                self.snapshots.now(write)
        self.view = self._look()
        return changes

    # ---- the reference

    def window(self, first: int, last: int) -> Reference | None:
        """A reference of the hours of live traffic in [first, last), seconds since the epoch, in the bins of the one in use.

        Hours of a series in which it stood in alarm or was held back are not in it. None where no hours are kept.
        """
        if self.monitor is None or self.monitor.counting is None:
            return None
        hours = range(first // HOUR_SECONDS, -(-last // HOUR_SECONDS))
        rows = {
            service: {signal: [row for row in its if row.hour in hours] for signal, its in signals.items()}
            for service, signals in self.monitor.counting.state().rows.items()
        }
        reference = self.monitor.reference
        return Reference(reference.layout, rows, reference.time_zone, "window", int(self._clock()))

    def _take_up(self) -> list[Change]:
        """What was adopted since, once it is read: it is watched from now on."""
        if self._file is None or self._passed() - self._looked < LOOK_SECONDS:
            return []
        self._looked = self._passed()
        made = self._file.look("" if self.monitor is None else self.monitor.reference_id)
        if made is None:
            if self._file.trouble is not None:
                self._say("not_taken_up", self._file.trouble)
                self._file.trouble = None
            return []
        changes: list[Change] = []
        if self.monitor is not None:
            changes = self.monitor.advance(self.monitor.observer.tick + 1)
            made.follow(self.monitor)
        for name, gate in self._held.items():
            _set_gate(made, name, gate)
        self.monitor, self._builder, self._because, self._looked_at = made, None, "", -2
        self._saved = -self._settings.snapshot_seconds  # what is on the disk is of the one before
        self._say("taken_up", made.reference_id)
        return changes

    def _reference(self) -> Reference | None:
        settings = self._settings
        path = _path_in_use(settings)
        if path is None:
            return None
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

    def _monitor(self, reference: Reference) -> DriftMonitor:
        """May be called on any thread."""
        hours = self._settings.window_hours
        counting = Counting(reference.layout, hours_of_week(reference.time_zone), hours) if hours else None
        return monitor_from(reference, self._settings, clock=self._clock, counting=counting)

    def _go_on(self) -> None:
        """With the evidence, and the last hours, of before."""
        assert self.monitor is not None
        counting, layout = self.monitor.counting, self.monitor.reference.layout
        kept = None if counting is None else self._read(WINDOW, read_window)
        if counting is not None and kept is not None and kept.counting is not None and kept.layout == layout:
            counting.restore(kept.counting)
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
        self._builder, self.monitor, self.learnt = None, self._monitor(reference), True
        for name, gate in self._held.items():
            _set_gate(self.monitor, name, gate)
        if folder is not None:
            self.snapshots.now(lambda: _save_learnt(folder, reference))
            if self._file is not None:
                self._file.skip()

    # ---- surviving

    def _writing(self) -> Callable[[], None] | None:
        folder, sole = self._settings.state_folder, self._sole
        if folder is None or sole is None:
            return None
        if self.monitor is not None:
            state = self.monitor.snapshot()
            return lambda: sole.write(STATE, lambda: write_state(folder, state))
        if self._builder is not None and self._builder.layout is not None:
            learning = self._builder.state()
            return lambda: sole.write(LEARNING, lambda: write_learning(folder, learning))
        return None

    def _keeping(self) -> Callable[[], None] | None:
        """The last hours: once an hour, since only closed ones matter."""
        folder, sole = self._settings.state_folder, self._sole
        if folder is None or sole is None or self.monitor is None or self.monitor.counting is None:
            return None
        kept = BuilderState(self.monitor.reference.layout, self.monitor.counting.state())
        return lambda: sole.write(WINDOW, lambda: write_window(folder, kept))

    # ---- vectors that are made here

    def _collect(self) -> None:
        """Count what was embedded since, in the open tick."""
        if self._embedding is None:
            return
        for whose, vector in self._embedding.collect():
            if self.monitor is not None:
                self.monitor.observer.embedded(whose, vector, self._embedding.name)
            elif self._builder is not None:
                self._builder.embedded(whose, vector, self._embedding.name)
        if self._embedding.trouble and not self._told_trouble:
            self._told_trouble = True
            self._say("no_embedder", self._embedding.trouble)

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
            embeddings={} if self._embedding is None else {str(k): n for k, n in self._embedding.counts.items()},
        )
        if self.monitor is not None:
            return watching_view(view, self.monitor, self.view)
        return view if self._builder is None else learning_view(view, self._builder, self._settings)


def _path_in_use(settings: DriftSettings) -> Path | None:
    """Where the reference in use is, or will be; None where nothing survives."""
    if settings.reference_file is not None or settings.state_folder is None:
        return settings.reference_file
    return settings.state_folder / REFERENCE


def _set_gate(monitor: DriftMonitor, name: str, gate: Gate | None) -> None:
    if gate is None:
        monitor.gates.open(name)
    else:
        monitor.gates.shut(name, gate)


def _save_learnt(folder: Path, reference: Reference) -> None:
    save_reference(folder / REFERENCE, reference)
    (folder / LEARNING).unlink(missing_ok=True)
