"""The memory of closed traces: their spans for a while, so that late ones revise the record, and their ids for longer.

Invariants:

- An id stands in one of the two maps or in none. At most `max_traces` ids are remembered, and at most `max_bytes` of spans.
- What was closed first is forgotten first: its spans, then its id. An id of which only the id is remembered becomes the
  newest again whenever something late names it.
- The id of a forgotten trace is new to us. It can't be told from a trace never seen, so what comes then opens a trace with
  revision 0; whoever needs to know raises `closed_traces_remembered`.
"""

from collections import OrderedDict

from lanewatch.collector.gathered import Gathered
from lanewatch.collector.spans import CloseReason


class ClosedTraces:
    """Closed traces, the oldest first. `kept` may be read by its owner, the assembler; it changes through methods alone."""

    def __init__(self, *, max_traces: int, max_bytes: int, window_seconds: float) -> None:
        self._max_traces = max_traces
        self._max_bytes = max_bytes
        self._window = window_seconds
        self._ids: OrderedDict[bytes, CloseReason | None] = OrderedDict()
        self.kept: OrderedDict[bytes, Gathered] = OrderedDict()
        self.n_bytes = 0

    def __len__(self) -> int:
        return len(self.kept) + len(self._ids)

    def keep(self, gathered: Gathered, now: float) -> None:
        """Remember a trace with all that it holds, if that fits."""
        if gathered.n_bytes > self._max_bytes:
            self.keep_id(gathered.trace_id)
            return
        gathered.closed_at = now
        self.kept[gathered.trace_id] = gathered
        self.n_bytes += gathered.n_bytes
        while self.n_bytes > self._max_bytes:
            self._forget_oldest_content()
        self._forget_ids()

    def keep_id(self, trace_id: bytes, cut: CloseReason | None = None) -> None:
        """Remember the id alone; `cut` is the limit that closed the trace, after which nothing more of it is taken."""
        self._ids[trace_id] = cut
        self._forget_ids()

    def take(self, trace_id: bytes) -> Gathered:
        """Remove and return a trace that is `kept`: late spans reopen it."""
        gathered = self.kept.pop(trace_id)
        self.n_bytes -= gathered.n_bytes
        return gathered

    def recall(self, trace_id: bytes) -> tuple[bool, CloseReason | None]:
        """Whether the id alone is remembered, and which limit had cut the trace, if one had."""
        if trace_id not in self._ids:
            return False, None
        self._ids.move_to_end(trace_id)
        return True, self._ids[trace_id]

    def expire(self, now: float) -> None:
        """Forget the spans of traces that were closed a window ago or longer."""
        while self.kept and next(iter(self.kept.values())).closed_at + self._window <= now:
            self._forget_oldest_content()

    def forget_content(self, at_most: int = 1 << 62) -> None:
        """Forget the spans of so many closed traces; the ids stay. For when the process runs out of memory."""
        for _ in range(min(at_most, len(self.kept))):
            self._forget_oldest_content()

    def _forget_oldest_content(self) -> None:
        trace_id, gathered = self.kept.popitem(last=False)
        self.n_bytes -= gathered.n_bytes
        self._ids[trace_id] = None

    def _forget_ids(self) -> None:
        while len(self) > self._max_traces:
            if self._ids:
                self._ids.popitem(last=False)
            else:
                self.n_bytes -= self.kept.popitem(last=False)[1].n_bytes
