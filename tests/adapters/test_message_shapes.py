"""Every shape in which a message is written (conventions 1.8), read into one form."""

import json
from typing import Any

import pytest
from lanewatch.adapters.message_shapes import read_completion, read_message, read_messages
from lanewatch.adapters.messages import Message, Opaque, Reasoning, Refusal, Text, ToolCall, ToolResult, describe
from lanewatch.adapters.reading import State

ARGUMENTS = {"city": "Rome"}
WRITTEN = json.dumps(ARGUMENTS)

CALLING: dict[str, dict[str, Any]] = {
    "GenAI": {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": ARGUMENTS}]},
    "GenAI, arguments as text": {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": WRITTEN}],
    },
    "Vercel": {
        "role": "assistant",
        "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": ARGUMENTS}],
    },
    "Vercel 4": {
        "role": "assistant",
        "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "look", "args": ARGUMENTS}],
    },
    "OpenAI": {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": WRITTEN}}]},
    "OpenInference": {
        "role": "assistant",
        "tool_calls": [{"tool_call": {"id": "c1", "function": {"name": "look", "arguments": WRITTEN}}}],
    },
    "LiteLLM, both": {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": WRITTEN}],
        "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": WRITTEN}}],
    },
    "Anthropic": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": ARGUMENTS}]},
    "Bedrock": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "look", "input": ARGUMENTS}}]},
    "Gemini": {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "look", "args": ARGUMENTS}}]},
    "Gemini, camel case": {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "look", "args": ARGUMENTS}}]},
    "Azure AI Projects": {
        "role": "assistant",
        "parts": [
            {
                "type": "tool_call",
                "content": {"type": "function_call", "id": "c1", "function": {"name": "look", "arguments": WRITTEN}},
            }
        ],
    },
    "LangChain, constructor": {
        "lc": 1,
        "id": ["langchain", "schema", "messages", "AIMessage"],
        "kwargs": {"content": "", "tool_calls": [{"name": "look", "args": ARGUMENTS, "id": "c1"}]},
    },
    "LangChain, dict": {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "look", "args": ARGUMENTS, "id": "c1"}]}},
    "OpenAI Responses": {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": WRITTEN},
    "a choice": {"index": 0, "message": {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": WRITTEN}}]}},
}  # fmt: skip


@pytest.mark.parametrize("shape", CALLING)
def test_a_call_reads_the_same_in_every_shape(shape: str) -> None:
    """Name, id and arguments; once, even where it is written twice."""
    (message,) = read_messages([CALLING[shape]], "assistant")
    (call,) = message.calls

    assert (message.role, call.name, call.call_id, call.arguments.value) == ("assistant", "look", "c1", ARGUMENTS)
    assert not call.by_provider


RESULTS: dict[str, dict[str, Any]] = {
    "GenAI": {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "warm"}]},
    "GenAI before 1.41, Pydantic AI": {
        "role": "user",
        "parts": [{"type": "tool_call_response", "id": "c1", "name": "look", "result": "warm"}],
    },
    "OpenAI": {"role": "tool", "tool_call_id": "c1", "content": "warm"},
    "Anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "warm"}]},
    "Bedrock": {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "warm"}]}}]},
    "Vercel": {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "output": "warm"}]},
    "Azure": {"role": "tool", "parts": [{"type": "tool_call_output", "id": "c1", "output": "warm"}]},
    "LangChain": {"type": "tool", "data": {"content": "warm", "tool_call_id": "c1", "status": "success"}},
    "OpenAI Responses": {"type": "function_call_output", "call_id": "c1", "output": "warm"},
}


@pytest.mark.parametrize("shape", RESULTS)
def test_a_result_reads_the_same_in_every_shape(shape: str) -> None:
    """With the id of the call that it answers."""
    (message,) = read_messages([RESULTS[shape]])
    (result,) = message.results

    assert (result.call_id, result.content.text, result.is_error) == ("c1", "warm", False)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "tool", "data": {"content": "no", "tool_call_id": "c1", "status": "error"}},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c1", "status": "error", "content": [{"text": "no"}]}}],
        },
    ],
)
def test_a_result_may_call_itself_an_error(item: dict[str, Any]) -> None:
    """What a tool failed with is told in its result's envelope."""
    assert read_message(item).results[0].is_error


def test_text_refusal_reasoning_and_media() -> None:
    """Reasoning is never compared, media is kept by kind alone, and a refusal is a part of its own."""
    message = read_message(
        {
            "role": "assistant",
            "parts": [
                {"type": "thinking", "content": "hm"},
                {"type": "text", "content": "a"},
                {"type": "text", "content": "b"},
                {"type": "refusal", "content": "no"},
                {"type": "blob", "content": "AAAA"},
            ],
        }
    )

    assert message.parts == (Reasoning(""), Text("a"), Text("b"), Refusal("no"), Opaque("blob"))
    assert (message.text, message.refusal) == ("ab", "no")


@pytest.mark.parametrize(
    "item",
    [
        {"role": "assistant", "content": None, "refusal": "no"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "", "additional_kwargs": {"refusal": "no"}}},
    ],
)
def test_a_refusal_field_is_read_in_every_shape(item: dict[str, Any]) -> None:
    """Most shapes hide it well."""
    assert read_message(item).refusal == "no"


def test_langchains_invalid_calls_are_calls_with_text_for_arguments() -> None:
    """LangChain sorts calls out whose arguments are malformed; the model asked for them all the same."""
    data = {"content": "", "tool_calls": [], "invalid_tool_calls": [{"name": "look", "args": '{"ci', "id": "c1"}]}
    (call,) = read_message({"type": "ai", "data": data}).calls

    assert (call.call_id, call.arguments.value, call.arguments.raw) == ("c1", None, '{"ci')


def test_an_old_function_call_has_no_id() -> None:
    """It is read only where there are no tool calls, which may repeat it."""
    old = {"role": "assistant", "function_call": {"name": "look", "arguments": "{}"}}
    both = {**old, "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}]}

    assert [call.call_id for call in read_message(old).calls] == [None]
    assert [call.call_id for call in read_message(both).calls] == ["c1"]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "server_tool_call", "id": "ws_1", "name": "web_search"},
        {"type": "tool_call", "id": "ws_1", "name": "search", "builtin": True},
        {"type": "tool-call", "toolCallId": "ws_1", "toolName": "search", "providerExecuted": True},
        {"type": "server_tool_use", "id": "ws_1", "name": "web_search"},
        {"type": "web_search_call", "id": "ws_1"},
    ],
)
def test_calls_that_the_provider_runs_are_marked(part: dict[str, Any]) -> None:
    """No dispatch follows them."""
    assert [call.by_provider for call in read_message({"role": "assistant", "content": [part]}).calls] == [True]


def test_openinference_writes_a_providers_calls_as_ordinary_ones() -> None:
    """Their name is the item's type."""
    item = {"role": "assistant", "tool_calls": [{"tool_call": {"id": "ws_1", "function": {"name": "web_search_call"}}}]}

    assert read_message(item).calls[0].by_provider


def test_items_of_one_response_are_one_message() -> None:
    """Chat completions would have written several calls as one message."""
    items = [
        {"type": "reasoning", "id": "rs_1"},
        {"type": "function_call", "call_id": "c1", "name": "a", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "b", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "x"},
    ]
    first, second = read_messages(items)

    assert [call.call_id for call in first.calls] == ["c1", "c2"]
    assert second.role == "tool"


def test_a_response_item_keeps_both_of_its_ids() -> None:
    """Some instrumentors write the item's id where others write the call's."""
    (call,) = read_message({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "a", "arguments": ""}).calls

    assert (call.call_id, call.aliases, call.arguments.value) == ("c1", ("fc_1",), {})


def test_free_text_arguments_of_a_custom_tool_stay_text() -> None:
    """A custom tool takes any text."""
    (call,) = read_message({"type": "custom_tool_call", "call_id": "c1", "name": "sh", "input": "ls -l"}).calls

    assert (call.arguments.value, call.arguments.raw) == (None, "ls -l")


def test_openllmetrys_wrapper_of_cut_json_is_undone() -> None:
    """`{"_raw": text}` stands for arguments that did not parse."""
    part = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"_raw": '{"ci'}}

    assert read_message({"role": "assistant", "parts": [part]}).calls[0].arguments.raw == '{"ci'


def test_arguments_that_are_missing_are_absent_and_not_empty() -> None:
    """With capture off, ids and names stay and arguments vanish."""
    (call,) = read_message({"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look"}]}).calls

    assert call.arguments.state is State.ABSENT


def test_a_placeholder_is_neither_text_nor_id_nor_argument() -> None:
    """Redaction must not be compared with anything."""
    item = {
        "role": "assistant",
        "content": "__REDACTED__",
        "tool_calls": [{"id": "__REDACTED__", "function": {"name": "look", "arguments": "__REDACTED__"}}],
    }
    message = read_message(item)

    assert message.parts[0] == Opaque("redacted")
    assert (message.calls[0].call_id, message.calls[0].arguments.state) == (None, State.REDACTED)


@pytest.mark.parametrize("text", ["Hello", '{"answer": 42}', "[1, 2]", "42", '{"broken": '])
def test_text_that_is_no_message_is_text(text: str) -> None:
    """A model may answer with JSON."""
    assert read_messages(text, "assistant") == (Message("assistant", (Text(text),)),)


@pytest.mark.parametrize("value", [None, "", "__REDACTED__", "[]", [], 7, b"x", {}])
def test_nothing_is_no_message(value: Any) -> None:
    """An empty list says that nothing was put out."""
    assert [message for message in read_messages(value) if message.parts] == []


def test_a_batch_of_conversations_is_opened() -> None:
    """LangChain writes a list in a list."""
    assert [message.text for message in read_messages([[{"role": "user", "content": "hi"}]])] == ["hi"]


def test_too_deep_a_list_is_not_read() -> None:
    """Nesting is bounded before anything recurses."""
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]

    assert read_messages([{"role": "user", "content": deep}]) == ()


@pytest.mark.parametrize(
    ("written", "role"),
    [("developer", "system"), ("human", "user"), ("ai", "assistant"), ("model", "assistant"), ("function", "tool"),
     ("MessageRole.ASSISTANT", "assistant"), ("tool-response", "tool"), ("critic", "user"), (None, "user")],
)  # fmt: skip
def test_roles_are_four(written: str | None, role: str) -> None:
    """An unknown role takes the default of its side."""
    assert read_message({"role": written, "content": "x"}).role == role


COMPLETIONS: dict[str, Any] = {
    "chat completion": {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]},
    "response": {"object": "response", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}]},
    "streamed by OpenAI Agents": [{"id": "__fake_id__", "object": "response", "output": [{"role": "assistant", "content": [{"text": "hi", "type": "output_text"}]}]}],
    "LangChain": {"generations": [[{"message": {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "hi"}}}]]},
    "Gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}}]},
    "a message": {"role": "assistant", "content": "hi"},
}  # fmt: skip


@pytest.mark.parametrize("shape", COMPLETIONS)
def test_a_providers_whole_answer_reads_the_same_in_every_shape(shape: str) -> None:
    """Instrumentors that leave something out still keep the answer as it came."""
    assert [message.text for message in read_completion(json.dumps(COMPLETIONS[shape]))] == ["hi"]


@pytest.mark.parametrize("value", [None, "{", "text", 7, {"x": 1}, [1]])
def test_anything_else_is_no_answer(value: Any) -> None:
    """Never an exception."""
    assert read_completion(value) == ()


def test_a_description_tells_histories_apart_and_leaves_out_reasoning() -> None:
    """Repeated history is told by it."""
    a = Message("assistant", (Text("x"), Reasoning("1"), ToolCall("look"), ToolResult("c1")))
    b = Message("assistant", (Text("x"), Reasoning("2"), ToolCall("look"), ToolResult("c2")))

    assert describe(a) == describe(b) != describe(Message("user", a.parts))
