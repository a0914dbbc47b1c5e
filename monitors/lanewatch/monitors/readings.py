"""What a trace adds to the metrics: one count for each series that it moves.

A revised record is counted by the difference to what was counted before, so that a late span changes a count by what it
brought and nothing is counted twice.
"""

from collections import Counter, OrderedDict
from typing import TypeAlias

from lanewatch.adapters.records import TraceRecord
from lanewatch.monitors.artifact_divergence import ArtifactOutcome, Compared
from lanewatch.monitors.divergence import Boundary, Divergence
from lanewatch.monitors.lanes import Lane, Verdict
from lanewatch.monitors.reference_calls import Agreement

Series: TypeAlias = tuple[str, tuple[str, ...]]  # metric name, label values in the metric's order
Readings: TypeAlias = Counter[Series]

UNKNOWN_SERVICE = UNKNOWN_PRODUCER = "unknown"


def readings(
    record: TraceRecord,
    divergences: tuple[Divergence, ...],
    lanes: dict[Lane, Verdict],
    compared: tuple[Compared, ...] = (),
) -> Readings:
    """The counts of one record. Label values are names and kinds; content is never among them."""
    service = record.service or UNKNOWN_SERVICE
    counts: Readings = Counter()
    for request in record.requests:
        counts["lanewatch_tool_requests", (service, request.name)] += 1
    for dispatch in record.dispatches:
        outcome = dispatch.error.kind if dispatch.error is not None else "ok"
        counts["lanewatch_tool_dispatches", (service, dispatch.name, dispatch.executed, outcome)] += 1
    for difference in divergences:
        labels = (service, difference.tool, difference.boundary, difference.kind)
        counts["lanewatch_divergences", labels] += 1
        if difference.boundary is Boundary.ARTIFACT:
            by = (service, difference.tool, difference.producer or UNKNOWN_PRODUCER, difference.kind)
            counts["lanewatch_artifact_divergences", by] += 1
    for one in compared:
        counts["lanewatch_artifacts", (service, one.producer, one.verdict)] += 1
    for kind, state in record.evidence.items():
        if kind == "retrievals" and not record.retrievals:
            continue  # most traces retrieve nothing; an alert on missing evidence must not see those
        counts["lanewatch_evidence", (service, kind, state)] += 1
    for lane, verdict in lanes.items():
        counts["lanewatch_lane_status", (service, lane, verdict.status)] += 1
    for response in record.responses:
        counts["lanewatch_responses", (service, response.disposition, response.disposition_source)] += 1
    if record.incomplete is not None:
        counts["lanewatch_records_incomplete", (service, record.incomplete)] += 1
    if record.unread:
        counts["lanewatch_unread_spans", (service,)] += record.unread
    return counts


def unclaimed_readings(producer: str, outcome: ArtifactOutcome) -> Readings:
    """The count of an artifact that was compared with no trace."""
    return Counter({("lanewatch_artifacts", (UNKNOWN_SERVICE, producer, outcome)): 1})


def reference_readings(service: str | None, producer: str, outcome: ArtifactOutcome) -> Readings:
    """The count of an artifact that was compared with reference calls."""
    return Counter({("lanewatch_reference_tool_calls", (service or UNKNOWN_SERVICE, producer, outcome)): 1})


def ragas_readings(service: str | None, producer: str, agreement: Agreement) -> Readings:
    """The count of an artifact for which Ragas' tool metrics were asked."""
    return Counter({("lanewatch_ragas_tool_metrics", (service or UNKNOWN_SERVICE, producer, agreement)): 1})


class Revisions:
    """What was counted for the latest traces, so that a revision counts only its difference."""

    def __init__(self, remembered: int) -> None:
        """`remembered` traces are kept, the least recently counted go first."""
        self._counted: OrderedDict[str, Readings] = OrderedDict()
        self._remembered = remembered

    def difference(self, trace_id: str, counts: Readings) -> tuple[Readings, Readings]:
        """(what to add, what was counted too much before and can't be taken back)."""
        before = self._counted.pop(trace_id, None)
        self._counted[trace_id] = counts
        while len(self._counted) > self._remembered:
            self._counted.popitem(last=False)
        if before is None:
            return counts, Counter()
        return counts - before, before - counts
