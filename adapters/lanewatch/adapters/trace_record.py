"""From a closed trace to its record: read each span, fold duplicates, pair, and say what is known and what is not."""

from typing import Any

import msgspec
from msgspec.structs import replace

from lanewatch.adapters.answering_calls import with_answers
from lanewatch.adapters.artifact import turn_messages
from lanewatch.adapters.conventions import convention_of
from lanewatch.adapters.cuts import is_cut
from lanewatch.adapters.duplicate_runs import fold_runs
from lanewatch.adapters.duplicates import fold_calls, fold_searches
from lanewatch.adapters.evidence import judge_evidence
from lanewatch.adapters.execution import judged
from lanewatch.adapters.facts import Fact, LlmCall, Search, Step, ToolRun
from lanewatch.adapters.joint_parts import part_of
from lanewatch.adapters.permissions import scopes_of
from lanewatch.adapters.records import Generation, Retrieval, TraceRecord
from lanewatch.adapters.responses import read_responses
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.adapters.tool_records import tool_records
from lanewatch.collector.spans import Trace


class _Facts(msgspec.Struct):
    """The facts of a trace by kind. `unread` counts spans that a convention claimed and could not read."""

    calls: list[LlmCall] = []
    runs: list[ToolRun] = []
    searches: list[Search] = []
    steps: list[Step] = []
    sessions: list[str] = []
    conventions: dict[str, None] = {}
    unread: int = 0

    def add(self, fact: Fact) -> None:
        match fact:
            case LlmCall():
                self.calls.append(fact)
            case ToolRun():
                self.runs.append(fact)
            case Search():
                self.searches.append(fact)
            case Step():
                self.steps.append(fact)
        if fact.session_id:
            self.sessions.append(fact.session_id)


class Reading(msgspec.Struct, frozen=True):
    """What was read of one trace, or of several that belong together: `record` is of all of them as if they were one,
    `parts` of each by itself, with what the others say of its requests and runs.
    """

    record: TraceRecord
    parts: tuple[TraceRecord, ...]


def read_trace(trace: Trace) -> TraceRecord:
    """The record of a closed trace. A span that its convention can't read is counted in `unread`, the rest is kept."""
    return read_together((trace,)).record


def read_together(traces: tuple[Trace, ...]) -> Reading:
    """The records of traces that share a run of an agent (one trace a model call, two instrumentors without a common
    context). Duplicates fold, and requests, runs and results pair, across them.
    """
    trace = traces[0] if len(traces) == 1 else _joined(traces)
    tree = SpanTree(trace)
    facts = _read(trace, tree)
    calls = fold_calls(facts.calls, tree)
    llm_calls = [call for call, _ in calls]
    offered: dict[str, Any] = {name: schema for call in llm_calls for name, schema in (call.tools or {}).items()}
    cut = is_cut(trace)
    folded = fold_runs([judged(run, offered, cut=cut) for run in facts.runs], llm_calls, tree)
    runs = [one.run for one in folded]
    searches = fold_searches(facts.searches, tree)
    tools = tool_records(llm_calls, folded, facts.steps, tree)
    responses = read_responses(with_answers(llm_calls, tools.requests), runs, facts.steps)
    evidence = judge_evidence(
        trace, tree, llm_calls, runs, searches, facts.steps, tools, responses, facts.unread, cut=cut
    )
    relevant = [span for span in trace.spans if span.relevant] or list(trace.spans)
    record = TraceRecord(
        trace_id=trace.trace_id.hex(),
        session_id=next(iter(facts.sessions), None),
        service=next((s.resource.service for s in relevant if s.resource.service), None),
        revision=trace.revision,
        start_ns=min((span.start_ns for span in relevant if span.start_ns), default=0),
        end_ns=max((span.end_ns for span in relevant), default=0),
        conventions=tuple(facts.conventions),
        requests=tuple(tools.requests),
        dispatches=tuple(tools.dispatches),
        retrievals=tuple(_retrieval(search) for search in searches),
        generations=tuple(_generation(call, reports) for call, reports in calls),
        responses=tuple(responses),
        messages=turn_messages(llm_calls, tools.requests, tools.dispatches, responses),
        evidence=evidence,
        tools=offered,
        unread=facts.unread,
        shown_ids=_shown_ids(llm_calls),
        complete=trace.complete,
        scopes=scopes_of(trace),
    )
    if len(traces) == 1:
        return Reading(record, (record,))
    return Reading(record, tuple(part_of(one, record, llm_calls) for one in traces))


def _joined(traces: tuple[Trace, ...]) -> Trace:
    """Several traces as one; ids of spans are random, so those of different traces do not meet."""
    spans = {span.span_id: span for trace in traces for span in trace.spans}
    ordered = sorted(spans.values(), key=lambda span: (span.start_ns, span.span_id))
    logs = tuple(log for trace in traces for log in trace.logs)
    return replace(traces[0], spans=tuple(ordered), logs=logs, complete=all(trace.complete for trace in traces))


def _shown_ids(calls: list[LlmCall]) -> tuple[str, ...]:
    """Ids of the tool results that models were shown."""
    results = (result for call in calls for message in call.input for result in message.results)
    return tuple(dict.fromkeys(result.call_id for result in results if result.call_id))


def _read(trace: Trace, tree: SpanTree) -> _Facts:
    facts = _Facts()
    for span in trace.spans:
        convention = convention_of(span) if span.relevant else None
        if convention is None:
            continue
        facts.conventions[convention.NAME] = None
        try:
            for fact in convention.read_span(span, tree):
                facts.add(fact)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            facts.unread += 1  # a shape nobody has seen yet: one span is lost, not the trace, and evidence says so
    return facts


def _retrieval(search: Search) -> Retrieval:
    return Retrieval(
        search.query,
        search.documents,
        search.source,
        search.span.span_id.hex(),
        search.span.start_ns,
        search.span.end_ns,
    )


def _generation(call: LlmCall, reports: int) -> Generation:
    return Generation(
        call.span.span_id.hex(),
        call.model,
        call.provider,
        call.response_id,
        call.finish_reason,
        call.usage,
        call.span.start_ns,
        call.span.end_ns,
        call.error,
        reports,
    )
