"""Whatever carries GenAI keys and no convention above knows: read by the keys alone, and as little as they prove.

Emitters leave the operation out with content off (LiteLLM), or have a name of their own for it.
"""

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.facts import Fact
from lanewatch.adapters.genai_content import INPUT, OUTPUT
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "generic"
KEYS = (b"gen_ai.",)
SCOPES: tuple[str, ...] = ()

PREFIX = "gen_ai."
ANSWERS = (OUTPUT, "gen_ai.completion", "gen_ai.completion.0.role", "gen_ai.completion.0.content")
RESPONSES = (
    "gen_ai.response.id",
    "gen_ai.response.model",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
)
EVENTS = ("gen_ai.choice", "gen_ai.content.completion", "gen_ai.client.inference.operation.details")
RAN = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
FOUND = ("gen_ai.retrieval.documents", "gen_ai.retrieval.query.text")


def matches(span: Span) -> bool:
    """Whether the span or its events carry a GenAI key."""
    return any(key.startswith(PREFIX) for key in span.attributes) or any(e.name.startswith(PREFIX) for e in span.events)


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states. A tool's name alone proves no run: model calls carry it too."""
    attributes = span.attributes
    answered = any(key in attributes for key in ANSWERS) or any(event.name in EVENTS for event in span.events)
    if any(key in attributes for key in RESPONSES) and (answered or INPUT in attributes):
        return (otel_genai.llm_call(span, tree, NAME),)
    if answered and not tree.children(span):
        return (otel_genai.llm_call(span, tree, NAME),)
    if "gen_ai.tool.name" in attributes and (
        any(key in attributes for key in RAN) or span.name.startswith("execute_tool ")
    ):
        return (otel_genai.tool_run(span, NAME),)
    if any(key in attributes for key in FOUND):
        return (otel_genai.search(span, NAME),)
    step = otel_genai.step(span, NAME, str(attributes.get(otel_genai.OPERATION) or "unknown").lower())
    return (replace(step, instruments_tools=False),)
