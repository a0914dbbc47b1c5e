"""OpenAI's Agents SDK through contrib's instrumentor: calls that are reprs, and calls that are not there."""

from typing import Any

import pytest
from lanewatch.adapters.python_reprs import CLASS, parse_repr
from lanewatch.adapters.records import Evidence, Outcome
from lanewatch.collector.spans import Span
from lanewatch.monitors.divergence import find_divergences

from tests.adapters.spans import chat, record, span, text, tool

SCOPE = "opentelemetry.instrumentation.openai_agents"
CALL = (
    "ResponseFunctionToolCall(arguments='{\"city\":\"Lyon\"}', call_id='call_1', name='look', type='function_call', "
    "id='fc_1', namespace=None, status='completed')"
)
REFUSAL = (
    "ResponseOutputMessage(id='msg_1', content=[ResponseOutputRefusal(refusal=\"I can't help.\", type='refusal')], "
    "role='assistant', status='completed', type='message')"
)


def agent() -> Span:
    """The agent around all."""
    return span("agent", {"gen_ai.operation.name": "invoke_agent"}, at=(0, 100), scope=SCOPE)


def said(label: str, *texts: str, **where: Any) -> Span:
    """A model call."""
    return chat(label, *map(text, texts), under="agent", scope=SCOPE, **where)


def ran(label: str, **where: Any) -> Span:
    """A run of the tool."""
    return tool(label, "look", {"city": "Lyon"}, "sunny", under="agent", scope=SCOPE, **where)


def test_a_repr_in_a_text_part_is_a_call() -> None:
    """With its id, name and arguments."""
    seen = record(agent(), said("a", CALL, at=(1, 2)), ran("t", at=(3, 4)), said("b", "Sunny.", at=(5, 6)))

    assert [(r.call_id, r.name, r.arguments, r.outcome) for r in seen.requests] == [
        ("call_1", "look", {"city": "Lyon"}, Outcome.DISPATCHED)
    ]
    assert [response.text for response in seen.responses] == ["Sunny."]
    assert seen.conventions == ("openai_agents_v2",)


def test_chat_completions_are_reprs_of_dictionaries() -> None:
    """The generation's span holds the provider's message."""
    message = "{'content': None, 'role': 'assistant', 'tool_calls': [{'id': 'call_1', 'type': 'function', 'function': {'name': 'look', 'arguments': '{}'}}]}"
    seen = record(agent(), said("a", message))

    assert [(r.call_id, r.arguments) for r in seen.requests] == [("call_1", {})]


def test_a_stream_of_chat_completions_is_the_repr_of_a_response() -> None:
    """The SDK makes one of the chunks, with its text and its calls as items."""
    items = (
        "{'content': [{'annotations': [], 'text': 'Let me see.', 'type': 'output_text'}], 'role': 'assistant', 'type': 'message', "
        "'phase': None}, {'arguments': '{\"city\":\"Lyon\"}', 'call_id': 'call_1', 'name': 'look', 'type': 'function_call', "
        "'id': '__fake_id__', 'status': None}"
    )
    asked = f"{{'id': '__fake_id__', 'error': None, 'object': 'response', 'output': [{items}], 'tools': []}}"
    seen = record(agent(), said("a", asked, at=(1, 2)), ran("t", at=(3, 4)), said("b", "Sunny.", at=(5, 6)))

    assert [(r.call_id, r.arguments, r.outcome) for r in seen.requests] == [
        ("call_1", {"city": "Lyon"}, Outcome.DISPATCHED)
    ]
    assert [response.text for response in seen.responses] == ["Sunny."]
    assert (seen.evidence["requests"], seen.evidence["responses"]) == (Evidence.COMPLETE, Evidence.COMPLETE)


def test_a_refusal_is_a_repr_too() -> None:
    """Since the answer has no text."""
    (response,) = record(agent(), said("a", REFUSAL)).responses

    assert (response.refusal, response.disposition_source, response.text) == (True, "field", "I can't help.")


def test_calls_beside_a_text_are_left_out_and_the_evidence_says_so() -> None:
    """The run that follows was asked for, though no output shows it."""
    seen = record(agent(), said("a", "I look.", at=(1, 2)), ran("t", at=(3, 4)), said("b", "Sunny.", at=(5, 6)))

    assert seen.evidence["requests"] is Evidence.PARTIAL
    assert find_divergences(seen) == ()


def test_hidden_content_is_redacted() -> None:
    """The instrumentor spells it its own way."""
    assert record(agent(), said("a", "readacted")).evidence["requests"] is Evidence.REDACTED


@pytest.mark.parametrize("answer", ["{'a': 1}", "Response(s) follow", "Responses(x)"])
def test_an_answer_that_looks_like_a_repr_stays_a_text(answer: str) -> None:
    """Only a message or one of the SDK's objects is read."""
    assert [response.text for response in record(agent(), said("a", answer)).responses] == [answer]


@pytest.mark.parametrize("text_", ["f(1)", "a.b(c=1)", "x(y=z)", "open(file='x')()", "1 +", "(" * 500])
def test_only_names_with_keywords_are_objects(text_: str) -> None:
    """Nothing is ever called."""
    with pytest.raises(ValueError, match=r"repr|deep"):
        parse_repr(text_)


def test_objects_nest() -> None:
    """In lists and in dictionaries."""
    assert parse_repr("A(x=[B(y=None)], z={'k': C()})") == {
        CLASS: "A",
        "x": [{CLASS: "B", "y": None}],
        "z": {"k": {CLASS: "C"}},
    }
