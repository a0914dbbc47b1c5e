"""From a trace to the open tick: reads every signal, finds each value's bin, and adds one to a count.

This is all that drift costs per trace; everything else happens once a tick. A record is counted once, at its first
revision: what late spans add to it can't be taken back out of evidence, so revisions are counted apart.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from lanewatch.monitors.drift.bins import Place
from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.layout import Layout, ServiceLayout
from lanewatch.monitors.drift.ngrams import hashed_ngrams
from lanewatch.monitors.drift.projection import Projector
from lanewatch.monitors.drift.sessions import SessionEvents, session_hash
from lanewatch.monitors.drift.signals import BY_NAME, SIGNALS, Kind
from lanewatch.monitors.drift.sums import SeriesKey, SeriesSums, TickSums
from lanewatch.monitors.drift.text_features import TEXT_FEATURES, fitted_features, read_text
from lanewatch.monitors.drift.tick import TICK_SECONDS
from lanewatch.monitors.drift.weights import MAX_WEIGHT, rounded_weight

NANOSECONDS = 1_000_000_000
MAX_VECTORS_A_TICK = 30  # questions whose vectors are placed, 50 us each; more would hardly find drift sooner
LATE_TICKS = 30  # five minutes: a trace is closed some seconds after its end, which is not late
MAX_WEIGHTS_A_TICK = 64  # different ones; more are rounded
UNKNOWN_SERVICE, OTHER_SERVICE = "unknown", "other"


class Told(msgspec.Struct):
    """What was not simply counted."""

    observed: int = 0
    late: int = 0  # five minutes and more behind; like all whose tick is over, it counts in the open one
    early: int = 0  # ahead of the clock; likewise
    revised: int = 0  # a later revision of a trace that was counted
    sampling_unknown: int = 0
    weight_capped: int = 0
    unplaced_vectors: int = 0  # of another length, or with a part that is no number
    unknown_service: int = 0  # a service that the reference does not have
    folded: int = 0  # a service that is counted as `other`


Read = Callable[[Facts], Any]
Rows = list[list[int]]  # a row for each series of a service


class _Service:
    def __init__(self, name: str, layout: ServiceLayout) -> None:
        self.name = name
        self.signals: list[str] = []
        self.lengths: list[int] = []
        self.single: list[tuple[Read, Place, int]] = []
        self.events: list[tuple[Read, int, int]] = []
        self.several: list[tuple[Read, Place, int]] = []
        self.needs: list[str | None] = []  # by row: the kind of record that must be complete
        self.missed: list[list[int]] = []  # by row: traces without an observation
        self.text: list[tuple[int, Place, int]] = []
        self.vectors: list[tuple[Projector, str, int]] = []
        self.known_words, self.surprisals = b"", np.zeros(0)
        if layout.text is not None:
            self.known_words, self.surprisals = layout.text.words, layout.text.surprisals()
        self.text_of_all: list[tuple[int, Place, int]] = []  # of these, what depends on no model
        features = [f"query_text_{name}" for name, _, _ in TEXT_FEATURES]
        events = [signal.name for signal in SIGNALS if signal.kind is Kind.EVENT]
        for signal in SIGNALS:
            projection, bins = layout.projections.get(signal.name), layout.bins.get(signal.name)
            row = len(self.signals)
            if projection is not None:
                self.vectors.append((Projector(projection), signal.name, row))
                self._add(signal.name, projection.shape.length)
            elif bins is not None and (signal.kind is not Kind.TEXT or layout.text is not None):
                self._add(signal.name, len(bins.names))
                match signal.kind:
                    case Kind.EVENT:
                        self.events.append((signal.read, 1 << events.index(signal.name), row))
                    case Kind.TEXT:
                        one = (features.index(signal.name), bins.place(), row)
                        self.text.append(one)
                        if not TEXT_FEATURES[one[0]][2]:
                            self.text_of_all.append(one)
                    case Kind.CATEGORY:
                        self.several.append((signal.read, bins.place(), row))
                    case _:
                        self.single.append((signal.read, bins.place(), row))

    def rows(self) -> Rows:
        return [[0] * length for length in self.lengths]

    def miss(self, row: int, complete: frozenset[str]) -> None:
        """A trace gave no observation: because its evidence is incomplete, or because there is none to give."""
        needs = self.needs[row]
        self.missed[row][needs is None or needs in complete] += 1

    def _add(self, signal: str, length: int) -> None:
        self.signals.append(signal)
        self.lengths.append(length)
        self.needs.append(BY_NAME[signal].needs)
        self.missed.append([0, 0])


class Observer:
    """Counts one replica's traces. `clock` bounds what a trace may call now; None: the traces are the clock."""

    def __init__(
        self, layout: Layout, replica: str = "", clock: Callable[[], float] | None = None, *, halves: bool = False
    ) -> None:
        """`halves`: signals that were fitted in many dimensions count only the sessions that were not fitted on."""
        self.told = Told()
        self.sessions = SessionEvents()
        self.tick = -1
        self._layout_id = layout.id
        self._replica, self._clock, self._halves = replica, clock, halves
        self._services = {name: _Service(name, service) for name, service in layout.services.items()}
        self._open: dict[str, dict[float, Rows]] = {}
        self._vectors = 0
        self._weights: set[float] = set()

    def observe(self, facts: Facts, weight: float | None = 1.0) -> list[TickSums]:
        """Count a trace; `weight` is the inverse of its sampling probability, None where that is unknown.

        Returns the ticks that are over by the trace's time, ready for the pool.
        """
        record = facts.record
        if record.revision > 0:
            self.told.revised += 1
            return []
        closed = self._advance_to(record.end_ns // (TICK_SECONDS * NANOSECONDS))
        service = self._services.get(record.service or UNKNOWN_SERVICE)
        if service is None:
            service = self._services.get(OTHER_SERVICE)
            if service is None:
                self.told.unknown_service += 1
                return closed
            self.told.folded += 1
        self.told.observed += 1
        named = session_hash(service.name, record.session_id or record.trace_id)
        w = self._weight(weight, named)
        by_weight = self._open.setdefault(service.name, {})
        rows = by_weight.get(w)
        if rows is None:
            rows = by_weight[w] = service.rows()
        self._count_values(facts, service, rows)
        self._count_events(facts, service, rows, named if record.session_id else None)
        if facts.question is None:
            for _, _, row in service.text:
                service.miss(row, facts.complete)
        if facts.question is not None or facts.embedding is not None:
            self._count_text(facts, service, rows, fitted_on=in_fit_half(named))
        return closed

    def missed(self) -> dict[SeriesKey, tuple[int, int]]:
        """By series, traces that gave no observation: (their evidence is incomplete, there is none to give)."""
        return {
            (name, signal): (incomplete, absent)
            for name, service in self._services.items()
            for signal, (incomplete, absent) in zip(service.signals, service.missed, strict=True)
        }

    def advance(self, tick: int) -> list[TickSums]:
        """Close the open tick if `tick` is later."""
        closed: list[TickSums] = []
        if tick > self.tick:
            if self._open:
                closed.append(self._sums())
            self.tick, self._open, self._vectors = tick, {}, 0
            self._weights.clear()
        return closed

    def _advance_to(self, tick: int) -> list[TickSums]:
        if self._clock is not None:
            now = int(self._clock() // TICK_SECONDS)
            if tick > now:
                self.told.early += 1
                tick = now
        if tick < self.tick:
            self.told.late += tick < self.tick - LATE_TICKS
            return []
        return self.advance(tick)

    def _weight(self, weight: float | None, chance: int) -> float:
        if weight is None or not weight >= 1:
            self.told.sampling_unknown += 1
            return 1.0
        if weight > MAX_WEIGHT:
            self.told.weight_capped += 1
            return MAX_WEIGHT
        if weight not in self._weights:
            if len(self._weights) >= MAX_WEIGHTS_A_TICK:
                return rounded_weight(weight, (chance >> 1) % 65_536 / 65_536)
            self._weights.add(weight)
        return weight

    def _count_values(self, facts: Facts, service: _Service, rows: Rows) -> None:
        for read, place, row in service.single:
            value = read(facts)
            if value is not None:
                rows[row][place(value)] += 1
            else:
                service.miss(row, facts.complete)
        for read, place, row in service.several:
            values = read(facts)
            if values is None:
                service.miss(row, facts.complete)
                continue
            for value in values:
                rows[row][place(value)] += 1

    def _count_events(self, facts: Facts, service: _Service, rows: Rows, session: int | None) -> None:
        """Trials without an earlier event of their session, and first events."""
        earlier = 0 if session is None else self.sessions.seen(session, self.tick)
        new = 0
        for read, bit, row in service.events:
            if earlier & bit:
                continue
            happened = read(facts)
            if happened:
                rows[row][1] += 1
                new |= bit
            elif happened is not None:
                rows[row][0] += 1
            else:
                service.miss(row, facts.complete)
        if new and session is not None:
            self.sessions.mark(session, new, self.tick)

    def _count_text(self, facts: Facts, service: _Service, rows: Rows, *, fitted_on: bool) -> None:
        question = facts.question
        if question is not None and service.text:
            read = read_text(question)
            values = (*read.plain, *fitted_features(read, service.known_words, service.surprisals))
            unseen = service.text_of_all if self._halves and fitted_on else service.text
            for index, place, row in unseen:
                rows[row][place(values[index])] += 1
        if not service.vectors or self._vectors >= MAX_VECTORS_A_TICK or (self._halves and fitted_on):
            return
        self._vectors += 1
        for projector, name, row in service.vectors:
            vector: Sequence[float] | Floats | None = facts.embedding
            if name == "query_text_ngrams":
                vector = None if question is None else hashed_ngrams(question)
            if vector is None:
                service.miss(row, facts.complete)
                continue
            placed = projector.place(vector)
            if placed is None:
                self.told.unplaced_vectors += 1
                continue
            counts, (places, reals) = rows[row], placed
            for bin_place in places:
                counts[bin_place] += 1
            start = len(counts) - len(reals)
            for k, value in enumerate(reals, start):
                counts[k] += value

    def _sums(self) -> TickSums:
        series = [
            SeriesSums(name, signal, [(w, rows[row]) for w, rows in by_weight.items() if any(rows[row])])
            for name, by_weight in self._open.items()
            for row, signal in enumerate(self._services[name].signals)
        ]
        return TickSums(self._replica, self.tick, self._layout_id, [one for one in series if one.counts])


def in_fit_half(session: int) -> bool:
    """Whether a session (or a trace without one) belongs to the half that is fitted on."""
    return session & 1 == 0
