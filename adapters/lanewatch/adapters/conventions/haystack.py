"""Haystack: spans of pipelines, components and agent steps, told by their names; content is off unless asked for.

A component's role follows from its type. A tool's error is a tag, not a status; its call id is on no span but that of a
person's approval.
"""

from typing import Any

from lanewatch.adapters.documents import document_of
from lanewatch.adapters.facts import AGENT, ErrorInfo, Fact, LlmCall, Search, Shape, Step, ToolRun, Usage
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.identity import same
from lanewatch.adapters.message_parts import arguments_of, text_or_none
from lanewatch.adapters.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult, role_of
from lanewatch.adapters.reading import NO_CONTENT, Content, State, dictionaries, read, read_arguments, read_json
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "haystack"
KEYS = (b"haystack.",)
SCOPES: tuple[str, ...] = ()

COMPONENT = "haystack.component.run"
STEP = "haystack.agent.step"
TYPE = "haystack.component.type"
CONFIRMED = "haystack.agent.hook.human_in_the_loop.strategy"


def matches(span: Span) -> bool:
    """Whether the span is Haystack's."""
    return span.name.startswith("haystack.") or any(key.startswith("haystack.") for key in span.attributes)


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    attributes = span.attributes
    if span.name == f"{STEP}.tool":
        return (_tool_run(span, tree),)
    if span.name == f"{STEP}.llm":
        prefix = f"{STEP}.llm"
        return (_llm_call(span, attributes.get(f"{prefix}.input"), attributes.get(f"{prefix}.output")),)
    if span.name == COMPONENT:
        kind = str(attributes.get(TYPE, ""))
        given, made = attributes.get("haystack.component.input"), attributes.get("haystack.component.output")
        if kind.endswith(("Retriever", "Ranker")):
            return (_search(span, given, made, reranks=kind.endswith("Ranker")),)
        if kind.endswith("Generator"):
            return (_llm_call(span, given, made),)
        return (_step(span, AGENT if kind == "Agent" else kind.lower() or "component"),)
    return (_step(span, AGENT if span.name == "haystack.agent.run" else span.name.removeprefix("haystack.")),)


def _step(span: Span, role: str) -> Step:
    """Any other span; an agent reports its tools."""
    return Step(span, NAME, role, instruments_tools="agent" in role, error=error_of(span))


def _llm_call(span: Span, given: Any, made: Any) -> LlmCall:
    """A model call: chat messages in `replies`, or a plain generator's texts."""
    inputs, outputs = read_json(given), read_json(made)
    asked = inputs.get("messages") if isinstance(inputs, dict) else None
    prompt = inputs.get("prompt") if isinstance(inputs, dict) else None
    messages = tuple(_message(item, "user") for item in dictionaries(asked))
    if not messages and isinstance(prompt, str):
        messages = (Message("user", (Text(prompt),)),)
    replies = outputs.get("replies") if isinstance(outputs, dict) else None
    listed = replies if isinstance(replies, list) else []
    answers = tuple(
        Message("assistant", (Text(item),)) if isinstance(item, str) else _message(item, "assistant")
        for item in listed
        if isinstance(item, str | dict)
    )
    meta: dict[str, Any] = next(
        (item["meta"] for item in dictionaries(listed) if isinstance(item.get("meta"), dict)), {}
    )
    reason, model = meta.get("finish_reason"), meta.get("model")
    return LlmCall(
        span,
        NAME,
        messages,
        answers,
        State.CAPTURED if messages else State.ABSENT,
        State.CAPTURED if answers else read(made).state if outputs is None else State.ABSENT,
        reason if isinstance(reason, str) else None,
        model if isinstance(model, str) else None,
        usage=_usage(meta.get("usage")),
        error=error_of(span),
    )


def _usage(usage: Any) -> Usage:
    fields = usage if isinstance(usage, dict) else {}
    numbers = [fields.get(key) for key in ("prompt_tokens", "completion_tokens")]
    return Usage(*(number if isinstance(number, int) else None for number in numbers))


def _message(item: dict[str, Any], role: str) -> Message:
    """A ChatMessage: `{"role", "content": [{"text"} | {"tool_call": {...}} | {"tool_call_result": {...}}]}`, or its
    older form with a leading underscore.
    """
    parts: list[Part] = []
    content = item.get("content", item.get("_content"))
    for block in [{"text": content}] if isinstance(content, str) else dictionaries(content):
        call, told = block.get("tool_call"), block.get("tool_call_result")
        if isinstance(block.get("text"), str):
            parts.append(Text(block["text"]))
        elif isinstance(call, dict):
            parts.append(_call(call))
        elif isinstance(told, dict):
            origin = told["origin"] if isinstance(told.get("origin"), dict) else {}
            failed = told.get("error") is True
            parts.append(
                ToolResult(
                    text_or_none(origin.get("id")),
                    text_or_none(origin.get("tool_name")),
                    read(told.get("result")),
                    failed,
                )
            )
        elif "reasoning" in block:
            parts.append(Reasoning(""))
    meta = item.get("meta", item.get("_meta"))
    reason = meta.get("finish_reason") if isinstance(meta, dict) else None
    return Message(
        role_of(item.get("role", item.get("_role")), role), tuple(parts), reason if isinstance(reason, str) else None
    )


def _call(call: dict[str, Any]) -> ToolCall:
    return ToolCall(
        str(call.get("tool_name") or call.get("name") or ""),
        text_or_none(call.get("id")),
        arguments_of(call.get("arguments", {})),
    )


def _tool_run(span: Span, tree: SpanTree) -> ToolRun:
    attributes = span.attributes
    name = str(attributes.get("haystack.tool.name") or "")
    written, made = attributes.get(f"{STEP}.tool.input"), attributes.get(f"{STEP}.tool.output")
    arguments = NO_CONTENT if written is None else read_arguments(written)
    result = read(made)
    failed = attributes.get("haystack.tool.error") is True
    told = result.value.get("error") if isinstance(result.value, dict) else None
    shape = Shape.OBJECT if isinstance(arguments.value, dict) else Shape.TEXT
    return ToolRun(
        span,
        NAME,
        name,
        _confirmed_id(span, tree, name, arguments),
        "R3",
        arguments,
        shape if arguments.state is State.CAPTURED else Shape.ABSENT,
        result,
        error=error_of(span) or (ErrorInfo(message=told if isinstance(told, str) else None) if failed else None),
        keys=tuple(
            key for key in ("haystack.tool.name", f"{STEP}.tool.input", f"{STEP}.tool.output") if key in attributes
        ),
    )


def _confirmed_id(span: Span, tree: SpanTree, name: str, arguments: Content) -> str | None:
    """The call id that a person's approval in the same step shows, where just one approval fits."""
    step = tree.parent(span)
    found: set[str] = set()
    stack = list(tree.children(step)) if step is not None else []
    while stack:
        one = stack.pop()
        if one.name.startswith("haystack.agent.hook"):
            stack.extend(tree.children(one))
        if one.name == CONFIRMED and one.attributes.get("haystack.tool.name") == name:
            asked = read_json(one.attributes.get(f"{CONFIRMED}.input"))
            given = asked.get("tool_params") if isinstance(asked, dict) else None
            call_id = one.attributes.get("haystack.tool.call.id")
            if isinstance(call_id, str) and call_id and (given is None or same(given, arguments.value)):
                found.add(call_id)
    return found.pop() if len(found) == 1 else None


def _search(span: Span, given: Any, made: Any, *, reranks: bool) -> Search:
    """A retriever's or ranker's documents; an embedding retriever is given a vector in place of the query."""
    inputs, outputs = read_json(given), read_json(made)
    listed = outputs.get("documents") if isinstance(outputs, dict) else None
    documents = tuple(document_of(rank, _document(item)) for rank, item in enumerate(dictionaries(listed)))
    query = inputs.get("query") if isinstance(inputs, dict) else None
    state = State.CAPTURED if isinstance(listed, list) else State.ABSENT
    name = span.attributes.get("haystack.component.name")
    return Search(
        span,
        NAME,
        query if isinstance(query, str) else None,
        documents,
        state,
        name if isinstance(name, str) else None,
        reranks=reranks,
    )


def _document(item: dict[str, Any]) -> dict[str, Any]:
    meta = item.get("meta")
    return {**item, "metadata": meta} if isinstance(meta, dict) else item
