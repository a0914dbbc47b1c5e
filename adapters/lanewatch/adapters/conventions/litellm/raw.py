"""`raw_gen_ai_request`: a provider's request and answer, each field as Python's `str()` of it under `llm.{provider}.`.

It shows what the span above loses (call ids, refusals), but also what LiteLLM turned into something else before the
application saw it, so it only completes. Streamed answers leave it empty.
"""

from typing import Any

from lanewatch.adapters.conventions.litellm.marks import SCOPE, literal
from lanewatch.adapters.conventions.otel_genai import OPERATION
from lanewatch.adapters.json_text import parse_json
from lanewatch.adapters.message_shapes import read_completion, read_messages
from lanewatch.adapters.messages import Message
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

RAW = "raw_gen_ai_request"
PREFIX = "llm."
ANSWER = ("choices", "output", "content", "candidates", "role", "stop_reason", "id", "model")
TEXT = "stringified_raw_response"
INPUTS = ("messages", "input", "contents")


def is_raw(span: Span) -> bool:
    """Whether this is a raw span; a caller may have given it the generation's name."""
    if span.scope.name != SCOPE or OPERATION in span.attributes or "gen_ai.request.model" in span.attributes:
        return False
    return span.name == RAW or any(_field(key) in ("choices", "messages", TEXT) for key in span.attributes)


def raw_below(span: Span, tree: SpanTree) -> list[Span]:
    """The raw spans of a call, in order of start."""
    return [child for child in tree.children(span) if is_raw(child)]


def raw_answer(raw: Span) -> tuple[dict[str, Any], tuple[Message, ...]]:
    """(the provider's answer as far as it is of use, its messages)."""
    fields: dict[str, Any] = {}
    for key, value in raw.attributes.items():
        name = _field(key)
        if name in ANSWER:
            # Only what holds an object was turned into its repr; a text is as it was.
            read = literal(value) if isinstance(value, str) and value[:1] in ("[", "{") else value
            fields[name] = read
        elif name == TEXT and isinstance(value, str):
            try:
                whole = parse_json(value)
            except ValueError:
                continue
            if isinstance(whole, dict):
                fields.update({key: whole[key] for key in ANSWER if key in whole})
    return fields, read_completion(fields) if fields else ()


def raw_input(raw: Span) -> tuple[Message, ...]:
    """The messages that were sent."""
    for key, value in raw.attributes.items():
        if _field(key) in INPUTS:
            return read_messages(literal(value))
    return ()


def _field(key: str) -> str:
    """The field that `llm.{provider}.{field}` names; empty for any other key."""
    if not key.startswith(PREFIX):
        return ""
    _, _, field = key.removeprefix(PREFIX).partition(".")
    return field
