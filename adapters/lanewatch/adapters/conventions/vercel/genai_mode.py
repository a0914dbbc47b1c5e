"""The AI SDK's GenAI spans (version 7 with its OpenTelemetry integration): `invoke_agent`, `step N`, `chat`, `execute_tool`.

They follow the GenAI conventions but for texts in quotes, `inputSchema`, and tools that the provider ran: those have a
span of no length below the chat span, with the tool type `extension`.
"""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions.otel_genai import LLM, llm_call, operation_of, step, tool_run
from lanewatch.adapters.conventions.vercel.open_calls import left_open
from lanewatch.adapters.facts import AGENT, Fact, LlmCall
from lanewatch.adapters.genai_content import OUTPUT
from lanewatch.adapters.json_values import json_text
from lanewatch.adapters.messages import Message, ToolCall
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

SCOPE = "gen_ai"
EXTENSION = "extension"
SESSION_KEYS = (
    "gen_ai.conversation.id", "session.id", "ai.settings.context.sessionId", "ai.settings.context.session_id",
    "ai.settings.context.conversationId", "ai.settings.context.threadId", "ai.settings.context.chatId",
)  # fmt: skip


def matches(span: Span) -> bool:
    """Whether the span is of the SDK's default tracer, or has what it alone writes."""
    attributes = span.attributes
    return (
        (span.scope.name == SCOPE and "gen_ai.operation.name" in attributes)
        or attributes.get("gen_ai.operation.name") == "agent_step"
        or "gen_ai.execute_tool.duration" in attributes
    )


def read_span(span: Span, tree: SpanTree, convention: str) -> tuple[Fact, ...]:
    """The facts that a span states; a tool that the provider ran is told on the model call alone."""
    operation = operation_of(span)
    if operation == "execute_tool":
        if span.attributes.get("gen_ai.tool.type") == EXTENSION:
            return ()
        result = json_text(span.attributes.get("gen_ai.tool.call.result"))
        return (tool_run(span, convention, result=result, session_keys=SESSION_KEYS),)
    if operation in LLM:
        call = _with_provided(llm_call(span, tree, convention, SESSION_KEYS), tree)
        return (left_open(call, tree, (OUTPUT,), ("gen_ai.response.finish_reasons",)),)
    fact = step(span, convention, operation, SESSION_KEYS)
    return (replace(fact, instruments_tools=fact.role == AGENT),)


def _with_provided(call: LlmCall, tree: SpanTree) -> LlmCall:
    provided = {
        child.attributes.get("gen_ai.tool.call.id")
        for child in tree.children(call.span)
        if child.attributes.get("gen_ai.tool.type") == EXTENSION
    }
    if not provided:
        return call
    return replace(call, output=tuple(_marked(message, provided) for message in call.output))


def _marked(message: Message, provided: set[Any]) -> Message:
    parts = tuple(
        replace(part, by_provider=True) if isinstance(part, ToolCall) and part.call_id in provided else part
        for part in message.parts
    )
    return replace(message, parts=parts)
