"""What the traces of a session come to together, for budgets that a session has and orders that hold over its turns.

Invariants: a trace that is read again counts once, as it is now (of a session's latest 1,000); memory is bounded in sessions and in traces, the session
that was quiet longest goes first; of a session that was forgotten and comes again, the sum is no longer complete.
"""

from collections import OrderedDict
from collections.abc import Callable

import msgspec

from lanewatch.adapters.records import Dispatch, TraceRecord
from lanewatch.monitors.efficiency import NOTHING, Efficiency

MAX_SESSIONS = 10_000
MAX_TRACES = 100_000
MAX_FORGOTTEN = 100_000
MAX_RUNS = 200  # of one session
MAX_TRACES_APART = 1_000  # of one session; a trace before these that is read again would count twice


class SessionFacts(msgspec.Struct, frozen=True):
    """A session so far. `complete` is False where earlier traces of it may be missing."""

    facts: Efficiency
    complete: bool
    runs: tuple[Dispatch, ...] = ()  # of this and earlier traces, as far as they are kept


class _Session(msgspec.Struct):
    """`settled` is the sum of its oldest traces, which are not told apart any more."""

    traces: dict[str, Efficiency] = {}
    runs: dict[str, tuple[Dispatch, ...]] = {}  # by trace
    lost: bool = False  # runs were dropped
    settled: Efficiency = NOTHING
    total: Efficiency = NOTHING

    def add(self, trace_id: str, facts: Efficiency) -> None:
        """Count a trace in, or anew."""
        again = trace_id in self.traces
        self.traces[trace_id] = facts
        self.total = sum(self.traces.values(), self.settled) if again else self.total + facts
        if len(self.traces) > MAX_TRACES_APART:
            self.settled += self.traces.pop(next(iter(self.traces)))

    def keep(self, trace_id: str, runs: tuple[Dispatch, ...]) -> None:
        """Keep a trace's runs, or what it has now in their place; the oldest traces' go first."""
        self.runs.pop(trace_id, None)
        if runs:
            self.runs[trace_id] = runs
        while sum(map(len, self.runs.values())) > MAX_RUNS:
            del self.runs[next(iter(self.runs))]
            self.lost = True


class Sessions:
    """Facts of traces by session. Belongs to one thread."""

    def __init__(
        self,
        *,
        max_sessions: int = MAX_SESSIONS,
        max_traces: int = MAX_TRACES,
        max_forgotten: int = MAX_FORGOTTEN,
        kept: Callable[[TraceRecord], tuple[Dispatch, ...]] = lambda _: (),
    ) -> None:
        """Bounds: sessions and traces with their facts, and names of sessions that are forgotten. `kept` are the runs of a
        trace that later ones are judged by, made small.
        """
        self._kept = kept
        self._max_sessions = max_sessions
        self._max_traces = max_traces
        self._max_forgotten = max_forgotten
        self._sessions: OrderedDict[tuple[str | None, str], _Session] = OrderedDict()
        self._forgotten: OrderedDict[int, None] = OrderedDict()
        self._traces = 0

    def add(self, record: TraceRecord, facts: Efficiency) -> SessionFacts:
        """Count a trace in, and say what its session comes to. A trace without a session is one by itself."""
        if record.session_id is None:
            return SessionFacts(facts, complete=True, runs=self._kept(record))
        key = (record.service, record.session_id)
        session = self._sessions.setdefault(key, _Session())
        self._sessions.move_to_end(key)
        self._traces -= len(session.traces)
        session.add(record.trace_id, msgspec.structs.replace(facts, steps=()))
        self._traces += len(session.traces)
        session.keep(record.trace_id, self._kept(record))
        known = hash(key) not in self._forgotten and not session.lost
        self._trim()
        return SessionFacts(session.total, known, tuple(run for runs in session.runs.values() for run in runs))

    def _trim(self) -> None:
        while self._sessions and (len(self._sessions) > self._max_sessions or self._traces > self._max_traces):
            key, session = self._sessions.popitem(last=False)
            self._traces -= len(session.traces)
            self._forgotten[hash(key)] = None
            self._forgotten.move_to_end(hash(key))
        while len(self._forgotten) > self._max_forgotten:
            self._forgotten.popitem(last=False)
