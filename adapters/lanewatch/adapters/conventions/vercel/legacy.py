"""The AI SDK's own spans: `ai.generateText` around `ai.generateText.doGenerate` and `ai.toolCall`, and their like.

JavaScript holds numbers as doubles: where a call's arguments were already parsed (streams), integers beyond 2^53 have
lost digits, and the arguments count as cut. Arguments written as text keep the model's own digits.
"""

from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions.otel_genai import finish_of, session_of, shape_of, usage_of
from lanewatch.adapters.conventions.vercel.open_calls import left_open
from lanewatch.adapters.documents import document_of
from lanewatch.adapters.facts import AGENT, Document, Fact, LlmCall, Search, Step, ToolRun, Usage
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.json_text import dump, parse_json, parse_json_text
from lanewatch.adapters.json_values import json_text
from lanewatch.adapters.message_parts import read_parts
from lanewatch.adapters.message_shapes import read_messages
from lanewatch.adapters.messages import Message, Part, Reasoning, Text, ToolCall
from lanewatch.adapters.reading import NO_CONTENT, State, dictionaries, is_placeholder, read_arguments, read_json
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

OPERATION = "ai.operationId"
CALLS = (".doGenerate", ".doStream")
# Up to version 6 the model's call has the ranking; version 7 writes it on the span around that, which may be the only one.
RERANK, RERANK_CALL = "ai.rerank.doRerank", "ai.rerank"
RANKED = ("ai.ranking", "ai.ranking.type")
AGENTS = frozenset({"ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"})
EMBEDDINGS = ("ai.embed", "ai.embedMany")
TEXT_KEYS = ("ai.response.text", "ai.response.object", "ai.result.text", "ai.result.object")  # result: version 3
CALL_KEYS = ("ai.response.toolCalls", "ai.result.toolCalls")
FINISH_KEYS = ("ai.response.finishReason", "ai.finishReason")
SESSION_KEYS = (
    "ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.session_id", "ai.telemetry.metadata.conversationId",
    "ai.telemetry.metadata.threadId", "ai.telemetry.metadata.chatId", "ai.settings.context.sessionId",
    "gen_ai.conversation.id", "session.id",
)  # fmt: skip
CACHED = 4096  # characters of a tool's definition that is worth keeping
EXACT = 2**53  # from here on doubles skip integers


def operation_of(span: Span) -> str | None:
    """The SDK's operation, or None where the span is none of its own. Version 3.0 has it in `operation.name` only."""
    operation = span.attributes.get(OPERATION)
    if operation is None:
        operation = span.attributes.get("operation.name")
        if not isinstance(operation, str) or not operation.startswith("ai."):
            return None
    return operation.partition(" ")[0] if isinstance(operation, str) else None


def read_span(span: Span, tree: SpanTree, operation: str, convention: str) -> tuple[Fact, ...]:
    """The facts of a span with this operation."""
    if operation == "ai.toolCall":
        return (_tool_run(span, convention),)
    if operation.endswith(CALLS) and not operation.startswith(EMBEDDINGS):
        return (left_open(_llm_call(span, convention), tree, CALL_KEYS, FINISH_KEYS),)
    if operation == RERANK or (operation == RERANK_CALL and not span.attributes.keys().isdisjoint(RANKED)):
        return (_reranking(span, convention),)
    is_agent = operation in AGENTS
    return (
        Step(
            span,
            convention,
            AGENT if is_agent else operation,
            instruments_tools=is_agent,
            error=error_of(span),
            session_id=session_of(span, SESSION_KEYS),
        ),
    )


def _reranking(span: Span, convention: str) -> Search:
    """What a reranking model made of `ai.documents`: `ai.ranking` has their places, best first, and their scores. Both are
    lists of JSON texts; the query is not written.
    """
    given, ranked = (_listed(span.attributes.get(key)) for key in ("ai.documents", "ai.ranking"))
    documents: list[Document] = []
    for rank, item in enumerate(dictionaries(ranked)):
        place = item.get("index", item.get("originalIndex"))
        told = given[place] if given is not None and isinstance(place, int) and 0 <= place < len(given) else None
        told = item.get("document") if told is None else told
        fields = told if isinstance(told, dict) else {"content": told}
        document = document_of(rank, {**fields, "score": item.get("relevanceScore", item.get("score"))})
        if document.content is None and isinstance(told, dict):
            document = replace(document, content=dump(told))  # an object without a text that is known as one
        documents.append(document)
    shown = ranked is not None and all(document.content is not None for document in documents)
    state = State.CAPTURED if shown else State.ABSENT
    session = session_of(span, SESSION_KEYS)
    return Search(span, convention, None, tuple(documents), state, span.name, session, reranks=True)


def _listed(value: Any) -> list[Any] | None:
    """A list whose items may each be JSON text; an item that is no JSON stays text. None where there is none."""
    listed = value if isinstance(value, list) else read_json(value)
    return [parse_json_text(item) for item in listed] if isinstance(listed, list) else None


def _first(attributes: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((attributes[key] for key in keys if key in attributes), None)


def _tool_run(span: Span, convention: str) -> ToolRun:
    attributes = span.attributes
    name, call_id = attributes.get("ai.toolCall.name"), attributes.get("ai.toolCall.id")
    written = attributes.get("ai.toolCall.args")
    arguments = NO_CONTENT if written is None else read_arguments(written)
    keys = ("ai.toolCall.name", "ai.toolCall.id", "ai.toolCall.args", "ai.toolCall.result")
    return ToolRun(
        span,
        convention,
        name if isinstance(name, str) else "",
        call_id if isinstance(call_id, str) else None,
        "R1",
        arguments,
        shape_of(arguments),
        json_text(attributes.get("ai.toolCall.result")),
        error=error_of(span),
        session_id=session_of(span, SESSION_KEYS),
        keys=tuple(key for key in keys if key in attributes),
    )


def _llm_call(span: Span, convention: str) -> LlmCall:
    attributes = span.attributes
    tools, provided = _offered(attributes.get("ai.prompt.tools"))
    output, output_state = _output(attributes, provided)
    prompt = attributes.get("ai.prompt.messages")
    inputs = read_messages(prompt, "user")
    finish = _first(attributes, FINISH_KEYS)
    model = (
        attributes.get("ai.response.model") or attributes.get("ai.model.id") or attributes.get("gen_ai.request.model")
    )
    provider = attributes.get("ai.model.provider") or attributes.get("gen_ai.system")
    response_id = attributes.get("ai.response.id") or attributes.get("gen_ai.response.id")
    return LlmCall(
        span,
        convention,
        inputs,
        output,
        State.CAPTURED if inputs else State.REDACTED if is_placeholder(prompt) else State.ABSENT,
        output_state,
        finish if isinstance(finish, str) and finish else finish_of(attributes),
        model if isinstance(model, str) else None,
        provider if isinstance(provider, str) else None,
        response_id if isinstance(response_id, str) and response_id else None,
        _usage(attributes),
        tools if not span.dropped_attributes else None,
        error_of(span),
        session_of(span, SESSION_KEYS),
    )


def _usage(attributes: dict[str, Any]) -> Usage:
    usage = usage_of(attributes)
    if usage.input is not None or usage.output is not None:
        return usage
    counts = [
        _first(attributes, keys)
        for keys in (
            ("ai.usage.inputTokens", "ai.usage.promptTokens"),
            ("ai.usage.outputTokens", "ai.usage.completionTokens"),
        )
    ]
    whole = [int(count) if isinstance(count, int | float) else None for count in counts]
    return Usage(*whole)


def _offered(value: Any) -> tuple[dict[str, Any] | None, set[str]]:
    """Offered tools with their schemas, and the names of those that the provider itself defines and may run."""
    listed = value if isinstance(value, list) else read_json(value)
    tools: dict[str, Any] = {}
    provided: set[str] = set()
    for written in listed if isinstance(listed, list) else ():
        try:
            tool = (
                (_known_tool(written) if len(written) < CACHED else parse_json(written))
                if isinstance(written, str)
                else written
            )
        except ValueError:
            return None, provided  # cut: what else was offered is not known
        if isinstance(tool, dict) and isinstance(tool.get("name"), str):
            tools[tool["name"]] = tool.get("inputSchema", tool.get("parameters"))
            if tool.get("type") in ("provider", "provider-defined"):
                provided.add(tool["name"])
    return tools or None, provided


@lru_cache(maxsize=256)  # an application offers the same tools in every call; at most 1 MB of text
def _known_tool(written: str) -> Any:
    return parse_json(written)


def _output(attributes: dict[str, Any], provided: set[str]) -> tuple[tuple[Message, ...], State]:
    """The answer. With outputs not recorded all its keys are absent; an empty answer without any looks the same."""
    text, calls = _first(attributes, TEXT_KEYS), _first(attributes, CALL_KEYS)
    if text is None and calls is None:
        reasoned = "ai.response.reasoning" in attributes
        return ((Message("assistant", (Reasoning(""),)),), State.CAPTURED) if reasoned else ((), State.ABSENT)
    if is_placeholder(text) or is_placeholder(calls):
        return (), State.REDACTED
    listed = read_json(calls)
    if calls is not None and listed is None:
        return (), State.TRUNCATED
    parts: list[Part] = [Text(text)] if isinstance(text, str) and text else []
    parts.extend(part for item in dictionaries(listed) for part in _asked(item, provided))
    return (Message("assistant", tuple(parts)),), State.CAPTURED


def _asked(item: dict[str, Any], provided: set[str]) -> list[Part]:
    parts: list[Part] = []
    for part in read_parts([{**item, "type": "tool-call"}], "assistant"):
        if isinstance(part, ToolCall):
            given = item.get("input", item.get("args"))
            if isinstance(given, dict | list) and _has_lost_digits(given):
                part = replace(part, arguments=replace(part.arguments, state=State.TRUNCATED))  # noqa: PLW2901
            if part.name in provided:
                part = replace(part, by_provider=True)  # noqa: PLW2901
        parts.append(part)
    return parts


def _has_lost_digits(value: Any) -> bool:
    """Whether a number in it is so great that JavaScript can't have kept all its digits."""
    if isinstance(value, dict):
        return any(_has_lost_digits(item) for item in value.values())
    if isinstance(value, list):
        return any(_has_lost_digits(item) for item in value)
    return isinstance(value, int | float) and abs(value) >= EXACT
