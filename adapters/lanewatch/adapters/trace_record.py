"""From a closed trace to its record: read each span, fold duplicates, pair, and say what is known and what is not."""

from collections import defaultdict

from msgspec.structs import replace

from lanewatch.adapters.artifact import turn_messages
from lanewatch.adapters.conventions import convention_of
from lanewatch.adapters.duplicates import fold_calls, fold_runs, fold_searches
from lanewatch.adapters.evidence import judge_evidence
from lanewatch.adapters.facts import Fact, LlmCall, Search, Shape, Step, ToolRun
from lanewatch.adapters.identity import id_quality
from lanewatch.adapters.messages import ToolCall, ToolResult
from lanewatch.adapters.pairing import Asked, Match, pair
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import (
    Dispatch,
    Generation,
    Retrieval,
    ToolRequest,
    TraceRecord,
)
from lanewatch.adapters.request_outcomes import outcome_of
from lanewatch.adapters.responses import read_responses
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span, Trace


def read_trace(trace: Trace) -> TraceRecord:
    """The record of a closed trace. A span that its convention can't read is counted in `unread`, the rest is kept."""
    tree = SpanTree(trace)
    facts, conventions, unread = _facts(trace, tree)
    calls = fold_calls(sorted((f for f in facts if isinstance(f, LlmCall)), key=_began), tree)
    folded = fold_runs([f for f in facts if isinstance(f, ToolRun)], tree)
    searches = fold_searches(sorted((f for f in facts if isinstance(f, Search)), key=_began), tree)
    steps = [f for f in facts if isinstance(f, Step)]
    llm_calls = [call for call, _ in calls]
    runs = [run for run, _ in folded]
    asked, parts = _asked(llm_calls)
    matches = pair(asked, runs)
    dispatches = _dispatches(folded, matches, asked, tree)
    shown = _shown_results(llm_calls)
    requests = _requests(asked, parts, llm_calls, dispatches, shown, steps, tree)
    responses = read_responses(llm_calls, runs, steps)
    evidence = judge_evidence(trace, tree, llm_calls, runs, searches, requests, dispatches, responses, unread)
    relevant = [span for span in trace.spans if span.relevant] or list(trace.spans)
    return TraceRecord(
        trace_id=trace.trace_id.hex(),
        session_id=next((f.session_id for f in facts if f.session_id), None),
        service=next((s.resource.service for s in relevant if s.resource.service), None),
        revision=trace.revision,
        start_ns=min((span.start_ns for span in relevant if span.start_ns), default=0),
        end_ns=max((span.end_ns for span in relevant), default=0),
        conventions=conventions,
        requests=tuple(requests),
        dispatches=tuple(dispatches),
        retrievals=tuple(_retrieval(search) for search in searches),
        generations=tuple(_generation(call, reports) for call, reports in calls),
        responses=tuple(responses),
        messages=turn_messages(llm_calls, requests, dispatches, responses),
        evidence=evidence,
        tools={name: schema for call in llm_calls for name, schema in (call.tools or {}).items()},
        unread=unread,
    )


def _began(fact: Fact) -> tuple[int, bytes]:
    return fact.span.start_ns, fact.span.span_id


def _facts(trace: Trace, tree: SpanTree) -> tuple[list[Fact], tuple[str, ...], int]:
    facts: list[Fact] = []
    names: dict[str, None] = {}
    unread = 0
    for span in trace.spans:
        convention = convention_of(span) if span.relevant else None
        if convention is None:
            continue
        names[convention.NAME] = None
        try:
            facts.append(convention.read_span(span, tree))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            unread += 1  # a shape nobody has seen yet: one span is lost, not the trace, and evidence says so
    return facts, tuple(names), unread


def _asked(calls: list[LlmCall]) -> tuple[list[Asked], list[ToolCall]]:
    asked: list[Asked] = []
    parts: list[ToolCall] = []
    for turn, call in enumerate(calls):
        following = next((c.span.start_ns for c in calls[turn + 1 :] if c.span.start_ns >= call.span.end_ns), None)
        for part in (part for message in call.output for part in message.calls):
            asked.append(
                Asked(
                    part.name,
                    part.call_id,
                    id_quality(part.call_id, part.name),
                    part.aliases,
                    part.arguments,
                    turn,
                    call.span.start_ns,
                    following,
                ),
            )
            parts.append(part)
    return asked, parts


def _dispatches(
    folded: list[tuple[ToolRun, tuple[Span, ...]]],
    matches: list[Match],
    asked: list[Asked],
    tree: SpanTree,
) -> list[Dispatch]:
    by_run = {match.run: match for match in matches}
    attempts: dict[int, int] = defaultdict(int)
    place = {span.span_id: index for index, (_, spans) in enumerate(folded) for span in spans}
    dispatches: list[Dispatch] = []
    for index, (run, spans) in enumerate(folded):
        match = by_run.get(index)
        request = match.request if match is not None else None
        if request is not None:
            attempts[request] += 1
        inside = next(
            (place[a.span_id] for a in tree.ancestors(spans[0]) if place.get(a.span_id, index) != index), None
        )
        dispatches.append(
            Dispatch(
                name=run.name,
                call_id=run.call_id or (asked[request].call_id if request is not None else None),
                arguments=_arguments(run, asked[request] if request is not None else None),
                arguments_state=run.arguments.state,
                shape=run.shape,
                result=run.result.value if run.result.state is State.CAPTURED else None,
                executed=run.executed,
                error=run.error,
                attempt=attempts[request] if request is not None else 1,
                match_rule=match.rule if match is not None else None,
                request=request,
                span_id=run.span.span_id.hex(),
                start_ns=run.span.start_ns,
                end_ns=run.span.end_ns,
                kind=run.kind,
                inside=inside,
                span_ids=tuple(span.span_id.hex() for span in spans),
                keys=run.keys,
                schema=run.schema,
            ),
        )
    return dispatches


def _arguments(run: ToolRun, request: Asked | None) -> object:
    """A run's arguments; where the span lost the only argument's name, the name comes from the request that it answers
    (rule R6 held the values equal) or from the tool's schema.
    """
    if run.arguments.state is not State.CAPTURED:
        return None
    if run.shape is Shape.OBJECT:
        return run.arguments.value
    if request is not None and request.arguments.value is not None and run.shape in (Shape.BARE, Shape.POSITIONAL):
        return request.arguments.value
    return run.arguments.text


def _shown_results(calls: list[LlmCall]) -> dict[str, ToolResult]:
    """Results that models were shown, by call id."""
    shown: dict[str, ToolResult] = {}
    for call in calls:
        for message in call.input:
            for result in message.results:
                if result.call_id:
                    shown.setdefault(result.call_id, result)
    return shown


def _requests(
    asked: list[Asked],
    parts: list[ToolCall],
    calls: list[LlmCall],
    dispatches: list[Dispatch],
    shown: dict[str, ToolResult],
    steps: list[Step],
    tree: SpanTree,
) -> list[ToolRequest]:
    answers: dict[int, list[Dispatch]] = defaultdict(list)
    for dispatch in dispatches:
        if dispatch.request is not None:
            answers[dispatch.request].append(dispatch)
    instrumented = bool(dispatches) or any(step.instruments_tools for step in steps)
    requests: list[ToolRequest] = []
    position = turn = 0
    for index, (one, part) in enumerate(zip(asked, parts, strict=True)):
        position = position + 1 if index and one.turn == turn else 0
        turn = one.turn
        call = calls[one.turn]
        result = next((shown[i] for i in (one.call_id, *one.aliases) if i and i in shown), None)
        request = ToolRequest(
            name=part.name,
            call_id=part.call_id,
            call_id_quality=one.quality,
            arguments=part.arguments.value if isinstance(part.arguments.value, dict) else None,
            arguments_raw=part.arguments.raw,
            arguments_state=part.arguments.state,
            turn=one.turn,
            position=position,
            span_id=call.span.span_id.hex(),
            aliases=part.aliases,
            observed_result=result.content.text if result is not None else None,
        )
        outcome = outcome_of(
            request,
            part,
            answers[index],
            result,
            calls,
            steps,
            instrumented=instrumented,
            ended=(tree.rooted and one.until_ns is not None) or _root_ended(tree, call.span),
        )
        requests.append(replace(request, outcome=outcome))
    return requests


def _root_ended(tree: SpanTree, span: Span) -> bool:
    """Whether the span's chain of parents has arrived up to a root: whatever was to follow has then happened."""
    top = span
    for top in tree.ancestors(span):  # noqa: B007
        pass
    return not top.parent_id and top is not span


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
