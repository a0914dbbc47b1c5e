"""Hands traces over: counts each lane that somebody has to look into, and writes the handoff where a file is named.

Belongs to the reading thread. A file that can't be written costs the line, which is counted, and nothing else.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lanewatch.config.keys import Config
from lanewatch.handoffs.file import HandoffFile
from lanewatch.handoffs.handoff import BY_DEFAULT, hand_over, line_of
from lanewatch.monitors.lanes import Status
from lanewatch.monitors.owners import first_difference, owner_of
from lanewatch.monitors.readings import UNKNOWN_SERVICE, Series
from lanewatch.monitors.redaction.redactor import MOST_TEXT, Redactor
from lanewatch.observation import Observation
from lanewatch.rules import Rules

logger = logging.getLogger(__name__)

WRITTEN, FAILED, TOO_LARGE, TOO_MANY = "written", "failed", "too_large", "too_many"
MINUTE = 60.0


class HandoffDesk:
    """Where observations leave for a person."""

    def __init__(self, config: Config, rules: Rules, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is opened yet: the first handoff is. `clock` in seconds."""
        settings = config.handoff
        self._rules = rules
        self._statuses = (*BY_DEFAULT, Status.UNSUPPORTED) if settings.unsupported else BY_DEFAULT
        self._redactor = Redactor(rules.registry.key, rules.registry)
        self._line_bytes = settings.line_bytes
        self._file = None
        if settings.file:
            self._file = HandoffFile(Path(settings.file), max_bytes=settings.max_bytes, kept=settings.kept)
        self._said = False
        self._clock = clock
        self._per_minute = settings.per_minute
        self._minute, self._room = clock(), settings.per_minute

    def readings(self, seen: Observation) -> Iterator[Series]:
        """A series for each lane that is handed over, by its owner."""
        service = seen.record.service or UNKNOWN_SERVICE
        for lane, verdict in seen.lanes.items():
            if verdict.status in self._statuses:
                first = first_difference(lane, seen.divergences)
                owner = owner_of(lane, verdict, seen.record, first, self._rules.registry, seen.policies)
                yield "lanewatch_handoffs", (service, lane, owner)

    def write(self, seen: Observation) -> str | None:
        """Write the handoff of a trace; how that went, or None where there is nothing to write or nowhere to."""
        if self._file is None:
            return None
        if not any(verdict.status in self._statuses for verdict in seen.lanes.values()):
            return None
        # Hiding takes longer than all else that is done with a trace: where every trace fails, it must not hold the others up.
        if not self._has_room(seen):
            return TOO_MANY
        handoff = hand_over(seen, self._redactor, self._rules, self._statuses)
        if handoff is None:
            return None
        line = line_of(handoff, self._line_bytes)
        if line is None:
            return TOO_LARGE
        try:
            self._file.append(line)
        except OSError as error:
            if not self._said:
                why = os.strerror(error.errno) if error.errno else type(error).__name__
                logger.error("handoff.file can't be written: %s; handoffs are counted and not kept", why)  # noqa: TRY400 - a path is in the traceback
            self._said = True
            return FAILED
        self._said = False
        return WRITTEN

    def _has_room(self, seen: Observation) -> bool:
        """Whether one more line may be made in this minute; a large trace takes the room of several, as it takes their time."""
        now = self._clock()
        if now - self._minute >= MINUTE:
            self._minute, self._room = now, self._per_minute
        if self._room <= 0:
            return False
        self._room -= _cost(seen)
        return True


def _cost(seen: Observation) -> int:
    """In lines of a usual trace: measured as 2 ms for one, 0.1 ms a call, and 0.2 ms for a thousand characters."""
    record = seen.record
    parts = len(record.requests) + len(record.dispatches) + len(record.responses) + len(record.messages)
    texts = sum(len(message.get("content") or "") for message in record.messages)
    texts += sum(len(one.content or "") for retrieval in record.retrievals for one in retrieval.documents)
    texts += sum(len(response.text or "") for response in record.responses)
    return 1 + parts // 20 + min(texts, MOST_TEXT) // 10_000
