"""What every OpenInference span is told by: its kind, its instrumentor, its session."""

from typing import Any

from lanewatch.adapters.reading import is_placeholder
from lanewatch.collector.spans import Span

NAME = "openinference"
KIND = "openinference.span.kind"


def instrumentor(span: Span) -> str:
    """Last word of the scope: langchain, llama_index, openai, ..."""
    return span.scope.name.rpartition(".")[2]


def session(span: Span) -> str | None:
    """The conversation that the span belongs to."""
    value = span.attributes.get("session.id")
    return str(value) if isinstance(value, str | int) and value and not is_placeholder(value) else None


def string(value: Any) -> str | None:
    """A non-empty string, or None."""
    return value if isinstance(value, str) and value else None


def integer(value: Any) -> int | None:
    """An integer that is no bool, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
