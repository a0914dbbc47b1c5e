"""Gathers spans and log records into traces, and hands each trace on when it is due.

Invariants:

- One owner, one thread, no clock: everything happens inside a call, at the `now` that the caller gives. `add` first closes
  what was due before, so that the result does not depend on how often `close_due` is called.
- Conservation. Every item of a request is counted once, in one of five counters:
  received = assembled + late + duplicates + irrelevant + dropped, where "spans" are spans and log records, as in
  `lanewatch_spans_received_total`. A late item that revises a record is late, not assembled. Every skeleton is irrelevant,
  and so is every unrelated log record, whatever becomes of it.
- traces opened = traces closed + `open_traces`. A trace that late items reopened counts in neither: `revising_traces`.
- A trace opens at its first relevant span or log record. A trace of skeletons alone is never delivered (`waiting.py`).
- `deliver` may not raise. Should it do so all the same, the error reaches the caller after everything was put away:
  the request is gathered whole, the other traces are delivered at the next call, and only that one trace is lost.
- Held memory is bounded by `max_open_bytes` + `remembered_bytes` + the waiting skeletons + one request.
"""

from collections import OrderedDict, deque
from collections.abc import Callable

from msgspec.structs import replace

from lanewatch.collector.closed import ClosedTraces
from lanewatch.collector.closing import (
    CUT,
    SHORT_QUIET_SECONDS,
    SKELETON_BYTES,
    AssemblerLimits,
    due,
    impact,
    limit_passed,
)
from lanewatch.collector.counts import Counts, Metric
from lanewatch.collector.gathered import Gathered, Item, extends, log_identity, missing_parents, same_content, trace_of
from lanewatch.collector.skeleton_groups import Skeleton, Skeletons, read_skeleton
from lanewatch.collector.spans import CloseReason, Decoded, Trace
from lanewatch.collector.waiting import WaitingSkeletons

METRICS = (
    Metric("lanewatch_spans_assembled", "Spans and log records that joined a trace before it was closed."),
    Metric(
        "lanewatch_spans_irrelevant",
        "Spans that no convention knows, and log records that belong to no trace of an agent.",
    ),
    Metric(
        "lanewatch_late_spans",
        "Spans and log records that came after their trace was closed: revised its record, or dropped since only its id "
        "was remembered. Remedy: raise trace_timeout_seconds, revision_window_seconds or remembered_bytes.",
        ("outcome",),
        (("revised",), ("dropped",)),
    ),
    Metric(
        "lanewatch_duplicates",
        "Spans and log records that had arrived before. Fuller: a span with all that it had, and more, which takes its place. "
        "Conflicting: with other content, of which the first is kept.",
        ("kind",),
        (("identical",), ("fuller",), ("conflicting",)),
    ),
    Metric(
        "lanewatch_spans_dropped",
        "Spans and log records that came after a limit had cut their trace. Remedy: raise max_trace_spans, "
        "max_trace_bytes, or for evicted traces max_open_traces and max_open_bytes.",
        ("reason",),
        tuple((reason.value,) for reason in CloseReason if reason in CUT),
    ),
    Metric("lanewatch_record_revisions", "Traces that were delivered again, with what had come late."),
    Metric("lanewatch_traces_opened", "Traces that began to gather, revisions apart."),
    Metric(
        "lanewatch_traces_closed",
        "Traces that were delivered for the first time, by what closed them.",
        ("reason",),
        tuple((reason.value,) for reason in CloseReason if reason is not CloseReason.REVISED),
    ),
    Metric(
        "lanewatch_skeletons_forgotten",
        "Spans without a convention that were forgotten early, since too many waited. Parent chains may have gaps. "
        "Remedy: raise max_waiting_skeletons.",
    ),
)


class Assembler:
    """Owns all open traces and the memory of closed ones.

    `now` is in seconds of any clock; one that goes back is taken to stand still.
    """

    def __init__(
        self,
        deliver: Callable[[Trace], None],
        limits: AssemblerLimits,
        counts: Counts,
        *,
        closings_at_once: int = 1 << 62,
    ) -> None:
        """`closings_at_once`: where many traces are due, `add` and `close_due` close so many and leave the others to the next
        call (6 microseconds each: what came in one flood is due in one flood).
        """
        self._deliver = deliver
        self._limits = limits
        self._counts = counts
        self.closings_at_once = closings_at_once
        self._now = float("-inf")
        self._open: OrderedDict[bytes, Gathered] = OrderedDict()  # in order of opening, so of time-out
        self._quiet: OrderedDict[bytes, Gathered] = OrderedDict()  # root seen; in order of `touched_at`
        self._outbox: deque[Trace] = deque()
        self._open_bytes = 0
        self._revising = 0
        self._waiting = WaitingSkeletons(limits.max_waiting_skeletons, limits.trace_timeout_seconds)
        self._closed = ClosedTraces(
            max_traces=limits.closed_traces_remembered,
            max_bytes=limits.remembered_bytes,
            window_seconds=limits.revision_window_seconds,
        )

    @property
    def open_traces(self) -> int:
        """Traces that gather and were never delivered."""
        return len(self._open) - self._revising

    @property
    def revising_traces(self) -> int:
        """Traces that were delivered and gather again."""
        return self._revising

    @property
    def open_bytes(self) -> int:
        """Estimated memory of the traces that gather, revisions included."""
        return self._open_bytes

    @property
    def remembered_bytes(self) -> int:
        """Estimated memory of the closed traces whose spans are kept."""
        return self._closed.n_bytes

    @property
    def remembered_traces(self) -> int:
        """Closed traces of which at least the id is remembered."""
        return len(self._closed)

    @property
    def waiting_skeletons(self) -> int:
        """Skeletons whose trace is not open."""
        return len(self._waiting)

    def wait_after_root(self, seconds: float) -> None:
        """From now on a trace whose root has come closes after so much quiet."""
        self._limits = replace(self._limits, quiet_after_root_seconds=seconds)

    def add(self, decoded: Decoded, now: float) -> None:
        """Take a decoded request. May deliver traces: those due by `now`, and those that a limit closes."""
        self._close_due(now)
        for span in decoded.spans:
            trace = self._take(span, span.span_id)
            if trace is not None:
                if not span.parent_id:
                    trace.root_seen = True
                if trace.skeletons and trace.skeletons.pop(span.span_id, None) is not None:
                    self._grow(trace, -SKELETON_BYTES)
                self._settle(trace)
        for log in decoded.logs:
            trace = self._take(log, log_identity(log))
            if trace is not None:
                self._settle(trace)
        n_skeletons = len(decoded.skeletons)
        if n_skeletons:
            self._add_skeletons(decoded.skeletons)
        self._counts.add("lanewatch_spans_irrelevant", n=n_skeletons + decoded.unrelated_logs)
        self._send()

    def close_due(self, now: float) -> int:
        """Deliver the traces that are due by `now`; returns how many. There may be more where it is `closings_at_once`."""
        closed = self._close_due(now)
        self._send()
        return closed

    def next_due(self) -> float | None:
        """When `close_due` has something to do if nothing more arrives; None while no trace is open."""
        if self._outbox:
            return self._now
        fronts = [next(iter(queue.values())) for queue in (self._quiet, self._open) if queue]
        return min((self._due(trace)[0] for trace in fronts), default=None)

    def close_all(self, reason: CloseReason) -> int:
        """Deliver every open trace, the oldest first; returns how many."""
        closed = len(self._open)
        while self._open:
            self._close(next(iter(self._open.values())), reason)
        self._send()
        return closed

    def relieve(self) -> int:
        """Give memory back: forget the spans of closed traces, evict what is open down to half of the limits; of each at most
        `closings_at_once`, so that other calls can come between two. Returns how many traces were closed.
        """
        self._closed.forget_content(self.closings_at_once)
        closed = self._evict(0.5, at_most=self.closings_at_once)
        self._send()
        return closed

    def _take(self, item: Item, key: bytes) -> Gathered | None:
        """Put an item into its trace, opening or reopening that; None where the item was counted otherwise."""
        trace = self._open.get(item.trace_id)
        known = trace if trace is not None else self._closed.kept.get(item.trace_id)
        held = known.items.get(key) if known is not None else None
        if known is not None and held is not None:
            return self._take_again(known, key, held, item)
        if trace is None:
            if known is None and self._came_late(item.trace_id):
                return None
            trace = self._open_new(item.trace_id) if known is None else self._reopen(known)
        n_bytes = trace.charge(item)
        # A lone item is taken whatever its size: a request's limit bounds it, and a trace without an item says nothing.
        reason = limit_passed(len(trace.items) + 1, trace.n_bytes + n_bytes, self._limits) if trace.items else None
        if reason is not None:
            self._close(trace, reason)
            self._counts.add("lanewatch_spans_dropped", reason.value)
            return None
        trace.items[key], trace.resource, trace.scope = item, item.resource, item.scope
        self._grow(trace, n_bytes)
        if trace.revision:
            self._counts.add("lanewatch_late_spans", "revised")
        else:
            self._counts.add("lanewatch_spans_assembled")
        return trace

    def _take_again(self, known: Gathered, key: bytes, held: Item, item: Item) -> Gathered | None:
        """Put what says more into the place of what is held, reopening a closed trace; None where what is held stays."""
        growth = item.size_bytes - held.size_bytes
        if same_content(held, item):
            self._counts.add("lanewatch_duplicates", "identical")
            return None
        fits = limit_passed(len(known.items), known.n_bytes + growth, self._limits) is None
        if not fits or not extends(item, held):
            self._counts.add("lanewatch_duplicates", "conflicting")
            return None
        trace = known if known.trace_id in self._open else self._reopen(known)
        trace.items[key] = item
        self._grow(trace, growth)
        self._counts.add("lanewatch_duplicates", "fuller")
        return trace

    def _came_late(self, trace_id: bytes) -> bool:
        remembered, cut = self._closed.recall(trace_id)
        if cut is not None:
            self._counts.add("lanewatch_spans_dropped", cut.value)
        elif remembered:
            self._counts.add("lanewatch_late_spans", "dropped")
        return remembered

    def _open_new(self, trace_id: bytes) -> Gathered:
        self._counts.add("lanewatch_traces_opened")
        return self._hold(Gathered(trace_id, opened_at=self._now, touched_at=self._now))

    def _reopen(self, closed: Gathered) -> Gathered:
        """Let a closed trace gather again, by the same rule: quiet after the root, or the timeout while none was seen.

        So an agent that runs for ten minutes is revised once a minute, not with each of its spans.
        """
        self._closed.take(closed.trace_id)
        closed.revision += 1
        closed.opened_at = self._now
        self._revising += 1
        return self._hold(closed)

    def _hold(self, trace: Gathered) -> Gathered:
        if len(self._open) >= self._limits.max_open_traces:
            self._evict(self._limits.eviction_ratio)
        self._open[trace.trace_id] = trace
        self._open_bytes += trace.n_bytes
        for skeleton in self._waiting.take(trace.trace_id):
            self._join(trace, skeleton)
        return trace

    def _add_skeletons(self, skeletons: Skeletons) -> None:
        """Skeletons join traces that are open; the others wait.

        A closed trace is reopened only by a skeleton that one of its parent chains lacks, and before any other joins.
        """
        kept = self._closed.kept
        if kept:
            for trace_id, group in skeletons.groups.items():
                closed = kept.get(trace_id)
                if closed is not None and any(read_skeleton(unread).span_id in closed.wanted for unread in group):
                    self._reopen(closed)
        strays = {}
        for trace_id, group in skeletons.groups.items():
            trace = self._open.get(trace_id)
            if trace is None:
                strays[trace_id] = group
                continue
            for unread in group:
                if self._join(trace, read_skeleton(unread)):
                    self._touch(trace)
        if forgotten := self._waiting.extend(strays):
            self._counts.add("lanewatch_skeletons_forgotten", n=forgotten)
        self._evict_above_bytes()

    def _join(self, trace: Gathered, skeleton: Skeleton) -> bool:
        """Put a skeleton into an open trace; False where it brings nothing new."""
        if skeleton.span_id in trace.skeletons or skeleton.span_id in trace.items:
            return False
        if not skeleton.parent_id:
            trace.root_seen = True
        # Noise must not cut the trace: what is beyond the limit is left out, and told only where a parent chain breaks.
        if limit_passed(len(trace.skeletons) + 1, trace.n_bytes + SKELETON_BYTES, self._limits) is not None:
            trace.skeletons_refused = True
            return True
        trace.skeletons[skeleton.span_id] = skeleton
        self._grow(trace, SKELETON_BYTES)
        return True

    def _settle(self, trace: Gathered) -> None:
        self._touch(trace)
        self._evict_above_bytes()

    def _touch(self, trace: Gathered) -> None:
        trace.touched_at = self._now
        if trace.root_seen:
            self._quiet[trace.trace_id] = trace
            self._quiet.move_to_end(trace.trace_id)

    def _grow(self, trace: Gathered, n_bytes: int) -> None:
        trace.n_bytes += n_bytes
        self._open_bytes += n_bytes

    def _due(self, trace: Gathered) -> tuple[float, CloseReason]:
        return due(trace.opened_at, trace.touched_at, root_seen=trace.root_seen, limits=self._limits)

    def _close_due(self, now: float) -> int:
        self._now = max(now, self._now)
        self._closed.expire(self._now)
        self._waiting.rotate(self._now)
        closed = 0
        # The front of each queue is the one that is due first by that queue's rule, so both end at the first that is not.
        for queue in (self._quiet, self._open):
            while queue and closed < self.closings_at_once:
                trace = next(iter(queue.values()))
                at, reason = self._due(trace)
                if at > self._now:
                    break
                self._close(trace, reason)
                closed += 1
        return closed

    def _evict_above_bytes(self) -> None:
        if self._open_bytes > self._limits.max_open_bytes:
            self._evict(self._limits.eviction_ratio)

    def _evict(self, ratio: float, *, at_most: int = 1 << 62) -> int:
        """Close traces until both limits are met with room to spare: first those that are whole for all that can be told,
        then those of the greatest impact.
        """
        n_traces, n_bytes = int(self._limits.max_open_traces * ratio), int(self._limits.max_open_bytes * ratio)
        timeout = self._limits.trace_timeout_seconds
        closed = 0
        while self._quiet and closed < at_most and (len(self._open) > n_traces or self._open_bytes > n_bytes):
            trace = next(iter(self._quiet.values()))  # the one that has been quiet for longest
            if trace.touched_at + SHORT_QUIET_SECONDS > self._now:
                break
            self._close(trace, CloseReason.ROOT)
            closed += 1
        for trace in sorted(
            self._open.values(), key=lambda t: impact(t.n_bytes, self._now - t.opened_at, timeout), reverse=True
        ):
            if closed >= at_most or (len(self._open) <= n_traces and self._open_bytes <= n_bytes):
                break
            self._close(trace, CloseReason.EVICTED)
            closed += 1
        return closed

    def _close(self, trace: Gathered, reason: CloseReason) -> None:
        del self._open[trace.trace_id]
        self._quiet.pop(trace.trace_id, None)
        self._open_bytes -= trace.n_bytes
        trace.wanted = missing_parents(trace)
        broken_chain = trace.skeletons_refused and bool(trace.wanted)
        self._outbox.append(trace_of(trace, reason, complete=reason not in CUT and not broken_chain))
        if trace.revision:
            self._revising -= 1
            self._counts.add("lanewatch_record_revisions")
        else:
            self._counts.add("lanewatch_traces_closed", reason.value)
        if reason in CUT:
            # Keeping its spans would take up the memory that closing it was to free.
            self._closed.keep_id(trace.trace_id, reason)
        else:
            self._closed.keep(trace, self._now)

    def _send(self) -> None:
        while self._outbox:
            self._deliver(self._outbox.popleft())
