"""Embeds questions on a thread of its own, where traces carry no vector: a model takes 5 ms and more for each.

At most 30 questions in ten seconds are taken, and what waits is bounded: a question for which there is no room is dropped and
counted. The model is loaded on that thread too. Where it can't be, that is told once and every question is `unavailable`.
Texts are let go once they have a vector; vectors wait for whoever collects them, each second.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from lanewatch.monitors.embedding import Embedder, EmbedderUnavailableError, Vectors

MAX_IN_TEN_SECONDS = 30  # as many as are counted in a tick
TEN_SECONDS = 10.0
MAX_WAITING = 60
MAX_CHARACTERS = 2048  # of a question; the model reads 256 tokens


class Outcome(StrEnum):
    """What became of a question."""

    EMBEDDED = "embedded"
    SKIPPED = "skipped"  # beyond 30 in ten seconds: a sample of the traffic is enough
    DROPPED = "dropped"  # too many waited
    FAILED = "failed"  # the model gave an error
    UNAVAILABLE = "unavailable"  # there is no model


class Whose(NamedTuple):
    """What a vector is counted as."""

    service: str
    session: int  # the session's (or the trace's) hash
    weight: float


class QuestionEmbedding:
    """`offer` and `collect` belong to one thread, the model to another."""

    def __init__(self, make: Callable[[], Embedder], clock: Callable[[], float] = time.monotonic) -> None:
        """`make` loads the model, and may raise EmbedderUnavailableError; `clock` gives seconds that never go back."""
        self.counts: dict[Outcome, int] = dict.fromkeys(Outcome, 0)
        self.trouble = ""  # why there is no model
        self.name = ""  # of the model, once it is loaded
        self._make, self._clock = make, clock
        self._since, self._taken = clock(), 0
        self._waiting: queue.Queue[tuple[str, Whose]] = queue.Queue(MAX_WAITING)
        self._done: queue.SimpleQueue[tuple[Outcome, Whose, Vectors | None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def offer(self, question: str, whose: Whose) -> None:
        """Have a question embedded, if there is room for it."""
        if self.trouble:
            self.counts[Outcome.UNAVAILABLE] += 1
            return
        now = self._clock()
        if now - self._since >= TEN_SECONDS:
            self._since, self._taken = now, 0
        if self._taken >= MAX_IN_TEN_SECONDS:
            self.counts[Outcome.SKIPPED] += 1
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="lanewatch-drift-embedding", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait((question[:MAX_CHARACTERS], whose))
        except queue.Full:
            self.counts[Outcome.DROPPED] += 1
        else:
            self._taken += 1

    def collect(self) -> Iterator[tuple[Whose, Vectors]]:
        """The vectors that were made since."""
        while not self._done.empty():
            outcome, whose, vector = self._done.get()
            self.counts[outcome] += 1
            if vector is not None:
                yield whose, vector

    def join(self) -> None:
        """Wait for what was offered."""
        self._waiting.join()

    def _run(self) -> None:
        embedder: Embedder | None = None
        try:
            embedder = self._make()
            self.name = embedder.name
        except EmbedderUnavailableError as error:
            self.trouble = str(error)
        except Exception as error:  # noqa: BLE001 - whatever a library does: drift goes on without it
            self.trouble = f"the model could not be loaded ({type(error).__name__})"
        while True:
            question, whose = self._waiting.get()
            self._done.put(_embedded(embedder, question, whose))
            self._waiting.task_done()


def _embedded(embedder: Embedder | None, question: str, whose: Whose) -> tuple[Outcome, Whose, Vectors | None]:
    if embedder is None:
        return Outcome.UNAVAILABLE, whose, None
    try:
        return Outcome.EMBEDDED, whose, embedder.embed([question])[0]
    except Exception:  # noqa: BLE001 - one question is lost and counted
        return Outcome.FAILED, whose, None
