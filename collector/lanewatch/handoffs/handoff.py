"""The handoff of a trace: what somebody needs who has to find out why a lane fails or can't be judged.

Invariants: it is redacted before it exists; each lane is handed over by itself, with the owner of its own first
difference; a lane that passes or does not apply is handed to nobody; it has a size of which no content can make more.
"""

import re
from collections import defaultdict
from functools import partial
from typing import Any

import msgspec

from lanewatch.adapters.artifact_calls import ToldCall, told_calls
from lanewatch.adapters.records import Dispatch, Executed, ToolRequest, TraceRecord
from lanewatch.monitors.contracts import place_of
from lanewatch.monitors.divergence import Divergence
from lanewatch.monitors.lanes import Lane, Status, Verdict
from lanewatch.monitors.owners import first_difference, owner_of
from lanewatch.monitors.redaction.redactor import Redactor
from lanewatch.monitors.tools import Registry
from lanewatch.observation import Observation
from lanewatch.record_json import encode
from lanewatch.rules import Rules

VERSION = 1
BY_DEFAULT = (Status.FAIL, Status.INCOMPLETE)
INDEX = re.compile(r"\[\d+\]")
CUT = "<cut>"  # stands for content that did not fit


class LaneHandoff(msgspec.Struct, frozen=True):
    """One lane that fails or can't be judged, and who looks into it. `first` is the first difference that concerns it."""

    lane: Lane
    status: Status
    reasons: tuple[str, ...]
    owner: str
    first: Divergence | None


class CallView(msgspec.Struct, frozen=True):
    """One call at each boundary; a side that does not have it is None."""

    tool: str
    call_id: str | None
    requested: Any
    dispatched: Any
    told: Any
    executed: Executed | None
    error: str | None
    result: Any


class Handoff(msgspec.Struct, frozen=True):
    """A trace's lanes that somebody has to look into, with all that is known. `observation` holds the redacted records."""

    version: int
    trace_id: str
    session_id: str | None
    service: str | None
    registry: str  # its version
    policies: str  # their version; empty where there are none
    redaction_key: str | None  # id of the key under which values were hidden; None where they can't be compared
    lanes: dict[Lane, Verdict]
    handoffs: tuple[LaneHandoff, ...]
    calls: tuple[CallView, ...]
    observation: Observation


def hand_over(
    seen: Observation, redactor: Redactor, rules: Rules, statuses: tuple[Status, ...] = BY_DEFAULT
) -> Handoff | None:
    """The handoff of a trace; None where no lane has one of these statuses."""
    registry = rules.registry
    if not any(verdict.status in statuses for verdict in seen.lanes.values()):
        return None
    hidden = _hidden(seen, redactor)
    record = hidden.record
    return Handoff(
        VERSION,
        record.trace_id,
        record.session_id,
        record.service,
        registry.version,
        rules.policy_version,
        None if redactor.key is None else redactor.key.id,
        hidden.lanes,
        lane_handoffs(hidden, registry, statuses),
        tuple(_calls(record)),
        hidden,
    )


def _hidden(seen: Observation, redactor: Redactor) -> Observation:
    """The observation with everything hidden that must be, differences included."""
    search = redactor.search(seen.record)
    compared = tuple(
        msgspec.structs.replace(
            redactor.redact(one, seen.record, search),
            divergences=tuple(_difference(d, redactor) for d in one.divergences),
        )
        for one in seen.compared
    )
    special = ("record", "divergences", "compared")
    others = {field: getattr(seen, field) for field in seen.__struct_fields__ if field not in special}
    return Observation(
        record=redactor.record(seen.record, search),
        divergences=tuple(_difference(d, redactor) for d in seen.divergences),
        compared=compared,
        **{field: redactor.redact(value, seen.record, search) for field, value in others.items()},
    )


def _difference(difference: Divergence, redactor: Redactor) -> Divergence:
    """A difference whose values may be shown: what a sensitive argument held on either side is a token."""
    plain = redactor.value  # ids, reasons and results
    try:
        place = None if difference.path is None else place_of(INDEX.sub("[*]", difference.path))
    except ValueError:
        place = ()
    hide = (
        partial(redactor.arguments, difference.tool) if place is None else partial(redactor.at, difference.tool, place)
    )
    return msgspec.structs.replace(
        difference,
        tool=plain(difference.tool),
        owner=plain(difference.owner),
        producer=plain(difference.producer),
        call_id=plain(difference.call_id),
        requested=hide(difference.requested),
        dispatched=hide(difference.dispatched),
        artifact=hide(difference.artifact),
        result=plain(difference.result),
        reason=plain(difference.reason),
    )


def lane_handoffs(
    seen: Observation, registry: Registry, statuses: tuple[Status, ...] = BY_DEFAULT
) -> tuple[LaneHandoff, ...]:
    """Who looks into which lane; a lane of none of these statuses is nobody's."""
    return tuple(_lane(lane, seen, registry) for lane, verdict in seen.lanes.items() if verdict.status in statuses)


def _lane(lane: Lane, seen: Observation, registry: Registry) -> LaneHandoff:
    verdict, first = seen.lanes[lane], first_difference(lane, seen.divergences)
    return LaneHandoff(
        lane,
        verdict.status,
        verdict.reasons,
        owner_of(lane, verdict, seen.record, first, registry, seen.policies),
        first,
    )


def _calls(record: TraceRecord) -> list[CallView]:
    """Each call at each boundary: requests in order with the runs that answer them, then runs that nobody asked for."""
    told = {call.call_id: call for call in told_calls(record.messages).calls if call.call_id is not None}
    answers: defaultdict[int | None, list[Dispatch]] = defaultdict(list)
    for dispatch in record.dispatches:
        answers[dispatch.request].append(dispatch)
    views = []
    for index, request in enumerate(record.requests):
        runs = answers.get(index) or (None,)
        views += [_view(request, dispatch, told.get(request.call_id or "")) for dispatch in runs]
    views += [_view(None, dispatch, None) for dispatch in answers.get(None, ())]
    return views


def _view(request: ToolRequest | None, run: Dispatch | None, told: ToldCall | None) -> CallView:
    asked = None
    if request is not None:
        asked = {"name": request.name, "arguments": request.arguments, "outcome": request.outcome}
        if request.arguments is None:
            asked["arguments_raw"] = request.arguments_raw
    known = request or run
    error = run.error if run is not None else None
    return CallView(
        known.name if known is not None else "",
        known.call_id if known is not None else None,
        asked,
        None if run is None else {"name": run.name, "arguments": run.arguments, "attempt": run.attempt},
        None if told is None else {"name": told.name, "arguments": told.arguments},
        None if run is None else run.executed,
        None if error is None else f"{error.kind}: {error.type or ''}",
        None if run is None else run.result,
    )


decoder = msgspec.json.Decoder(Handoff)


def line_of(handoff: Handoff, max_bytes: int) -> bytes | None:
    """A handoff as one line of JSON of at most so many bytes: content is cut until it fits; None where it never does."""
    for longest in (None, 4096, 256, 16):
        told = handoff if longest is None else _cut(handoff, longest)
        line = encode(told)
        if len(line) <= max_bytes:
            return line
    return None


def _cut(value: Any, longest: int) -> Any:
    """A struct whose texts have at most so many characters, and whose lists so many items."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **{f: _cut(getattr(value, f), longest) for f in value.__struct_fields__})
    if isinstance(value, tuple):
        return tuple(_cut(item, longest) for item in value[:longest])
    if isinstance(value, list):
        return [_cut(item, longest) for item in value[:longest]]
    if isinstance(value, dict):
        return {_cut(key, longest): _cut(item, longest) for key, item in list(value.items())[:longest]}
    if type(value) is str and len(value) > longest + len(CUT):
        return value[:longest] + CUT
    return value
