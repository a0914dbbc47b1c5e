"""Google's Agent Development Kit: both schemas of its telemetry, 2 (GenAI attributes) and 1 (`gcp.vertex.agent.*` JSON).

ADK writes a model's span before it gives calls their own ids, so with Gemini the ids of requests and of runs differ.
The span `execute_tool (merged)` repeats the results of parallel calls and is no run.
"""

from msgspec.structs import replace

from lanewatch.adapters.conventions.google_adk import model_calls, tools
from lanewatch.adapters.conventions.otel_genai import LLM, operation_of, step
from lanewatch.adapters.facts import AGENT, Fact
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "google_adk"
KEYS = (b"gcp.vertex.agent",)
SCOPES = ("gcp.vertex.agent",)

SCOPE = "gcp.vertex.agent"
EVENT, INVOCATION = "gcp.vertex.agent.event_id", "gcp.vertex.agent.invocation_id"  # one or both on whatever has content
SESSION_KEYS = ("gen_ai.conversation.id", "gcp.vertex.agent.session_id", "session.id")
MERGED = "(merged tools)"


def matches(span: Span) -> bool:
    """Whether ADK wrote the span, or google-genai's instrumentor did for it."""
    attributes = span.attributes
    return span.scope.name == SCOPE or EVENT in attributes or INVOCATION in attributes


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states: none for the span that merges the results of parallel calls."""
    operation = operation_of(span)
    if operation == "execute_tool" or span.name.startswith("execute_tool "):  # without attributes where a tool raised
        if span.attributes.get("gen_ai.tool.name") == MERGED or span.name == "execute_tool (merged)":
            return ()
        return (tools.read_run(span, tree, NAME, SESSION_KEYS),)
    if operation in LLM or span.name == "call_llm":
        return (model_calls.read_call(span, tree, NAME, SESSION_KEYS),)
    fact = step(span, NAME, operation, SESSION_KEYS)
    if fact.role == AGENT or span.name.startswith(("invocation", "agent_run")):
        return (replace(fact, role=AGENT, instruments_tools=True),)
    return (fact,)
