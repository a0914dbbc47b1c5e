"""Whatever stands under a convention's keys, its reader reads the span: hypothesis looks for a shape that it can't."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lanewatch.adapters.conventions.second_hand.rows import ROWS
from lanewatch.collector.spans import Event, LogRecord

from tests.adapters.spans import TRACE_ID, record, span, span_id

GENAI = (
    "gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result", "gen_ai.output.messages", "gen_ai.input.messages", "gen_ai.tool.definitions",
    "gen_ai.response.finish_reasons", "gen_ai.response.finish_reason", "gen_ai.agent.name", "gen_ai.retrieval.documents",
    "gen_ai.usage.input_tokens", "gen_ai.conversation.id", "gen_ai.response.id", "gen_ai.request.model",
)  # fmt: skip
# By convention: what marks its spans, its span names, and its own keys.
KINDS: dict[str, tuple[dict[str, Any], str, tuple[str, ...], tuple[str, ...]]] = {
    "agent_framework": ({}, "agent_framework", ("execute_tool x", "workflow.run"), (*GENAI, "executor.id", "mcp.method.name")),
    "semantic_kernel": ({}, "semantic_kernel.x", ("execute_tool x", "chat"), GENAI),
    "mcp": ({"mcp.method.name": "tools/call"}, "fastmcp", ("tools/call x", "delegate x"), (*GENAI, "rpc.response.status_code")),
    "crewai": (
        {"crewai.event_name": "x"}, "crewai", ("call tool", "call llm", "query knowledge", "tool failure"),
        (*GENAI, "crewai.tool.from_cache", "crewai.knowledge.query", "crewai.knowledge.retrieved_knowledge",
         "gen_ai.tool.call.arguments.truncated", "gen_ai.output.messages.truncated", "crewai.memory.results"),
    ),
    "autogen": ({"gen_ai.system": "autogen"}, "autogen-core", ("execute_tool x",), GENAI),
    "llama_index": ({}, "llamaindex.opentelemetry.tracer", ("A.chat",), ()),
    "haystack": (
        {}, "x", ("haystack.agent.step.tool", "haystack.agent.step.llm", "haystack.component.run", "haystack.agent.run"),
        ("haystack.tool.name", "haystack.agent.step.tool.input", "haystack.agent.step.tool.output", "haystack.tool.error",
         "haystack.agent.step.llm.input", "haystack.agent.step.llm.output", "haystack.component.type",
         "haystack.component.input", "haystack.component.output", "haystack.component.name"),
    ),
    "trulens": (
        {"ai.observability.span_type": "tool"}, "x", ("x._run",),
        (*GENAI, "ai.observability.span_type", "ai.observability.call.kwargs.input", "ai.observability.call.kwargs.a",
         "ai.observability.call.return", "ai.observability.call.error", "ai.observability.mcp.input_arguments",
         "ai.observability.retrieval.retrieved_contexts", "ai.observability.retrieval.num_contexts"),
    ),
    "openlit": (
        {}, "openlit.x", ("execute_tool x",),
        (*GENAI, "gen_ai.retrieval.document_count", "gen_ai.retrieval.query", "gen_ai.tool.args"),
    ),
    "azure": ({"az.namespace": "x"}, "x", ("chat",), GENAI),
    "vector_db": ({"db.system": "chroma"}, "x", ("chroma.query",), ("db.operation",)),
    "openai_agents_v2": ({}, "opentelemetry.instrumentation.openai_agents", ("chat x",), GENAI),
    "generic": ({}, "x", ("execute_tool x", "x"), (*GENAI, "gen_ai.completion")),
    **{
        f"row {row.name}": (
            {"gen_ai.agent.name": "gemini-cli"} if row.name == "gemini_cli" else {f"{row.marks[0]}x": 1}, "x",
            ("claude_code.tool", "function_tool"),
            (*row.kinds, *row.inputs, *row.outputs, *row.calls, *row.names, *row.ids, *row.arguments, *row.results, *row.models),
        )
        for row in ROWS
    },
}  # fmt: skip
WORDS = (
    "execute_tool", "chat", "invoke_agent", "retrieval", "llm", "tool", "retriever", "tools/call", "model", "TOOL",
    "llm_call", "tool_call", "TestRetriever", "TestGenerator", "None", "", "<REDACTED>", '{"a": 1', "[1, 2]", '"text"',
    "{'role': 'assistant', 'content': 1}", "ResponseFunctionToolCall(name=1)", "content='x' tool_call_id='y'", "1, 2",
)  # fmt: skip
FIELDS = (
    "role", "parts", "content", "tool_calls", "function", "name", "arguments", "args", "id", "type", "message", "messages",
    "replies", "documents", "node", "text", "score", "metadata", "query", "toolRequest", "toolResponse", "isError", "error",
    "blocks", "block_type", "tool_kwargs", "tool_call", "tool_call_result", "origin", "meta", "usage", "properties",
    "parameters", "parts", "tool_params", "callId", "items", "structuredContent", "additional_kwargs",
)  # fmt: skip
EVENTS = (
    "gen_ai.output.messages", "gen_ai.choice", "RetrievalEndEvent", "LLMChatEndEvent", "AgentToolCallEvent", "tool.output",
    "db.query.result", "exception", "gen_ai.content.completion", "LLMChatStartEvent",
)  # fmt: skip
EVENT_KEYS = (
    "gen_ai.event.content", "nodes", "str_or_query_bundle", "messages", "response.message.blocks", "response.message.role",
    "response.message.additional_kwargs.tool_calls", "response.text", "arguments", "tool.name", "output", "content",
    "db.query.result.id", "db.query.result.distance", "exception.type", "exception.message", "gen_ai.completion", "prompt",
)  # fmt: skip

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=6), st.sampled_from(WORDS)
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)),
    max_leaves=8,
)
written = st.one_of(values, values.map(lambda value: json.dumps(value, default=str)))
events = st.builds(
    Event, st.sampled_from(EVENTS), st.just(0), st.dictionaries(st.sampled_from(EVENT_KEYS), written, max_size=4)
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_no_shape_makes_a_span_unreadable(kind: str, data: st.DataObject) -> None:
    """A span that can't be read is lost to the record; what is strange in it should be left out instead."""
    marks, scope, names, keys = KINDS[kind]
    drawn = st.dictionaries(st.sampled_from(keys), written, max_size=6) if keys else st.just({})

    def one(label: str, under: str = "") -> Any:
        return span(
            label,
            {**marks, **data.draw(drawn)},
            under=under,
            name=data.draw(st.sampled_from(names)),
            scope=scope,
            at=(data.draw(st.integers(0, 5)), data.draw(st.integers(5, 9))),
            status=data.draw(st.sampled_from((0, 0, 2))),
            events=tuple(data.draw(st.lists(events, max_size=2))),
        )

    body = data.draw(written)
    logs = (LogRecord(TRACE_ID, span_id("b"), "gen_ai.choice", 0, body),)

    seen = record(one("a"), one("b", "a"), one("c", "a"), logs=logs)

    assert seen.unread == 0
