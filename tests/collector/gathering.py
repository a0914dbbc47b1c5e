"""An assembler with its deliveries and its counters at hand, short ways to write spans, and the conservation law."""

from collections.abc import Iterable
from typing import Any

from lanewatch.collector.assembler import METRICS, Assembler
from lanewatch.collector.closing import AssemblerLimits
from lanewatch.collector.counts import Counts
from lanewatch.collector.skeleton_groups import Skeleton, Skeletons
from lanewatch.collector.spans import CloseReason, Decoded, LogRecord, Span, Trace

Part = Span | Skeleton | LogRecord


def tid(n: int) -> bytes:
    """A trace id, an object of its own each time, as decoders make them."""
    return n.to_bytes(16, "big")


def sid(n: int) -> bytes:
    """A span id."""
    return n.to_bytes(8, "big")


def span(trace: int, number: int, parent: int = 0, **fields: Any) -> Span:
    """A relevant span that starts at its number; without a parent it is a root."""
    fields = {"start_ns": number, "end_ns": number + 1, "size_bytes": 100} | fields
    return Span(tid(trace), sid(number), sid(parent) if parent else b"", **fields)


def skeleton(trace: int, number: int, parent: int = 0) -> Skeleton:
    """The skeleton of a span that no convention knows."""
    return Skeleton(tid(trace), sid(number), sid(parent) if parent else b"", number, number + 1)


def log(trace: int, of_span: int, text: str = "hello", **fields: Any) -> LogRecord:
    """A log record of a span."""
    defaults: dict[str, Any] = {"time_ns": of_span, "size_bytes": 50, "event_name": "gen_ai.choice"}
    fields = defaults | fields
    return LogRecord(tid(trace), sid(of_span) if of_span else b"", body={"text": text}, **fields)


def unread(skeleton: Skeleton) -> bytes:
    """The same as the first bytes of a span, in the order in which exporters write its fields."""
    parent = b'"\x08' + skeleton.parent_id if skeleton.parent_id else b""
    times = b"9" + skeleton.start_ns.to_bytes(8, "little") + b"A" + skeleton.end_ns.to_bytes(8, "little")
    return b"\n\x10" + skeleton.trace_id + b"\x12\x08" + skeleton.span_id + parent + b"*\x04name0\x02" + times


def skeletons_of(skeletons: Iterable[Skeleton]) -> Skeletons:
    """Half of them read already, half of them not."""
    made = Skeletons()
    for one in skeletons:
        made.groups.setdefault(one.trace_id, []).append(unread(one) if one.span_id[-1] % 2 else one)
    return made


def decoded(*parts: Part, unrelated_logs: int = 0) -> Decoded:
    """One request with these parts, in this order."""
    return Decoded(
        spans=[part for part in parts if isinstance(part, Span)],
        skeletons=skeletons_of([part for part in parts if isinstance(part, Skeleton)]),
        logs=[part for part in parts if isinstance(part, LogRecord)],
        unrelated_logs=unrelated_logs,
        rejected={},
    )


class Gathering:
    """An assembler whose traces end up in `delivered`; the limits that matter to the test are given. A trace is quiet after
    two seconds, so that the times in the tests are small.
    """

    def __init__(self, **limits: float) -> None:
        self.limits = AssemblerLimits(**{"quiet_after_root_seconds": 2.0, **limits})  # type: ignore[arg-type]
        self.counts = Counts(METRICS)
        self.delivered: list[Trace] = []
        self.received = 0
        self.assembler = Assembler(self.delivered.append, self.limits, self.counts)

    def add(self, *parts: Part, now: float = 0.0, unrelated_logs: int = 0) -> None:
        """Send one request."""
        self.received += len(parts) + unrelated_logs
        self.assembler.add(decoded(*parts, unrelated_logs=unrelated_logs), now)

    def stop(self) -> None:
        """End of input."""
        self.assembler.close_all(CloseReason.SHUTDOWN)

    def count(self, name: str, *labels: str) -> int:
        """A counter, without its prefix."""
        return self.counts.value(f"lanewatch_{name}", *labels)

    def outcomes(self) -> list[tuple[CloseReason, int, bool]]:
        """Reason, revision and completeness of each delivery."""
        return [(trace.reason, trace.revision, trace.complete) for trace in self.delivered]


def assert_conserved(gathering: Gathering) -> None:
    """Each item was counted once, each opened trace is closed or open, and what is held agrees with what is open."""
    count, assembler = gathering.count, gathering.assembler
    once = ("spans_assembled", "late_spans", "duplicates", "spans_irrelevant", "spans_dropped")
    first_deliveries = [trace for trace in gathering.delivered if trace.revision == 0]

    assert gathering.received == sum(count(name) for name in once)
    assert count("traces_opened") == count("traces_closed") + assembler.open_traces
    assert len(first_deliveries) == count("traces_closed")
    assert len(gathering.delivered) - len(first_deliveries) == count("record_revisions")
    assert (assembler.open_bytes == 0) == (assembler.open_traces + assembler.revising_traces == 0)
    assert assembler.next_due() is None or assembler.open_bytes > 0


def names(trace: Trace) -> list[tuple[int, bool]]:
    """Number and relevance of each span of a trace, in its order."""
    return [(int.from_bytes(item.span_id, "big"), item.relevant) for item in trace.spans]
