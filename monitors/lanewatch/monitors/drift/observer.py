"""From a trace to the open tick: reads every signal, finds each value's bin, and adds one to a count.

This is all that drift costs per trace; everything else happens once a tick. Questions wait in the open tick until there
are 64 of them, or it closes: read together they cost a third. A record is counted once, at its first revision: what late
spans add to it can't be taken back out of evidence, so revisions are counted apart.
"""

from collections.abc import Callable
from operator import add
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from lanewatch.monitors.drift.bins import NumericBins, Place
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.layout import Layout, ServiceLayout
from lanewatch.monitors.drift.ngrams import ngram_vectors
from lanewatch.monitors.drift.projection import Projector
from lanewatch.monitors.drift.question_embedding import Whose
from lanewatch.monitors.drift.sessions import SessionEvents, session_hash
from lanewatch.monitors.drift.signals import BY_NAME, SIGNALS, Kind
from lanewatch.monitors.drift.sums import SeriesKey, SeriesSums, TickSums
from lanewatch.monitors.drift.text_features import MAX_CHARACTERS, TEXT_FEATURES, feature_columns
from lanewatch.monitors.drift.tick import TICK_SECONDS
from lanewatch.monitors.drift.weights import MAX_WEIGHT, rounded_weight

NANOSECONDS = 1_000_000_000
MAX_VECTORS_A_TICK = 30  # questions whose vectors are placed, 25 us each; more would hardly find drift sooner
MAX_WAITING = 64  # questions that wait to be read together
LATE_TICKS = 30  # five minutes: a trace is closed some seconds after its end, which is not late
MAX_WEIGHTS_A_TICK = 64  # different ones; more are rounded
UNKNOWN_SERVICE, OTHER_SERVICE = "unknown", "other"
NGRAMS = "query_text_ngrams"


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
        self.text: list[tuple[int, NumericBins, int]] = []
        self.ngrams: tuple[Projector, int] | None = None
        self.embedding: tuple[Projector, int] | None = None
        self.without_question = 0  # traces
        self._known_words, self._surprisals = b"", np.zeros(0, np.int32)
        if layout.text is not None:
            self._known_words, self._surprisals = layout.text.words, layout.text.surprisals()
        features = [f"query_text_{name}" for name, _, _ in TEXT_FEATURES]
        events = [signal.name for signal in SIGNALS if signal.kind is Kind.EVENT]
        for signal in SIGNALS:
            projection, bins = layout.projections.get(signal.name), layout.bins.get(signal.name)
            row = len(self.signals)
            if projection is not None:
                at = Projector(projection), row
                if signal.name == NGRAMS:
                    self.ngrams = at
                else:
                    self.embedding = at
                self._add(signal.name, projection.shape.length)
            elif bins is not None and (signal.kind is not Kind.TEXT or layout.text is not None):
                self._add(signal.name, len(bins.names))
                match signal.kind:
                    case Kind.EVENT:
                        self.events.append((signal.read, 1 << events.index(signal.name), row))
                    case Kind.TEXT:
                        assert isinstance(bins, NumericBins)
                        self.text.append((features.index(signal.name), bins, row))
                    case Kind.CATEGORY:
                        self.several.append((signal.read, bins.place(), row))
                    case _:
                        self.single.append((signal.read, bins.place(), row))

    def rows(self) -> Rows:
        return [[0] * length for length in self.lengths]

    def count_waiting(self, opened: "_Open") -> None:
        """Read the questions, and place the vectors, that wait."""
        if opened.questions:
            columns = feature_columns(opened.questions, self._known_words, self._surprisals)
            unseen = np.array(opened.unseen)
            for index, bins, row in self.text:
                fitted = TEXT_FEATURES[index][2]
                _add_to(opened.rows[row], bins.counts(columns[index][unseen] if fitted else columns[index]))
            opened.questions, opened.unseen = [], []
        if opened.hashed and self.ngrams is not None:
            projector, row = self.ngrams
            vectors = ngram_vectors(opened.hashed)
            some = vectors.any(axis=1)
            self.missed[row][True] += int((~some).sum())
            _add_to(opened.rows[row], projector.numbers(vectors[some]))
            opened.hashed = []
        if opened.embedded and self.embedding is not None:
            projector, row = self.embedding
            _add_to(opened.rows[row], projector.numbers(opened.embedded))
            opened.embedded = []

    def miss(self, row: int, complete: frozenset[str]) -> None:
        """A trace gave no observation: because its evidence is incomplete, or because there is none to give."""
        needs = self.needs[row]
        self.missed[row][needs is None or needs in complete] += 1

    def _add(self, signal: str, length: int) -> None:
        self.signals.append(signal)
        self.lengths.append(length)
        self.needs.append(BY_NAME[signal].needs)
        self.missed.append([0, 0])


class _Open:
    """The open tick of one service and one weight: what is counted, and what waits to be."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.questions: list[str] = []
        self.unseen: list[bool] = []  # whether each may count in what was fitted: its session was not fitted on
        self.hashed: list[str] = []  # questions of which the n-grams are counted
        self.embedded: list[NDArray[np.float32]] = []


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
        self._open: dict[str, dict[float, _Open]] = {}
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
        opened = self._opened(service, w)
        self._count_values(facts, service, opened.rows)
        self._count_events(facts, service, opened.rows, named if record.session_id else None)
        self._take_text(facts, service, opened, unseen=not (self._halves and in_fit_half(named)))
        return closed

    def missed(self) -> dict[SeriesKey, tuple[int, int]]:
        """By series, traces that gave no observation: (their evidence is incomplete, there is none to give)."""
        found = {
            (name, signal): (incomplete, absent)
            for name, service in self._services.items()
            for signal, (incomplete, absent) in zip(service.signals, service.missed, strict=True)
        }
        for name, service in self._services.items():
            found.update({(name, service.signals[row]): (0, service.without_question) for _, _, row in service.text})
        return found

    def embedded(self, whose: Whose, vector: NDArray[np.float32], embedder: str) -> None:
        """Count the vector that a local model made of a question, in the open tick: the trace itself was counted before."""
        service = self._services.get(whose.service) or self._services.get(OTHER_SERVICE)
        if service is None or service.embedding is None or service.embedding[0].projection.embedder != embedder:
            return
        if self.tick < 0 or (self._halves and in_fit_half(whose.session)):
            return
        opened = self._opened(service, self._weight(whose.weight, whose.session))
        if service.embedding[0].sound(vector):
            opened.embedded.append(vector)
        else:
            self.told.unplaced_vectors += 1

    def follow(self, before: "Observer") -> None:
        """Go on with another's time, sessions and totals."""
        self.tick, self.sessions, self.told = before.tick, before.sessions, before.told

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

    def _opened(self, service: _Service, weight: float) -> _Open:
        by_weight = self._open.setdefault(service.name, {})
        opened = by_weight.get(weight)
        if opened is None:
            opened = by_weight[weight] = _Open(service.rows())
        return opened

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

    def _take_text(self, facts: Facts, service: _Service, opened: _Open, *, unseen: bool) -> None:
        question = facts.question
        if question is None:
            service.without_question += 1
        elif service.text:
            opened.questions.append(question[:MAX_CHARACTERS])
            opened.unseen.append(unseen)
        if unseen and (question is not None or facts.embedding is not None) and self._vectors < MAX_VECTORS_A_TICK:
            self._take_vectors(facts, service, opened)
        if len(opened.questions) >= MAX_WAITING:
            service.count_waiting(opened)

    def _take_vectors(self, facts: Facts, service: _Service, opened: _Open) -> None:
        ngrams, embedding = service.ngrams, service.embedding
        if ngrams is None and embedding is None:
            return
        self._vectors += 1
        if ngrams is not None:
            if facts.question is None:
                service.miss(ngrams[1], facts.complete)
            else:
                opened.hashed.append(facts.question[:MAX_CHARACTERS])
        if embedding is not None:
            projector, row = embedding
            if projector.projection.embedder:
                pass  # a local model's vector comes later
            elif facts.embedding is None:
                service.miss(row, facts.complete)
            elif projector.sound(facts.embedding):
                opened.embedded.append(np.asarray(facts.embedding, np.float32))
            else:
                self.told.unplaced_vectors += 1

    def _sums(self) -> TickSums:
        for name, by_weight in self._open.items():
            for opened in by_weight.values():
                self._services[name].count_waiting(opened)
        series = [
            SeriesSums(name, signal, [(w, its.rows[row]) for w, its in by_weight.items() if any(its.rows[row])])
            for name, by_weight in self._open.items()
            for row, signal in enumerate(self._services[name].signals)
        ]
        return TickSums(self._replica, self.tick, self._layout_id, [one for one in series if one.counts])


def _add_to(row: list[int], numbers: NDArray[np.generic] | None) -> None:
    """Add whole numbers to a row."""
    if numbers is not None:
        row[:] = map(add, row, numbers.astype(np.int64).tolist())


def in_fit_half(session: int) -> bool:
    """Whether a session (or a trace without one) belongs to the half that is fitted on."""
    return session & 1 == 0
