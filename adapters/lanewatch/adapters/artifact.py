"""The messages that an evaluator would be given for a turn, as Ragas writes them, in plain dictionaries.

They come from this trace's LLM outputs and tool results alone: history that a model call repeats is never a new call.
Ragas has no call ids, so ids ride in the metadata of the message; arguments that are no JSON object are kept as text
under a key that no tool has, because `{}` would claim a call without arguments.
"""

from collections import defaultdict
from typing import Any

from lanewatch.adapters.facts import Executed, LlmCall
from lanewatch.adapters.json_text import dump
from lanewatch.adapters.messages import Message, Text, describe
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import Dispatch, Response, ToolRequest

UNPARSED = "__unparsed_arguments__"
HIDDEN = "__arguments_not_recorded__"


def turn_messages(
    calls: list[LlmCall],
    requests: list[ToolRequest],
    dispatches: list[Dispatch],
    responses: list[Response],
) -> tuple[dict[str, Any], ...]:
    """Ragas' message dictionaries of one trace, in order: human, ai (with its calls), tool results, ai, ..."""
    messages: list[dict[str, Any]] = []
    told: set[str] = set()
    asked: dict[int, list[int]] = defaultdict(list)
    for index, request in enumerate(requests):
        asked[request.turn].append(index)
    ran: dict[int | None, list[Dispatch]] = defaultdict(list)
    for dispatch in dispatches:
        ran[dispatch.request].append(dispatch)
    for turn, call in enumerate(calls):
        for message in _new_input(call):
            digest = describe(message)
            if digest not in told:
                told.add(digest)
                messages.append({"content": message.text, "metadata": None, "type": "human"})
        mine = asked[turn]
        if call.output_state is not State.CAPTURED and not mine:
            continue
        text = "\n".join(filter(None, (message.text or message.refusal or "" for message in call.output)))
        messages.append(_ai_message(text, [requests[index] for index in mine]))
        messages.extend(m for index in mine if (m := _tool_message(requests[index], ran[index])) is not None)
    by_models = {call.span.span_id.hex() for call in calls}
    answers = [r for r in responses if r.text and r.span_id not in by_models]
    messages.extend({"content": r.text, "metadata": None, "type": "ai", "tool_calls": None} for r in answers)
    return tuple(messages)


def _new_input(call: LlmCall) -> list[Message]:
    """User messages behind the last answer of the model: what this call was newly asked."""
    fresh: list[Message] = []
    for message in reversed(call.input):
        if message.role == "assistant":
            break
        if message.role == "user" and any(isinstance(part, Text) for part in message.parts):
            fresh.append(message)
    return fresh[::-1]


def _ai_message(text: str, requests: list[ToolRequest]) -> dict[str, Any]:
    if not requests:
        return {"content": text, "metadata": None, "type": "ai", "tool_calls": None}
    return {
        "content": text,
        "metadata": {"tool_call_ids": [request.call_id for request in requests]},
        "type": "ai",
        "tool_calls": [{"name": request.name, "args": told_arguments(request)} for request in requests],
    }


def told_arguments(request: ToolRequest) -> dict[str, Any]:
    """The arguments as the artifact tells them; a key that no tool has stands for what is no object or was not recorded."""
    if request.arguments is not None:
        return request.arguments
    return {UNPARSED: request.arguments_raw} if request.arguments_raw is not None else {HIDDEN: True}


def _tool_message(request: ToolRequest, answers: list[Dispatch]) -> dict[str, Any] | None:
    """The result as the model was shown it, else as the tool returned it; none where neither was recorded."""
    content = request.observed_result
    error = False
    for dispatch in answers:
        if dispatch.executed is not Executed.NO:
            error = dispatch.error is not None
            if content is None and dispatch.result is not None:
                content = dispatch.result if isinstance(dispatch.result, str) else dump(dispatch.result)
            if content is None and dispatch.error is not None:
                content = dispatch.error.message
    if content is None:
        return None
    metadata: dict[str, Any] = {"tool_call_id": request.call_id}
    if error:
        metadata["status"] = "error"
    return {"content": content, "metadata": metadata, "type": "tool"}
