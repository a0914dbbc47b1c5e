"""OpenLLMetry / Traceloop: GenAI keys with wrappers of their own around arguments and results.

`traceloop.span.kind` tool/agent/workflow/task; kind `task` is a chain unless it retrieves. Message attributes in both
generations (parts, and flattened `gen_ai.prompt.N`) are read where GenAI's are.
"""

import re
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.facts import Document, Fact, LlmCall, Search, Shape, Step, ToolRun
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.message_shapes import read_message
from lanewatch.adapters.messages import Message
from lanewatch.adapters.reading import (
    NO_CONTENT,
    Content,
    State,
    dictionaries,
    is_placeholder,
    parse_literal,
    read,
    read_arguments,
    read_json,
)
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "traceloop"
KEYS = (b"traceloop.", b"llm.request.type", b"gen_ai.")
SCOPES: tuple[str, ...] = ()

# A bare client span may carry no traceloop key: then the scope and its version (0.x; util-genai's hold ".genai.") tell.
CLIENT_SCOPE = re.compile(r"^opentelemetry\.instrumentation\.(?!genai\.)[a-z_0-9.]+$")
VERSION = re.compile(r"^0\.(3|4|5|6)\d\.\d+$")
SESSION_KEYS = (
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.conversation_id",
    "gen_ai.conversation.id",
    "session.id",
)
FRAMEWORKS = ("langchain", "openai_agents", "llamaindex", "crewai", "haystack", "agno", "mcp")


def matches(span: Span) -> bool:
    """Whether the span is OpenLLMetry's."""
    attributes = span.attributes
    if any(key.startswith(("traceloop.", "gen_ai.prompt.", "gen_ai.completion.")) for key in attributes):
        return "openinference.span.kind" not in attributes or "traceloop.span.kind" in attributes
    if "llm.request.type" in attributes:
        return "openinference.span.kind" not in attributes
    ours = CLIENT_SCOPE.match(span.scope.name) and VERSION.match(span.scope.version)
    return bool(ours) and any(key.startswith("gen_ai.") for key in attributes)


def read_span(span: Span, tree: SpanTree) -> Fact:
    """The fact that a span states."""
    attributes = span.attributes
    kind = attributes.get("traceloop.span.kind")
    operation = str(attributes.get("gen_ai.operation.name") or attributes.get("llm.request.type") or "").lower()
    if operation == "execute_tool" or kind == "tool" or (kind == "task" and "tool.name" in attributes):
        return _tool_run(span)
    if kind is None and (operation in otel_genai.LLM or (not operation and "gen_ai.request.model" in attributes)):
        return _llm_call(span, tree)
    if operation == "vector_db_retrieve" or (kind == "task" and _retrieves(span)):
        return _search(span)
    return Step(
        span,
        NAME,
        str(kind or operation or "unknown"),
        instruments_tools=span.scope.name.rpartition("instrumentation.")[2].partition(".")[0] in FRAMEWORKS,
        refusal=_buried_refusal(attributes),
        error=error_of(span),
        session_id=_session(span),
    )


def _session(span: Span) -> str | None:
    return otel_genai.session_of(span, SESSION_KEYS)


def _llm_call(span: Span, tree: SpanTree) -> LlmCall:
    """A model call. Refusals and calls with malformed arguments vanish from LangChain's span (`"parts": []`); the step
    right above still has them in its serialised messages.
    """
    call = otel_genai.llm_call(span, tree, NAME, SESSION_KEYS)
    if any(message.parts for message in call.output):
        return call
    parent = tree.span(span.parent_id)
    above = _serialised_messages(parent.attributes) if parent is not None else []
    if len(above) != 1 or not above[0].parts or len(_model_calls(parent, tree)) != 1:
        return call
    return replace(call, output=(above[0],), output_state=State.CAPTURED)


def _model_calls(step: Span | None, tree: SpanTree) -> list[Span]:
    children = tree.children(step) if step is not None else []
    return [child for child in children if child.attributes.get("gen_ai.operation.name") in otel_genai.LLM]


# ---- tools


def _tool_run(span: Span) -> ToolRun:
    attributes = span.attributes
    written = attributes.get(
        "gen_ai.tool.call.arguments", attributes.get("traceloop.entity.input", attributes.get("tool.arguments"))
    )
    arguments, call_id = _arguments(written)
    answered = attributes.get("gen_ai.tool.call.result", attributes.get("traceloop.entity.output"))
    result, result_id = _result(answered)
    run = otel_genai.tool_run(span, NAME, arguments, result, call_id or result_id, SESSION_KEYS)
    name = attributes.get("gen_ai.tool.name") or attributes.get("traceloop.entity.name") or attributes.get("tool.name")
    if not isinstance(name, str) or not name:
        name = span.name.removeprefix("execute_tool ").removesuffix(".tool")
    keys = ("traceloop.entity.input", "traceloop.entity.output", *run.keys)
    run = replace(run, name=name, keys=tuple(key for key in keys if key in attributes))
    value = arguments.value
    if isinstance(value, dict) and set(value) == {"args", "kwargs"} and value["args"]:
        return replace(run, shape=Shape.POSITIONAL)
    return run


def _arguments(value: Any) -> tuple[Content, str | None]:
    """(arguments, call id). LangChain's callback dump holds the arguments under `inputs` and the id under `kwargs`; the
    SDK's decorator writes `{"args": [...], "kwargs": {...}}`.
    """
    if value is None:
        return NO_CONTENT, None
    content = read_arguments(value)
    outer = content.value
    if not isinstance(outer, dict):
        return content, None
    if "input_str" in outer:
        keywords = outer.get("kwargs")
        call_id = keywords.get("tool_call_id") if isinstance(keywords, dict) else None
        return _callback_arguments(outer), call_id if isinstance(call_id, str) else None
    if set(outer) == {"args", "kwargs"} and isinstance(outer["kwargs"], dict) and not outer["args"]:
        return Content(outer["kwargs"], None, State.CAPTURED, structured=True), None
    if set(outer) == {"kwargs"} and isinstance(outer["kwargs"], dict):
        return Content(outer["kwargs"], None, State.CAPTURED, structured=True), None
    return content, None


def _callback_arguments(dump: dict[str, Any]) -> Content:
    inputs = dump.get("inputs")
    if isinstance(inputs, dict):
        return Content(inputs, None, State.CAPTURED, structured=True)
    text = dump.get("input_str")
    if isinstance(text, str) and not is_placeholder(text):
        try:
            literal = parse_literal(text)
        except ValueError:
            return read_arguments(text)
        if isinstance(literal, dict):
            return Content(literal, text, State.CAPTURED, structured=True)
        return Content(None, text, State.CAPTURED)
    return NO_CONTENT


def _result(value: Any) -> tuple[Content, str | None]:
    """(result, call id found in it): LangChain's serialised ToolMessage and LlamaIndex' output opened."""
    content = read(value)
    outer = content.value
    if isinstance(outer, dict):
        inner = outer.get("output")
        if isinstance(inner, dict) and "lc" in inner and isinstance(inner.get("kwargs"), dict):
            message = read_message(inner, "tool")
            for result in message.results:
                return result.content, result.call_id
        if "tool_output" in outer and isinstance(outer["tool_output"], dict):
            output = outer["tool_output"]
            identity = outer.get("tool_id")
            return read(output.get("raw_output", output.get("content"))), identity if isinstance(
                identity, str
            ) else None
        if set(outer) <= {"output", "kwargs"} and isinstance(inner, str):
            return read(inner), None
    return content, None


# ---- retrieval


def _retrieves(span: Span) -> bool:
    name = str(span.attributes.get("traceloop.entity.name") or "")
    return "retriev" in name.lower() and bool(_listed(span.attributes))


def _listed(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    decoded = read_json(attributes.get("traceloop.entity.output"))
    if isinstance(decoded, dict):
        decoded = decoded.get("documents", decoded.get("nodes"))
    return [item for item in dictionaries(decoded) if _is_document(item)]


def _is_document(item: dict[str, Any]) -> bool:
    inner = item.get("kwargs") if isinstance(item.get("kwargs"), dict) and "lc" in item else item.get("node", item)
    return isinstance(inner, dict) and any(
        isinstance(inner.get(key), str) for key in ("page_content", "content", "text")
    )


def _search(span: Span) -> Search:
    attributes = span.attributes
    items = [
        item["kwargs"] if "lc" in item and isinstance(item.get("kwargs"), dict) else item
        for item in _listed(attributes)
    ]
    documents: tuple[Document, ...] = tuple(otel_genai.document_of(rank, item) for rank, item in enumerate(items))
    value = attributes.get("traceloop.entity.output")
    state = State.REDACTED if is_placeholder(value) else State.CAPTURED if value is not None else State.ABSENT
    name = attributes.get("traceloop.entity.name")
    return Search(
        span, NAME, _query(attributes), documents, state, name if isinstance(name, str) else None, _session(span)
    )


def _query(attributes: dict[str, Any]) -> str | None:
    decoded = read_json(attributes.get("traceloop.entity.input"))
    if not isinstance(decoded, dict):
        return None
    given = decoded.get("kwargs") if isinstance(decoded.get("kwargs"), dict) else {}
    assert isinstance(given, dict)
    for source in (decoded, given):
        for key in ("query", "str_or_query_bundle", "query_str", "question", "q"):
            if isinstance(source.get(key), str):
                return str(source[key])
    values = [value for value in (*(decoded.get("args") or ()), *given.values()) if isinstance(value, str)]
    return values[0] if len(values) == 1 else None


# ---- what only a chain's serialised messages show


def _serialised_messages(attributes: dict[str, Any]) -> list[Message]:
    """The messages that a step put out (LangChain's state), read only where they hold what the model's span loses."""
    text = attributes.get("traceloop.entity.output")
    if not isinstance(text, str) or ("refusal" not in text and "invalid_tool_calls" not in text):
        return []
    decoded = read_json(text)
    outputs = decoded.get("outputs") if isinstance(decoded, dict) else None
    found: list[Message] = []
    stack = [outputs]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if (
                "lc" in node
                and isinstance(node.get("kwargs"), dict)
                and str((node.get("id") or [""])[-1]).startswith("AIMessage")
            ):
                found.append(read_message(node, "assistant"))
            else:
                stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return found


def _buried_refusal(attributes: dict[str, Any]) -> str | None:
    return next((m.refusal for m in _serialised_messages(attributes) if m.refusal), None)
