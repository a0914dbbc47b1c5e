"""Runs that no request accounts for: whether a model may have asked for them in a way that no output's calls show.

Code agents and ReAct loops are driven by text, and a run that was interrupted (a human's approval, a queue) may answer a
request of an earlier trace, which the first input then repeats. Other models may not be instrumented at all. Such runs
are not called unrequested.
"""

from itertools import chain, islice
from typing import Any

from lanewatch.adapters.facts import AGENT, Executed, LlmCall, Step, ToolKind
from lanewatch.adapters.failures import mentions
from lanewatch.adapters.identity import same, same_name
from lanewatch.adapters.messages import ToolCall
from lanewatch.adapters.records import Dispatch
from lanewatch.adapters.span_tree import SpanTree

LIMIT = 200  # runs that are looked into; one that may have been asked for is enough
HISTORY = 2000  # calls of the history that each of them is held against


def asked_otherwise(calls: list[LlmCall], dispatches: list[Dispatch], steps: list[Step], tree: SpanTree) -> bool:
    """Whether some run without a request may have been asked for in a text, in an earlier trace, or by an agent whose
    model is not instrumented.
    """
    unasked = list(islice((dispatch for dispatch in dispatches if is_unasked(dispatch)), LIMIT))
    first = {dispatch.name: dispatch for dispatch in reversed(unasked)}
    if any(_in_text(calls, dispatch) for dispatch in first.values()):
        return True
    history = _history(calls) if unasked else []
    if any(_is_asked(dispatch, history) for dispatch in unasked):
        return True
    agents = {step.span.span_id for step in steps if step.role == AGENT}
    above = tree.nearest_above(agents) if unasked else {}
    speaking = {above.get(call.span.span_id) for call in calls}
    for span in reversed(tree.order):  # an agent that holds a speaking one speaks too
        if span.span_id in agents and span.span_id in speaking:
            speaking.add(above.get(span.span_id))
    return any(above.get(bytes.fromhex(run.span_id)) in agents - speaking for run in unasked)


def is_unasked(dispatch: Dispatch) -> bool:
    """Whether an application's tool ran, for all that is known, without a model's request."""
    return (
        dispatch.request is None
        and dispatch.inside is None
        and dispatch.executed is Executed.YES
        and dispatch.kind is ToolKind.FUNCTION
    )


def _in_text(calls: list[LlmCall], dispatch: Dispatch) -> bool:
    """In an output before the run, or in what a later input repeats of one (smolagents writes calls as text there)."""
    said = (m for call in calls if call.span.start_ns <= dispatch.start_ns for m in call.output)
    repeated = (m for call in calls for m in call.input if m.role == "assistant")
    return any(mentions(message.text, dispatch.name) for message in chain(said, repeated))


def _history(calls: list[LlmCall]) -> list[ToolCall]:
    """The calls that inputs repeat, each once."""
    repeated = (call for model_call in calls for message in model_call.input for call in message.calls)
    return list(islice({(call.call_id, call.name, call.arguments.raw): call for call in repeated}.values(), HISTORY))


def _is_asked(dispatch: Dispatch, history: list[ToolCall]) -> bool:
    return any(
        (dispatch.call_id is not None and call.call_id == dispatch.call_id)
        or (same_name(call.name, dispatch.name) and _may_be_same(call.arguments.value, dispatch.arguments))
        for call in history
    )


def _may_be_same(asked: Any, ran: Any) -> bool:
    """Whether arguments are equal, or one side has lost what it would take to tell."""
    return same(asked, ran) or not isinstance(asked, dict) or not isinstance(ran, dict)
