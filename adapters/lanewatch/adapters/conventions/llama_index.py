"""LlamaIndex' own OpenTelemetry integration: everything stands in span events named after LlamaIndex' event classes.

A span is a method; fields of an event are flattened with dots, lists are JSON text. Methods without a known event say
nothing. Tools have no call id and no result.
"""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.documents import document_of
from lanewatch.adapters.facts import Fact, LlmCall, Search, Shape, Step, ToolRun
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.message_parts import openai_calls, text_or_none
from lanewatch.adapters.message_shapes import read_message
from lanewatch.adapters.messages import Message, Text, ToolCall
from lanewatch.adapters.reading import (
    State,
    dictionaries,
    read_arguments,
    read_json,
    unflatten,
)
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "llama_index"
KEYS: tuple[bytes, ...] = ()
SCOPES = ("llamaindex.opentelemetry.tracer",)

FOUND, RERANKS, RERANKED = "RetrievalEndEvent", "ReRankStartEvent", "ReRankEndEvent"
ANSWERED = ("LLMChatEndEvent", "LLMCompletionEndEvent")
ASKED = ("LLMChatStartEvent", "LLMCompletionStartEvent")
TOOL = "AgentToolCallEvent"
QUERY = ("str_or_query_bundle", "str_or_query_bundle.query_str", "query", "query.query_str")


def matches(span: Span) -> bool:
    """Whether the span is of LlamaIndex' integration."""
    return span.scope.name.startswith(SCOPES)


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:  # noqa: ARG001 - a convention's signature
    """The facts that a span's events state; a step where none is known."""
    facts: list[Fact] = []
    asked: dict[str, Any] = {}
    given: dict[str, Any] = {}
    answered = False
    for event in span.events:
        if event.name in ASKED:
            asked = event.attributes
        elif event.name in ANSWERED:
            answered = True
            facts.append(_llm_call(span, {**asked, **event.attributes}))
        elif event.name == FOUND:
            facts.append(_search(span, event.attributes))
        elif event.name == RERANKED:
            facts.append(replace(_search(span, {**given, **event.attributes}), reranks=True))
        elif event.name == RERANKS:
            given = event.attributes
        elif event.name == TOOL:
            facts.append(_tool_run(span, event.attributes))
    if asked and not answered:
        facts.append(_llm_call(span, asked))
    return tuple(facts) or (Step(span, NAME, span.name.rpartition(".")[2] or "method", error=error_of(span)),)


def _llm_call(span: Span, fields: dict[str, Any]) -> LlmCall:
    """A model call: a chat's messages, or a completion's texts."""
    inputs = tuple(_message(item, "user") for item in dictionaries(read_json(fields.get("messages"))))
    prompt = fields.get("prompt")
    if not inputs and isinstance(prompt, str):
        inputs = (Message("user", (Text(prompt),)),)
    answer = unflatten(fields, "response.message.")
    text = fields.get("response.text")
    output: tuple[Message, ...] = ()
    if isinstance(answer, dict):
        output = (_message(answer, "assistant"),)
    elif isinstance(text, str):
        output = (Message("assistant", (Text(text),)),)
    model = fields.get("model_dict.model")
    return LlmCall(
        span,
        NAME,
        inputs,
        output,
        State.CAPTURED if inputs else State.ABSENT,
        State.CAPTURED if output else State.ABSENT,
        model=model if isinstance(model, str) else None,
        error=error_of(span),
    )


def _message(item: dict[str, Any], role: str) -> Message:
    """A ChatMessage: blocks, and a provider's calls as it wrote them in `additional_kwargs`."""
    blocks = list(
        dictionaries(read_json(item.get("blocks")) if isinstance(item.get("blocks"), str) else item.get("blocks"))
    )
    extra = item.get("additional_kwargs")
    extra = extra if isinstance(extra, dict) else {}
    listed = extra.get("tool_calls")
    raw = openai_calls({"tool_calls": read_json(listed) if isinstance(listed, str) else listed})
    plain = {
        "role": item.get("role"),
        "content": [block for block in blocks if block.get("block_type") != "tool_call"] or item.get("content") or "",
        "tool_call_id": extra.get("tool_call_id"),
        "name": extra.get("name"),
    }
    message = read_message(plain, role)
    calls = raw or [
        ToolCall(block["tool_name"], text_or_none(block.get("tool_call_id")), read_arguments(block.get("tool_kwargs")))
        for block in blocks
        if block.get("block_type") == "tool_call" and isinstance(block.get("tool_name"), str)
    ]
    return Message(message.role, (*message.parts, *calls), message.finish_reason)


def _search(span: Span, fields: dict[str, Any]) -> Search:
    decoded = read_json(fields.get("nodes"))
    documents = tuple(document_of(rank, item) for rank, item in enumerate(dictionaries(decoded)))
    query = next((fields[key] for key in QUERY if isinstance(fields.get(key), str)), None)
    state = (
        State.CAPTURED
        if isinstance(decoded, list)
        else State.ABSENT
        if fields.get("nodes") is None
        else State.TRUNCATED
    )
    return Search(span, NAME, query, documents, state, span.name)


def _tool_run(span: Span, fields: dict[str, Any]) -> ToolRun:
    arguments = read_arguments(fields.get("arguments"))
    name = fields.get("tool.name")
    shape = Shape.OBJECT if isinstance(arguments.value, dict) else Shape.TEXT
    return ToolRun(
        span,
        NAME,
        name if isinstance(name, str) else span.name,
        arguments=arguments,
        shape=shape if arguments.state is State.CAPTURED else Shape.ABSENT,
        error=error_of(span),
        keys=("tool.name", "arguments"),
    )
