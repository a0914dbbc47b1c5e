"""LiteLLM, as a library and as a proxy, in both versions of its OpenTelemetry integration.

It sees model calls and MCP calls, never an application's tools; without a parent each request is a trace of its own.
Its presets for other backends write their keys on spans of the same scope: those are read by their own conventions.
"""

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.conventions.litellm.marks import (
    MODEL,
    NAME,
    SCOPE,
    SESSION_KEYS,
    calls_model,
    is_own,
    is_stamped,
    literal,
    session,
)
from lanewatch.adapters.conventions.litellm.model_calls import llm_call, raw_call
from lanewatch.adapters.conventions.litellm.raw import is_raw
from lanewatch.adapters.conventions.litellm.stamped import read_stamped
from lanewatch.adapters.facts import Fact, Step
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.reading import NO_CONTENT, read, read_arguments
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

KEYS = (b"litellm.", b"metadata.user_api_key")
SCOPES = (SCOPE,)

PRESETS = ("openinference.span.kind", "langfuse.observation.type")
GUARDRAILS = ("litellm.guardrail.name", "guardrail_name")
MCP_METHOD, MCP_CALL = "mcp.method.name", "metadata.mcp_tool_call_metadata"


def matches(span: Span) -> bool:
    """Whether LiteLLM made the span, or wrote a call on it."""
    attributes = span.attributes
    if not is_own(span):
        return is_stamped(span)
    preset = any(key in attributes for key in PRESETS)
    return not preset or MODEL in attributes or any(key in attributes for key in GUARDRAILS)


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    if not is_own(span):
        return read_stamped(span, tree)
    attributes = span.attributes
    if is_raw(span):
        above = tree.parent(span)
        belongs = above is not None and is_own(above) and calls_model(above.attributes)
        return (_step(span, "raw"),) if belongs else (raw_call(span, tree),)
    if any(key in attributes for key in GUARDRAILS):
        return (_step(span, "guardrail"),)
    operation = otel_genai.operation_of(span)
    if operation == "execute_tool":
        run = otel_genai.tool_run(span, NAME, session_keys=SESSION_KEYS)
        return (replace(run, name=run.name.removeprefix("tools/call "), session_id=session(span)),)
    if operation == "call_mcp_tool":
        return _mcp_run(span)
    if operation in otel_genai.RETRIEVAL:
        return (otel_genai.search(span, NAME, SESSION_KEYS),)
    if MCP_METHOD not in attributes and MODEL in attributes and calls_model(attributes):
        return (llm_call(span, tree),)
    return (_step(span, operation or "gateway"),)


def _step(span: Span, role: str) -> Step:
    return Step(span, NAME, role, error=error_of(span), session_id=session(span))


def _mcp_run(span: Span) -> tuple[Fact, ...]:
    """The first version's record of an MCP call that the proxy made: the repr of its name, arguments and result."""
    told = literal(span.attributes.get(MCP_CALL))
    name = told.get("name") if isinstance(told, dict) else None
    if not isinstance(told, dict) or not isinstance(name, str):
        return (_step(span, "mcp"),)
    arguments = read_arguments(told["arguments"]) if told.get("arguments") is not None else NO_CONTENT
    run = otel_genai.tool_run(span, NAME, arguments, read(told.get("result")), session_keys=SESSION_KEYS)
    return (replace(run, name=name, session_id=session(span), keys=(MCP_CALL,)),)


__all__ = ["KEYS", "NAME", "SCOPES", "matches", "read_span"]
