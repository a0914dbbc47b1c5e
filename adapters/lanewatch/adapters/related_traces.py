"""Which traces belong together: a bounded memory of recent traces whose records leave something open.

One run of an agent may span several traces: a trace a model call (LiteLLM), an instrumentor that does not set the
OpenTelemetry context, a queue or a human's approval between request and run. Traces are related where
- both report the same model call (equal response id, or the same call requested, at the same time),
- one ran what the other's model asked for (equal call id), or shows its model the result of it,
- they share a session, one has open requests and the other runs that nobody asked for.

Ids are unique only inside a conversation: traces of different sessions are never related, and ids that look like counters
(`call_0`) relate nothing across traces.
"""

import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from lanewatch.adapters.records import Executed, IdQuality, Outcome, TraceRecord
from lanewatch.adapters.trace_facts import TraceFacts

COUNTER = re.compile(r"^[A-Za-z]{0,12}[_-]?\d{0,6}$")  # call_0, tool-12: unique in a turn at best
NEAR_NS = 600 * 10**9  # without a session in common, traces that began ten minutes apart are not one run
GROUP_LIMIT = 32  # traces read together; a longer run is related pairwise to the ones remembered last
SHOWN_LIMIT = 64  # results in a model's input that are looked for in other traces: the latest
Mark: TypeAlias = tuple[str, str]
# What relates to what; by value, which is an id of a response, a call or a session.
COMPLEMENTS: dict[str, tuple[str, ...]] = {
    "response": ("response",),
    "asked": ("asked", "unasked"),
    "unasked": ("asked",),
    "open": ("shown",),
    "shown": ("open",),
    "open in session": ("unasked in session",),
    "unasked in session": ("open in session",),
}
MARK_BYTES = 400  # a tuple, its text, and a dictionary of those that hold it; measured
OPEN = (Outcome.UNKNOWN, Outcome.PENDING, Outcome.NOT_DISPATCHED)


class _Known(msgspec.Struct, frozen=True):
    facts: TraceFacts
    session: str | None
    size: int
    start_ns: int
    end_ns: int
    marks: tuple[Mark, ...]


class RelatedTraces:
    """Remembers traces, with the facts that were read of them, by what may relate them; belongs to one thread."""

    def __init__(self, *, max_bytes: int, max_traces: int) -> None:
        """Both bound what is remembered; the trace that was seen longest ago is forgotten first."""
        self._max_bytes, self._max_traces = max_bytes, max_traces
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._by_mark: dict[Mark, dict[bytes, None]] = defaultdict(dict)
        self._together: dict[bytes, tuple[bytes, ...]] = {}  # of those that are remembered: the group read last
        self._bytes = 0

    def read_with(self, trace_id: bytes) -> tuple[TraceFacts, ...]:
        """The other traces that a trace was read together with last, those of them that are remembered. What was made of
        them may no longer hold once the trace is revised.
        """
        others = (other for other in self._together.get(trace_id, ()) if other != trace_id)
        return tuple(self._known[other].facts for other in others if other in self._known)

    def group(self, facts: TraceFacts, record: TraceRecord) -> tuple[TraceFacts, ...]:
        """A trace and all that are remembered and related to it, also by way of others, in order of their ids. `record`
        is what was made of the trace alone; then the trace is remembered.
        """
        trace = facts.trace
        self._forget(trace.trace_id)
        marks = tuple(_marks(record))
        # Messages are decoded out of the spans' attributes, and held beside them.
        size = 2 * (sum(span.size_bytes for span in trace.spans) + sum(log.size_bytes for log in trace.logs))
        size += MARK_BYTES * len(marks)
        remembered = replace(facts, tree=None)
        mine = _Known(remembered, record.session_id, size, record.start_ns, record.end_ns, marks)
        group: dict[bytes, TraceFacts] = {trace.trace_id: facts}
        todo = [mine] if self._known else []
        while todo and len(group) < GROUP_LIMIT:
            for known in self._related(todo.pop()):
                trace_id = known.facts.trace.trace_id
                if trace_id not in group and len(group) < GROUP_LIMIT:
                    group[trace_id] = known.facts
                    todo.append(known)
        if mine.marks:
            self._remember(mine)
        together = tuple(sorted(group))
        if len(together) > 1:
            self._together.update({trace_id: together for trace_id in together if trace_id in self._known})
        return tuple(group[trace_id] for trace_id in together)

    def _related(self, one: _Known) -> Iterator[_Known]:
        for kind, value in one.marks:
            for other in COMPLEMENTS[kind]:
                for trace_id in islice(self._by_mark.get((other, value), ()), GROUP_LIMIT):
                    known = self._known[trace_id]
                    if one.session is not None and known.session not in (None, one.session):
                        continue
                    if None in (one.session, known.session) and abs(one.start_ns - known.start_ns) > NEAR_NS:
                        continue
                    # A cache answers many runs with one response: two reports of one call happen at the same time.
                    if kind != other or (one.start_ns <= known.end_ns and known.start_ns <= one.end_ns):
                        yield known

    def _remember(self, known: _Known) -> None:
        trace_id = known.facts.trace.trace_id
        self._known[trace_id] = known
        self._bytes += known.size
        for mark in known.marks:
            self._by_mark[mark][trace_id] = None
        while self._known and (self._bytes > self._max_bytes or len(self._known) > self._max_traces):
            self._forget(next(iter(self._known)))

    def _forget(self, trace_id: bytes) -> None:
        self._together.pop(trace_id, None)
        known = self._known.pop(trace_id, None)
        if known is None:
            return
        self._bytes -= known.size
        for mark in known.marks:
            holders = self._by_mark[mark]
            holders.pop(trace_id, None)
            if not holders:
                del self._by_mark[mark]


def _unique(call_id: str | None) -> bool:
    return call_id is not None and COUNTER.match(call_id) is None


def _marks(record: TraceRecord) -> Iterator[Mark]:
    for generation in record.generations:
        if generation.response_id:
            yield "response", generation.response_id
    waiting = False
    for request in record.requests:
        is_open = request.outcome in OPEN
        waiting |= is_open
        if request.call_id_quality in (IdQuality.REAL, IdQuality.ITEM):
            for call_id in filter(_unique, (request.call_id, *request.aliases)):
                yield "asked", str(call_id)
                if is_open:
                    yield "open", str(call_id)
    unasked = [run for run in record.dispatches if run.request is None and run.executed is not Executed.NO]
    for run in unasked:
        if _unique(run.call_id):
            yield "unasked", str(run.call_id)
    for call_id in filter(_unique, record.shown_ids[-SHOWN_LIMIT:]):
        yield "shown", call_id
    if record.session_id and waiting:
        yield "open in session", record.session_id
    if record.session_id and unasked:
        yield "unasked in session", record.session_id
