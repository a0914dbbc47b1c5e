"""The first part of a reference: bins, text models and projections, fitted on a bounded sample of live traces.

Edges come from 2,048 values of each signal, kept by a reservoir (Vitter 1985), so that the time of day does not choose
them. What is fitted in many dimensions sees one half of the sessions alone; the shares of these come from the other.
Questions wait until there are 64 of them, as while counting (observer.py): their n-grams cost a fifth then.
"""

from collections import Counter, defaultdict
from functools import partial
from random import Random
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from lanewatch.monitors.drift.bins import (
    Bins,
    CountBins,
    EventBins,
    category_bins,
    numeric_bins,
)
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.layout import Layout, ServiceLayout
from lanewatch.monitors.drift.ngrams import ngram_vectors
from lanewatch.monitors.drift.observer import MAX_WAITING, NGRAMS, OTHER_SERVICE, UNKNOWN_SERVICE, in_fit_half
from lanewatch.monitors.drift.projection import LEAST_SAMPLE, MAX_DIMENSIONS, MAX_SAMPLE, fit_projection
from lanewatch.monitors.drift.question_embedding import Whose
from lanewatch.monitors.drift.sessions import session_hash
from lanewatch.monitors.drift.signals import BY_NAME, SIGNALS, Kind
from lanewatch.monitors.drift.text_features import (
    MAX_CHARACTERS,
    TEXT_FEATURES,
    TextFitting,
    fitted_features,
    read_text,
)

SAMPLE = 2048
EMBEDDING, LOCAL = "query_embedding", "local"
MAX_CATEGORIES = 1000  # different names that are counted; further ones are `__other__` in any case
MAX_SERVICES = 64
LEAST_VALUES = 200  # fewer do not tell where the 1 % and 99 % points are
LEAST_QUESTIONS = 200
PLAIN = tuple(signal for signal in SIGNALS if signal.kind not in {Kind.TEXT, Kind.VECTOR})


class Reservoir:
    """A uniform sample of a stream.

    >>> sample = Reservoir(2, Random(0))
    >>> for value in range(100):
    ...     sample.add(value)
    >>> len(sample.values), sample.seen
    (2, 100)
    """

    def __init__(self, size: int, rng: Random) -> None:
        """Room for `size`."""
        self.values: list[Any] = []
        self.seen = 0
        self._size, self._rng = size, rng

    def add(self, value: Any) -> None:
        """Offer a value."""
        self.seen += 1
        if len(self.values) < self._size:
            self.values.append(value)
        else:
            place = self._rng.randrange(self.seen)
            if place < self._size:
                self.values[place] = value


class _Service:
    def __init__(self, rng: Random) -> None:
        self.numbers: dict[str, Reservoir] = defaultdict(partial(Reservoir, SAMPLE, rng))
        self.categories: dict[str, Counter[str]] = defaultdict(Counter)
        self.seen: Counter[str] = Counter()
        self.text = TextFitting()
        self.questions = Reservoir(SAMPLE, rng)  # as they are read: numbers and hashes
        self.unseen = Reservoir(SAMPLE, rng)  # those of them that the model is not fitted on
        self.vectors: dict[str, Reservoir] = defaultdict(partial(Reservoir, MAX_SAMPLE, rng))
        self.waiting: list[str] = []  # questions whose n-grams are to be counted
        self.embedder = ""  # what made the vectors under LOCAL

    def add(self, facts: Facts, *, fitted_on: bool) -> None:
        for signal in PLAIN:
            value = signal.read(facts)
            if value is None:
                continue
            self.seen[signal.name] += 1
            if signal.kind is Kind.NUMERIC:
                self.numbers[signal.name].add(float(value))
            elif signal.kind is Kind.CATEGORY:
                counts = self.categories[signal.name]
                counts.update(name for name in value if name in counts or len(counts) < MAX_CATEGORIES)
        if facts.question is not None:
            self._add_question(facts.question, fitted_on=fitted_on)
        if facts.embedding is not None and fitted_on:
            self._add_vector(EMBEDDING, np.asarray(facts.embedding, np.float32))

    def layout(self) -> ServiceLayout:
        """What the sample allows."""
        self._read_waiting()
        bins: dict[str, Bins] = {}
        for signal in SIGNALS:
            name = signal.name
            if self.seen[name] < LEAST_VALUES:
                continue
            if signal.kind is Kind.NUMERIC:
                bins[name] = numeric_bins(self.numbers[name].values)
            elif signal.kind is Kind.CATEGORY:
                bins[name] = category_bins(self.categories[name])
            elif signal.kind in {Kind.COUNT, Kind.EVENT}:
                bins[name] = CountBins() if signal.kind is Kind.COUNT else EventBins()
        text = self.text.model() if self.text.questions >= LEAST_QUESTIONS else None
        if text is not None and len(self.unseen.values) >= LEAST_VALUES:
            surprisals = text.surprisals()
            plain = [read.plain for read in self.questions.values]
            fitted = [fitted_features(read, text.words, surprisals) for read in self.unseen.values]
            columns = [*zip(*plain, strict=True), *zip(*fitted, strict=True)]
            for (name, _, _), values in zip(TEXT_FEATURES, columns, strict=True):
                bins[f"query_text_{name}"] = numeric_bins(values)
        projections = {
            name: fit_projection(np.stack(sample.values).astype(float))
            for name, sample in self.vectors.items()
            if len(sample.values) >= LEAST_SAMPLE and np.ptp(np.stack(sample.values), axis=0).max() > 0
        }
        local = projections.pop(LOCAL, None)
        if local is not None and EMBEDDING not in projections:
            projections[EMBEDDING] = msgspec.structs.replace(local, embedder=self.embedder)
        return ServiceLayout(bins, projections, text)

    def _add_question(self, question: str, *, fitted_on: bool) -> None:
        read = read_text(question)
        self.questions.add(read)
        if not fitted_on:
            self.unseen.add(read)
        else:
            self.text.add(read)
            self.waiting.append(question[:MAX_CHARACTERS])
            if len(self.waiting) >= MAX_WAITING:
                self._read_waiting()

    def _read_waiting(self) -> None:
        vectors = ngram_vectors(self.waiting) if self.waiting else ()
        self.waiting = []
        for vector in vectors:
            if vector.any():
                self._add_vector(NGRAMS, vector.astype(np.float32))

    def add_local(self, vector: NDArray[np.float32], embedder: str) -> None:
        """A vector that a model of this machine made of a question."""
        self.embedder = embedder
        self._add_vector(LOCAL, vector)

    def _add_vector(self, name: str, vector: NDArray[np.generic]) -> None:
        if vector.ndim != 1 or not 1 <= len(vector) <= MAX_DIMENSIONS or not np.isfinite(vector).all():
            return
        sample = self.vectors[name]
        if not sample.values or sample.values[0].shape == vector.shape:
            sample.add(vector)


class Fitting:
    """Learns a layout from traces. `rng` chooses the samples; services beyond `max_services` become `other`."""

    def __init__(self, rng: Random, max_services: int = MAX_SERVICES) -> None:
        """Nothing is known yet."""
        self.traces = 0
        self._rng, self._max_services = rng, max_services
        self._services: dict[str, _Service] = {}

    def add(self, facts: Facts) -> None:
        """Learn from a trace."""
        record = facts.record
        name = record.service or UNKNOWN_SERVICE
        if name not in self._services and len(self._services) >= self._max_services:
            name = OTHER_SERVICE
        service = self._services.get(name)
        if service is None:
            service = self._services[name] = _Service(self._rng)
        self.traces += 1
        service.add(facts, fitted_on=in_fit_half(session_hash(name, record.session_id or record.trace_id)))

    def embedded(self, whose: Whose, vector: NDArray[np.float32], embedder: str) -> None:
        """Learn from a vector that a local model made of a question."""
        service = self._services.get(whose.service) or self._services.get(OTHER_SERVICE)
        if service is not None and in_fit_half(whose.session):
            service.add_local(vector, embedder)

    def layout(self) -> Layout:
        """What has been learnt. Signals with too few values are left out."""
        return Layout({name: service.layout() for name, service in sorted(self._services.items())})


def kinds_of(layout: ServiceLayout) -> dict[str, Kind]:
    """The kind of each series of a service."""
    return {name: BY_NAME[name].kind for name in (*layout.bins, *layout.projections)}
