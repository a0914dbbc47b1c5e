"""Where a GenAI span keeps its messages: attributes, span events or log records, by version and capture mode.

Order: `gen_ai.input/output.messages` on the span; the same on the details event; one event a message (1.28 to 1.36);
flattened `gen_ai.prompt.N` (Traceloop) and one string `gen_ai.prompt` (up to 1.27).
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from lanewatch.adapters.cut_messages import cut_output
from lanewatch.adapters.json_text import is_too_deep
from lanewatch.adapters.message_shapes import messages_of_json, read_message, read_messages, repeated_messages
from lanewatch.adapters.messages import Message, Opaque
from lanewatch.adapters.reading import State, dictionaries, is_placeholder, read_json, unflatten
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

DETAILS = "gen_ai.client.inference.operation.details"
MESSAGE_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
CHOICE = "gen_ai.choice"
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
CHARACTERS = 100  # of an output that breaks off, that are looked through in one step of work
REFERENCES = ("_ref", ".ref")  # content uploaded elsewhere


class Sides(msgspec.Struct, frozen=True):
    """Both sides of a model call and the state of each."""

    input: tuple[Message, ...] = ()
    output: tuple[Message, ...] = ()
    input_state: State = State.ABSENT
    output_state: State = State.ABSENT


class GenAiEvent(msgspec.Struct, frozen=True):
    """A GenAI event, whether it came as a span event or as a log record."""

    name: str
    body: Any
    attributes: dict[str, Any]


def events_of(span: Span, tree: SpanTree) -> Iterator[GenAiEvent]:
    """The GenAI events of a span, in the order in which they were emitted."""
    for event in span.events:
        if event.name.startswith("gen_ai."):
            yield GenAiEvent(event.name, None, event.attributes)
    for log in sorted(tree.logs(span), key=lambda record: record.time_ns):
        if log.event_name.startswith("gen_ai."):
            yield GenAiEvent(log.event_name, log.body, log.attributes)


def read_sides(span: Span, tree: SpanTree) -> Sides:
    """The messages of a model call, from wherever they are."""
    attributes = dict(span.attributes)
    events = list(events_of(span, tree))
    for event in events:
        if event.name == DETAILS:
            body = event.body if isinstance(event.body, dict) else {}
            for source in (event.attributes, body):
                for key, value in source.items():
                    attributes.setdefault(key, value)
    inputs, input_state = _attribute_side(attributes, INPUT, "user", tree)
    outputs, output_state = _attribute_side(attributes, OUTPUT, "assistant", tree)
    if output_state is State.ABSENT and input_state is State.ABSENT:
        inputs, input_state = _flat_side(attributes, "gen_ai.prompt", "user")
        outputs, output_state = _flat_side(attributes, "gen_ai.completion", "assistant")
    if output_state is State.ABSENT:
        told_in, told_out = _message_events(events)
        inputs, input_state = (told_in, State.CAPTURED) if told_in and not inputs else (inputs, input_state)
        outputs, output_state = (told_out, state_of(told_out)) if told_out else (outputs, output_state)
    system = read_messages(attributes.get("gen_ai.system_instructions"), "system")
    if system and inputs and not any(message.role == "system" for message in inputs):
        parts = tuple(part for message in system for part in message.parts)
        inputs = (Message("system", parts), *inputs)
    return Sides(inputs, outputs, input_state, output_state)


def _attribute_side(
    attributes: dict[str, Any], key: str, role: str, tree: SpanTree
) -> tuple[tuple[Message, ...], State]:
    value = attributes.get(key)
    if value is None or value == "":
        return (), State.ABSENT
    if is_placeholder(value):
        return (), State.REDACTED
    repeated = repeated_messages(value, role, tree.memo) if isinstance(value, str) and value[0] == "[" else None
    if repeated is not None:
        return repeated, state_of(repeated)
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        decoded = read_json(value)
        if decoded is None:
            tree.work.spend(len(value) // CHARACTERS)
            return cut_output(value) if key == OUTPUT else (), State.TRUNCATED
        messages = messages_of_json(value, decoded, role)
    elif is_too_deep(value):
        return (), State.TRUNCATED
    else:
        messages = read_messages(value, role)
    return messages, state_of(messages)


def state_of(messages: tuple[Message, ...]) -> State:
    """Messages whose text parts carry nothing were emitted with content capture off, or masked."""
    parts = [part for message in messages for part in message.parts]
    if any(isinstance(part, Opaque) and part.kind == "redacted" for part in parts):
        return State.REDACTED
    if parts and all(isinstance(part, Opaque) and part.kind == "text" for part in parts):
        return State.ABSENT
    return State.CAPTURED


def _flat_side(attributes: dict[str, Any], prefix: str, role: str) -> tuple[tuple[Message, ...], State]:
    """`gen_ai.prompt.N.{role,content,tool_calls.K...}` of Traceloop, or one string `gen_ai.prompt`."""
    whole = attributes.get(prefix)
    if isinstance(whole, str) and whole:
        return read_messages(whole, role), State.CAPTURED
    tree = unflatten(attributes, f"{prefix}.")
    messages = tuple(read_message({**item, **_listed_content(item)}, role) for item in dictionaries(tree))
    return messages, state_of(messages) if messages else State.ABSENT


def _listed_content(item: dict[str, Any]) -> dict[str, Any]:
    """Content blocks that OpenLLMetry's older releases wrote as JSON text."""
    blocks = read_json(item.get("content"))
    listed = isinstance(blocks, list) and bool(blocks) and all(isinstance(b, dict) and "type" in b for b in blocks)
    return {"content": blocks} if listed else {}


def _message_events(events: list[GenAiEvent]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    inputs: list[Message] = []
    outputs: list[Message] = []
    for event in events:
        body = _body(event)
        if event.name in MESSAGE_EVENTS:
            inputs.append(read_message(body, MESSAGE_EVENTS[event.name]))
        elif event.name == CHOICE:
            outputs.append(_choice(body))
        elif event.name == "gen_ai.content.prompt":
            inputs.extend(read_messages(event.attributes.get("gen_ai.prompt"), "user"))
        elif event.name == "gen_ai.content.completion":
            outputs.extend(read_messages(event.attributes.get("gen_ai.completion"), "assistant"))
    return tuple(inputs), tuple(outputs)


def _body(event: GenAiEvent) -> dict[str, Any]:
    """A log's body (a map, or JSON text), or a span event's attributes, JSON text in them decoded."""
    body = read_json(event.body)
    if isinstance(body, dict):
        return body
    source = event.attributes
    nested = read_json(source.get("gen_ai.event.content"))
    if isinstance(nested, dict):
        return nested
    decoded: dict[str, Any] = {}
    for key in ("content", "message", "tool_calls", "role", "id", "name", "index", "finish_reason"):
        if key in source:
            value = read_json(source[key])
            decoded[key] = value if value is not None else source[key]
    return decoded


def _choice(body: dict[str, Any]) -> Message:
    """One choice; a message that shows neither text nor call is told apart from one that has an empty text."""
    message = body.get("message")
    if isinstance(message, list):
        message = {"content": message}
    if isinstance(message, str):
        message = {"content": message}
    if not isinstance(message, dict):
        message = {key: value for key, value in body.items() if key in ("content", "tool_calls", "role")}
    read = read_message(message, "assistant")
    reason = body.get("finish_reason")
    parts = read.parts
    if not parts and "content" not in message:
        parts = (Opaque("text"),)
    return Message("assistant", parts, reason if isinstance(reason, str) else read.finish_reason)
