"""Tells when the reading of closed traces doesn't get on: dead, at one trace for too long, or its queue full for too long.

Invariants: a queue that is full for a moment is overload, which clients are told, and no fault; each fault is logged when it
begins and when it ends.
"""

import logging
from collections.abc import Callable
from typing import Protocol

logger = logging.getLogger(__name__)

TOO_LONG_SECONDS = 30.0
FULL = 0.9  # of what may be in flight: one more closed trace may not fit

REMEDIES = {
    "reading_thread_dead": "restart the process, and report what the log said before",
    "reading_stuck": "one trace takes more than 30 s: restart the process if it doesn't end, lower assembler.max_trace_bytes "
    "and assembler.max_trace_spans, and report it with a recording",
    "reading_queue_full": "closed traces come faster than they are read, for more than 30 s: send less (sample), run more "
    "replicas, or give the process a whole core; lanewatch_bytes_unread shows the queue",
}


class Reading(Protocol):
    """What is watched."""

    @property
    def alive(self) -> bool:
        """Whether its thread runs."""

    @property
    def busy_seconds(self) -> float:
        """How long the present work has been going on."""

    @property
    def unread_bytes(self) -> int:
        """Of what waits, and of the present work."""


class ReadingWatch:
    """Belongs to the event loop's thread; `look` is to be called several times a second."""

    def __init__(self, reading: Reading, max_unread_bytes: int, clock: Callable[[], float]) -> None:
        self._reading = reading
        self._full_bytes = max_unread_bytes * FULL
        self._clock = clock
        self._full_since: float | None = None
        self._said: set[str] = set()
        self._closed = False

    def close(self) -> None:
        """Reading was stopped: that it stands still is no fault any more."""
        self._closed = True

    def look(self) -> None:
        """See how it stands, and log what has changed."""
        if self._reading.unread_bytes < self._full_bytes:
            self._full_since = None
        elif self._full_since is None:
            self._full_since = self._clock()
        faults = self.faults()
        for fault in faults.keys() - self._said:
            logger.error("%s: %s", fault, faults[fault], extra={"fault": fault})
        for fault in self._said - faults.keys():
            logger.info("%s is over", fault, extra={"fault": fault})
        self._said = set(faults)

    def faults(self) -> dict[str, str]:
        """The faults, with the remedy of each."""
        if self._closed:
            return {}
        since = self._full_since
        holds = {
            "reading_thread_dead": not self._reading.alive,
            "reading_stuck": self._reading.busy_seconds > TOO_LONG_SECONDS,
            "reading_queue_full": since is not None and self._clock() - since > TOO_LONG_SECONDS,
        }
        return {fault: REMEDIES[fault] for fault, is_so in holds.items() if is_so}
