"""Several traces that belong together, as one; and one trace's part of the record that was made of them.

Requests, runs and answers stay with the trace whose span states them; what pairs across traces keeps its outcome and rule,
and points to no index of this trace. Evidence is that of all of them: they prove or hide each other's calls. Emitters that
number their spans use an id in several traces: in the joint trace each span has an id of its own.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from lanewatch.adapters.artifact import turn_messages
from lanewatch.adapters.facts import Fact, LlmCall
from lanewatch.adapters.outcome_facts import outcome_facts
from lanewatch.adapters.records import Dispatch, Generation, Response, Retrieval, ToolRequest, TraceRecord
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.adapters.trace_facts import TraceFacts
from lanewatch.collector.spans import LogRecord, Span, Trace

F = TypeVar("F", bound=Fact)
Stated = TypeVar("Stated", ToolRequest, Dispatch, Retrieval, Generation, Response)


class Joint(msgspec.Struct, frozen=True):
    """Facts of several traces as one's. `ids` holds, for each trace, its span ids (hex) by those of the joint trace."""

    facts: TraceFacts
    ids: tuple[dict[str, str], ...]


def joined(parts: tuple[TraceFacts, ...]) -> Joint:
    """Join traces, each read by itself. Facts, spans and logs are in the order of one trace's."""
    taken: set[bytes] = set()
    ids: list[dict[str, str]] = []
    apart: list[TraceFacts] = []
    for part in parts:
        again = {s.span_id: _other_id(s) for s in part.trace.spans if s.span_id in taken}
        apart.append(_with_ids(part, again) if again else part)
        taken.update(span.span_id for span in apart[-1].trace.spans)
        ids.append({again.get(s.span_id, s.span_id).hex(): s.span_id.hex() for s in part.trace.spans})
    traces = [part.trace for part in apart]
    whole = replace(
        traces[0],
        spans=tuple(sorted((span for one in traces for span in one.spans), key=_order)),
        logs=tuple(log for one in traces for log in one.logs),
        complete=all(one.complete for one in traces),
    )
    facts = TraceFacts(
        whole,
        SpanTree(whole),
        _sorted([fact for part in apart for fact in part.calls]),
        _sorted([fact for part in apart for fact in part.runs]),
        _sorted([fact for part in apart for fact in part.searches]),
        _sorted([fact for part in apart for fact in part.steps]),
        sorted((told for part in apart for told in part.sessions), key=lambda told: _order(told[0])),
        {name: None for part in apart for name in part.conventions},
        sum(part.unread for part in apart),
        any(part.over_budget for part in apart),
    )
    return Joint(facts, tuple(ids))


def _order(span: Span) -> tuple[int, bytes]:
    return span.start_ns, span.span_id


def _sorted(facts: list[F]) -> list[F]:
    return sorted(facts, key=lambda fact: _order(fact.span))


def _other_id(span: Span) -> bytes:
    return blake2b(span.trace_id + span.span_id, digest_size=8).digest()


def _with_ids(part: TraceFacts, ids: dict[bytes, bytes]) -> TraceFacts:
    """The facts of a trace with other ids for some of its spans."""

    def span(one: Span) -> Span:
        own, parent = ids.get(one.span_id), ids.get(one.parent_id)
        changed = {"span_id": own} if own is not None else {}
        if parent is not None:
            changed["parent_id"] = parent
        return replace(one, **changed) if changed else one

    def log(one: LogRecord) -> LogRecord:
        return replace(one, span_id=ids[one.span_id]) if one.span_id in ids else one

    def facts(listed: list[F]) -> list[F]:
        return [replace(fact, span=span(fact.span)) for fact in listed]

    trace = part.trace
    return replace(
        part,
        trace=replace(trace, spans=tuple(map(span, trace.spans)), logs=tuple(map(log, trace.logs))),
        calls=facts(part.calls),
        runs=facts(part.runs),
        searches=facts(part.searches),
        steps=facts(part.steps),
        sessions=[(span(one), session) for one, session in part.sessions],
    )


def part_of(trace: Trace, own: dict[str, str], joint: TraceRecord, calls: list[LlmCall]) -> TraceRecord:
    """The record of `trace`, out of the joint one. `own` are its span ids by those of the joint trace; `calls` are the
    joint model calls, in order.
    """
    turns = _numbers([turn for turn, call in enumerate(calls) if call.span.span_id.hex() in own])
    places = _numbers([index for index, request in enumerate(joint.requests) if request.turn in turns])
    runs = _numbers([index for index, dispatch in enumerate(joint.dispatches) if dispatch.span_id in own])
    requests = [replace(r, turn=turns[r.turn]) for r in joint.requests if r.turn in turns]
    responses = [response for response in joint.responses if response.span_id in own]
    relevant = [span for span in trace.spans if span.relevant] or list(trace.spans)
    mine = [call for call in calls if call.span.span_id.hex() in own]
    told = [_placed(dispatch, places, {}, turns) for dispatch in joint.dispatches]
    named = _renamer(own)
    return replace(
        joint,
        trace_id=trace.trace_id.hex(),
        revision=trace.revision,
        service=next((s.resource.service for s in relevant if s.resource.service), joint.service),
        start_ns=min((span.start_ns for span in relevant if span.start_ns), default=0),
        end_ns=max((span.end_ns for span in relevant), default=0),
        requests=named(requests),
        dispatches=named([_placed(joint.dispatches[index], places, runs, turns) for index in runs]),
        retrievals=named([retrieval for retrieval in joint.retrievals if retrieval.span_id in own]),
        generations=named([generation for generation in joint.generations if generation.span_id in own]),
        responses=named(responses),
        outcomes=outcome_facts(trace),
        messages=turn_messages(mine, requests, told, responses),
    )


def _renamer(own: dict[str, str]) -> Callable[[list[Stated]], tuple[Stated, ...]]:
    """What gives records the ids that their spans have in their own trace."""
    other = {joint for joint, mine in own.items() if joint != mine}

    def named(records: list[Stated]) -> tuple[Stated, ...]:
        return tuple(map(rename, records)) if other else tuple(records)

    def rename(one: Stated) -> Stated:
        span_id = one.span_id or ""
        changed: dict[str, object] = {"span_id": own.get(span_id, one.span_id)}
        if isinstance(one, Dispatch):
            changed["span_ids"] = tuple(own.get(span_id, span_id) for span_id in one.span_ids)
        return replace(one, **changed)

    return named


def _numbers(indices: list[int]) -> dict[int, int]:
    return {index: number for number, index in enumerate(indices)}


def _placed(dispatch: Dispatch, requests: dict[int, int], runs: dict[int, int], turns: dict[int, int]) -> Dispatch:
    return replace(
        dispatch,
        request=requests.get(dispatch.request) if dispatch.request is not None else None,
        inside=runs.get(dispatch.inside) if dispatch.inside is not None else None,
        turn=turns.get(dispatch.turn) if dispatch.turn is not None else None,
    )
