"""Logfire's own spans: of the OpenAI and Anthropic clients, of OpenAI's Agents SDK, of Claude's, and of MCP.

A pending span stands for one that is still open, under an id of its own, and repeats its attributes: it states nothing.
Semantic version 1 keeps messages in `request_data`, `response_data` and `events`; version 2 follows GenAI.
"""

from msgspec.structs import replace

from lanewatch.adapters.conventions.logfire import agents_sdk, clients, mcp_requests
from lanewatch.adapters.conventions.logfire.scrubbing import unscrubbed_run
from lanewatch.adapters.conventions.otel_genai import LLM, operation_of, step, tool_run
from lanewatch.adapters.facts import AGENT, Fact
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "logfire"
KEYS = (b"gen_ai.", b"pending_span")
SCOPES = ("logfire.openai_agents", "logfire.claude_agent_sdk", mcp_requests.SCOPE)

PENDING = "pending_span"


def matches(span: Span) -> bool:
    """Whether Logfire's own instrumentation wrote the span, or it stands in for one that is still open."""
    return span.scope.name.startswith("logfire") or span.attributes.get("logfire.span_type") == PENDING


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    if span.attributes.get("logfire.span_type") == PENDING:
        return ()
    if span.scope.name == agents_sdk.SCOPE:
        return agents_sdk.read_span(span, tree, NAME)
    if span.scope.name == mcp_requests.SCOPE:
        return mcp_requests.read_span(span, tree, NAME)
    operation = operation_of(span)
    if operation == "execute_tool":
        return (unscrubbed_run(tool_run(span, NAME)),)
    if operation in LLM:
        return clients.read_call(span, tree, NAME)
    fact = step(span, NAME, operation)
    return (replace(fact, instruments_tools=fact.role == AGENT and "claude_agent_sdk" in span.scope.name),)
