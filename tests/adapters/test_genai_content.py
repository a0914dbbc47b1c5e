"""Where a GenAI span keeps its messages, by version (conventions 1.3) and by capture mode (1.9)."""

import json
from typing import Any

import pytest
from lanewatch.adapters.genai_content import DETAILS, Sides, read_sides
from lanewatch.adapters.message_shapes import read_messages
from lanewatch.adapters.reading import State
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Event, LogRecord

from tests.adapters.spans import asking, call, log, span, text, trace

ASKED = [{"role": "user", "parts": [text("hi")]}]
SAID = [asking(text("hello"), call("look", {"a": 1}))]


def _sides(
    attributes: dict[str, Any] | None = None, events: tuple[Event, ...] = (), logs: tuple[LogRecord, ...] = ()
) -> Sides:
    one = span("chat", attributes, events=events)
    return read_sides(one, SpanTree(trace(one, logs=logs)))


def _told(sides: Sides) -> tuple[str, str, list[tuple[str, str | None, Any]]]:
    calls = [(c.name, c.call_id, c.arguments.value) for message in sides.output for c in message.calls]
    return "".join(m.text for m in sides.input if m.role == "user"), "".join(m.text for m in sides.output), calls


WHOLE = ("hi", "hello", [("look", "call_1", {"a": 1})])
OPENAI_MESSAGE = {"content": "hello", "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}]}  # fmt: skip

PLACES: dict[str, Sides] = {
    "1.37 and later: attributes as JSON text": _sides(
        {"gen_ai.input.messages": json.dumps(ASKED), "gen_ai.output.messages": json.dumps(SAID)}
    ),
    "attributes as native values": _sides({"gen_ai.input.messages": ASKED, "gen_ai.output.messages": SAID}),
    "details event, attributes": _sides(
        logs=(log("chat", DETAILS, None, {"gen_ai.input.messages": ASKED, "gen_ai.output.messages": SAID}),)
    ),
    "details event, body": _sides(
        logs=(log("chat", DETAILS, {"gen_ai.input.messages": ASKED, "gen_ai.output.messages": SAID}),)
    ),
    "details as span events, each side apart": _sides(
        events=(
            Event(DETAILS, 1, {"gen_ai.input.messages": json.dumps(ASKED)}),
            Event(DETAILS, 2, {"gen_ai.output.messages": json.dumps(SAID)}),
        )
    ),
    "1.28 to 1.36: a log event a message": _sides(
        logs=(
            log("chat", "gen_ai.choice", {"index": 0, "finish_reason": "tool_calls", "message": OPENAI_MESSAGE}, at=2),
            log("chat", "gen_ai.user.message", {"content": "hi"}, at=1),
        )
    ),
    "1.28 to 1.36: a log event a message, body as JSON text": _sides(
        logs=(
            log("chat", "gen_ai.user.message", '{"content": "hi"}', at=1),
            log("chat", "gen_ai.choice", json.dumps({"message": OPENAI_MESSAGE}), at=2),
        )
    ),
    "1.28 to 1.36: a span event a message": _sides(
        events=(
            Event("gen_ai.user.message", 1, {"content": "hi"}),
            Event("gen_ai.choice", 2, {"message": json.dumps(OPENAI_MESSAGE), "finish_reason": "tool_calls"}),
        )
    ),
    "Azure: the event's content as JSON": _sides(
        events=(
            Event("gen_ai.user.message", 1, {"gen_ai.event.content": '{"content": "hi"}'}),
            Event("gen_ai.choice", 2, {"gen_ai.event.content": json.dumps({"message": OPENAI_MESSAGE})}),
        )
    ),
    "OpenLLMetry before 0.53: flattened": _sides(
        {
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": '[{"type": "text", "text": "hi"}]',
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "hello",
            "gen_ai.completion.0.tool_calls.0.id": "call_1",
            "gen_ai.completion.0.tool_calls.0.name": "look",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"a": 1}',
        }
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_messages_read_the_same_from_every_place(place: str) -> None:
    """Text and calls, of both sides, captured."""
    sides = PLACES[place]

    assert _told(sides) == WHOLE
    assert (sides.input_state, sides.output_state) == (State.CAPTURED, State.CAPTURED)


@pytest.mark.parametrize(
    "sides",
    [
        _sides({"gen_ai.prompt": "hi", "gen_ai.completion": "hello"}),
        _sides(
            events=(
                Event("gen_ai.content.prompt", 1, {"gen_ai.prompt": "hi"}),
                Event("gen_ai.content.completion", 2, {"gen_ai.completion": "hello"}),
            )
        ),
    ],
)
def test_one_string_each_is_how_it_was_up_to_1_27(sides: Sides) -> None:
    """As attributes and as span events."""
    assert _told(sides) == ("hi", "hello", [])


def test_both_span_and_event_are_one_message() -> None:
    """SPAN_AND_EVENT writes the content twice."""
    sides = _sides(
        {"gen_ai.output.messages": json.dumps(SAID)},
        logs=(log("chat", DETAILS, None, {"gen_ai.output.messages": SAID}),),
    )

    assert len(sides.output) == 1


def test_capture_off_is_absent() -> None:
    """The default of OpenTelemetry's own instrumentors."""
    sides = _sides({"gen_ai.request.model": "m"})

    assert (sides.output, sides.output_state, sides.input_state) == ((), State.ABSENT, State.ABSENT)


def test_events_with_capture_off_keep_names_and_ids() -> None:
    """openai-v2 leaves the arguments and the text out."""
    message = {"role": "assistant", "tool_calls": [{"id": "call_1", "function": {"name": "look"}}]}
    sides = _sides(logs=(log("chat", "gen_ai.choice", {"message": message, "finish_reason": "tool_calls"}),))
    (asked,) = sides.output[0].calls

    assert (asked.name, asked.call_id, asked.arguments.state) == ("look", "call_1", State.ABSENT)
    assert sides.output[0].finish_reason == "tool_calls"


def test_a_choice_without_text_was_emitted_with_capture_off() -> None:
    """It is not an empty answer."""
    assert _sides(logs=(log("chat", "gen_ai.choice", {"message": {"role": "assistant"}}),)).output_state is State.ABSENT


@pytest.mark.parametrize(
    ("value", "state"),
    [("__REDACTED__", State.REDACTED), ('[{"role": "assis', State.TRUNCATED), ("[]", State.CAPTURED), ("", State.ABSENT),
     ([asking({"type": "text", "content": "[REDACTED]"})], State.CAPTURED),
     ([{"role": "assistant", "content": "FILTERED"}], State.REDACTED)],
)  # fmt: skip
def test_states_of_content(value: Any, state: State) -> None:
    """Absent, redacted and cut are different things, and none of them is an empty answer. Of a hidden text part the message
    around it is seen.
    """
    assert _sides({"gen_ai.output.messages": value}).output_state is state


def test_a_reference_to_uploaded_content_is_no_content() -> None:
    """`_ref` names where it went."""
    assert _sides({"gen_ai.output.messages_ref": "s3://x"}).output_state is State.ABSENT


@pytest.mark.parametrize(
    "value", [[{"type": "text", "content": "be kind"}], "be kind", '[{"type": "text", "content": "be kind"}]']
)
def test_system_instructions_come_first(value: Any) -> None:
    """A list of parts, or (LiteLLM) a plain string."""
    sides = _sides({"gen_ai.input.messages": json.dumps(ASKED), "gen_ai.system_instructions": value})

    assert [(m.role, m.text) for m in sides.input] == [("system", "be kind"), ("user", "hi")]


def test_arguments_that_are_named_twice_in_a_message_are_text() -> None:
    """Native objects have no text of their own: the members are written as they stood."""
    written = (
        '[{"role": "assistant", "parts": [{"type": "tool_call", "name": "f", "arguments": {"a": 1, "a": {"b": "x"}}}]}]'
    )
    (call,) = _sides({"gen_ai.output.messages": written}).output[0].calls

    assert (call.arguments.value, call.arguments.raw) == (None, '{"a": 1, "a": {"b": "x"}}')


def test_numbers_that_json_does_not_have_make_arguments_text_and_leave_the_conversation() -> None:
    """Python writes NaN; one of a tool's arguments must not hide what the model said."""
    part = '{"type": "tool_call", "name": "f", "arguments": {"a": NaN}}'
    written = '[{"role": "assistant", "parts": [{"type": "text", "content": "x"}, ' + part + "]}]"
    (message,) = _sides({"gen_ai.output.messages": written}).output

    assert message.text == "x"
    assert [(one.arguments.value, one.arguments.raw) for one in message.calls] == [(None, '{"a": NaN}')]


def test_a_message_that_calls_repeat_is_read_once() -> None:
    """A conversation's history stands in each of its calls."""
    first, second = (
        span(f"chat {n}", {"gen_ai.input.messages": json.dumps(ASKED * (n + 1))}, at=(n, n + 1)) for n in range(2)
    )
    tree = SpanTree(trace(first, second))
    earlier, later = read_sides(first, tree).input, read_sides(second, tree).input

    assert later == earlier * 2
    assert all(message is earlier[0] for message in later)


@pytest.mark.parametrize(
    "value", [[], ["x", {"role": "user", "content": "y"}], [[{"role": "user", "content": "y"}]], [{"a": 1}], [1]]
)
def test_lists_of_other_things_are_read_as_before(value: Any) -> None:
    """Texts among objects, a batch, an answer that is JSON itself."""
    text = json.dumps(value)

    assert _sides({"gen_ai.output.messages": text}).output == read_messages(text, "assistant")
