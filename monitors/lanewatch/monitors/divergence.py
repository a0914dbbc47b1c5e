"""Where the model's request, the runtime's dispatch and the tool's own result differ first, and who owns that.

Only what the evidence proves is a divergence: hidden arguments, a run that may not have happened, or a model call whose
output was not recorded give none (the record's evidence says so instead). A tool's error is no difference between two
reports of one call; it stands on the dispatch.
"""

from enum import StrEnum
from typing import Any

import msgspec

from lanewatch.adapters.identity import same, same_name
from lanewatch.adapters.records import (
    Dispatch,
    Evidence,
    Executed,
    Outcome,
    Shape,
    ToolKind,
    ToolRequest,
    TraceRecord,
)
from lanewatch.monitors.differences import MISSING, differences

# A result may answer these keys with news of its own; a repeated key with another value means nothing then.
STATE_KEYS = frozenset(
    {"status", "state", "result", "error", "message", "ok", "success", "count", "total", "updated_at"}
)
RUNTIME = "agent runtime"


class Boundary(StrEnum):
    """A place where one call is seen twice."""

    DISPATCH = "dispatch"
    ARTIFACT = "artifact"
    EXECUTION = "execution"


class Kind(StrEnum):
    """How two views of a call differ."""

    NOT_DISPATCHED = "not_dispatched"
    UNREQUESTED = "unrequested"
    NAME = "name"
    ARGUMENTS = "arguments"
    ECHO = "echo"


class Divergence(msgspec.Struct, frozen=True):
    """One difference. `path` is a JSON path into the arguments; `requested`, `dispatched` and `artifact` the values there."""

    boundary: Boundary
    kind: Kind
    tool: str
    call_id: str | None
    path: str | None
    requested: Any
    dispatched: Any
    artifact: Any
    owner: str
    reason: str | None = None  # why a request was not dispatched, or what casts the doubt
    span_id: str | None = None


def find_divergences(record: TraceRecord) -> tuple[Divergence, ...]:
    """All divergences of a trace, in order of its requests and dispatches."""
    found: list[Divergence] = []
    answers: dict[int, list[Dispatch]] = {}
    for dispatch in record.dispatches:
        if dispatch.request is not None:
            answers.setdefault(dispatch.request, []).append(dispatch)
    for index, request in enumerate(record.requests):
        found.extend(_of_request(request, answers.get(index, []), record))
    found.extend(_of_extra_runs(record))
    found.extend(echo for dispatch in record.dispatches for echo in _echoes(dispatch))
    return tuple(found)


def _of_request(request: ToolRequest, answers: list[Dispatch], record: TraceRecord) -> list[Divergence]:
    if request.outcome in (Outcome.NOT_DISPATCHED, Outcome.BLOCKED, Outcome.INVALID):
        requested = request.arguments if request.arguments is not None else request.arguments_raw
        return [
            Divergence(
                Boundary.DISPATCH,
                Kind.NOT_DISPATCHED,
                request.name,
                request.call_id,
                None,
                requested,
                None,
                None,
                RUNTIME,
                {Outcome.BLOCKED: "blocked", Outcome.INVALID: "invalid"}.get(request.outcome, "dropped"),
                request.span_id,
            ),
        ]
    ran = next((answer for answer in answers if answer.executed is Executed.YES), None)
    if ran is None or ran.kind is ToolKind.HANDOFF or request.outcome is Outcome.HANDOFF:
        return []
    inner = _same_call_inside(ran, record)
    seen = inner or ran
    if not same_name(request.name, seen.name):
        return [_differs(Kind.NAME, request, seen, None, request.name, seen.name)]
    return _argument_differences(request, seen)


def _same_call_inside(outer: Dispatch, record: TraceRecord) -> Dispatch | None:
    """The run within `outer` that carries the call on: same arguments under another name, or same name with others. A
    tool that calls unlike tools is a composite, which is no divergence.
    """
    place = record.dispatches.index(outer)
    for dispatch in record.dispatches:
        if dispatch.inside != place or dispatch.request is not None or dispatch.executed is not Executed.YES:
            continue
        if same_name(dispatch.name, outer.name) or same(dispatch.arguments, outer.arguments):
            return dispatch
    return None


def _argument_differences(request: ToolRequest, ran: Dispatch) -> list[Divergence]:
    if request.arguments_state != "captured" or ran.arguments_state != "captured":
        return []
    if ran.match_rule == "R6" or ran.shape in (Shape.BARE, Shape.POSITIONAL, Shape.ABSENT):
        return [] if ran.match_rule == "R6" or ran.shape is not Shape.BARE else _bare_differs(request, ran)
    requested = request.arguments if request.arguments is not None else request.arguments_raw
    return [
        _differs(Kind.ARGUMENTS, request, ran, path, None if a is MISSING else a, None if b is MISSING else b)
        for path, a, b in differences(requested, ran.arguments)
    ][:1]


def _bare_differs(request: ToolRequest, ran: Dispatch) -> list[Divergence]:
    values = list((request.arguments or {}).values())
    if len(values) != 1 or same(request.arguments, ran.arguments):
        return []
    return [_differs(Kind.ARGUMENTS, request, ran, "$", request.arguments, ran.arguments)]


def _differs(kind: Kind, request: ToolRequest, ran: Dispatch, path: str | None, a: Any, b: Any) -> Divergence:
    return Divergence(
        Boundary.DISPATCH,
        kind,
        request.name,
        request.call_id,
        path,
        a,
        b,
        None,
        RUNTIME,
        None,
        ran.span_id,
    )


def _of_extra_runs(record: TraceRecord) -> list[Divergence]:
    if record.evidence["requests"] is not Evidence.COMPLETE or not record.generations:
        return []
    return [
        Divergence(
            Boundary.DISPATCH,
            Kind.UNREQUESTED,
            dispatch.name,
            dispatch.call_id,
            None,
            None,
            dispatch.arguments,
            None,
            RUNTIME,
            None,
            dispatch.span_id,
        )
        for dispatch in record.dispatches
        if dispatch.request is None
        and dispatch.inside is None
        and dispatch.executed is Executed.YES
        and dispatch.kind is ToolKind.FUNCTION
    ]


def _echoes(dispatch: Dispatch) -> list[Divergence]:
    """The result repeats an argument's key with another value of the same type: the arguments may not be what ran."""
    given, result = dispatch.arguments, dispatch.result
    if dispatch.executed is Executed.NO or not isinstance(given, dict) or not isinstance(result, dict):
        return []
    found = []
    for key, value in given.items():
        if key not in result or key.lower() in STATE_KEYS or not _contradicts(value, result[key]):
            continue
        found.append(
            Divergence(
                Boundary.EXECUTION,
                Kind.ECHO,
                dispatch.name,
                dispatch.call_id,
                f"$.{key}",
                None,
                value,
                None,
                f"tool {dispatch.name}",
                "the result repeats this argument with another value",
                dispatch.span_id,
            ),
        )
    return found


def _contradicts(given: Any, told: Any) -> bool:
    if isinstance(given, bool) or isinstance(told, bool):
        return isinstance(given, bool) and isinstance(told, bool) and given is not told
    if isinstance(given, int | float) and isinstance(told, int | float):
        return abs(given - told) > 1e-9 * max(abs(given), abs(told))
    if isinstance(given, str) and isinstance(told, str):
        return given.strip().casefold() != told.strip().casefold()
    return False
