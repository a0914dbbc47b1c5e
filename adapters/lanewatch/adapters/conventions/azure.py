"""Azure AI Projects: one model call a span, server-side agents' too, with nested parts for calls and their results.

Messages are attributes, or span events of the attributes' names with `gen_ai.event.content`.
"""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.facts import Fact, LlmCall
from lanewatch.adapters.genai_content import INPUT, OUTPUT
from lanewatch.adapters.message_parts import PROVIDER_TOOLS
from lanewatch.adapters.message_shapes import read_messages
from lanewatch.adapters.messages import Message
from lanewatch.adapters.reading import State, dictionaries, read_json
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "azure"
KEYS = (b"az.namespace",)
SCOPES: tuple[str, ...] = ()

CONTENT = "gen_ai.event.content"
# Events by name, and the role of a message that names none. Azure's inference client repeats the history in the events
# of 1.28 and answers with a choice; where there is none, the assistant's message is the answer.
IN_EVENTS = {
    INPUT: "user",
    "gen_ai.user.message": "user",
    "gen_ai.tool.message": "tool",
    "gen_ai.system.message": "system",
}
OUT_EVENTS = {OUTPUT: "assistant", "gen_ai.choice": "assistant"}
HISTORY = {"gen_ai.assistant.message": "assistant"}
CALLS = otel_genai.LLM | {"invoke_agent", "responses", "process_thread_run"}
SESSION_KEYS = ("gen_ai.conversation.id", "gen_ai.thread.id", "session.id")


def matches(span: Span) -> bool:
    """Whether the span is of Azure's AI clients."""
    named = "az.namespace" in span.attributes and otel_genai.OPERATION in span.attributes
    return named or any(CONTENT in event.attributes for event in span.events)


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    operation = otel_genai.operation_of(span)
    answered = _of_events(span, OUT_EVENTS)
    told = (
        (answered, _of_events(span, IN_EVENTS | HISTORY))
        if answered
        else (
            _of_events(span, HISTORY),
            _of_events(span, IN_EVENTS),
        )
    )
    if operation in CALLS and (operation in otel_genai.LLM or "gen_ai.response.id" in span.attributes or told[0]):
        return (_llm_call(span, tree, *told),)
    if operation == "execute_tool":
        return (otel_genai.tool_run(span, NAME, session_keys=SESSION_KEYS),)
    return (otel_genai.step(span, NAME, operation, SESSION_KEYS),)


def _llm_call(span: Span, tree: SpanTree, answered: list[Any], asked: list[Any]) -> LlmCall:
    """A model call. Calls and text of one answer come as messages of their own: they are one."""
    call = otel_genai.llm_call(span, tree, NAME, SESSION_KEYS)
    output = read_messages(_flattened(answered or read_json(span.attributes.get(OUTPUT))), "assistant")
    inputs = read_messages(_flattened(asked or read_json(span.attributes.get(INPUT))), "user")
    if output:
        parts = tuple(part for message in output for part in message.parts)
        reason = next((message.finish_reason for message in output if message.finish_reason), None)
        hidden = bool(parts) and not any(_tells(part) for part in parts)
        call = replace(
            call,
            output=(Message("assistant", parts, reason),),
            output_state=State.ABSENT if hidden else State.CAPTURED,
            finish_reason=call.finish_reason or reason,
        )
    return replace(call, input=inputs, input_state=State.CAPTURED) if inputs else call


def _tells(part: Any) -> bool:
    """Whether a part holds anything: with content off text parts are empty and calls have no name."""
    return bool(getattr(part, "text", None) or getattr(part, "name", None))


def _of_events(span: Span, roles: dict[str, str]) -> list[Any]:
    """The messages in a span's events of these names."""
    found: list[Any] = []
    for event in span.events:
        if event.name not in roles:
            continue
        for item in dictionaries(read_json(event.attributes.get(CONTENT))):
            inner = item["message"] if isinstance(item.get("message"), dict) else item
            reason = {"finish_reason": item["finish_reason"]} if "finish_reason" in item else {}
            found.append({"role": roles[event.name], **inner, **reason})
    return found


def _flattened(messages: Any) -> list[dict[str, Any]]:
    """Messages with `{"type": "tool_call", "content": {...}}` and `tool_call_output` as GenAI's own parts."""
    flat: list[dict[str, Any]] = []
    for message in dictionaries(messages):
        parts = message.get("parts")
        if isinstance(parts, list):
            flat.append({**message, "parts": [_part(part) for part in dictionaries(parts)]})
        else:
            flat.append(message)
    return flat


def _part(part: dict[str, Any]) -> dict[str, Any]:
    inner = part.get("content")
    if not isinstance(inner, dict):
        return part
    kind = str(inner.get("type", ""))
    if part.get("type") == "tool_call_output":
        told = {"response": inner["output"]} if "output" in inner else {}
        return {"type": "tool_call_response", "id": inner.get("id"), **told}
    if part.get("type") != "tool_call":
        return part
    if kind in PROVIDER_TOOLS or (kind.endswith("_call") and kind != "function_call"):
        return {"type": "server_tool_call", "id": inner.get("id"), "name": kind}
    function = inner["function"] if isinstance(inner.get("function"), dict) else {}
    return {"type": "tool_call", "id": inner.get("id"), **function}
