"""Whatever Langfuse, LangSmith, MLflow and LiteLLM pass on, the span is read: hypothesis looks for a shape that is not."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lanewatch.collector.spans import Event, LogRecord, Span

from tests.adapters.spans import TRACE_ID, record, span, span_id

LITELLM = {"litellm.call_id": "u", "gen_ai.request.model": "m", "gen_ai.operation.name": "chat"}
# By convention: its scope, what marks each kind of its spans, and the keys that hold content.
KINDS: dict[str, tuple[str, tuple[dict[str, Any], ...], tuple[str, ...]]] = {
    "langfuse": (
        "langfuse-sdk",
        tuple({"langfuse.observation.type": kind} for kind in ("generation", "tool", "retriever", "agent", "chain")),
        ("langfuse.observation.input", "langfuse.observation.output", "langfuse.observation.metadata",
         "langfuse.observation.usage_details", "langfuse.observation.metadata.tool_call_id",
         "langfuse.observation.level", "langfuse.observation.status_message", "langfuse.observation.model.name",
         "langfuse.observation.metadata.lc_agent_name", "langfuse.observation.metadata.ls_provider", "session.id"),
    ),
    "langsmith": (
        "langsmith",
        tuple({"langsmith.span.kind": kind} for kind in ("llm", "tool", "retriever", "chain")),
        ("gen_ai.prompt", "gen_ai.completion", "gen_ai.tool.definitions", "gen_ai.tool.name", "gen_ai.tool.call.id",
         "gen_ai.response.finish_reasons", "gen_ai.response.id", "langsmith.metadata.thread_id", "gen_ai.system"),
    ),
    "mlflow": (
        "mlflow.tracing.provider",
        tuple({"mlflow.spanType": json.dumps(kind)} for kind in ("CHAT_MODEL", "TOOL", "RETRIEVER", "CHAIN")),
        ("mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.chat.tools", "mlflow.chat.tokenUsage", "mlflow.llm.model",
         "metadata", "tool_call_id", "session.id", "mlflow.spanType"),
    ),
    "mlflow export": (
        "mlflow.tracing.provider",
        tuple({"gen_ai.operation.name": kind} for kind in ("chat", "execute_tool", "RETRIEVER", "CHAIN")),
        ("gen_ai.output.messages", "gen_ai.input.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
         "gen_ai.tool.definitions", "stream", "metadata", "tool_call_id", "gen_ai.response.finish_reasons"),
    ),
    "litellm": (
        "litellm",
        (LITELLM, {"llm.openai.choices": "[]"}, {"guardrail_name": "x"}, {**LITELLM, "mcp.method.name": "tools/call"},
         {**LITELLM, "gen_ai.operation.name": "call_mcp_tool"}),
        ("gen_ai.output.messages", "gen_ai.input.messages", "gen_ai.completion.0.function_call.name",
         "gen_ai.completion.0.function_call.arguments", "gen_ai.completion.0", "llm.openai.choices", "llm.openai.content",
         "llm.x.stringified_raw_response", "llm.openai.messages", "llm.request.functions.0.name", "gen_ai.tool.0.name",
         "llm.request.functions.0.parameters", "metadata.requester_metadata", "metadata.mcp_tool_call_metadata",
         "gen_ai.response.finish_reasons", "litellm.request.tools.declared", "gen_ai.operation.name"),
    ),
    "litellm on others": (
        "app",
        ({**LITELLM, "hidden_params": "{}"},),
        ("gen_ai.output.messages", "gen_ai.tool.name", "gen_ai.tool.call.arguments", "openinference.span.kind",
         "input.value", "output.value", "llm.request.type", "gen_ai.completion.0.function_call.name"),
    ),
}  # fmt: skip
WORDS = (
    "{}", "null", "LLM", "TOOL", "tool", "tool_calls", "stop", "chat", "", "<redacted>", '{"a": 1', '"9007199254740993"',
    "[{'message': {'content': None}}]", "{'name': 'x', 'arguments': {}}", "ValueError('x')Traceback (most recent call last)",
)  # fmt: skip
FIELDS = (
    "role", "parts", "content", "tool_calls", "function", "name", "arguments", "args", "kwargs", "id", "type", "message",
    "messages", "documents", "generations", "choices", "output", "input", "update", "goto", "lc", "data", "delta", "index",
    "additional_kwargs", "invalid_tool_calls", "refusal", "tool_call_id", "finish_reason", "response", "object", "tools",
    "parameters", "properties", "items", "anyOf", "page_content", "metadata", "score", "llm_output", "system", "usage",
)  # fmt: skip
EVENTS = ("mlflow.chunk.item.0", "mlflow.chunk.item.1", "mlflow.chunk.item.x", "exception", "new_token")
EVENT_KEYS = ("mlflow.chunk.value", "exception.type", "exception.message", "exception.stacktrace")

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=6), st.sampled_from(WORDS)
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)),
    max_leaves=10,
)
written = st.one_of(values, values.map(lambda value: json.dumps(value, default=str)), values.map(str))
events = st.builds(
    Event, st.sampled_from(EVENTS), st.just(0), st.dictionaries(st.sampled_from(EVENT_KEYS), written, max_size=3)
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_no_shape_makes_a_span_unreadable(kind: str, data: st.DataObject) -> None:
    """A span that can't be read is lost to the record; what is strange in it should be left out instead."""
    scope, marks, keys = KINDS[kind]

    def one(label: str, under: str = "") -> Span:
        return span(
            label,
            {
                **data.draw(st.dictionaries(st.sampled_from(keys), written, max_size=6)),
                **data.draw(st.sampled_from(marks)),
            },
            under=under,
            name=data.draw(st.sampled_from(("execute_tool x", "raw_gen_ai_request", "x_1"))),
            scope=scope,
            at=(data.draw(st.integers(0, 5)), data.draw(st.integers(5, 9))),
            status=data.draw(st.sampled_from((0, 0, 2))),
            events=tuple(data.draw(st.lists(events, max_size=3))),
        )

    log = LogRecord(TRACE_ID, span_id("b"), "", 0, data.draw(written), {"event_name": "gen_ai.content.completion"})

    assert record(one("a"), one("b", "a"), one("c", "a"), logs=(log,)).unread == 0
