"""From a closed trace to its record: read each span, fold duplicates, pair, and say what is known and what is not."""

from typing import Any

import msgspec

from lanewatch.adapters.answering_calls import with_answers
from lanewatch.adapters.artifact import turn_messages
from lanewatch.adapters.cuts import dropped_kinds, is_cut
from lanewatch.adapters.duplicate_runs import fold_runs
from lanewatch.adapters.duplicates import fold_calls, fold_searches
from lanewatch.adapters.evidence import half_hidden, judge_evidence
from lanewatch.adapters.execution import judged
from lanewatch.adapters.facts import LlmCall, Search
from lanewatch.adapters.joint_parts import joined, part_of
from lanewatch.adapters.outcome_facts import outcome_facts
from lanewatch.adapters.permissions import scopes_of
from lanewatch.adapters.records import RECORD_KINDS, Evidence, Generation, Incomplete, Retrieval, TraceRecord
from lanewatch.adapters.rerankings import with_rerankings
from lanewatch.adapters.responses import read_responses
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.adapters.tool_records import tool_records
from lanewatch.adapters.trace_facts import TraceFacts, read_facts
from lanewatch.adapters.work import OverBudgetError
from lanewatch.collector.spans import Trace


class Reading(msgspec.Struct, frozen=True):
    """What was read of one trace, or of several that belong together: `record` is of all of them as if they were one,
    `parts` of each by itself, with what the others say of its requests and runs. `ids` holds, for each part, the ids
    (hex) of its spans by those that they have in `record`.
    """

    record: TraceRecord
    parts: tuple[TraceRecord, ...]
    ids: tuple[dict[str, str], ...]


def read_trace(trace: Trace) -> TraceRecord:
    """The record of a closed trace. A span that its convention can't read is counted in `unread`, the rest is kept."""
    return record_of(read_facts(trace))


def record_of(facts: TraceFacts) -> TraceRecord:
    """The record of a trace whose spans were read. Where that takes more work than one trace may, it says so."""
    try:
        return _record(facts)[0]
    except OverBudgetError:
        return _given_up(facts.trace)


def read_together(parts: tuple[TraceFacts, ...]) -> Reading:
    """The records of traces that share a run of an agent (one trace a model call, two instrumentors without a common
    context). Duplicates fold, and requests, runs and results pair, across them.
    """
    joint = joined(parts)
    try:
        record, calls = _record(joint.facts)
    except OverBudgetError:
        return Reading(_given_up(joint.facts.trace), tuple(_given_up(part.trace) for part in parts), joint.ids)
    records = (part_of(part.trace, own, record, calls) for part, own in zip(parts, joint.ids, strict=True))
    return Reading(record, tuple(records), joint.ids)


def _given_up(trace: Trace) -> TraceRecord:
    """What is said of a trace that takes more work than it may: nothing but that."""
    return TraceRecord(
        trace_id=trace.trace_id.hex(),
        session_id=None,
        service=next((s.resource.service for s in trace.spans if s.resource.service), None),
        revision=trace.revision,
        start_ns=min((span.start_ns for span in trace.spans if span.start_ns), default=0),
        end_ns=max((span.end_ns for span in trace.spans), default=0),
        conventions=(),
        requests=(),
        dispatches=(),
        retrievals=(),
        generations=(),
        responses=(),
        messages=(),
        evidence=dict.fromkeys(RECORD_KINDS, Evidence.PARTIAL),
        complete=False,
        incomplete=Incomplete.WORK_LIMIT,
    )


def _record(facts: TraceFacts) -> tuple[TraceRecord, list[LlmCall]]:
    """(record, model calls, each once). Raises OverBudgetError."""
    if facts.over_budget:
        raise OverBudgetError
    trace = facts.trace
    tree = facts.tree or SpanTree(trace)
    calls = fold_calls(facts.calls, tree)
    llm_calls = [call for call, _ in calls]
    offered: dict[str, Any] = {name: schema for call in llm_calls for name, schema in (call.tools or {}).items()}
    cut = is_cut(trace)
    folded = fold_runs([judged(run, offered, cut=cut) for run in facts.runs], llm_calls, tree)
    runs = [one.run for one in folded]
    found = fold_searches([search for search in facts.searches if not search.reranks], tree)
    searches = with_rerankings(found, fold_searches([one for one in facts.searches if one.reranks], tree), tree)
    tools = tool_records(llm_calls, folded, facts.steps, tree)
    responses = read_responses(with_answers(llm_calls, tools.requests), runs, facts.steps)
    lossy = frozenset(RECORD_KINDS) if cut else dropped_kinds(facts)
    evidence = judge_evidence(
        trace, tree, llm_calls, runs, searches, facts.steps, tools, responses, facts.unread, cut=lossy
    )
    half = half_hidden(evidence, tools)
    evidence |= dict.fromkeys(half, Evidence.REDACTED)
    relevant = [span for span in trace.spans if span.relevant] or list(trace.spans)
    record = TraceRecord(
        trace_id=trace.trace_id.hex(),
        session_id=facts.sessions[0][1] if facts.sessions else None,
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
        half_hidden=half,
        tools=offered,
        unread=facts.unread,
        shown_ids=_shown_ids(llm_calls),
        complete=trace.complete,
        outcomes=outcome_facts(trace),
        scopes=scopes_of(trace),
    )
    return record, llm_calls


def _shown_ids(calls: list[LlmCall]) -> tuple[str, ...]:
    """Ids of the tool results that models were shown."""
    results = (result for call in calls for message in call.input for result in message.results)
    return tuple(dict.fromkeys(result.call_id for result in results if result.call_id))


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
