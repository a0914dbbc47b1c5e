"""Tool runs and retrievals."""

from typing import Any

from lanewatch.adapters.conventions.langfuse.integers import LARGE, with_integers
from lanewatch.adapters.conventions.langfuse.marks import (
    INPUT,
    KIND,
    METADATA,
    NAME,
    OUTPUT,
    error,
    masked,
    session,
)
from lanewatch.adapters.conventions.langfuse.model_calls import conversation
from lanewatch.adapters.conventions.otel_genai import shape_of
from lanewatch.adapters.facts import ErrorInfo, Search, Shape, ToolRun
from lanewatch.adapters.json_text import parse_json_text
from lanewatch.adapters.langchain_values import documents_of, tool_output
from lanewatch.adapters.reading import NO_CONTENT, Content, State, is_placeholder, read, read_arguments
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span


def tool_run(span: Span, tree: SpanTree) -> ToolRun:
    """A run of a tool."""
    attributes = span.attributes
    hidden = masked(span)
    arguments, shape = (hidden, Shape.ABSENT) if hidden is not None else _arguments(attributes.get(INPUT))
    if arguments.raw is not None and LARGE.search(arguments.raw) and shape is Shape.OBJECT:
        arguments = with_integers(arguments, _schema_of(span.name, tree))
        shape = shape_of(arguments)
    written = hidden or read(attributes.get(OUTPUT))
    result, result_id, failed = tool_output(written.value) if written.structured else (written, None, False)
    own_id = parse_json_text(attributes.get(f"{METADATA}.tool_call_id"))
    call_id = own_id if isinstance(own_id, str) and not is_placeholder(own_id) else result_id
    return ToolRun(
        span,
        NAME,
        span.name,
        call_id,
        "R1" if call_id is not None and call_id == own_id else "R3",
        arguments,
        shape,
        result,
        error=error(span) or (ErrorInfo(message=result.raw) if failed else None),
        session_id=session(span),
        keys=tuple(key for key in (INPUT, OUTPUT, f"{METADATA}.tool_call_id") if key in attributes),
    )


def _arguments(value: Any) -> tuple[Content, Shape]:
    """The handler's inputs, as JSON or (older releases) as a Python repr or the bare value of the only argument;
    `@observe` writes `{"args": [...], "kwargs": {...}}`.
    """
    if value is None:
        return NO_CONTENT, Shape.ABSENT
    content = read(value, literal=True)
    if content.state is not State.CAPTURED:
        return content, Shape.ABSENT
    if not isinstance(content.value, dict):
        cut = isinstance(value, str) and value.lstrip()[:1] == "{"
        return (Content(None, content.text, State.CAPTURED), Shape.TEXT) if cut else (content, Shape.BARE)
    if set(content.value) == {"args", "kwargs"} and isinstance(content.value["kwargs"], dict):
        if content.value["args"]:
            return content, Shape.POSITIONAL
        return read_arguments(content.value["kwargs"]), Shape.OBJECT
    return content, Shape.OBJECT


def _schema_of(name: str, tree: SpanTree) -> Any:
    """The schema under which some model of the trace was offered a tool. Looked up only for arguments that need it."""
    for span in tree.trace.spans:
        tree.work.spend()
        if span.attributes.get(KIND) == "generation":
            _, tools = conversation(read(span.attributes.get(INPUT)).value)
            if tools is not None and name in tools:
                return tools[name]
    return None


def search(span: Span) -> Search:
    """A retrieval."""
    attributes = span.attributes
    hidden = masked(span)
    given, found = (hidden, hidden) if hidden else (read(attributes.get(INPUT)), read(attributes.get(OUTPUT)))
    documents = documents_of(found.value)
    state = found.state
    if state is State.CAPTURED and not documents and found.value != []:
        state = State.TRUNCATED if not found.structured else State.ABSENT
    return Search(span, NAME, _query(given), documents, state, span.name, session(span))


def _query(content: Content) -> str | None:
    if content.state is not State.CAPTURED:
        return None
    value = content.value
    if isinstance(value, dict):
        row = value["args"] if isinstance(value.get("args"), list) else []
        named = value["kwargs"] if isinstance(value.get("kwargs"), dict) else value
        value = next((named[key] for key in ("query", "input", "question") if isinstance(named.get(key), str)), None)
        value = value or next((item for item in row if isinstance(item, str)), None)
    return value if isinstance(value, str) else None
