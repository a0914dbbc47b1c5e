"""A producer in a process of its own, asked for one artifact at a time; what it answers is checked again."""

import time
from collections.abc import Callable
from typing import Any

from lanewatch.adapters.artifact_messages import Artifact, ArtifactFault, message_dicts
from lanewatch.adapters.chat import chat_messages
from lanewatch.adapters.producers import Identity, identify, record_view
from lanewatch.adapters.records import TraceRecord
from lanewatch.adapters.worker_process import (
    BREAK_AFTER,
    WorkerFailed,
    WorkerLimits,
    WorkerProcess,
    WorkerTimedOut,
    WorkerUnavailable,
)

# What a process may take and how it fails, as those who know producers call it.
ProducerLimits = WorkerLimits
ProducerFailed, ProducerTimedOut, ProducerUnavailable = WorkerFailed, WorkerTimedOut, WorkerUnavailable

WORKER = "lanewatch.adapters.producer_worker"

__all__ = [
    "BREAK_AFTER",
    "ProducerFailed",
    "ProducerLimits",
    "ProducerProcess",
    "ProducerTimedOut",
    "ProducerUnavailable",
]


class ProducerProcess(WorkerProcess):
    """One producer. Not for several threads at once; `close` ends its process."""

    def __init__(self, name: str, limits: ProducerLimits, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises UnknownProducerError. Nothing is started before the first call."""
        self.identity: Identity = identify(name)
        super().__init__(WORKER, (self.identity.name,), limits, clock=clock)

    def artifact(self, record: TraceRecord) -> Artifact:
        """The producer's artifact of a trace. Raises ProducerFailed and its kinds."""
        return self.produce(chat_messages(record), record_view(record))

    def produce(self, chat: tuple[dict[str, Any], ...], record: dict[str, Any]) -> Artifact:
        """The same for chat messages that are given."""
        answer = self.ask({"chat": chat, "record": record})
        if "messages" not in answer:
            raise ProducerFailed(str(answer.get("failed", "an answer of no known form")))
        try:
            messages = message_dicts(answer["messages"])
        except ArtifactFault as fault:
            raise ProducerFailed(f"no Ragas messages: {fault}") from None
        return Artifact(self.identity.name, self.identity.owner, messages, self.identity.version)
