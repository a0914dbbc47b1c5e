"""TruLens: `ai.observability.span_type`, with a function's arguments and return value on every span.

Contexts are plain texts. Tools are methods, named `_run` or `invoke` where nothing better is told; evaluations come as
spans of their own, later.
"""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.facts import AGENT, Document, ErrorInfo, Fact, LlmCall, Search, Shape, Step, ToolRun
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.json_text import dump
from lanewatch.adapters.message_shapes import read_completion, read_messages
from lanewatch.adapters.messages import Message, Text
from lanewatch.adapters.reading import NO_CONTENT, Content, State, read, read_json
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "trulens"
KEYS = (b"ai.observability.",)
SCOPES: tuple[str, ...] = ()

BASE = "ai.observability."
KIND = BASE + "span_type"
RETURN, KWARGS, ERROR = BASE + "call.return", BASE + "call.kwargs.", BASE + "call.error"
FUNCTION = BASE + "call.function"
METHODS = frozenset({"_run", "_arun", "run", "arun", "invoke", "ainvoke", "__call__", "call_tool"})
INPUT_KEYS = ("messages", "input", "prompt", "input_content")
OUTPUT_KEYS = ("output_content", "completion", "output", RETURN)
SESSION_KEYS = ("gen_ai.conversation.id", BASE + "conversation_id", "session.id")
AGENTS = frozenset({"record_root", "nested_record_root", "agent"})


def matches(span: Span) -> bool:
    """Whether the span is TruLens'."""
    return KIND in span.attributes


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    kind = str(span.attributes[KIND]).lower()
    if kind in ("tool", "mcp"):
        return (_tool_run(span),)
    if kind == "generation":
        return (_generation(span, tree),)
    if kind == "retrieval":
        return (_search(span),)
    role = AGENT if kind in AGENTS else kind
    return (Step(span, NAME, role, error=error_of(span), session_id=_session(span)),)


def _session(span: Span) -> str | None:
    return otel_genai.session_of(span, SESSION_KEYS)


def _failure(span: Span) -> ErrorInfo | None:
    told = span.attributes.get(ERROR)
    return error_of(span) or (ErrorInfo(message=told) if isinstance(told, str) and told not in ("", "None") else None)


def _generation(span: Span, tree: SpanTree) -> LlmCall:
    """A model call. Its messages are on GenAI's event, else what the instrumented function was given and returned."""
    call = replace(otel_genai.llm_call(span, tree, NAME, SESSION_KEYS), error=_failure(span))
    if call.output_state is State.ABSENT:
        told = next((v for key in OUTPUT_KEYS if (v := span.attributes.get(key)) not in (None, "")), None)
        output = read_completion(told) or _answers(told)
        call = replace(call, output=output, output_state=State.CAPTURED if output else State.ABSENT)
    if call.input_state is State.ABSENT:
        keys = (*INPUT_KEYS, *(KWARGS + key for key in INPUT_KEYS))
        given = next((v for key in keys if (v := span.attributes.get(key)) not in (None, "")), None)
        messages = read_messages(given)
        call = replace(call, input=messages, input_state=State.CAPTURED if messages else State.ABSENT)
    return call


def _answers(told: Any) -> tuple[Message, ...]:
    """A text that was returned; an object's repr is no answer."""
    if not isinstance(told, str) or told.startswith(("content=", "ChatCompletion(", "AIMessage(", "<")):
        return ()
    return (Message("assistant", (Text(told),)),)


def _tool_run(span: Span) -> ToolRun:
    attributes = span.attributes
    arguments, shape = _arguments(attributes)
    outcome = next((attributes[key] for key in (BASE + "mcp.output_content", RETURN) if key in attributes), None)
    run = otel_genai.tool_run(span, NAME, arguments, read(outcome, literal=True), None, SESSION_KEYS)
    failed = attributes.get(BASE + "mcp.output_is_error") is True
    return replace(
        run,
        name=_tool_name(span),
        shape=shape,
        error=_failure(span) or (ErrorInfo(message=run.result.text) if failed else None),
    )


def _tool_name(span: Span) -> str:
    """The tool's name, or a method's only where nothing else is told."""
    function = str(span.attributes.get(FUNCTION, "")).rpartition(".")[2]
    told = (span.attributes.get(BASE + "mcp.tool_name"), span.name, span.attributes.get("gen_ai.tool.name"), function)
    names = [name.rpartition(".")[2] if name == span.name else name for name in told if isinstance(name, str) and name]
    return next((name for name in names if name not in METHODS), names[0] if names else "")


def _arguments(attributes: dict[str, Any]) -> tuple[Content, Shape]:
    """Arguments as a client names them, as the tool was given them, or as a repr, which has lost what is what."""
    for key in ("gen_ai.tool.call.arguments", BASE + "mcp.input_arguments"):
        decoded = read(attributes.get(key), literal=True)
        if isinstance(decoded.value, dict):
            return decoded, Shape.OBJECT
    size = len(KWARGS)
    named = {key[size:]: value for key, value in attributes.items() if key.startswith(KWARGS)}
    for inner in ("input", "tool_input", "arguments"):
        value = read_json(named.get(inner))
        if len(named) <= 2 and isinstance(value, dict):  # noqa: PLR2004 - beside it only a configuration
            value = value["args"] if isinstance(value.get("args"), dict) and "name" in value else value
            return Content(value, None, State.CAPTURED, structured=True), Shape.OBJECT
    if named:
        return Content(None, dump(named), State.CAPTURED), Shape.TEXT
    return NO_CONTENT, Shape.ABSENT


def _search(span: Span) -> Search:
    attributes = span.attributes
    found = attributes.get(BASE + "retrieval.retrieved_contexts")
    listed = found if isinstance(found, list) else read_json(found)
    texts = [text for text in listed if isinstance(text, str)] if isinstance(listed, list) else []
    if not texts:
        return replace(otel_genai.search(span, NAME, SESSION_KEYS), query=_query(attributes))
    documents = tuple(Document(rank, None, text) for rank, text in enumerate(texts))
    count = attributes.get(BASE + "retrieval.num_contexts")
    state = State.TRUNCATED if isinstance(count, int) and count > len(texts) else State.CAPTURED
    return Search(span, NAME, _query(attributes), documents, state, None, _session(span))


def _query(attributes: dict[str, Any]) -> str | None:
    keys = (BASE + "retrieval.query_text", "gen_ai.retrieval.query.text", KWARGS + "query")
    return next((attributes[key] for key in keys if isinstance(attributes.get(key), str)), None)
