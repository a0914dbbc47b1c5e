"""The calls of a replay's lines, as the replay itself knew them: what ran, what was asked for, and what the model was shown.

Out of dispatches alone a call that was asked for and did not run would be the artifact's invention, and a result that the
model was shown in other words another result. Only lines that say which request a dispatch answers are read here.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from lanewatch.adapters.facts import ErrorInfo, Executed, Shape
from lanewatch.adapters.identity import id_quality
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import Dispatch, ToolRequest
from lanewatch.monitors.expected_calls import ExpectedCall, expected_calls


class _Request(msgspec.Struct, frozen=True):
    name: str
    span_id: str
    call_id: str | None = None
    arguments: dict[str, Any] | None = None
    arguments_raw: str | None = None
    observed_result: str | None = None


class _Error(msgspec.Struct, frozen=True):
    message: str | None = None


class _Dispatch(msgspec.Struct, frozen=True):
    name: str
    span_id: str
    request: int | None
    executed: Executed
    call_id: str | None = None
    arguments: Any = None
    result: Any = None
    error: _Error | None = None
    inside: int | None = None


class _Trace(msgspec.Struct, frozen=True):
    requests: tuple[_Request, ...]
    dispatches: tuple[_Dispatch, ...]


def replayed_calls(traces: Iterable[dict[str, Any]]) -> tuple[ExpectedCall, ...] | None:
    """The calls of traces in their order, as of one conversation; None where any of them is no trace of a replay."""
    calls: list[ExpectedCall] = []
    places = rounds = 0
    for value in traces:
        try:
            trace = msgspec.convert(value, _Trace)
        except msgspec.ValidationError:
            return None
        turns = {span_id: turn for turn, span_id in enumerate(dict.fromkeys(one.span_id for one in trace.requests))}
        requests = tuple(_request(one, turns[one.span_id]) for one in trace.requests)
        if any(
            not _is_place(one.request, requests) or not _is_place(one.inside, trace.dispatches)
            for one in trace.dispatches
        ):
            return None
        for call in expected_calls(requests, tuple(map(_dispatch, trace.dispatches))):
            place = None if call.place is None else call.place + places
            calls.append(replace(call, place=place, round=None if call.round is None else call.round + rounds))
        places += len(requests)
        rounds += len(turns)
    return tuple(calls)


def _is_place(place: int | None, among: tuple[Any, ...]) -> bool:
    return place is None or 0 <= place < len(among)


def _request(one: _Request, turn: int) -> ToolRequest:
    known = one.arguments is not None or one.arguments_raw is not None
    return ToolRequest(
        one.name,
        one.call_id,
        id_quality(one.call_id, one.name),
        one.arguments,
        one.arguments_raw,
        State.CAPTURED if known else State.ABSENT,
        turn,
        0,
        one.span_id,
        observed_result=one.observed_result,
    )


def _dispatch(one: _Dispatch) -> Dispatch:
    return Dispatch(
        one.name,
        one.call_id,
        one.arguments,
        State.ABSENT if one.arguments is None else State.CAPTURED,
        Shape.OBJECT if isinstance(one.arguments, dict) else Shape.TEXT,
        one.result,
        one.executed,
        None if one.error is None else ErrorInfo(message=one.error.message),
        1,
        None,
        one.request,
        one.span_id,
        0,
        0,
        inside=one.inside,
    )
