"""OpenInference (Arize): `openinference.span.kind`, flattened messages, values with a mime type.

Quirks by instrumentor are told by the scope's last word.
"""

import re

from lanewatch.adapters.conventions.openinference.marks import KIND, NAME, instrumentor, session, string
from lanewatch.adapters.conventions.openinference.model_calls import llm_call
from lanewatch.adapters.conventions.openinference.retrieval import reranking, search
from lanewatch.adapters.conventions.openinference.tools import tool_run
from lanewatch.adapters.facts import Fact, Step
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.reading import parse_literal
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

KEYS = (b"openinference.span.kind",)
SCOPES = ("openinference.instrumentation",)

REFUSAL = re.compile(r"'refusal': ('(?:[^'\\]|\\.)+'|\"(?:[^\"\\]|\\.)+\")")

# Instrumentors of a bare client library never see a tool's body.
CLIENTS = frozenset(
    {
        "openai", "anthropic", "bedrock", "groq", "mistralai", "vertexai", "google_genai", "litellm", "instructor",
        "portkey", "guardrails",
    },
)  # fmt: skip


def matches(span: Span) -> bool:
    """Whether the span is OpenInference's."""
    return KIND in span.attributes


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    kind = str(span.attributes.get(KIND, "")).upper()
    named = "tool.name" in span.attributes and string(span.attributes["tool.name"]) is not None
    if kind == "LLM" and not _is_part_of_call(span):
        return (llm_call(span, tree),)
    if instrumentor(span) == "instructor":
        kind = "CHAIN"  # it calls its wrapper around a model call a tool
    if kind == "TOOL" or (kind == "AGENT" and named):
        # LangChain calls every run AGENT whose name contains "agent", a tool of that name too.
        return (tool_run(span, tree, named=named),)
    if kind == "RETRIEVER":
        # OpenAI Agents lets its user map a tool to this kind: it is both.
        run = (tool_run(span, tree, named=True),) if named and instrumentor(span) == "openai_agents" else ()
        return (*run, search(span, tree))
    if kind == "RERANKER":
        return (reranking(span),)
    return (
        Step(
            span,
            NAME,
            kind.lower() or "unknown",
            instruments_tools=instrumentor(span) not in CLIENTS and span.scope.name.startswith(SCOPES),
            error=error_of(span),
            refusal=_buried_refusal(span),
            target=_agent(span) if kind == "AGENT" else None,
            session_id=session(span),
        ),
    )


def _agent(span: Span) -> str:
    """The name of an agent; smolagents writes `{agent}.run` as the span's name alone."""
    return string(span.attributes.get("agent.name")) or span.name.removesuffix(".run")


def _is_part_of_call(span: Span) -> bool:
    """LlamaIndex gives kind LLM to private steps of a call too, such as `OpenAI._prepare_chat_with_tools`."""
    return instrumentor(span) == "llama_index" and span.name.rpartition(".")[2].startswith("_")


def _buried_refusal(span: Span) -> str | None:
    """A refusal that only a step's serialised event shows (LlamaIndex agents answer `None` then), as a Python repr."""
    for key in ("input.value", "output.value"):
        value = span.attributes.get(key)
        found = REFUSAL.search(value) if isinstance(value, str) and "'refusal': " in value else None
        if found:
            try:
                return str(parse_literal(found.group(1)))
            except ValueError:
                return found.group(1)[1:-1]
    return None


__all__ = ["KEYS", "NAME", "SCOPES", "matches", "read_span"]
