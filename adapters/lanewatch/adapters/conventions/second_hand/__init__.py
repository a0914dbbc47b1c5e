"""Conventions that are a row of a table: Claude Code, Gemini CLI, Genkit, LiveKit, Laminar, VoltAgent, Spring AI, Flue.

What a row can't tell is left untold: an output of which only the text is known counts as recorded only where no tool ran
on it.
"""

import re
from typing import Any

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.conventions.second_hand.messages import answers_of, calls_of, inputs_of
from lanewatch.adapters.conventions.second_hand.rows import ROWS, Row
from lanewatch.adapters.documents import document_of
from lanewatch.adapters.facts import AGENT, ErrorInfo, Fact, LlmCall, Search, Shape, Step, ToolRun
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.json_values import json_text
from lanewatch.adapters.messages import Message
from lanewatch.adapters.reading import (
    NO_CONTENT,
    Content,
    State,
    dictionaries,
    is_placeholder,
    read,
    read_arguments,
    read_json,
)
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "second_hand"
KEYS = (*(mark.encode() for row in ROWS for mark in row.marks), b"gemini-cli")
SCOPES = tuple(scope for row in ROWS for scope in row.scopes)

MARKED = tuple((row, row.marks, row.scopes) for row in ROWS if row.marks or row.scopes)
MARKS = tuple(mark for row in ROWS for mark in row.marks)
GEMINI = next(row for row in ROWS if row.name == "gemini_cli")
# Where a span names no kind, a key of one does.
TOOL_KEYS = ("lk.function_tool.", "flue.tool.")
LLM_KEYS = ("lk.response.", "flue.turn.")
# Claude Code shows a tool's main argument alone where its input is off.
DETAILS = ("full_command", "file_path", "skill_name", "subagent_type")
PREFIXED_NAME = re.compile(r"^(function_tool|tool[:. ]|tool_call|execute_tool )\W*")


def row_of(span: Span) -> Row | None:
    """The row whose span this is."""
    attributes = span.attributes
    if attributes.get("gen_ai.agent.name") == "gemini-cli":
        return GEMINI
    scope, name, kind = span.scope.name, span.name, attributes.get("span.type")
    known = any(key.startswith(MARKS) for key in attributes) or (isinstance(kind, str) and kind.startswith(MARKS))
    if not known and not scope.startswith(SCOPES) and not (kind is not None and name.startswith(MARKS)):
        return None
    for row, marks, scopes in MARKED:
        if scopes and scope.startswith(scopes):
            return row
        if marks and any(key.startswith(marks) for key in attributes):
            return row
        if marks and kind is not None and (str(kind).startswith(marks) or name.startswith(marks)):
            return row
    return None


def matches(span: Span) -> bool:
    """Whether a row knows the span."""
    return row_of(span) is not None


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    row = row_of(span)
    if row is None:
        return ()
    role = _role(row, span)
    if role == "tool":
        return (_tool_run(row, span),)
    if role == "llm":
        return (_llm_call(row, span, tree),)
    if role == "retriever":
        return (_search(row, span),)
    agent = role == AGENT
    name = _text(_first(span.attributes, ("gen_ai.agent.name", "agent.name", "entity.name", "genkit:name")))
    session = otel_genai.session_of(span, row.sessions)
    return (Step(span, row.name, role, agent, name if agent else None, error=error_of(span), session_id=session),)


def _role(row: Row, span: Span) -> str:
    for key in row.kinds:
        kind = span.attributes.get(key)
        if isinstance(kind, str) and kind:
            kind = kind.lower().removeprefix(row.prefix)
            return row.roles.get(kind, kind)
    for keys, role in ((TOOL_KEYS, "tool"), (LLM_KEYS, "llm")):
        if any(key.startswith(keys) for key in span.attributes):
            return role
    return "unknown"


def _first(attributes: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((attributes[key] for key in keys if attributes.get(key) not in (None, "")), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value and not is_placeholder(value) else None


def _llm_call(row: Row, span: Span, tree: SpanTree) -> LlmCall:
    """A model call from the row's own keys; GenAI's keys fill in what these leave out."""
    attributes = span.attributes
    given, told = _first(attributes, row.inputs), _first(attributes, row.outputs)
    calls = calls_of(_first(attributes, row.calls))
    genai = otel_genai.llm_call(span, tree, row.name, row.sessions)
    output = answers_of(told)
    if calls:
        parts = tuple(part for message in output for part in message.parts)
        output = (Message("assistant", (*parts, *calls)),)
    state = State.REDACTED if is_placeholder(told) else State.CAPTURED if output else State.ABSENT
    if (
        row.text_only
        and state is State.CAPTURED
        and not any(m.calls for m in output)
        and _tool_follows(row, span, tree)
    ):
        output, state = (), State.ABSENT
    inputs = inputs_of(given)
    own_in, own_out = bool(inputs), state is not State.ABSENT or row.text_only
    return LlmCall(
        span,
        row.name,
        inputs if own_in else genai.input,
        output if own_out else genai.output,
        State.CAPTURED if own_in else State.REDACTED if is_placeholder(given) else genai.input_state,
        state if own_out else genai.output_state,
        genai.finish_reason or next((m.finish_reason for m in output if m.finish_reason), None),
        _text(_first(attributes, row.models)),
        genai.provider,
        genai.response_id,
        genai.usage,
        genai.tools,
        error_of(span),
        otel_genai.session_of(span, row.sessions),
    )


def _tool_follows(row: Row, span: Span, tree: SpanTree) -> bool:
    """Whether a tool is what comes next beside a model call."""
    if tree.parent(span) is None:
        return True  # nothing tells
    following = (_role(row, one) for one in tree.later_beside(span))
    return next((role for role in following if role in ("tool", "llm")), None) == "tool"


def _tool_run(row: Row, span: Span) -> ToolRun:
    attributes = span.attributes
    written = _first(attributes, row.arguments)
    arguments = _arguments(written)
    if row.name == "claude_code" and written is None and any(key in attributes for key in DETAILS):
        arguments = Content(None, "", State.TRUNCATED)
    sources = [attributes, *(event.attributes for event in span.events if row.event and event.name == row.event)]
    told = next((value for source in reversed(sources) if (value := _first(source, row.results)) is not None), None)
    result = json_text(told) if row.quoted else read(told)
    failed = any(attributes.get(key) is True for key in row.errors)
    call_id = _text(_first(attributes, row.ids))
    shape = Shape.OBJECT if isinstance(arguments.value, dict) else Shape.TEXT
    keys = (*row.names, *row.ids, *row.arguments, *row.results)
    return ToolRun(
        span,
        row.name,
        _text(_first(attributes, row.names)) or PREFIXED_NAME.sub("", span.name) or span.name,
        call_id,
        arguments=arguments,
        shape=shape if arguments.state is State.CAPTURED else Shape.ABSENT,
        result=result,
        error=error_of(span) or (ErrorInfo(message=result.text) if failed else None),
        session_id=otel_genai.session_of(span, row.sessions),
        keys=tuple(key for key in dict.fromkeys(keys) if key in attributes),
    )


def _arguments(written: Any) -> Content:
    """Arguments, out of a request around them where there is one."""
    if written is None:
        return NO_CONTENT
    content = read_arguments(written)
    outer = content.value
    if isinstance(outer, dict) and isinstance(outer.get("args"), dict) and ("callId" in outer or "name" in outer):
        return Content(outer["args"], None, State.CAPTURED, structured=True)
    return content


def _search(row: Row, span: Span) -> Search:
    given, found = _first(span.attributes, row.inputs), read_json(_first(span.attributes, row.outputs))
    listed = found.get("documents", found) if isinstance(found, dict) else found
    documents = tuple(document_of(rank, _document(item)) for rank, item in enumerate(dictionaries(listed)))
    shown = documents and all(document.content is not None for document in documents)
    state = State.CAPTURED if shown or listed == [] else State.ABSENT
    return Search(span, row.name, _query(given), documents, state, session_id=otel_genai.session_of(span, row.sessions))


def _query(given: Any) -> str | None:
    """A query's text; Genkit wraps it in `{"query": {"content": [{"text": ...}]}}`."""
    decoded = read_json(given)
    if isinstance(decoded, dict):
        inner = decoded.get("query", decoded)
        if isinstance(inner, str):
            return inner
        texts = [item.get("text") for item in dictionaries(inner.get("content") if isinstance(inner, dict) else None)]
        return "".join(text for text in texts if isinstance(text, str)) or None
    return _text(given)


def _document(item: dict[str, Any]) -> dict[str, Any]:
    content = item.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in dictionaries(content)]
        return {**item, "content": "".join(text for text in texts if isinstance(text, str))}
    return item


__all__ = ["KEYS", "NAME", "SCOPES", "matches", "read_span"]
