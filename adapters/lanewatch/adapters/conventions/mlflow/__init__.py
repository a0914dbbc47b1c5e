"""MLflow's tracing: `mlflow.spanType`, and JSON in every attribute; or its export in GenAI's terms.

In that export the `mlflow.` keys are gone and only the scope is left to tell it by; types without a GenAI operation stand
as operations in upper case (`RETRIEVER`), without what they took and gave.
"""

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.conventions.mlflow.marks import (
    MODELS,
    NAME,
    OPERATION,
    SCOPE,
    TYPE,
    is_langchain,
    kind_of,
    session,
)
from lanewatch.adapters.conventions.mlflow.model_calls import buried_refusal, exported_call, llm_call
from lanewatch.adapters.conventions.mlflow.tools import exported_run, search, tool_run
from lanewatch.adapters.facts import AGENT, Fact, Step
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

KEYS = (b"mlflow.spanType",)
SCOPES = (SCOPE,)


def matches(span: Span) -> bool:
    """Whether the span is MLflow's, in either form."""
    return TYPE in span.attributes or (span.scope.name.startswith(SCOPE) and OPERATION in span.attributes)


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states. A model's span that holds another one is a wrapper around it."""
    if TYPE not in span.attributes:
        return _exported(span, tree)
    kind = kind_of(span)
    if kind == "TOOL":
        return (tool_run(span, tree),)
    if kind == "RETRIEVER":
        return (search(span),)
    if kind in MODELS and not any(kind_of(child) in MODELS for child in tree.children(span)):
        return (llm_call(span),)
    is_agent = kind == "AGENT"
    return (
        Step(
            span,
            NAME,
            AGENT if is_agent else kind.lower() or "unknown",
            instruments_tools=is_langchain(span),
            target=span.name if is_agent else None,
            refusal=buried_refusal(span),
            error=error_of(span),
            session_id=session(span),
        ),
    )


def _exported(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    operation = otel_genai.operation_of(span)
    if operation == "execute_tool":
        return (exported_run(span),)
    if operation in otel_genai.LLM:
        holds_call = any(otel_genai.operation_of(child) in otel_genai.LLM for child in tree.children(span))
        if not holds_call:
            return (exported_call(span, tree),)
    if operation in otel_genai.RETRIEVAL:
        return (replace(otel_genai.search(span, NAME), session_id=session(span)),)
    step = otel_genai.step(span, NAME, operation)
    return (replace(step, instruments_tools=is_langchain(span), session_id=session(span)),)


__all__ = ["KEYS", "NAME", "SCOPES", "matches", "read_span"]
