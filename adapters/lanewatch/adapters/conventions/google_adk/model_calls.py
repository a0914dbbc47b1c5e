"""ADK's model calls: `generate_content` with GenAI messages or events, and the `call_llm` of schema 1 with its JSON.

A streamed answer is written chunk by chunk, one message each: texts in fragments, and again as a whole where ADK itself
put them together; calls with their id and name first, their arguments only at the end.
"""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions.otel_genai import llm_call, offered_tools
from lanewatch.adapters.facts import LlmCall
from lanewatch.adapters.genai_content import CHOICE, DETAILS, MESSAGE_EVENTS, GenAiEvent, events_of
from lanewatch.adapters.identity import id_quality
from lanewatch.adapters.message_shapes import read_message, read_messages
from lanewatch.adapters.messages import Message, Opaque, Part, Reasoning, Text, ToolCall
from lanewatch.adapters.reading import EMPTY_OBJECT, NO_CONTENT, State, dictionaries, is_placeholder, read, read_json
from lanewatch.adapters.records import IdQuality
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

REQUEST, RESPONSE = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"
REASONING = "gen_ai.usage.reasoning.output_tokens"
UNFINISHED = "malformed_function_call"


def read_call(span: Span, tree: SpanTree, convention: str, session_keys: tuple[str, ...]) -> LlmCall:
    """A model call in either schema."""
    call = llm_call(span, tree, convention, session_keys)
    request = tree.read_json(span, REQUEST)
    if RESPONSE in span.attributes:
        call = _with_json(call, span.attributes, request)
    elif call.output_state is State.CAPTURED or call.output_state is State.ABSENT:
        events = [event for event in events_of(span, tree) if event.body is not None]
        if any(event.name == CHOICE for event in events):
            call = _with_events(call, events)
    call = replace(call, tools=declared(span, tree, request) or call.tools)
    if len(call.output) > 1:
        return replace(call, output=(merged(call.output, call.finish_reason),))
    if span.attributes.get(REASONING):
        return replace(call, output=tuple(_without_thought(message) for message in call.output))
    return call


def _without_thought(message: Message) -> Message:
    """Schema 2 writes a model's thoughts as text like any other; Gemini puts them before the answer."""
    texts = [part for part in message.parts if isinstance(part, Text)]
    if len(texts) < 2 or message.parts[0] is not texts[0]:  # noqa: PLR2004 - a thought and an answer
        return message
    return replace(message, parts=(Reasoning(""), *message.parts[1:]))


def declared(span: Span, tree: SpanTree, request: Any = None) -> dict[str, Any] | None:
    """The tools that a model call was offered: names are on the span, schemas may be in the log or in the request."""
    attributes = span.attributes
    if REQUEST in attributes:
        request = request if request is not None else tree.read_json(span, REQUEST)
        config = request.get("config") if isinstance(request, dict) else None
        return (_declared(config) or None) if isinstance(config, dict) else None
    tools = offered_tools(attributes)
    if tools is None or not any(tools.values()):
        for log in tree.logs(span):
            if log.event_name == DETAILS:
                tools = offered_tools(log.attributes) or tools
    return tools


def merged(messages: tuple[Message, ...], finish_reason: str | None) -> Message:
    """One message out of the chunks of a streamed answer."""
    text = ""
    calls: dict[tuple[object, ...], ToolCall] = {}
    others: list[Part] = []
    whole: set[tuple[object, ...]] = set()
    for place, message in enumerate(messages):
        fragment = message.text
        text = fragment if fragment and fragment == text and place == len(messages) - 1 else text + fragment
        others.extend(part for part in message.parts if not isinstance(part, Text | ToolCall))
        for number, part in enumerate(message.calls):
            real = id_quality(part.call_id, part.name) is IdQuality.REAL
            key = (part.call_id,) if real else (part.name, place, number)
            if key not in calls or part.arguments.value:
                calls[key] = part
            # ADK writes null for arguments that have not come yet; `{}` is a call without any.
            if part.arguments is not EMPTY_OBJECT or (message.finish_reason and finish_reason != UNFINISHED):
                whole.add(key)
    asked = (part if key in whole else replace(part, arguments=NO_CONTENT) for key, part in calls.items())
    parts: list[Part] = [Text(text)] if text else []
    reason = next((m.finish_reason for m in reversed(messages) if m.finish_reason), None)
    return Message("assistant", (*parts, *others, *asked), reason)


def _with_events(call: LlmCall, events: list[GenAiEvent]) -> LlmCall:
    """Content of the events of GenAI 1.36: their bodies hold Gemini's contents, or `<elided>`."""
    inputs: list[Message] = []
    outputs: list[Message] = []
    elided = False
    for event in events:
        body = event.body if isinstance(event.body, dict) else {}
        content = body.get("content")
        if event.name == CHOICE:
            elided = elided or is_placeholder(content)
            outputs.append(_content(content, "assistant", body.get("finish_reason")))
        elif event.name in MESSAGE_EVENTS:
            inputs.append(_content(content, MESSAGE_EVENTS[event.name], None))
    return replace(
        call,
        input=tuple(inputs),
        output=() if elided else tuple(outputs),
        input_state=State.CAPTURED,
        output_state=State.REDACTED if elided else State.CAPTURED,
    )


def _content(content: Any, role: str, reason: Any) -> Message:
    finish = reason.lower() if isinstance(reason, str) else None
    if isinstance(content, str):
        return Message(role, (Opaque("redacted") if is_placeholder(content) else Text(content),), finish)
    message = read_message(_without_nulls(content), role) if isinstance(content, dict) else Message(role)
    return replace(message, finish_reason=finish)


def _without_nulls(content: dict[str, Any]) -> dict[str, Any]:
    """A content whose parts have those fields alone that are set: logs write all of Gemini's, most of them null."""
    parts = [
        {key: value for key, value in part.items() if value is not None} for part in dictionaries(content.get("parts"))
    ]
    return {"role": content.get("role"), "parts": parts}


def _with_json(call: LlmCall, attributes: dict[str, Any], request: Any) -> LlmCall:
    """Schema 1: request and response as JSON; `{}` where content is off."""
    response = read_json(attributes[RESPONSE])
    state = _state(attributes[RESPONSE], response)
    output: tuple[Message, ...] = ()
    reason = None
    if isinstance(response, dict) and state is State.CAPTURED:
        written = response.get("finish_reason")
        reason = written.lower() if isinstance(written, str) else None
        content = response.get("content")
        output = (_content(content if isinstance(content, dict) else None, "assistant", written),)
        if response.get("partial") is True:
            state = State.TRUNCATED  # the last chunk that was seen of a stream that broke off
    inputs = read_messages(request.get("contents") or [], "user") if isinstance(request, dict) else ()
    return replace(
        call,
        input=inputs,
        output=output,
        input_state=_state(attributes.get(REQUEST), request),
        output_state=state,
        finish_reason=call.finish_reason or reason,
    )


def _state(written: Any, decoded: Any) -> State:
    if not decoded:
        state = read(written).state
        cut = state is State.CAPTURED and isinstance(written, str) and written.strip() != "{}"
        return State.TRUNCATED if cut else State.ABSENT if state is State.CAPTURED else state
    return State.CAPTURED


def _declared(config: dict[str, Any]) -> dict[str, Any]:
    """Function declarations with the JSON Schema of their arguments, in either of Gemini's spellings."""
    declared = [
        function
        for tool in dictionaries(config.get("tools"))
        for key in ("function_declarations", "functionDeclarations")
        for function in dictionaries(tool.get(key))
    ]
    return {
        function["name"]: function.get("parameters_json_schema", function.get("parameters"))
        for function in declared
        if isinstance(function.get("name"), str)
    }
