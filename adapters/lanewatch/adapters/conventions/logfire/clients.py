"""Logfire's spans of OpenAI's and Anthropic's clients, in semantic versions 1 and 2.

A streamed answer is on a log of its own ("streaming response from ..."), which repeats the request: the span before it
ends when the stream begins, and says nothing that the log does not.
"""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions.logfire.event_lists import read_events
from lanewatch.adapters.conventions.logfire.scrubbing import unscrubbed_call
from lanewatch.adapters.conventions.otel_genai import llm_call
from lanewatch.adapters.facts import Fact, LlmCall
from lanewatch.adapters.genai_content import state_of
from lanewatch.adapters.json_text import dump
from lanewatch.adapters.message_shapes import read_messages
from lanewatch.adapters.messages import Message, Part, Text, ToolCall
from lanewatch.adapters.reading import Content, State, is_placeholder, read_json
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span


def read_call(span: Span, tree: SpanTree, convention: str) -> tuple[Fact, ...]:
    """The model call of a client's span, or nothing where a log behind it tells the streamed answer."""
    call = llm_call(span, tree, convention)
    attributes = span.attributes
    if call.output_state is State.ABSENT:
        call = _version_1(call, attributes)
    if call.output_state is State.ABSENT and call.error is None and _is_told_by_log(span, tree):
        return ()
    return (unscrubbed_call(call),)


def _version_1(call: LlmCall, attributes: dict[str, Any]) -> LlmCall:
    request, response = read_json(attributes.get("request_data")), read_json(attributes.get("response_data"))
    inputs, outputs = read_events(read_json(attributes.get("events")))
    if isinstance(request, dict) and not inputs:
        inputs = read_messages(request.get("messages") or request.get("input") or [], "user")
    if isinstance(response, dict) and not outputs:
        outputs = _answer(response, anthropic="anthropic" in call.span.scope.name)
    hidden = is_placeholder(attributes.get("response_data"))
    return replace(
        call,
        input=call.input or inputs,
        output=outputs,
        input_state=State.CAPTURED if inputs else call.input_state,
        output_state=state_of(outputs) if outputs else State.REDACTED if hidden else State.ABSENT,
    )


def _answer(response: dict[str, Any], *, anthropic: bool) -> tuple[Message, ...]:
    """A message, a completion's text, or the joined chunks of a stream (whose calls are in the message if anywhere)."""
    message = response.get("message")
    if isinstance(message, dict):
        read = read_messages([message], "assistant")
        return tuple(_unwrapped(one) for one in read) if anthropic else read
    text = response.get("combined_chunk_content", response.get("text"))
    return (Message("assistant", (Text(text),)),) if isinstance(text, str) and text else ()


def _unwrapped(message: Message) -> Message:
    """Anthropic's arguments out of the `{"input": {...}}` that Logfire writes them in."""
    parts: list[Part] = []
    for part in message.parts:
        inner = part.arguments.value if isinstance(part, ToolCall) else None
        if isinstance(part, ToolCall) and isinstance(inner, dict) and set(inner) == {"input"}:
            value = inner["input"]
            whole = Content(value, dump(value), State.CAPTURED, structured=isinstance(value, dict))
            parts.append(replace(part, arguments=whole))
        else:
            parts.append(part)
    return replace(message, parts=tuple(parts))


def _is_told_by_log(span: Span, tree: SpanTree) -> bool:
    parent = tree.parent(span)
    for sibling in tree.children(parent) if parent is not None else tree.trace.spans:
        tree.work.spend()
        told = sibling.attributes
        if (
            told.get("logfire.span_type") == "log"
            and sibling.start_ns >= span.start_ns
            and ("response_data" in told or "gen_ai.output.messages" in told)
            and all(told.get(key) == span.attributes.get(key) for key in ("request_data", "gen_ai.input.messages"))
        ):
            return True
    return False
