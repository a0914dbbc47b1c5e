"""Producers of live traces: none of them holds anything up, and every trace has an outcome."""

import threading
from typing import Any

from lanewatch.adapters.records import TraceRecord
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome, Compared
from lanewatch.observation import Observation
from lanewatch.producing.producer_thread import MAX_WAITING, ProducerThread

from tests.monitors.records import record


class Stuck:
    """A set of one producer that answers only when it is let go, or killed."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.go = threading.Event()

    def compare(self, _record: TraceRecord, *, stop: Any) -> tuple[Compared, ...]:
        """Wait."""
        self.asked.set()
        assert self.go.wait(30)
        return (Compared("p", ArtifactOutcome.EQUAL),)

    def skipped(self) -> tuple[Compared, ...]:
        """The outcome without an answer."""
        return (Compared("p", ArtifactOutcome.SKIPPED),)

    def kill(self) -> None:
        """Let go of whoever waits."""
        self.go.set()

    def close(self) -> None:
        """Nothing is left to end."""


def started(max_bytes: int = 1000) -> tuple[Stuck, ProducerThread, list[ArtifactOutcome]]:
    """A thread with a stuck producer, and the outcomes that it delivers."""
    outcomes: list[ArtifactOutcome] = []
    stuck: Any = Stuck()
    thread = ProducerThread(stuck, lambda _, found: outcomes.extend(one.verdict for one in found), max_bytes=max_bytes)
    thread.start()
    return stuck, thread, outcomes


def seen() -> Observation:
    """A trace."""
    return Observation(record(), (), {})


def test_what_is_beyond_the_bounds_is_skipped_at_once_and_what_waits_at_the_end() -> None:
    """Each trace that is offered has exactly one outcome, also where the producer never answers by itself."""
    stuck, thread, outcomes = started()
    offered = [thread.offer(seen(), 300) for _ in range(5)]
    assert stuck.asked.wait(30)
    thread.stop(0.05)
    refused = [one.verdict for found in offered for one in found]

    assert refused == [ArtifactOutcome.SKIPPED] * 2
    assert sorted(outcomes) == [ArtifactOutcome.EQUAL, *[ArtifactOutcome.SKIPPED] * 2]
    assert [one.verdict for one in thread.offer(seen(), 1)] == [ArtifactOutcome.SKIPPED]


def test_traces_that_wait_are_bounded_in_number() -> None:
    """Small traces too."""
    stuck, thread, outcomes = started(max_bytes=10**9)
    thread.offer(seen(), 1)
    assert stuck.asked.wait(30)
    refused = [found for _ in range(MAX_WAITING + 5) if (found := thread.offer(seen(), 1))]
    thread.stop(0.05)

    assert len(refused) == 5
    assert len(outcomes) == MAX_WAITING + 1
