"""What a trace adds to the metrics: one count for each series that it moves.

A revised record is counted by the difference to what was counted before, so that a late span changes a count by what it
brought and nothing is counted twice.
"""

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterator
from enum import StrEnum
from itertools import repeat
from typing import Generic, TypeAlias, TypeVar

import msgspec

from lanewatch.adapters.records import Evidence, TraceRecord
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome, Compared
from lanewatch.monitors.capture import Capture, Told, hides_content
from lanewatch.monitors.divergence import Boundary, Divergence
from lanewatch.monitors.lanes import Lane, Verdict
from lanewatch.monitors.reference_calls import Agreement

Series: TypeAlias = tuple[str, tuple[str, ...]]  # metric name, label values in the metric's order
Readings: TypeAlias = Counter[Series]
Key = TypeVar("Key", bound=Hashable)

# Of what was counted for a trace: measured as 460 for an empty one, and 95 a series at the worst filling of a dictionary.
TRACE_BYTES, SERIES_BYTES = 500, 100
REMEMBERED_BYTES = 24 * 2**20  # 10,000 traces of 20 series each

UNKNOWN_SERVICE = UNKNOWN_PRODUCER = "unknown"


def readings(
    record: TraceRecord,
    divergences: tuple[Divergence, ...],
    lanes: dict[Lane, Verdict],
    compared: tuple[Compared, ...] = (),
) -> Iterator[Series]:
    """What a record adds one to: a series as often as it moves it. Label values are names and kinds; content is never among
    them.
    """
    service = record.service or UNKNOWN_SERVICE
    for request in record.requests:
        yield "lanewatch_tool_requests", (service, request.name)
    for dispatch in record.dispatches:
        outcome = dispatch.error.kind if dispatch.error is not None else "ok"
        yield "lanewatch_tool_dispatches", (service, dispatch.name, dispatch.executed, outcome)
    for difference in divergences:
        labels = (service, difference.tool, difference.boundary, difference.kind)
        yield "lanewatch_divergences", labels
        if difference.boundary is Boundary.ARTIFACT:
            by = (service, difference.tool, difference.producer or UNKNOWN_PRODUCER, difference.kind)
            yield "lanewatch_artifact_divergences", by
    if record.requests or record.dispatches:
        yield "lanewatch_dispatch_comparisons", (service, _compared(record, divergences))
    for one in compared:
        yield "lanewatch_artifacts", (service, one.producer, one.verdict)
    for kind, state in record.evidence.items():
        if kind == "retrievals" and not record.retrievals:
            continue  # most traces retrieve nothing; an alert on missing evidence must not see those
        yield "lanewatch_evidence", (service, kind, state)
    for lane, verdict in lanes.items():
        yield "lanewatch_lane_status", (service, lane, verdict.status)
    for response in record.responses:
        yield "lanewatch_responses", (service, response.disposition, response.disposition_source)
    yield from _captured(record, service)
    if record.incomplete is not None:
        yield "lanewatch_records_incomplete", (service, record.incomplete)
    if record.unread:
        yield from repeat(("lanewatch_unread_spans", (service,)), record.unread)


def _captured(record: TraceRecord, service: str) -> Iterator[Series]:
    """What the application shows of a trace with a model call."""
    hidden = hides_content(record)
    if hidden is None:
        return
    content = Capture.HIDDEN if hidden else Capture.SHOWN
    for one in record.conventions:
        yield "lanewatch_content_capture", (service, one, content)
    yield "lanewatch_session_ids", (service, Told.TOLD if record.session_id else Told.MISSING)


class Comparison(StrEnum):
    """How a trace's requests compare with its runs."""

    EQUAL = "equal"
    DIVERGENT = "divergent"
    UNKNOWN = "unknown"  # nothing differs in what was seen, and not everything was


def _compared(record: TraceRecord, divergences: tuple[Divergence, ...]) -> Comparison:
    if any(difference.boundary is Boundary.DISPATCH for difference in divergences):
        return Comparison.DIVERGENT
    whole = all(record.evidence[kind] is Evidence.COMPLETE for kind in ("requests", "dispatches"))
    return Comparison.EQUAL if whole else Comparison.UNKNOWN


def unclaimed_readings(producer: str, outcome: ArtifactOutcome) -> Readings:
    """The count of an artifact that was compared with no trace."""
    return Counter({("lanewatch_artifacts", (UNKNOWN_SERVICE, producer, outcome)): 1})


def reference_readings(service: str | None, producer: str, outcome: ArtifactOutcome) -> Readings:
    """The count of an artifact that was compared with reference calls."""
    return Counter({("lanewatch_reference_tool_calls", (service or UNKNOWN_SERVICE, producer, outcome)): 1})


def ragas_readings(service: str | None, producer: str, agreement: Agreement) -> Readings:
    """The count of an artifact for which Ragas' tool metrics were asked."""
    return Counter({("lanewatch_ragas_tool_metrics", (service or UNKNOWN_SERVICE, producer, agreement)): 1})


class Difference(msgspec.Struct, Generic[Key], frozen=True):
    """What a reading changes: counts to add, and what was counted too much before and can't be taken back.

    `unknown`: it is not the first of its trace, and what the first counted is forgotten, so it changes nothing.
    """

    added: Counter[Key] = Counter()
    withdrawn: Counter[Key] = Counter()
    unknown: bool = False


class _Counted(msgspec.Struct, Generic[Key], frozen=True):
    """Of one trace: what the exported counters hold on its account, and what it was last read as."""

    held: Counter[Key]
    latest: Counter[Key]

    def size(self) -> int:
        """Memory in bytes; the series are shared with the exposition."""
        n = len(self.held) + (len(self.latest) if self.latest is not self.held else 0)
        return TRACE_BYTES + SERIES_BYTES * n


class Revisions(Generic[Key]):
    """What was counted for the latest traces, by series or by what stands for one, so that a revision counts only its
    difference.

    Invariant: of each series the counters hold, on a trace's account, what it was read as at the most, and never more:
    nothing is counted twice. A count that was withdrawn stays in the counter and is not added again when it comes back. Others
    remember traces longer or shorter than this does (an evaluator's artifact that comes late, a related trace), so whoever
    reads a trace again says so; if its counts are forgotten, nothing is counted rather than everything twice, and that is told.
    """

    def __init__(self, remembered: int, max_bytes: int = REMEMBERED_BYTES) -> None:
        """`remembered` traces of at most `max_bytes` together; those counted longest ago go first."""
        self._counted: OrderedDict[str, _Counted[Key]] = OrderedDict()
        self._remembered = remembered
        self._max_bytes = max_bytes
        self.n_bytes = 0

    def difference(self, trace_id: str, counts: Counter[Key], *, again: bool = False) -> Difference[Key]:
        """Of a trace's counts to what was counted for it before. `again`: the trace has been read before."""
        before = self._counted.pop(trace_id, None)
        if before is None and again:
            # Nor is it remembered from now on: what it adds to this reading may be what was counted and forgotten.
            return Difference(unknown=True)
        if before is None:
            self._remember(trace_id, _Counted(counts, counts))
            return Difference(counts)
        self.n_bytes -= before.size()
        added = counts - before.held
        held = before.held + added if added else before.held
        self._remember(trace_id, _Counted(held, held if held == counts else counts))
        return Difference(added, before.latest - counts)

    def _remember(self, trace_id: str, counted: _Counted[Key]) -> None:
        self._counted[trace_id] = counted
        self.n_bytes += counted.size()
        while len(self._counted) > self._remembered or self.n_bytes > self._max_bytes:
            self.n_bytes -= self._counted.popitem(last=False)[1].size()
