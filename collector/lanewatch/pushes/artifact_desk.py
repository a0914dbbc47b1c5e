"""Where pushed artifacts and closed traces meet, whichever comes first.

Invariants:

- What is remembered of traces, and what waits for one, is bounded in number and in bytes; the oldest go first. An
  artifact that goes without its trace is counted as `unclaimed`.
- A trace that is read again (a late span) is compared again with all artifacts that it had.
- An artifact of a session is compared with the traces whose questions it tells, once all its questions have come. What it
  differs in belongs to the trace where the call is, or to the last one where it is of none.
- One thread owns it: the reading thread.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec

from lanewatch.adapters.artifact_messages import Artifact, ArtifactFault
from lanewatch.adapters.outcome_facts import MOST
from lanewatch.adapters.records import OutcomeFact, TraceRecord
from lanewatch.collector.content import value_bytes
from lanewatch.monitors.artifact_divergence import compare_artifact
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome, Compared
from lanewatch.monitors.session_artifacts import compare_session
from lanewatch.monitors.tools import UNREGISTERED, Registry
from lanewatch.observation import Observation, with_artifacts
from lanewatch.producing.reference_scores import Referenced
from lanewatch.pushes.artifact_push import PushedArtifact
from lanewatch.pushes.outcome_box import BoxLimits, OutcomeBox
from lanewatch.pushes.outcome_push import PushedOutcome

PART_BYTES = 800  # of a record's request, dispatch, document and so on; measured


class DeskLimits(msgspec.Struct, frozen=True):
    """Bounds. Bytes are of memory: of traces those of their spans and records, of artifacts those of their JSON as it was parsed."""

    remembered_traces: int = 500
    remembered_bytes: int = 8 * 2**20
    waiting_artifacts: int = 1_000
    waiting_bytes: int = 8 * 2**20
    waiting_seconds: float = 300.0


class Unclaimed(msgspec.Struct, frozen=True):
    """An artifact that is given up: its trace did not come in time, there was no more room, or (`failed`) it is nested too
    deeply to be compared.
    """

    producer: str
    outcome: ArtifactOutcome = ArtifactOutcome.UNCLAIMED


class _Known(msgspec.Struct):
    seen: Observation
    size: int
    artifacts: dict[str, Artifact]  # pushed for this trace, by producer
    judged: dict[str, Compared]  # out of artifacts of its session
    outcomes: tuple[OutcomeFact, ...] = ()  # pushed


class _Waiting(msgspec.Struct, frozen=True):
    pushed: PushedArtifact
    artifact: Artifact
    reference: tuple[dict[str, Any], ...] | None
    size: int
    since: float


class ArtifactDesk:
    """Takes observations and pushed artifacts; gives back the observations that are now known better."""

    def __init__(
        self,
        limits: DeskLimits,
        clock: Callable[[], float],
        unclaimed: Callable[[Unclaimed], None] = lambda _: None,
        registry: Registry = UNREGISTERED,
        referenced: Callable[[Referenced], None] = lambda _: None,
        box: OutcomeBox | None = None,
    ) -> None:
        """`unclaimed` is told of each artifact that is given up, `referenced` once of each that came with reference calls;
        `registry` holds the contracts to compare by. In the `box` outcomes wait; without one they wait for nothing.
        """
        self._referenced = referenced
        self._box = box if box is not None else OutcomeBox(BoxLimits(waiting=0), clock, lambda: None)
        self._registry = registry
        self._limits = limits
        self._clock = clock
        self._unclaimed = unclaimed
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._known_bytes = 0
        self._waiting: OrderedDict[int, _Waiting] = OrderedDict()
        self._waiting_bytes = 0
        self._next = 0

    @property
    def waiting(self) -> int:
        """Artifacts and outcomes that wait for a trace."""
        return len(self._waiting) + len(self._box)

    def seen(self, observation: Observation, size: int) -> list[Observation]:
        """A trace was read, or read again: the observation with its artifacts, and others of its session."""
        record = observation.record
        before = self._forget(record.trace_id)
        known = _Known(
            observation,
            size + _record_bytes(record),
            before.artifacts if before else {},
            before.judged if before else {},
        )
        for key, waiting in list(self._waiting.items()):
            if waiting.pushed.trace_id is not None and waiting.pushed.trace_id.lower() == record.trace_id:
                known.artifacts[waiting.artifact.producer] = waiting.artifact
                known.size += waiting.size
                self._leave(key)
                self._refer(waiting.artifact, waiting.reference, record, waiting.size)
        known.outcomes = (
            *(before.outcomes if before else ()),
            *self._box.take(record.trace_id, record.session_id),
        )
        self._remember(known)
        again = self._of_session(record.session_id) if record.session_id else set()
        again.discard(record.trace_id)
        self._expire()
        return [self._judged(known), *(self._judged(self._known[one]) for one in again if one in self._known)]

    def pushed(self, pushed: PushedArtifact, size: int) -> list[Observation]:
        """An artifact came: observations that it changes. It waits where its trace is not known yet."""
        try:
            artifact, reference = pushed.artifact(), pushed.reference()
        except ArtifactFault:
            self._unclaimed(Unclaimed(pushed.producer, ArtifactOutcome.FAILED))
            return []
        size = max(size, value_bytes(artifact.messages))
        self._expire()
        known = self._known.get(pushed.trace_id.lower()) if pushed.trace_id is not None else None
        if known is not None:
            known.artifacts[artifact.producer] = artifact
            known.size += size
            self._known_bytes += size
            self._trim()
            self._refer(artifact, reference, known.seen.record, size)
            return [self._judged(known)]
        self._waiting[self._next] = _Waiting(pushed, artifact, reference, size, self._clock())
        self._next += 1
        self._waiting_bytes += size
        while self._waiting and (
            len(self._waiting) > self._limits.waiting_artifacts or self._waiting_bytes > self._limits.waiting_bytes
        ):
            self._give_up(next(iter(self._waiting)))
        if pushed.session_id is None:
            return []
        return [self._judged(self._known[one]) for one in self._of_session(pushed.session_id) if one in self._known]

    def told(self, pushed: PushedOutcome, size: int) -> list[Observation]:
        """An outcome came: the observation that it changes. One of a session is of the latest trace that is known of it;
        it waits where none is. Beyond a thousand of one trace it is given up: each judges all of them anew.
        """
        known = self._known.get((pushed.trace_id or "").lower())
        if pushed.session_id is not None:
            of_session = [one for one in self._known.values() if one.seen.record.session_id == pushed.session_id]
            known = max(of_session, key=lambda one: one.seen.record.start_ns, default=None)
        if known is None:
            self._box.put(pushed, size)
            return []
        if len(known.outcomes) >= MOST:
            self._box.refuse()
            return []
        known.outcomes = (*known.outcomes, pushed.fact())
        known.size += size
        self._known_bytes += size
        self._trim()
        return [self._judged(known)]

    def produced(self, seen: Observation, compared: tuple[Compared, ...]) -> list[Observation]:
        """Producers were asked for a trace as it was `seen`; nothing where it has been read again since."""
        known = self._known.get(seen.record.trace_id)
        if known is None:
            return [with_artifacts(seen, compared)]
        if known.seen.record is not seen.record:
            return []
        known.judged.update({one.producer: one for one in compared})
        return [self._judged(known)]

    def close(self) -> None:
        """The end: what still waits is unclaimed."""
        for key in list(self._waiting):
            self._give_up(key)
        self._box.close()

    def _judged(self, known: _Known) -> Observation:
        if not (known.artifacts or known.judged or known.outcomes):
            return known.seen  # as most are: nobody has told more of the trace than its spans
        compared = [
            compare_artifact(known.seen.record, artifact, self._registry) for artifact in known.artifacts.values()
        ]
        return with_artifacts(known.seen, (*known.judged.values(), *compared), known.outcomes)

    def _of_session(self, session: str) -> set[str]:
        """Compare what waits for a session with what is known of it; the traces that are now known better."""
        waiting = [(key, one) for key, one in self._waiting.items() if one.pushed.session_id == session]
        if not waiting:
            return set()
        records = [known.seen.record for known in self._known.values() if known.seen.record.session_id == session]
        changed: set[str] = set()
        for key, one in waiting:
            found = compare_session(records, one.artifact, self._registry)
            if found is None:
                continue  # not all of its questions have come
            self._leave(key)
            self._refer(one.artifact, one.reference, records[-1], one.size)
            for trace_id, compared in found.items():
                self._known[trace_id].judged[compared.producer] = compared
                changed.add(trace_id)
        return changed

    def _remember(self, known: _Known) -> None:
        self._known[known.seen.record.trace_id] = known
        self._known_bytes += known.size
        self._trim()

    def _trim(self) -> None:
        limits = self._limits
        while len(self._known) > 1 and (
            len(self._known) > limits.remembered_traces or self._known_bytes > limits.remembered_bytes
        ):
            self._forget(next(iter(self._known)))

    def _forget(self, trace_id: str) -> _Known | None:
        known = self._known.pop(trace_id, None)
        if known is not None:
            self._known_bytes -= known.size
        return known

    def _expire(self) -> None:
        oldest = self._clock() - self._limits.waiting_seconds
        while self._waiting:
            key = next(iter(self._waiting))
            if self._waiting[key].since >= oldest:
                return
            self._give_up(key)

    def _give_up(self, key: int) -> None:
        waiting = self._leave(key)
        self._unclaimed(Unclaimed(waiting.artifact.producer))
        self._refer(waiting.artifact, waiting.reference, None, waiting.size)

    def _refer(
        self, artifact: Artifact, reference: tuple[dict[str, Any], ...] | None, record: TraceRecord | None, size: int
    ) -> None:
        """Hand over what has reference calls, once: when its trace is known, or when that is given up."""
        if reference is None:
            return
        trace_id, service = (None, None) if record is None else (record.trace_id, record.service)
        self._referenced(Referenced(artifact, reference, trace_id, service, size))

    def _leave(self, key: int) -> _Waiting:
        waiting = self._waiting.pop(key)
        self._waiting_bytes -= waiting.size
        return waiting


def _record_bytes(record: TraceRecord) -> int:
    """Memory of a record beside the spans that it was read of: five thousand calls of `{}` are 4 MB, and their spans 0.5."""
    parts = len(record.requests) + len(record.dispatches) + len(record.generations) + len(record.responses)
    documents = sum(len(one.documents) for one in record.retrievals)
    values = sum(value_bytes(one.arguments) for one in record.requests)
    values += sum(value_bytes(one.arguments) + value_bytes(one.result) for one in record.dispatches)
    return PART_BYTES * (parts + documents) + values
