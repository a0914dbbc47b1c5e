"""OpenTelemetry's GenAI spans: roles, spellings and the quirks of emitters."""

import json
from typing import Any

import pytest

from tests.adapters.spans import UTIL_GENAI, agent, call, chat, record, span, text, tool


@pytest.mark.parametrize("operation", ["chat", "generate_content", "text_completion", "completion", "CHAT", None])
def test_model_calls(operation: str | None) -> None:
    """By operation, in any case; a span that only names a model is a chat of an old emitter."""
    attributes = {
        "gen_ai.request.model": "m",
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [text("hi")]}]),
    }
    if operation is not None:
        attributes["gen_ai.operation.name"] = operation

    assert len(record(span("x", attributes)).generations) == 1


@pytest.mark.parametrize(
    "operation",
    [
        "embeddings",
        "create_agent",
        "invoke_agent",
        "invoke_workflow",
        "plan",
        "agent_step",
        "rerank",
        "fetch_response",
        "new_thing",
    ],
)
def test_other_operations_state_no_record(operation: str) -> None:
    """Their messages repeat what model spans say."""
    repeated = json.dumps([{"role": "assistant", "parts": [call("look", {}, "c1")]}])
    found = record(
        span("x", {"gen_ai.operation.name": operation, "gen_ai.output.messages": repeated, "gen_ai.request.model": "m"})
    )

    assert (found.generations, found.requests, found.dispatches) == ((), (), ())


def test_a_tools_name_on_a_chat_is_no_run() -> None:
    """OpenLIT writes tool names and ids, joined, on chat spans: the operation decides."""
    found = record(chat("x", call("a", {}, "c1"), extra={"gen_ai.tool.name": "a, b", "gen_ai.tool.call.id": "c1, c2"}))

    assert found.dispatches == ()


def test_the_name_may_stand_in_the_spans_name_alone() -> None:
    """Before 1.41 the attribute was optional."""
    assert (
        record(span("x", {"gen_ai.operation.name": "execute_tool"}, name="execute_tool look")).dispatches[0].name
        == "look"
    )


@pytest.mark.parametrize(
    ("written", "arguments", "raw"),
    [
        ('{"a": 1}', {"a": 1}, "object"),
        ({"a": 1}, {"a": 1}, "object"),
        ("ls -l", "ls -l", "text"),
        ("", {}, "object"),
        (None, None, "absent"),
        ("None", None, "absent"),
    ],
)
def test_arguments_in_every_spelling(written: Any, arguments: Any, raw: str) -> None:
    """JSON text, a native map, free text, nothing, and what stands for nothing."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x"}
    if written is not None:
        attributes["gen_ai.tool.call.arguments"] = written
    (dispatch,) = record(span("t", attributes)).dispatches

    assert (dispatch.arguments, dispatch.shape) == (arguments, raw)


@pytest.mark.parametrize("call_id", ["", "unknown", "<not specified>", "c1, c2"])
def test_placeholders_are_no_ids(call_id: str) -> None:
    """They must not join anything."""
    assert record(tool("t", "look", {}, call_id=call_id)).dispatches[0].call_id is None


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"gen_ai.response.finish_reasons": ["tool_call"]}, "tool_call"),
        ({"gen_ai.response.finish_reasons": ["", "stop"]}, "stop"),
        ({"gen_ai.response.finish_reasons": '["stop"]'}, "stop"),
        ({"gen_ai.response.finish_reason": "FinishReason.STOP"}, "FinishReason.STOP"),
        ({}, None),
    ],
)
def test_finish_reasons_in_every_spelling(attributes: dict[str, Any], reason: str | None) -> None:
    """An array, JSON text of one, or one string."""
    assert record(chat("x", text("hi"), extra=attributes)).generations[0].finish_reason == reason


@pytest.mark.parametrize(
    ("attributes", "tokens"),
    [
        ({"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2}, (5, 2)),
        ({"gen_ai.usage.prompt_tokens": 5, "gen_ai.usage.completion_tokens": 2}, (5, 2)),
        ({"gen_ai.usage.input_tokens": True, "gen_ai.usage.output_tokens": "2"}, (None, None)),
    ],
)
def test_usage_in_every_spelling(attributes: dict[str, Any], tokens: tuple[int | None, int | None]) -> None:
    """Up to 1.27 it was prompt and completion."""
    usage = record(chat("x", text("hi"), extra=attributes)).generations[0].usage

    assert (usage.input, usage.output) == tokens


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "function", "name": "look", "parameters": {"type": "object"}},
        {"type": "function", "name": "look", "inputSchema": {"type": "object"}},
        {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}},
    ],
)
def test_offered_tools_in_every_spelling(definition: dict[str, Any]) -> None:
    """The spec's, Vercel's, and OpenAI's nested one."""
    assert record(chat("x", text("hi"), extra={"gen_ai.tool.definitions": json.dumps([definition])})).tools == {
        "look": {"type": "object"}
    }


def test_a_retrieval_without_content_is_partial() -> None:
    """util-genai carries ids and scores alone."""
    attributes = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "q", "gen_ai.data_source.id": "kb", "gen_ai.retrieval.documents": '[{"id": "d1", "score": 0.5}]'}  # fmt: skip
    found = record(span("r", attributes))
    (retrieval,) = found.retrievals

    assert (retrieval.query, retrieval.source, retrieval.documents[0].id, retrieval.documents[0].score) == (
        "q",
        "kb",
        "d1",
        0.5,
    )
    assert found.evidence["retrievals"] == "partial"


@pytest.mark.parametrize(
    ("documents", "evidence"),
    [
        ('[{"id": "d1", "content": "text"}]', "complete"),
        ("[]", "complete"),
        ('[{"id": "d1', "truncated"),
        ("[REDACTED]", "redacted"),
        (None, "partial"),
    ],
)
def test_states_of_documents(documents: str | None, evidence: str) -> None:
    """An empty retrieval is not a hidden one."""
    attributes = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": documents}

    assert record(span("r", attributes)).evidence["retrievals"] == evidence


def test_memory_is_searched_like_a_store() -> None:
    """`search_memory` is a retrieval of its own kind."""
    attributes = {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.memory.query.text": "q",
        "gen_ai.memory.records": '[{"id": "m1", "content": "text"}]',
    }

    assert record(span("r", attributes)).retrievals[0].documents[0].content == "text"


@pytest.mark.parametrize("scope", [UTIL_GENAI, "opentelemetry.instrumentation.genai.openai", ""])
def test_only_frameworks_instrumentors_would_show_a_run(scope: str) -> None:
    """A client library's never sees a tool."""
    found = record(
        agent(scope=scope),
        chat("ask", call("look", {}, "c1"), under="agent", at=(1, 2)),
        chat("say", text("ok"), under="agent", at=(5, 6)),
    )

    assert found.requests[0].outcome == ("not_dispatched" if scope == UTIL_GENAI else "unknown")


@pytest.mark.parametrize(
    ("attributes", "session"),
    [
        ({"gen_ai.conversation.id": "c", "session.id": "s"}, "c"),
        ({"session.id": 7}, "7"),
        ({"gen_ai.conversation.id": "<redacted>", "session.id": "s"}, "s"),
        ({"session.id": ["s"]}, None),
    ],
)
def test_sessions(attributes: dict[str, Any], session: str | None) -> None:
    """The conversation's id, else the session's."""
    assert record(chat("x", text("hi"), extra=attributes)).session_id == session


def test_several_choices_are_several_answers() -> None:
    """One message each."""
    messages = [{"role": "assistant", "parts": [text(word)], "finish_reason": "stop"} for word in ("a", "b")]

    assert [
        r.text
        for r in record(span("x", {"gen_ai.operation.name": "chat", "gen_ai.output.messages": messages})).responses
    ] == ["a", "b"]
