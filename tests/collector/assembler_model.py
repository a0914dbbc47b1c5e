"""What the assembler promises, said plainly: no queues, no running sums, everything looked for anew."""

from collections import Counter
from dataclasses import dataclass, field

from lanewatch.collector.closing import CUT, ITEM_BYTES, SKELETON_BYTES, TRACE_BYTES, AssemblerLimits, impact
from lanewatch.collector.gathered import log_identity
from lanewatch.collector.skeleton_groups import Skeleton
from lanewatch.collector.spans import CloseReason, LogRecord, Span, Trace
from msgspec.structs import replace

from tests.collector.gathering import Part, names

LIMITS = AssemblerLimits(
    quiet_after_root_seconds=2,
    trace_timeout_seconds=60,
    revision_window_seconds=30,
    max_trace_spans=6,
    max_open_traces=8,
)
QUIET, TIMEOUT, WINDOW = 2, 60, 30


@dataclass
class Held:
    """A trace: open while `closed` is None; of one that is not `kept` only the id is remembered."""

    opened: float
    touched: float
    items: dict[bytes, Span | LogRecord] = field(default_factory=dict)
    skeletons: dict[bytes, Skeleton] = field(default_factory=dict)
    revision: int = 0
    closed: float | None = None
    kept: bool = True
    cut: bool = False

    def nodes(self) -> list[Span | Skeleton]:
        """Its spans of both kinds."""
        return [*(item for item in self.items.values() if isinstance(item, Span)), *self.skeletons.values()]

    def due(self) -> tuple[float, CloseReason]:
        """When it closes if nothing more comes, and why."""
        if any(not node.parent_id for node in self.nodes()) and self.touched + QUIET <= self.opened + TIMEOUT:
            return self.touched + QUIET, CloseReason.ROOT
        return self.opened + TIMEOUT, CloseReason.TIMEOUT

    def wants(self, span_id: bytes) -> bool:
        """Whether a parent chain of one of its items ends for want of this span."""
        parents = {node.span_id: node.parent_id for node in self.nodes()}
        for item in self.items.values():
            at = item.parent_id if isinstance(item, Span) else item.span_id
            while at in parents:
                at = parents[at]
            if at == span_id:
                return True
        return False

    def weight(self, now: float) -> float:
        """What evicting it is worth."""
        n_bytes = sum(ITEM_BYTES + item.size_bytes for item in self.items.values())
        return impact(TRACE_BYTES + n_bytes + SKELETON_BYTES * len(self.skeletons), now - self.opened, TIMEOUT)


def fuller_than(item: Span | LogRecord, held: Span | LogRecord) -> bool:
    """Whether a span adds to what the held one says; those of the machine have one attribute or none."""
    return isinstance(item, Span) and replace(item, attributes={}) == held and item != held


class Model:
    """Does to `held` what the assembler does to its traces, and lists what is `delivered` as `shown` shows a trace."""

    def __init__(self) -> None:
        self.now, self.rotations, self.rotated = 0.0, 0, float("-inf")
        self.held: dict[bytes, Held] = {}  # the open ones in the order in which they were opened
        self.waiting: list[tuple[int, Skeleton]] = []  # with the number of rotations before it came
        self.counts: Counter[str] = Counter()
        self.delivered: list[tuple[object, ...]] = []

    def opened(self) -> dict[bytes, Held]:
        """What is open."""
        return {trace_id: held for trace_id, held in self.held.items() if held.closed is None}

    def advance(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds
        for held in self.held.values():
            held.kept &= held.closed is None or held.closed + WINDOW > self.now
        if self.now - self.rotated >= TIMEOUT:
            self.rotations += 2 if self.now - self.rotated >= 2 * TIMEOUT else 1
            self.rotated = self.now
        for trace_id, held in self.opened().items():
            if held.due()[0] <= self.now:
                self.close(trace_id, held.due()[1])

    def add(self, parts: list[Part]) -> None:
        """A request: its spans, then its log records, then its skeletons."""
        for item in sorted((p for p in parts if not isinstance(p, Skeleton)), key=lambda p: isinstance(p, LogRecord)):
            self.take(item)
        skeletons = [part for part in parts if isinstance(part, Skeleton)]
        self.counts["spans_irrelevant"] += len(skeletons)
        for part in skeletons:
            held = self.held.get(part.trace_id)
            if held is not None and held.closed is not None and held.kept and held.wants(part.span_id):
                self.open(part.trace_id)
        self.waiting += [(self.rotations, part) for part in skeletons]
        for held in self.opened().values():
            self.join_waiting(held)

    def take(self, item: Span | LogRecord) -> None:
        """An item joins its trace, or is counted otherwise."""
        key = item.span_id if isinstance(item, Span) else log_identity(item)
        held = self.held.get(item.trace_id)
        if held is not None and not held.kept:
            self.counts["spans_dropped" if held.cut else "late_spans dropped"] += 1
            return
        if held is not None and key in held.items:
            same, fuller = held.items[key] == item, fuller_than(item, held.items[key])
            self.counts[f"duplicates {'identical' if same else 'fuller' if fuller else 'conflicting'}"] += 1
            if fuller:
                held = held if held.closed is None else self.open(item.trace_id)
                held.items[key], held.touched = item, self.now
            return
        if held is None or held.closed is not None:
            held = self.open(item.trace_id)
        if len(held.items) == LIMITS.max_trace_spans:
            self.close(item.trace_id, CloseReason.SPAN_LIMIT)
            self.counts["spans_dropped"] += 1
            return
        held.items[key], held.touched = item, self.now
        held.skeletons.pop(key, None)
        self.counts["late_spans revised" if held.revision else "spans_assembled"] += 1

    def open(self, trace_id: bytes) -> Held:
        """A trace opens, or opens again."""
        held = self.held.pop(trace_id, None)
        if held is None:
            held = Held(self.now, self.now)
            self.counts["traces_opened"] += 1
        else:
            held.revision, held.opened, held.closed = held.revision + 1, self.now, None
        self.held[trace_id], held.touched = held, self.now
        self.join_waiting(held, trace_id)
        return held

    def join_waiting(self, held: Held, trace_id: bytes | None = None) -> None:
        """Skeletons of less than two rotations ago join their trace."""
        trace_id = trace_id or next(known for known, other in self.held.items() if other is held)
        mine = [(rotations, part) for rotations, part in self.waiting if part.trace_id == trace_id]
        self.waiting = [entry for entry in self.waiting if entry not in mine]
        for rotations, part in mine:
            new = part.span_id not in held.items and part.span_id not in held.skeletons
            if new and self.rotations - rotations < 2:
                held.skeletons[part.span_id], held.touched = part, self.now

    def close(self, trace_id: bytes, reason: CloseReason) -> None:
        """A trace is delivered."""
        held = self.held[trace_id]
        held.closed, held.cut = self.now, reason in CUT
        held.kept = not held.cut
        why = CloseReason.REVISED if held.revision else reason
        self.counts["record_revisions" if held.revision else f"traces_closed {reason.value}"] += 1
        order = sorted(held.nodes(), key=lambda node: (node.start_ns, node.span_id))
        spans = [(int.from_bytes(node.span_id, "big"), isinstance(node, Span)) for node in order]
        logs = {key for key, item in held.items.items() if isinstance(item, LogRecord)}
        self.delivered.append((trace_id, held.revision, why, not held.cut, spans, logs))

    def close_all(self) -> None:
        """The input ends."""
        for trace_id in self.opened():
            self.close(trace_id, CloseReason.SHUTDOWN)

    def relieve(self) -> None:
        """Memory is short: half of the open traces may stay, and no content of closed ones."""
        for held in self.held.values():
            held.kept &= held.closed is None
        ranked = sorted(self.opened().items(), key=lambda one: one[1].weight(self.now), reverse=True)
        for trace_id, _ in ranked[: max(0, len(ranked) - LIMITS.max_open_traces // 2)]:
            self.close(trace_id, CloseReason.EVICTED)


def shown(trace: Trace) -> tuple[object, ...]:
    """A delivered trace as the model lists it."""
    logs = {log_identity(record) for record in trace.logs}
    return trace.trace_id, trace.revision, trace.reason, trace.complete, names(trace), logs
