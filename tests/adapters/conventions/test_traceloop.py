"""OpenLLMetry's documented quirks, by instrumentor and generation."""

import json
from typing import Any

import pytest
from lanewatch.adapters.conventions import convention_of
from lanewatch.adapters.records import Outcome
from lanewatch.collector.spans import Event, StatusCode

from tests.adapters.spans import agent, answered, asking, call, chat, record, span, text, traceloop

LANGCHAIN = "opentelemetry.instrumentation.langchain"
LLAMA = "opentelemetry.instrumentation.llamaindex"
AGENTS = "opentelemetry.instrumentation.openai_agents"
MCP = "opentelemetry.instrumentation.mcp.instrumentation"


def _run(attributes: dict[str, Any], kind: str = "tool", **where: Any) -> Any:
    """The dispatch of one span alone."""
    (dispatch,) = record(traceloop("t", kind, attributes, **where)).dispatches
    return dispatch


def _dump(**parts: Any) -> str:
    return json.dumps({"input_str": "{'city': 'Rome'}", "tags": [], "metadata": {}, **parts})


@pytest.mark.parametrize(
    ("attributes", "scope", "version", "ours"),
    [
        ({"traceloop.span.kind": "tool"}, "", "", True),
        ({"traceloop.entity.name": "x"}, "", "", True),
        ({"llm.request.type": "chat"}, "", "", True),
        ({"gen_ai.prompt.0.role": "user"}, "", "", True),
        ({"gen_ai.operation.name": "chat"}, "opentelemetry.instrumentation.openai.v1", "0.62.4", True),
        ({"gen_ai.operation.name": "chat"}, "opentelemetry.instrumentation.genai.openai", "1.3b0", False),
        ({"gen_ai.operation.name": "chat"}, "opentelemetry.instrumentation.openai_v2", "2.4b0", False),
        ({"traceloop.association.properties.user": "u", "gen_ai.operation.name": "chat"}, "app", "", False),
        ({"traceloop.workflow.name": "w", "openinference.span.kind": "TOOL"}, "x", "", False),
        ({"traceloop.span.kind": "tool", "openinference.span.kind": "TOOL"}, "x", "", True),
    ],
)  # fmt: skip
def test_marks(attributes: dict[str, Any], scope: str, version: str, ours: bool) -> None:
    """Its own keys, or its scope and version; the SDK's associations are on everyone's spans."""
    found = convention_of(span("x", attributes, scope=scope, version=version))

    assert (found is not None and found.NAME == "traceloop") is ours


def test_langchains_callback_dump_holds_arguments_and_id() -> None:
    """Under `inputs` and `kwargs` (A5); the result in a serialised message."""
    result = {"output": {"lc": 1, "type": "constructor", "id": ["x", "ToolMessage"], "kwargs": {"content": "warm", "tool_call_id": "c1", "status": "success"}}}  # fmt: skip
    dispatch = _run(
        {
            "gen_ai.tool.name": "look",
            "gen_ai.tool.call.arguments": _dump(inputs={"city": "Rome"}, kwargs={"tool_call_id": "c1"}),
            "gen_ai.tool.call.result": json.dumps(result),
        }
    )

    assert (dispatch.arguments, dispatch.call_id, dispatch.result) == ({"city": "Rome"}, "c1", "warm")


def test_the_id_is_there_also_where_the_tool_raised() -> None:
    """Then there is no result."""
    arguments = {
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.arguments": _dump(inputs={}, kwargs={"tool_call_id": "c1"}),
    }

    assert _run(arguments, status=StatusCode.ERROR, message="slow").call_id == "c1"


@pytest.mark.parametrize(
    ("written", "arguments", "shape"),
    [
        ("{'city': 'Rome', 'x': None}", {"city": "Rome", "x": None}, "object"),
        ("Rome", "Rome", "bare"),
        ("42", "42", "bare"),
    ],
)
def test_older_dumps_have_the_input_as_text(written: str, arguments: Any, shape: str) -> None:
    """A Python repr, or the only argument's bare value."""
    dispatch = _run(
        {"traceloop.entity.name": "look", "traceloop.entity.input": json.dumps({"input_str": written, "tags": []})}
    )

    assert (dispatch.arguments, dispatch.shape) == (arguments, shape)


@pytest.mark.parametrize(
    ("written", "arguments", "shape"),
    [
        ({"args": [], "kwargs": {"a": 1}}, {"a": 1}, "object"),
        ({"args": ["x"], "kwargs": {}}, '{"args": ["x"], "kwargs": {}}', "positional"),
        ({"a": 1}, {"a": 1}, "object"),
    ],
)
def test_the_decorator_writes_how_it_was_called(written: Any, arguments: Any, shape: str) -> None:
    """A positional call has lost the names (21)."""
    dispatch = _run(
        {
            "traceloop.entity.name": "look",
            "traceloop.entity.input": json.dumps(written),
            "traceloop.entity.output": '"ok"',
        }
    )

    assert (dispatch.arguments, dispatch.shape) == (arguments, shape)


@pytest.mark.parametrize("returned", ["sun", 'the "sun"', '"sun"', "", "42", "{a", {"sky": "sun"}, ["sun"]])
def test_the_decorator_writes_a_text_that_was_returned_as_json(returned: Any) -> None:
    """Its quotes are the decorator's, not the tool's."""
    written = {"traceloop.entity.name": "look", "traceloop.entity.output": json.dumps(returned)}

    assert _run(written).result == returned
    assert _run({"gen_ai.tool.name": "look", "gen_ai.tool.call.result": '"sun"'}).result == '"sun"'


def test_a_positional_call_takes_its_names_from_an_equal_request() -> None:
    """In order of the values."""
    ask = chat("ask", call("look", {"a": "x", "b": 2}, "c1"), at=(1, 2))
    run = traceloop(
        "t",
        "tool",
        {"traceloop.entity.name": "look", "traceloop.entity.input": '{"args": ["x"], "kwargs": {"b": 2}}'},
        at=(3, 4),
    )
    (dispatch,) = record(ask, run).dispatches

    assert (dispatch.match_rule, dispatch.arguments) == ("R6", {"a": "x", "b": 2})


def test_mcp_wraps_arguments_and_result() -> None:
    """`{"tool_name", "arguments"}` and `{"result": text}`."""
    dispatch = _run(
        {
            "traceloop.entity.name": "look",
            "traceloop.entity.input": '{"tool_name": "look", "arguments": {"city": "Rome"}}',
            "traceloop.entity.output": '{"result": "{\\"t\\": 21}"}',
        },
        scope=MCP,
    )

    assert (dispatch.arguments, dispatch.result) == ({"city": "Rome"}, {"t": 21})


def test_mcp_without_arguments_is_an_empty_object() -> None:
    """The protocol lets them out."""
    dispatch = _run(
        {"traceloop.entity.name": "ping", "traceloop.entity.input": '{"tool_name": "ping", "arguments": null}'},
        scope=MCP,
    )

    assert dispatch.arguments == {}


def test_a_llamaindex_task_with_a_tools_name_is_a_tool() -> None:
    """`call_tool` has the id and the result in its output."""
    output = {
        "tool_name": "look",
        "tool_id": "c1",
        "tool_kwargs": {"a": 1},
        "tool_output": {"raw_output": {"t": 21}, "is_error": False},
    }
    attributes = {
        "traceloop.entity.name": "BaseWorkflowAgent.task",
        "tool.name": "look",
        "tool.arguments": '{"a": 1}',
        "traceloop.entity.output": json.dumps(output),
    }
    dispatch = _run(attributes, "task", scope=LLAMA)

    assert (dispatch.name, dispatch.arguments, dispatch.call_id, dispatch.result) == ("look", {"a": 1}, "c1", {"t": 21})


@pytest.mark.parametrize(
    "told",
    ["look() got an unexpected keyword argument 'x'", "Tool look not found. Please select a tool that is available."],
)
def test_a_llamaindex_error_stands_in_the_output(told: str) -> None:
    """The span's status stays unset; what was refused never ran."""
    output = {"tool_name": "look", "tool_id": "c1", "tool_output": {"blocks": [{"block_type": "text", "text": told}], "raw_output": None, "is_error": True}}  # fmt: skip

    assert (
        _run({"tool.name": "look", "traceloop.entity.output": json.dumps(output)}, "task", scope=LLAMA).executed == "no"
    )


def _agent_output(**answer: Any) -> str:
    return json.dumps(
        {"response": {"role": "assistant", **answer}, "current_agent_name": "a", "tool_calls": [], "retry_messages": []}
    )


def test_a_llamaindex_agents_step_holds_the_models_answer() -> None:
    """The instrumentor suppresses the model's own span; malformed arguments are read as the model wrote them."""
    calls = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": '}}]
    found = record(
        traceloop(
            "ask",
            "task",
            {"traceloop.entity.output": _agent_output(additional_kwargs={"tool_calls": calls}, blocks=[])},
            at=(1, 2),
        ),
        traceloop(
            "say",
            "task",
            {"traceloop.entity.output": _agent_output(blocks=[{"block_type": "text", "text": "warm"}])},
            at=(3, 4),
        ),
    )

    assert [(r.name, r.call_id, r.arguments_raw) for r in found.requests] == [("look", "c1", '{"a": ')]
    assert [r.text for r in found.responses] == ["warm"]


def test_a_llamaindex_block_is_a_call_too() -> None:
    """Where the provider's own form is missing."""
    blocks = [{"block_type": "tool_call", "tool_call_id": "c1", "tool_name": "look", "tool_kwargs": '{"a": 1}'}]
    found = record(traceloop("ask", "task", {"traceloop.entity.output": _agent_output(blocks=blocks)}, scope=LLAMA))

    assert [(r.name, r.call_id, r.arguments) for r in found.requests] == [("look", "c1", {"a": 1})]


def test_tasks_are_chains() -> None:
    """`@task` is never a tool (3.6)."""
    found = record(
        traceloop(
            "t", "task", {"traceloop.entity.name": "prepare", "traceloop.entity.input": '{"args": [1], "kwargs": {}}'}
        )
    )

    assert (found.dispatches, found.generations, found.retrievals) == ((), (), ())


def test_the_flattened_generation_is_read() -> None:
    """0.40: `gen_ai.prompt.N` and `gen_ai.completion.N`, a refusal too; an old function call has no id."""
    found = record(
        span(
            "openai.chat",
            {
                "llm.request.type": "chat",
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "Weather?",
                "gen_ai.completion.0.role": "assistant",
                "gen_ai.completion.0.finish_reason": "tool_calls",
                "gen_ai.completion.0.tool_calls.0.name": "look",
                "gen_ai.completion.0.tool_calls.0.arguments": '{"a": 1}',
                "gen_ai.usage.prompt_tokens": 5,
                "gen_ai.usage.completion_tokens": 2,
            },
        )
    )
    (generation,) = found.generations

    assert [(r.name, r.call_id, r.arguments) for r in found.requests] == [("look", None, {"a": 1})]
    assert (generation.finish_reason, generation.usage.input, generation.usage.output) == ("tool_calls", 5, 2)


def test_a_flattened_refusal_is_told_by_the_api() -> None:
    """`gen_ai.completion.N.refusal`."""
    found = record(
        span(
            "x",
            {"llm.request.type": "chat", "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.refusal": "no"},
        )
    )

    assert (found.responses[0].text, found.responses[0].disposition_source) == ("no", "field")


def test_filtered_content_is_redacted() -> None:
    """Azure's content filter."""
    found = record(span("x", {"llm.request.type": "chat", "gen_ai.completion.0.content": "FILTERED"}))

    assert found.evidence["responses"] == "redacted"


def test_chunk_events_of_a_stream_are_ignored() -> None:
    """Tokens are no messages."""
    chunks = tuple(Event("gen_ai.content.completion.chunk", n, {"gen_ai.completion": "x"}) for n in range(3))
    found = record(chat("say", text("hello"), events=chunks, scope=LANGCHAIN, version="0.62.4"))

    assert [r.text for r in found.responses] == ["hello"]


def test_calls_that_langchains_model_span_lost_stand_in_the_step_above() -> None:
    """Malformed arguments leave `"parts": []` (A12); only where the step made one call."""
    message = {"lc": 1, "id": ["x", "AIMessage"], "kwargs": {"content": "", "invalid_tool_calls": [{"name": "look", "args": '{"a": ', "id": "c1"}]}}  # fmt: skip
    step = traceloop(
        "step", "task", {"traceloop.entity.output": json.dumps({"outputs": {"messages": [message]}})}, at=(0, 9)
    )
    lost = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": '[{"role": "assistant", "parts": [], "finish_reason": "tool_call"}]'}  # fmt: skip
    first = span("ask", lost, under="step", at=(1, 2), scope=LANGCHAIN, version="0.62.4")
    second = span("more", lost, under="step", at=(3, 4), scope=LANGCHAIN, version="0.62.4")

    assert [(r.name, r.arguments_raw) for r in record(step, first).requests] == [("look", '{"a": ')]
    assert record(step, first, second).requests == ()


def test_openai_responses_ids_are_bridged() -> None:
    """The output and the repeated call have the item's id, the result has the call's (the Responses id trap)."""
    asked = call("look", {"a": 1}, "fc_1")
    found = record(
        agent(),
        chat("ask", asked, under="agent", at=(1, 2), scope="opentelemetry.instrumentation.openai.v1", version="0.62.4"),
        traceloop(
            "t",
            "tool",
            {"traceloop.entity.name": "look", "traceloop.entity.input": '{"args": [], "kwargs": {"a": 1}}'},
            under="agent",
            at=(3, 4),
        ),
        chat("say", text("ok"), inputs=[asking(asked), answered("call_1", "warm")], under="agent", at=(5, 6)),
    )

    assert (found.dispatches[0].match_rule, found.requests[0].outcome) == ("R5", Outcome.DISPATCHED)
    assert found.requests[0].observed_result == "warm"


def test_openai_agents_handoff_is_a_step() -> None:
    """`A → B.handoff`, whose target may be unknown."""
    found = record(
        traceloop("a", "agent", {"gen_ai.agent.name": "a"}, at=(0, 99), scope=AGENTS),
        chat("ask", call("pass_on", {}, "c1"), under="a", at=(1, 2)),
        traceloop(
            "a → b.handoff",
            "handoff",
            {"gen_ai.operation.name": "handoff", "gen_ai.handoff.to_agent": "pass_on"},
            under="a",
            at=(3, 4),
            scope=AGENTS,
        ),
    )

    assert (found.dispatches, found.requests[0].outcome) == ((), Outcome.HANDOFF)


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"gen_ai.operation.name": "vector_db_retrieve", "traceloop.entity.input": '{"query": "q"}', "traceloop.entity.output": json.dumps({"documents": [{"page_content": "text", "metadata": {"id": "d1", "score": 0.5}}]})}, "task"),
        ({"traceloop.entity.name": "PolicyRetriever.task", "traceloop.entity.input": '{"args": ["q"], "kwargs": {}}', "traceloop.entity.output": json.dumps([{"node": {"id_": "d1", "text": "text", "metadata": {}}, "score": 0.5}])}, "task"),
        ({"traceloop.entity.name": "PolicyRetriever.workflow", "traceloop.entity.input": '{"str_or_query_bundle": {"query_str": "q"}}', "traceloop.entity.output": json.dumps([json.dumps({"node": {"id_": "d1", "text": "text"}, "score": 0.5})])}, "workflow"),
    ],
)  # fmt: skip
def test_retrievers_are_read(attributes: dict[str, Any], kind: str) -> None:
    """LangChain's and LlamaIndex', whose nodes may be texts of their own."""
    (retrieval,) = record(traceloop("r", kind, attributes)).retrievals
    (document,) = retrieval.documents

    assert (retrieval.query, document.id, document.content, document.score) == ("q", "d1", "text", 0.5)


def test_a_cut_list_of_documents_is_truncated() -> None:
    """It is no empty retrieval."""
    found = record(
        traceloop(
            "r",
            "task",
            {"gen_ai.operation.name": "vector_db_retrieve", "traceloop.entity.output": '{"documents": [{"page'},
        )
    )

    assert (found.retrievals[0].documents, found.evidence["retrievals"]) == ((), "truncated")


def test_a_retriever_with_content_off_is_partial() -> None:
    """TRACELOOP_TRACE_CONTENT=false leaves the attributes out."""
    found = record(traceloop("r", "task", {"gen_ai.operation.name": "vector_db_retrieve"}))

    assert (found.retrievals[0].query, found.evidence["retrievals"]) == (None, "partial")


@pytest.mark.parametrize("key", ["session_id", "thread_id", "conversation_id"])
def test_the_session_is_an_association(key: str) -> None:
    """The SDK puts it on every span."""
    assert record(traceloop("w", "workflow", {f"traceloop.association.properties.{key}": "s1"})).session_id == "s1"
