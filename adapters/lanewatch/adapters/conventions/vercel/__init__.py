"""Vercel's AI SDK for JavaScript: its own `ai.*` spans (versions 3 to 7), and the GenAI spans that version 7 can write.

An `ai.toolCall` or `execute_tool` span opens after the arguments were validated and only where the application gave the
tool a function, so a call that is malformed, unknown, or left to the browser has none.
"""

from lanewatch.adapters.conventions.vercel import genai_mode, legacy
from lanewatch.adapters.facts import Fact
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "vercel"
KEYS = (b"ai.operationId", b"ai.toolCall", b"ai.generate", b"ai.stream")
SCOPES: tuple[str, ...] = ()


def matches(span: Span) -> bool:
    """Whether the span has the SDK's own operation id, or is one of its GenAI spans."""
    return legacy.operation_of(span) is not None or genai_mode.matches(span)


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    operation = legacy.operation_of(span)
    if operation is not None:
        return legacy.read_span(span, tree, operation, NAME)
    return genai_mode.read_span(span, tree, NAME)
