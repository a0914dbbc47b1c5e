"""OpenAI's Agents SDK through OpenTelemetry's contrib instrumentor (openai-agents-v2).

A model's answer is text parts alone: what is no text is the repr of an object, and calls beside a text are left out. Runs
of tools have no call id.
"""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.facts import Fact, LlmCall
from lanewatch.adapters.message_shapes import read_message
from lanewatch.adapters.messages import Message, Part, Text
from lanewatch.adapters.python_reprs import CLASS, parse_repr
from lanewatch.adapters.reading import State, dictionaries
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "openai_agents_v2"
KEYS = (b"gen_ai.",)
SCOPES: tuple[str, ...] = ()

SCOPE = "opentelemetry.instrumentation.openai_agents"
HIDDEN = "readacted"  # as the instrumentor spells it
LEVELS = ("execute_tool", "chat", "text_completion")


def matches(span: Span) -> bool:
    """Whether contrib's instrumentor wrote the span. OpenLLMetry's has the same scope, and is asked first."""
    return span.scope.name == SCOPE and otel_genai.OPERATION in span.attributes


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    facts = otel_genai.read_span(span, tree)
    return tuple(
        _completed(replace(fact, convention=NAME), tree)
        if isinstance(fact, LlmCall)
        else replace(fact, convention=NAME)
        for fact in facts
    )


def _completed(call: LlmCall, tree: SpanTree) -> LlmCall:
    """A model call with its calls out of the reprs; one that a tool follows without a call hides it."""
    if any(isinstance(part, Text) and part.text == HIDDEN for message in call.output for part in message.parts):
        return replace(call, output=(), output_state=State.REDACTED)
    output = tuple(
        Message(message.role, tuple(p for part in message.parts for p in _parts(part)), message.finish_reason)
        for message in call.output
    )
    asks = any(message.calls for message in output)
    reason = "tool_calls" if not asks and output and _tool_follows(call.span, tree) else call.finish_reason
    return replace(call, output=output, finish_reason=reason)


def _parts(part: Part) -> tuple[Part, ...]:
    """A part, or what the repr in it stands for."""
    if not isinstance(part, Text) or not part.text.startswith(("Response", "{'")):
        return (part,)
    try:
        value = parse_repr(part.text)
    except ValueError:
        return (part,)
    if isinstance(value, dict) and value.get("object") == "response":  # a stream of chat completions ends in one
        items = dictionaries(value.get("output"))
        return tuple(p for item in items for p in read_message(_plain(item), "assistant").parts) or (part,)
    if not isinstance(value, dict) or ("role" not in value and CLASS not in value):
        return (part,)  # an answer may look like that
    return read_message(_plain(value), "assistant").parts or (part,)


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Without the fields that are None, which the repr of a message has many of."""
    return {key: item for key, item in value.items() if item is not None and key != CLASS}


def _tool_follows(span: Span, tree: SpanTree) -> bool:
    """Whether a tool's run comes next beside a model call."""
    named = (str(one.attributes.get(otel_genai.OPERATION, "")).lower() for one in tree.later_beside(span))
    return next((operation for operation in named if operation in LEVELS), "") == "execute_tool"
