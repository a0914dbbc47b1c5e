"""How much of each kind of record the spans show: complete only where nothing is known to be missing."""

from typing import Any

from lanewatch.adapters.argument_schema import may_change_on_the_way
from lanewatch.adapters.facts import AGENT, Executed, LlmCall, Search, Step, ToolRun
from lanewatch.adapters.identity import same_name
from lanewatch.adapters.lost_outputs import repeats_lost_output
from lanewatch.adapters.messages import REDACTED_TEXT, Message, Opaque, ToolCall
from lanewatch.adapters.name_index import NameIndex
from lanewatch.adapters.reading import State, has_placeholder
from lanewatch.adapters.records import (
    EVIDENCE_ORDER,
    TOOL_CALL_REASONS,
    Dispatch,
    Evidence,
    Outcome,
    Response,
    ToolRequest,
)
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.adapters.tool_records import ToolRecords
from lanewatch.adapters.unread_answers import may_hide_calls
from lanewatch.collector.spans import Trace

UNSETTLED = (Outcome.UNKNOWN, Outcome.PENDING)
OF_STATE = {
    State.CAPTURED: Evidence.COMPLETE,
    State.ABSENT: Evidence.PARTIAL,
    State.REDACTED: Evidence.REDACTED,
    State.TRUNCATED: Evidence.TRUNCATED,
    State.AMBIGUOUS: Evidence.PARTIAL,
}


def worst(states: list[Evidence]) -> Evidence:
    """The least of several; several states none of which is complete keep the worst."""
    return max(states, key=EVIDENCE_ORDER.index, default=Evidence.COMPLETE)


def judge_evidence(
    trace: Trace,
    tree: SpanTree,
    calls: list[LlmCall],
    runs: list[ToolRun],
    searches: list[Search],
    steps: list[Step],
    tools: ToolRecords,
    responses: list[Response],
    unread: int,
    *,
    cut: frozenset[str],
) -> dict[str, Evidence]:
    """Evidence by kind of record. A lost span (a limit, an unreadable one) makes all of it partial; kinds of which
    something was `cut` or dropped are truncated; a call that no output shows makes the requests partial, and so does a
    model's turn that breaks off with its process.
    """
    lost = not trace.complete or unread > 0
    evidence = {
        "requests": _requests(calls, tools.requests),
        "dispatches": _dispatches(calls, runs, tools, rooted=tree.rooted),
        "retrievals": _retrievals(searches),
        "responses": _responses(calls, responses),
    }
    if tools.asked_otherwise or repeats_lost_output(calls, tools.requests) or _breaks_off(calls, steps, tree):
        evidence["requests"] = worst([evidence["requests"], Evidence.PARTIAL])
    for kind, state in evidence.items():
        if state is not Evidence.ABSENT and (lost or kind in cut):
            evidence[kind] = worst([state, Evidence.PARTIAL if lost else Evidence.TRUNCATED])
    return evidence


def half_hidden(evidence: dict[str, Evidence], tools: ToolRecords) -> tuple[str, ...]:
    """The kinds of record that would be complete, were no values within their arguments hidden."""
    told: dict[str, list[ToolRequest] | list[Dispatch]] = {"requests": tools.requests, "dispatches": tools.dispatches}
    return tuple(
        kind
        for kind, records in told.items()
        if evidence[kind] is Evidence.COMPLETE and any(has_placeholder(one.arguments) for one in records)
    )


def _breaks_off(calls: list[LlmCall], steps: list[Step], tree: SpanTree) -> bool:
    """Whether a model's last call asks for tools under a parent that never came, and no model is called after it: a
    process that died there may have called the model again. A turn that ended in an answer is over, and an agent whose
    own span came has ended, be its caller remote or lost.
    """
    if tree.rooted:
        return False
    agents = {step.span.span_id for step in steps if step.role == AGENT}
    last: dict[bytes, LlmCall] = {}
    for call in calls:
        top = tree.top(call.span)
        if top.parent_id and top.relevant and top.span_id not in agents:
            last[top.parent_id] = call
    latest = max((call.span.start_ns for call in calls), default=0)
    return any(latest < call.span.end_ns and any(map(_asks, call.output)) for call in last.values())


def _asks(message: Message) -> bool:
    """Whether the framework was to run a tool and to call the model again."""
    return any(not part.by_provider and not part.left_open for part in message.calls)


def _requests(calls: list[LlmCall], requests: list[ToolRequest]) -> Evidence:
    if not calls:
        return Evidence.ABSENT
    states = [_output_evidence(call) for call in calls if call.error is None or call.output_state is State.CAPTURED]
    states += [
        OF_STATE[State(request.arguments_state)] for request in requests if request.outcome is not Outcome.BY_PROVIDER
    ]
    states += [Evidence.PARTIAL for call in calls if call.overwritten or may_hide_calls(call)]
    if states and all(state is Evidence.PARTIAL for state in states) and not requests:
        return Evidence.ABSENT
    return worst(states)


def _output_evidence(call: LlmCall) -> Evidence:
    """An output that says it ends in tool calls, and shows none, hides them. One that is nothing but a hidden text may have
    been put in the place of more, unless it says how it ended.
    """
    if call.output_state is not State.CAPTURED:
        return OF_STATE[call.output_state]
    if call.hides_text and call.finish_reason is None and all(_is_hidden_text(m) for m in call.output):
        return Evidence.REDACTED
    hides = (call.finish_reason or "").lower() in TOOL_CALL_REASONS and not any(m.calls for m in call.output)
    nameless = any(isinstance(p, ToolCall) and not p.name for m in call.output for p in m.parts)
    return Evidence.PARTIAL if hides or nameless else Evidence.COMPLETE


def _is_hidden_text(message: Message) -> bool:
    """Whether a message shows nothing but that a text was hidden, not even how it ended."""
    return message.finish_reason is None and all(
        isinstance(part, Opaque) and part.kind == REDACTED_TEXT for part in message.parts
    )


def _dispatches(
    calls: list[LlmCall],
    runs: list[ToolRun],
    tools: ToolRecords,
    *,
    rooted: bool,
) -> Evidence:
    if not runs and not calls:
        return Evidence.ABSENT
    unsettled = [request for request in tools.requests if request.outcome in UNSETTLED]
    if not runs and unsettled and len(unsettled) == len(tools.requests):
        return Evidence.ABSENT
    elsewhere = bool(calls) and _begins_with_results(calls[0])
    if elsewhere and not runs:
        return Evidence.ABSENT
    hidden = not runs and any(c.error is None and _output_evidence(c) is not Evidence.COMPLETE for c in calls)
    passed_on = any(request.outcome is Outcome.HANDOFF and request.arguments for request in tools.requests)
    states = [Evidence.PARTIAL] if unsettled or elsewhere or passed_on or not rooted or hidden else []
    offers: dict[int, NameIndex[str]] = {}
    schemas = {run.name: run.schema for run in runs if run.schema is not None}
    for dispatch in tools.dispatches:
        if dispatch.executed is Executed.NO:
            continue
        state = OF_STATE[State(dispatch.arguments_state)]
        if state is Evidence.COMPLETE and not isinstance(dispatch.arguments, dict):
            state = Evidence.PARTIAL
        doubtful = (
            dispatch.executed is Executed.UNKNOWN
            or _ran_unoffered(dispatch, calls, tools.requests, offers)
            or _may_have_got_others(dispatch, calls, tools.requests, schemas)
        )
        states.append(Evidence.PARTIAL if doubtful else state)
    return worst(states)


def _begins_with_results(call: LlmCall) -> bool:
    """Whether the first call is shown results of an earlier one: tools ran for it that this trace may not show."""
    for message in reversed(call.input):
        if message.role == "assistant":
            return False
        if message.results:
            return True
    return False


def _ran_unoffered(
    dispatch: Dispatch, calls: list[LlmCall], requests: list[ToolRequest], offers: dict[int, NameIndex[str]]
) -> bool:
    """Whether a tool ran under a name that the model was not offered: a hook has resolved it, to what is not shown.
    `offers` keeps the names by the identity of the offer that they are of.
    """
    if dispatch.request is None:
        return False
    request = requests[dispatch.request]
    offered = calls[request.turn].tools
    if offered is None or dispatch.name in offered or not same_name(dispatch.name, request.name):
        return False
    if id(offered) not in offers:
        names = offers[id(offered)] = NameIndex()
        for name in offered:
            names.add(name, name)
    return next(offers[id(offered)].find(dispatch.name), None) is None


def _may_have_got_others(
    dispatch: Dispatch, calls: list[LlmCall], requests: list[ToolRequest], schemas: dict[str, dict[str, Any]]
) -> bool:
    """Whether the arguments are such as a runtime changes before it calls the body. `schemas`: of runs, by tool."""
    if dispatch.request is None or not isinstance(dispatch.arguments, dict):
        return False
    offered = calls[requests[dispatch.request].turn].tools or {}
    schema = offered.get(dispatch.name) or schemas.get(dispatch.name)
    return isinstance(schema, dict) and may_change_on_the_way(dispatch.arguments, schema)


def _retrievals(searches: list[Search]) -> Evidence:
    return worst([OF_STATE[search.state] for search in searches]) if searches else Evidence.ABSENT


def _responses(calls: list[LlmCall], responses: list[Response]) -> Evidence:
    if not calls and not responses:
        return Evidence.ABSENT
    states = [OF_STATE[call.output_state] for call in calls if call.error is None]
    redacted = {call.span.span_id.hex() for call in calls if call.hides_text}
    states += [Evidence.REDACTED for response in responses if response.span_id in redacted]
    # A refusal without text is whole: the API withheld what would stand there.
    states += [
        Evidence.PARTIAL
        for response in responses
        if not response.text and not response.refusal and response.span_id not in redacted
    ]
    if not responses and worst(states) is Evidence.COMPLETE:
        states.append(Evidence.PARTIAL)
    return worst(states)
