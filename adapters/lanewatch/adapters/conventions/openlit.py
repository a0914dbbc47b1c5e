"""OpenLIT: GenAI keys of its own versions. The operation alone tells the role.

Its chat spans carry the names, ids and arguments of the calls that the model asked for, joined by commas, under the keys
of a tool's run; a run's id is LangChain's run id until the tool's message brings the model's.
"""

import re
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.documents import document_of
from lanewatch.adapters.facts import Fact, Search, Shape, ToolRun
from lanewatch.adapters.reading import NO_CONTENT, Content, State, dictionaries, parse_literal, read, read_json
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "openlit"
KEYS: tuple[bytes, ...] = ()
SCOPES = ("openlit",)

ARGUMENT_KEYS = ("gen_ai.tool.call.arguments", "gen_ai.tool.args", "gen_ai.tool.input")
RESULT_KEYS = ("gen_ai.tool.call.result", "gen_ai.tool.output", "gen_ai.tool.result")
QUERY_KEYS = ("gen_ai.retrieval.query.text", "gen_ai.retrieval.query")
RUN_ID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
TOOL_MESSAGE = re.compile(
    r"^content=(?P<content>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\").{0,400}? tool_call_id='(?P<id>[^']+)'", re.DOTALL
)
TOOLS = frozenset({"execute_tool", "mcp_tool_call"})
SHOWN = 3  # documents of a retrieval that are written, however many there were


def matches(span: Span) -> bool:
    """Whether the span is OpenLIT's."""
    return span.scope.name.startswith(SCOPES) or span.resource.attributes.get("telemetry.sdk.name") == "openlit"


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    operation = str(span.attributes.get(otel_genai.OPERATION, "")).lower()
    if operation in TOOLS:
        return (_tool_run(span),)
    if operation in otel_genai.LLM:
        return (otel_genai.llm_call(span, tree, NAME),)
    if operation in otel_genai.RETRIEVAL or operation == "memory_search":
        return (_search(span),)
    step = otel_genai.step(span, NAME, operation or "unknown")
    return (replace(step, instruments_tools=operation in otel_genai.AGENTS),)


def _tool_run(span: Span) -> ToolRun:
    attributes = span.attributes
    arguments, shape = _arguments(_first(attributes, ARGUMENT_KEYS))
    result = read(_first(attributes, RESULT_KEYS), literal=True)
    told = TOOL_MESSAGE.match(result.raw) if result.raw is not None and not result.structured else None
    if told is not None:
        result = _unquoted(told["content"])
    run = otel_genai.tool_run(span, NAME, arguments, result, told["id"] if told is not None else None)
    own = run.call_id
    if own is not None and RUN_ID.match(own) and (told is None or told["id"] != own):
        run = replace(run, call_id=told["id"] if told is not None else None, id_rule="R3" if told is not None else "R1")
    return replace(run, shape=shape if arguments.state is State.CAPTURED else Shape.ABSENT)


def _first(attributes: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((attributes[key] for key in keys if attributes.get(key) is not None), None)


def _arguments(value: Any) -> tuple[Content, Shape]:
    """LangChain's `input_str`: a Python repr, JSON, or the bare value of the only argument."""
    content = read(value, literal=True)
    if content.state is not State.CAPTURED:
        return NO_CONTENT if value is None else content, Shape.ABSENT
    if isinstance(content.value, dict):
        return content, Shape.OBJECT
    return content, Shape.BARE


def _unquoted(literal: str) -> Content:
    try:
        return read(str(parse_literal(literal)))
    except ValueError:
        return read(literal[1:-1])


def _search(span: Span) -> Search:
    """A retrieval, of which only the first three documents are written."""
    attributes = span.attributes
    written = attributes.get("gen_ai.retrieval.documents")
    documents = tuple(document_of(rank, item) for rank, item in enumerate(dictionaries(read_json(written))))
    count = attributes.get("gen_ai.retrieval.document_count")
    found = count if isinstance(count, int) else None
    all_shown = found == len(documents) or (found is None and 0 < len(documents) < SHOWN)
    state = read(written).state
    if state is State.CAPTURED and not all_shown:
        state = State.TRUNCATED
    elif state is State.ABSENT and found == 0:
        state = State.CAPTURED
    query = _first(attributes, QUERY_KEYS)
    source = _first(attributes, ("gen_ai.data_source.id", "gen_ai.retrieval.source"))
    session = otel_genai.session_of(span)
    return Search(span, NAME, _text(query), documents, state, _text(source), session)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
