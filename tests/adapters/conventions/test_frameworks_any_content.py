"""Whatever the attributes of these frameworks hold, their spans are read: a strange value costs itself, not its span."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lanewatch.adapters.trace_record import read_trace
from lanewatch.collector.spans import Event

from tests.adapters.spans import log, span, trace

ADK, LOGFIRE, AGENTS = "gcp.vertex.agent", "logfire.anthropic", "logfire.openai_agents"
DETAILS = "gen_ai.client.inference.operation.details"
MESSAGES = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.definitions", "gen_ai.system_instructions")
RUN = ("gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "error.type")
# Scope, name, what marks the span, and the keys whose values are drawn.
KINDS: tuple[tuple[str, str, dict[str, Any], tuple[str, ...]], ...] = (
    (ADK, "generate_content m", {"gen_ai.operation.name": "generate_content"}, (*MESSAGES, "gcp.vertex.agent.llm_request")),
    (ADK, "call_llm", {}, ("gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response", "gen_ai.request.model")),
    (
        ADK,
        "execute_tool t",
        {"gen_ai.operation.name": "execute_tool"},
        (*RUN, "gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response", "gen_ai.tool.type"),
    ),
    ("strands.telemetry.tracer", "chat", {"gen_ai.operation.name": "chat"}, MESSAGES),
    (
        "strands.telemetry.tracer",
        "execute_tool t",
        {"gen_ai.operation.name": "execute_tool"},
        (*RUN, *MESSAGES, "gen_ai.tool.json_schema", "strands.cancellation.type"),
    ),
    ("strands.telemetry.tracer", "agent", {"gen_ai.operation.name": "invoke_agent"}, ("gen_ai.agent.tools", *MESSAGES)),
    (
        "strands.telemetry.tracer",
        "memory.search",
        {"gen_ai.operation.name": "memory.search"},
        ("content", "memory.store.names"),
    ),
    (
        "ai",
        "ai.generateText.doGenerate",
        {"ai.operationId": "ai.generateText.doGenerate"},
        (
            "ai.prompt.messages", "ai.prompt.tools", "ai.response.text", "ai.response.toolCalls", "ai.response.finishReason",
            "ai.usage.promptTokens", "ai.telemetry.metadata.sessionId", "ai.response.id",
        ),
    ),
    (
        "ai",
        "ai.toolCall",
        {"ai.operationId": "ai.toolCall"},
        ("ai.toolCall.name", "ai.toolCall.id", "ai.toolCall.args", "ai.toolCall.result"),
    ),
    ("gen_ai", "chat", {"gen_ai.operation.name": "chat"}, MESSAGES),
    ("gen_ai", "execute_tool t", {"gen_ai.operation.name": "execute_tool"}, (*RUN, "gen_ai.tool.type")),
    ("pydantic-ai", "chat m", {"gen_ai.operation.name": "chat"}, (*MESSAGES, "events", "model_request_parameters")),
    ("pydantic-ai", "running tool", {}, (*RUN, "tool_arguments", "tool_response", "logfire.msg")),
    (LOGFIRE, "chat", {"gen_ai.operation.name": "chat"}, (*MESSAGES, "request_data", "response_data", "events")),
    (AGENTS, "Function: {name}", {"gen_ai.system": "openai"}, ("name", "input", "output", "error", "logfire.msg_template")),
    (AGENTS, "Responses API", {"gen_ai.system": "openai"}, ("events", "request_data", "error")),
)  # fmt: skip
FIELDS = (
    "role", "parts", "content", "contents", "tool_calls", "function", "name", "arguments", "args", "id", "type", "message",
    "text", "thought", "function_call", "function_response", "functionCall", "response", "result", "toolUse", "toolResult",
    "toolUseId", "input", "output", "value", "status", "json", "toolCallId", "toolName", "event.name", "kind", "config",
    "tools", "function_declarations", "parameters", "properties", "required", "output_tools", "messages", "partial",
    "finish_reason", "error", "INVALID_JSON", "inputSchema", "combined_chunk_content", "data",
)  # fmt: skip
WORDS = (
    "assistant", "user", "tool", "model", "text", "tool_call", "tool-call", "tool-result", "t", "call_1", "STOP", "{}", "",
    "[REDACTED]", "<elided>", "<not specified>", "[Scrubbed due to 'x']", '{"a": 1', '"quoted"', "gen_ai.choice",
    "gen_ai.user.message", "Function: {name}", "running output function: t", "null", "[" * 500,
)  # fmt: skip
SCALARS = st.one_of(st.sampled_from(WORDS), st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)
WRITTEN = VALUES | VALUES.map(json.dumps)
EVENTS = st.lists(
    st.builds(
        Event,
        st.sampled_from(
            (DETAILS, "gen_ai.choice", "gen_ai.tool.message", "gen_ai.user.message", "memory.results", "exception")
        ),
        st.just(0),
        st.dictionaries(st.sampled_from(("content", "message", "id", "finish_reason", *MESSAGES)), WRITTEN, max_size=3),
    ),
    max_size=3,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]}:{kind[1]}")
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_content_makes_a_span_unreadable(
    kind: tuple[str, str, dict[str, Any], tuple[str, ...]], data: st.DataObject
) -> None:
    """A span that raises is counted as unread and lost: none of these is, and the record can be written."""
    scope, name, mark, keys = kind
    drawn = data.draw(st.dictionaries(st.sampled_from(keys), WRITTEN, max_size=6))
    events = data.draw(EVENTS)
    body, logged = data.draw(VALUES), data.draw(st.dictionaries(st.sampled_from(MESSAGES), VALUES, max_size=2))
    one = span(
        "one", {**drawn, **mark}, at=(1, 2), under="root", scope=scope, name=name, events=tuple(events), status=2
    )
    two = span("two", {**mark}, at=(3, 4), under="root", scope=scope, name=name)
    logs = (log("one", "gen_ai.choice", body), log("two", DETAILS, body, logged))
    record = read_trace(trace(span("root", {}, at=(0, 9), scope=scope, name="agent"), one, two, logs=logs))

    assert record.unread == 0
    assert msgspec.json.encode(record)
