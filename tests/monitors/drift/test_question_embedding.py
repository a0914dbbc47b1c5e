"""Questions that a model of this machine embeds: bounded, counted, watched as one more signal, and never mixed with others."""

import random
import threading
from collections.abc import Iterable, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.live import LiveDrift
from lanewatch.monitors.drift.question_embedding import MAX_IN_TEN_SECONDS, Outcome, QuestionEmbedding, Whose
from lanewatch.monitors.drift.readings import Change
from lanewatch.monitors.drift.settings import DriftSettings
from lanewatch.monitors.embedding import EmbedderUnavailableError, Vectors

from tests.monitors.drift.traces import WORDS, Habits, traces

START = 6 * 86_400
DIMENSIONS = 12
OTHER = Habits(words=tuple(f"zu{word}" for word in WORDS))
WHOSE = Whose("shop", 7, 1.0)


class Bag:
    """An embedder without a model: the mean of a random direction of each word."""

    name, dimensions = "bag", DIMENSIONS

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A row a text."""
        return np.array([np.mean([self._word(word) for word in text.split()], axis=0) for text in texts], np.float32)

    def _word(self, word: str) -> np.ndarray:
        return np.random.default_rng(crc32(word.encode())).normal(size=DIMENSIONS)


class Clock:
    """Moved by the test."""

    def __init__(self) -> None:
        self.now = float(START)

    def __call__(self) -> float:
        """Seconds."""
        return self.now


def run(live: LiveDrift, embedding: QuestionEmbedding, clock: Clock, given: Iterable[Facts]) -> list[Change]:
    """Traces at their times, and a look each second, after what was offered has its vector."""
    changes: list[Change] = []
    for facts in given:
        clock.now = max(clock.now, facts.record.end_ns / 1e9)
        changes += live.observe(facts)
        embedding.join()
        changes += live.advance()
    return changes


def learning(clock: Clock, **settings: Any) -> tuple[LiveDrift, QuestionEmbedding]:
    """Drift that learns from 1,000 traces and then twenty minutes."""
    embedding = QuestionEmbedding(Bag, clock=clock)
    its = DriftSettings(fit_traces=1000, learning_seconds=1300.0, embed_questions=True, **settings)
    return LiveDrift(its, clock=clock, passed=clock, rng=random.Random(0), embedding=embedding), embedding


def test_a_new_cohort_is_found_by_vectors_that_were_made_here() -> None:
    """Learnt, watched under the model's name, quiet, and then not; each question is counted once."""
    clock = Clock()
    live, embedding = learning(clock)
    run(live, embedding, clock, traces(random.Random(1), 2600, START, 1.0, Habits()))
    assert live.monitor is not None
    projection = live.monitor.reference.layout.services["shop"].projections["query_embedding"]
    quiet = run(live, embedding, clock, traces(random.Random(2), 400, clock.now, 1.0, Habits()))
    moved = run(live, embedding, clock, traces(random.Random(3), 400, clock.now, 1.0, OTHER))

    assert (projection.embedder, projection.dimensions) == ("bag", DIMENSIONS)
    assert "query_embedding" not in {change.signal for change in quiet}
    assert "query_embedding" in {change.signal for change in moved}
    assert embedding.counts[Outcome.EMBEDDED] == sum(embedding.counts.values()) == 3400
    assert live.view.embeddings["embedded"] > 3300
    assert live.monitor.observer.told.unplaced_vectors == 0


def test_vectors_of_two_models_never_meet() -> None:
    """A reference of one, a process with another: nothing is counted."""
    clock = Clock()
    live, embedding = learning(clock)
    run(live, embedding, clock, traces(random.Random(1), 2600, START, 1.0, Habits()))
    assert live.monitor is not None
    observer = live.monitor.observer

    def waiting() -> int:
        return sum(len(opened.embedded) for by_weight in observer._open.values() for opened in by_weight.values())

    before = waiting()
    observer.embedded(WHOSE, np.ones(DIMENSIONS, np.float32), "another")
    assert waiting() == before
    observer.embedded(WHOSE, np.ones(DIMENSIONS, np.float32), "bag")
    assert waiting() == before + 1


def test_without_a_model_drift_goes_on_and_says_it_once() -> None:
    """What was asked for and can't be had is told with its remedy, and counted."""

    def unavailable() -> Bag:
        raise EmbedderUnavailableError("make local")

    clock, said = Clock(), list[tuple[str, str]]()
    embedding = QuestionEmbedding(unavailable, clock=clock)
    live = LiveDrift(
        DriftSettings(), clock=clock, passed=clock, embedding=embedding, say=lambda *told: said.append(told)
    )
    run(live, embedding, clock, traces(random.Random(1), 20, START, 1.0, Habits()))

    assert said == [("no_embedder", "make local")]
    assert live.view.embeddings["unavailable"] == 20
    assert live.view.embeddings["embedded"] == 0


@pytest.mark.parametrize("fails", [True, False])
def test_what_is_taken_and_what_waits_is_bounded(fails: bool) -> None:
    """30 in ten seconds, whatever comes; a model that hangs keeps nobody waiting, one that fails costs one question."""
    go_on, clock = threading.Event(), Clock()

    class Slow(Bag):
        def embed(self, texts: Sequence[str]) -> Vectors:
            go_on.wait(20)
            if fails:
                raise ZeroDivisionError
            return super().embed(texts)

    embedding = QuestionEmbedding(Slow, clock=clock)
    for _ in range(4):
        for _ in range(MAX_IN_TEN_SECONDS + 5):
            embedding.offer("a question", WHOSE)
        clock.now += 10
    go_on.set()
    embedding.join()
    vectors = list(embedding.collect())
    counts = embedding.counts
    made = counts[Outcome.FAILED if fails else Outcome.EMBEDDED]

    assert sum(counts.values()) == 4 * (MAX_IN_TEN_SECONDS + 5)
    assert counts[Outcome.DROPPED] >= 4 * MAX_IN_TEN_SECONDS - 61 - 30
    assert 60 <= made <= 61
    assert len(vectors) == (0 if fails else made)
