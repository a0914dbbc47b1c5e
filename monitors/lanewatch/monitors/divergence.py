"""Where the model's request, the runtime's dispatch and the tool's own result differ first, and who owns that.

Only what the evidence proves is a divergence: hidden arguments, a run that may not have happened, or a model call whose
output was not recorded give none (the record's evidence says so instead). A tool's error is no difference between two
reports of one call; it stands on the dispatch.
"""

from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import msgspec

from lanewatch.adapters.argument_schema import is_default
from lanewatch.adapters.identity import same, same_name
from lanewatch.adapters.records import Dispatch, Executed, IdQuality, Outcome, Shape, ToolRequest, TraceRecord
from lanewatch.adapters.unasked_runs import is_unasked
from lanewatch.monitors.differences import MISSING, missing, shown, step
from lanewatch.monitors.echoes import echoes
from lanewatch.monitors.told_results import result_keys
from lanewatch.monitors.tools import UNREGISTERED, Registry

RUNTIME = "agent runtime"
REASONS = {Outcome.NOT_DISPATCHED: "dropped", Outcome.BLOCKED: "blocked", Outcome.INVALID: "invalid"}


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
    # At the artifact alone (artifact_divergence.py):
    MISSING = "missing"
    UNEXPECTED = "unexpected"
    ORDER = "order"
    ATTEMPTS = "attempts"  # the call is told, but not as often as it ran
    RESULT = "result"
    PROVENANCE = "provenance"  # the artifact was made from what it is compared with
    REPRESENTATION = "representation"  # 1 against 1.0, for a consumer that tells them apart


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
    producer: str | None = None  # whose artifact, at the artifact boundary
    result: Any = None  # what the tool's result says there, at the execution boundary
    missing: tuple[str, ...] = ()  # sides that have no value at the path: their None is no JSON null


def find_divergences(record: TraceRecord, registry: Registry = UNREGISTERED) -> tuple[Divergence, ...]:
    """All divergences of a trace, in order of its requests and dispatches. What the registry's contracts allow is none."""
    found: list[Divergence] = []
    answers: dict[int, list[Dispatch]] = defaultdict(list)
    within: dict[int, list[Dispatch]] = defaultdict(list)
    for dispatch in record.dispatches:
        if dispatch.request is not None:
            answers[dispatch.request].append(dispatch)
        elif dispatch.inside is not None and dispatch.executed is Executed.YES:
            within[dispatch.inside].append(dispatch)
    places = {dispatch.span_id: place for place, dispatch in enumerate(record.dispatches)}
    whole = record.shows("requests") and record.shows("dispatches")
    for index, request in enumerate(record.requests):
        if request.outcome in REASONS:
            found.append(_not_dispatched(request))
        elif request.outcome is not Outcome.HANDOFF:
            ran = [answer for answer in answers[index] if answer.executed is Executed.YES]
            bodies = (_body_of(run, within[places[run.span_id]], registry) for run in ran)
            differ = (d for body in bodies for d in _differences_of(request, body, record, registry, whole=whole))
            first = next(differ, None)
            if first is not None:
                found.append(first)
            elif whole and request.call_id_quality is IdQuality.REAL:
                found.extend(_repeated(ran))
    found.extend(_of_extra_runs(record))
    found.extend(_echo(run, *echo, registry) for run in record.dispatches for echo in _unexcused(run, registry))
    return tuple(found)


def _not_dispatched(request: ToolRequest) -> Divergence:
    return Divergence(
        Boundary.DISPATCH,
        Kind.NOT_DISPATCHED,
        request.name,
        request.call_id,
        None,
        request.arguments if request.arguments is not None else request.arguments_raw,
        None,
        None,
        RUNTIME,
        REASONS[request.outcome],
        request.span_id,
    )


def _body_of(run: Dispatch, inner: list[Dispatch], registry: Registry) -> Dispatch:
    """The run within a run that carries the call on: the same tool with other arguments, whose result or error it passes
    on, or the only tool that was called, with the same arguments and the same result (an alias). A tool that calls unlike
    tools is a composite, one that calls itself is recursive, and neither is a divergence.
    """
    own = [dispatch for dispatch in inner if registry.same(dispatch.name, run.name)]
    if own:
        return own[0] if len(own) == 1 and _passed_on(own[0], run) else run
    if len(inner) == 1 and same(inner[0].arguments, run.arguments):
        known = run.result is not None and inner[0].result is not None
        return inner[0] if not known or _same_result(run.result, inner[0].result) else run
    return run


def _passed_on(inner: Dispatch, outer: Dispatch) -> bool:
    """Whether a run ended as the run inside it did."""
    if inner.error is not None and outer.error is not None:
        texts = inner.error.message or "", outer.error.message or ""
        return texts[0] in texts[1] or texts[1] in texts[0]
    return outer.result is not None and inner.result is not None and _same_result(outer.result, inner.result)


def _same_result(outer: Any, inner: Any) -> bool:
    return same(outer, inner) or not result_keys(outer).isdisjoint(result_keys(inner))


def _differences_of(
    request: ToolRequest, ran: Dispatch, record: TraceRecord, registry: Registry, *, whole: bool
) -> Iterator[Divergence]:
    """What differs between a request and the run that answers it. `whole`: nothing is known to be cut or missing."""
    if not registry.same(request.name, ran.name):
        yield _differs(Kind.NAME, request, ran, None, request.name, ran.name)
    if request.arguments_state != "captured" or ran.arguments_state != "captured":
        return
    requested = request.arguments if request.arguments is not None else request.arguments_raw
    if ran.shape is not Shape.OBJECT and (ran.match_rule == "R6" or isinstance(requested, dict)):
        return  # names, or the end, were lost on the way into the span: the evidence says so
    if request.arguments is None and not whole:
        return  # a text may be malformed, or cut
    for path, asked, got in registry.differences(request.name, ran.name, requested, ran.arguments):
        if _left_out(asked, got):
            continue
        schema = registry.schema(request.name, record, ran.schema) if asked is MISSING else None
        if schema is not None and is_default(path, got, schema[0]):
            continue
        if whole or not _starts_alike(asked, got):
            yield _differs(Kind.ARGUMENTS, request, ran, path, asked, got)


def _left_out(asked: Any, got: Any) -> bool:
    """Whether an optional argument is null on one side and not there on the other: a tool can't tell the two apart, unless
    its own default is something else, which no span shows.
    """
    return {id(asked), id(got)} == {id(MISSING), id(None)}


def _starts_alike(a: Any, b: Any) -> bool:
    """Whether one text is the start of the other, as a length limit leaves it."""
    return isinstance(a, str) and isinstance(b, str) and (a.startswith(b) or b.startswith(a))


def _differs(kind: Kind, request: ToolRequest, ran: Dispatch, path: str | None, a: Any, b: Any) -> Divergence:
    return Divergence(
        Boundary.DISPATCH,
        kind,
        request.name,
        request.call_id,
        path,
        shown(a),
        shown(b),
        None,
        RUNTIME,
        None,
        ran.span_id,
        missing=missing(requested=a, dispatched=b),
    )


def _of_extra_runs(record: TraceRecord) -> Iterator[Divergence]:
    """Runs that no model asked for. As many of a tool's as there are requests that may be theirs are let pass."""
    if not record.shows("requests") or not record.generations:
        return
    unasked = [run for run in record.dispatches if is_unasked(run) and run.application is None]
    names = {run.name for run in unasked}
    open_requests = [request for request in record.requests if request.outcome is Outcome.UNKNOWN] if names else []
    passed = {name: sum(same_name(name, request.name) for request in open_requests) for name in names}
    for run in unasked:
        if passed[run.name]:
            passed[run.name] -= 1
        else:
            yield _unrequested(run)


def _repeated(answers: list[Dispatch]) -> Iterator[Divergence]:
    """Runs of one request after one of them had succeeded: what was asked for once was done again."""
    succeeded = False
    for run in answers:
        if run.executed is not Executed.YES or run.error is not None or run.inside is not None:
            continue
        if succeeded:
            yield _unrequested(run, "repeated")
        succeeded = True


def _unrequested(run: Dispatch, reason: str | None = None) -> Divergence:
    return Divergence(
        Boundary.DISPATCH,
        Kind.UNREQUESTED,
        run.name,
        run.call_id,
        None,
        None,
        run.arguments,
        None,
        RUNTIME,
        reason,
        run.span_id,
    )


def _unexcused(run: Dispatch, registry: Registry) -> list[tuple[str, Any, Any]]:
    """What the result contradicts, without the arguments that the contract takes for the same."""
    contract = registry.contract(run.name)
    return [echo for echo in echoes(run) if not contract.excuses((echo[0],), *echo[1:])]


def _echo(dispatch: Dispatch, key: str, value: Any, told: Any, registry: Registry) -> Divergence:
    return Divergence(
        Boundary.EXECUTION,
        Kind.ECHO,
        dispatch.name,
        dispatch.call_id,
        f"${step(key)}",
        None,
        value,
        None,
        registry.owner(dispatch.name),
        "the result repeats this argument with another value",
        dispatch.span_id,
        result=told,
    )
