"""One trace's part of a record that was read from several traces together.

Requests, runs and answers stay with the trace whose span states them; what pairs across traces keeps its outcome and rule,
and points to no index of this trace. Evidence is that of all of them: they prove or hide each other's calls.
"""

from msgspec.structs import replace

from lanewatch.adapters.artifact import turn_messages
from lanewatch.adapters.facts import LlmCall
from lanewatch.adapters.records import Dispatch, TraceRecord
from lanewatch.collector.spans import Trace


def part_of(trace: Trace, joint: TraceRecord, calls: list[LlmCall]) -> TraceRecord:
    """The record of `trace`, out of the joint one; `calls` are the joint model calls, in order."""
    own = {span.span_id.hex() for span in trace.spans}
    turns = _numbers([turn for turn, call in enumerate(calls) if call.span.span_id.hex() in own])
    places = _numbers([index for index, request in enumerate(joint.requests) if request.turn in turns])
    runs = _numbers([index for index, dispatch in enumerate(joint.dispatches) if dispatch.span_id in own])
    requests = [replace(r, turn=turns[r.turn]) for r in joint.requests if r.turn in turns]
    responses = [response for response in joint.responses if response.span_id in own]
    relevant = [span for span in trace.spans if span.relevant] or list(trace.spans)
    mine = [call for call in calls if call.span.span_id.hex() in own]
    told = [_placed(dispatch, places, {}, turns) for dispatch in joint.dispatches]
    return replace(
        joint,
        trace_id=trace.trace_id.hex(),
        revision=trace.revision,
        service=next((s.resource.service for s in relevant if s.resource.service), joint.service),
        start_ns=min((span.start_ns for span in relevant if span.start_ns), default=0),
        end_ns=max((span.end_ns for span in relevant), default=0),
        requests=tuple(requests),
        dispatches=tuple(_placed(joint.dispatches[index], places, runs, turns) for index in runs),
        retrievals=tuple(retrieval for retrieval in joint.retrievals if retrieval.span_id in own),
        generations=tuple(generation for generation in joint.generations if generation.span_id in own),
        responses=tuple(responses),
        messages=turn_messages(mine, requests, told, responses),
    )


def _numbers(indices: list[int]) -> dict[int, int]:
    return {index: number for number, index in enumerate(indices)}


def _placed(dispatch: Dispatch, requests: dict[int, int], runs: dict[int, int], turns: dict[int, int]) -> Dispatch:
    return replace(
        dispatch,
        request=requests.get(dispatch.request) if dispatch.request is not None else None,
        inside=runs.get(dispatch.inside) if dispatch.inside is not None else None,
        turn=turns.get(dispatch.turn) if dispatch.turn is not None else None,
    )
