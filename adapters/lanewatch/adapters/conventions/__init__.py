"""The conventions, in the order in which a span is offered to them (marker table A of the reference).

A convention is a module with NAME, KEYS and SCOPES (what the decoder looks for in raw bytes), `matches(span)` and
`read_span(span, tree)`. A vendor's own kind attribute is a surer sign than GenAI keys, so those come first.
"""

from types import ModuleType
from typing import Protocol, cast

from lanewatch.adapters.conventions import (
    agent_framework,
    autogen,
    azure,
    crewai,
    generic,
    google_adk,
    haystack,
    langfuse,
    langsmith,
    litellm,
    llama_index,
    logfire,
    mcp,
    mlflow,
    openai_agents_v2,
    openinference,
    openlit,
    otel_genai,
    pydantic_ai,
    second_hand,
    semantic_kernel,
    strands,
    traceloop,
    trulens,
    vector_db,
    vercel,
)
from lanewatch.adapters.facts import Fact
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span


class Convention(Protocol):
    """What each module of this package offers."""

    NAME: str
    KEYS: tuple[bytes, ...]
    SCOPES: tuple[str, ...]

    def matches(self, span: Span) -> bool:
        """Whether the span is this convention's."""

    def read_span(self, span: Span, tree: SpanTree) -> tuple[Fact, ...]:
        """The facts that a span states: one, or two where a tool is a retriever."""


def _convention(module: ModuleType) -> Convention:
    return cast("Convention", module)


CONVENTIONS: tuple[Convention, ...] = tuple(
    _convention(module)
    for module in (
        logfire,
        litellm,
        langfuse,
        google_adk,
        strands,
        agent_framework,
        pydantic_ai,
        langsmith,
        mlflow,
        vector_db,
        traceloop,
        vercel,
        openinference,
        trulens,
        crewai,
        haystack,
        llama_index,
        semantic_kernel,
        autogen,
        openlit,
        azure,
        second_hand,
        mcp,
        openai_agents_v2,
        otel_genai,
        generic,
    )
)
KEYS: tuple[bytes, ...] = tuple(dict.fromkeys(key for convention in CONVENTIONS for key in convention.KEYS))
SCOPES: tuple[str, ...] = tuple(dict.fromkeys(scope for convention in CONVENTIONS for scope in convention.SCOPES))


_SECOND_HAND = _convention(second_hand)
_MATCHERS = tuple((convention.matches, convention) for convention in CONVENTIONS)


def name_of(convention: Convention, span: Span) -> str:
    """The name of a span's convention, as docs/conventions.md lists it: each second-hand one has its own."""
    if convention is _SECOND_HAND and (row := second_hand.row_of(span)) is not None:
        return row.name
    return convention.NAME


def convention_of(span: Span) -> Convention | None:
    """The first convention that knows this span."""
    for matches, convention in _MATCHERS:
        if matches(span):
            return convention
    return None
