"""Langfuse's SDKs: `langfuse.observation.type` and whole inputs and outputs as JSON text.

What is in them is the caller's: LangChain's callback handler, the OpenAI wrapper, and `@observe` each write their own
shape. Three things mislead. Tool definitions stand among the input messages, with role `tool`. A level of ERROR may stand
on a span whose OTel status is unset. Integers beyond 2^53 are written as text.
"""

from lanewatch.adapters.conventions.langfuse.marks import KIND, METADATA, MODEL, NAME, error, session
from lanewatch.adapters.conventions.langfuse.model_calls import llm_call
from lanewatch.adapters.conventions.langfuse.tools import search, tool_run
from lanewatch.adapters.facts import AGENT, Fact, Step
from lanewatch.adapters.json_text import parse_json_text
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

KEYS = (b"langfuse.observation.",)
SCOPES = ("langfuse",)

LOSSLESS = "llm.output_messages.0.message.tool_calls.0.tool_call.function.name"
# The handler's own marks: LangChain also reports its tools through it.
LANGCHAIN = (f"{METADATA}.ls_integration", f"{METADATA}.langgraph_node", f"{METADATA}.is_langchain_root")


def matches(span: Span) -> bool:
    """Whether the span is Langfuse's; spans of others pass through its exporter as they are. LiteLLM's preset writes
    OpenInference's keys too, and those alone keep arguments that are no JSON.
    """
    return KIND in span.attributes and LOSSLESS not in span.attributes


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states. SDKs up to 3.3.0 give type `span` to generations: a model's name tells those."""
    kind = span.attributes.get(KIND)
    if kind == "tool":
        return (tool_run(span, tree),)
    if kind == "retriever":
        return (search(span),)
    if kind == "generation" or (kind == "span" and MODEL in span.attributes):
        holds_call = any(child.attributes.get(KIND) == "generation" for child in tree.children(span))
        return (_step(span, "generation"),) if holds_call else (llm_call(span),)
    return (_step(span, str(kind)),)


def _step(span: Span, kind: str) -> Step:
    attributes = span.attributes
    named = parse_json_text(attributes.get(f"{METADATA}.lc_agent_name"))
    is_graph = span.name == named and f"{METADATA}.langgraph_node" not in attributes
    return Step(
        span,
        NAME,
        AGENT if kind == "agent" or is_graph else kind,
        instruments_tools=any(key in attributes for key in LANGCHAIN),
        target=span.name if kind == "agent" or is_graph else None,
        error=error(span),
        session_id=session(span),
    )


__all__ = ["KEYS", "NAME", "SCOPES", "matches", "read_span"]
