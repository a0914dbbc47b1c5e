"""From a closed trace to its record: read each span, fold duplicates, pair, and say what is known and what is not."""

from typing import Any

import msgspec

from lanewatch.adapters.artifact import turn_messages
from lanewatch.adapters.conventions import convention_of
from lanewatch.adapters.duplicate_runs import fold_runs
from lanewatch.adapters.duplicates import fold_calls, fold_searches
from lanewatch.adapters.evidence import judge_evidence
from lanewatch.adapters.execution import judged
from lanewatch.adapters.facts import Fact, LlmCall, Search, Step, ToolRun
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


def read_trace(trace: Trace) -> TraceRecord:
    """The record of a closed trace. A span that its convention can't read is counted in `unread`, the rest is kept."""
    tree = SpanTree(trace)
    facts = _read(trace, tree)
    calls = fold_calls(facts.calls, tree)
    llm_calls = [call for call, _ in calls]
    offered: dict[str, Any] = {name: schema for call in llm_calls for name, schema in (call.tools or {}).items()}
    folded = fold_runs([judged(run, offered) for run in facts.runs], llm_calls, tree)
    runs = [one.run for one in folded]
    searches = fold_searches(facts.searches, tree)
    tools = tool_records(llm_calls, folded, facts.steps, tree)
    responses = read_responses(llm_calls, runs, facts.steps)
    evidence = judge_evidence(trace, tree, llm_calls, runs, searches, facts.steps, tools, responses, facts.unread)
    relevant = [span for span in trace.spans if span.relevant] or list(trace.spans)
    return TraceRecord(
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
    )


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
