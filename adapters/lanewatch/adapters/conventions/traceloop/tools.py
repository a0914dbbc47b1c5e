"""Tool runs: arguments, results and call ids out of the wrappers that instrumentors put around them."""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.conventions.traceloop.marks import NAME, SESSION_KEYS
from lanewatch.adapters.facts import ErrorInfo, Shape, ToolRun
from lanewatch.adapters.json_values import json_text
from lanewatch.adapters.message_parts import joined_text
from lanewatch.adapters.message_shapes import read_message
from lanewatch.adapters.reading import (
    EMPTY_OBJECT,
    NO_CONTENT,
    Content,
    State,
    is_placeholder,
    parse_literal,
    read,
    read_arguments,
)
from lanewatch.collector.spans import Span

ARGUMENT_KEYS = ("gen_ai.tool.call.arguments", "traceloop.entity.input", "tool.arguments")
DUMPED = "traceloop.entity.output"  # json.dumps of what was returned, a text too
RESULT_KEYS = ("gen_ai.tool.call.result", DUMPED)
NAME_KEYS = ("gen_ai.tool.name", "tool.name", "traceloop.entity.name")


def tool_run(span: Span) -> ToolRun:
    """A run of a tool."""
    attributes = span.attributes
    written = next((attributes[key] for key in ARGUMENT_KEYS if key in attributes), None)
    arguments, shape, call_id = _arguments(written)
    key = next((key for key in RESULT_KEYS if key in attributes), "")
    result, result_id, failed = _result(attributes.get(key), quoted=key == DUMPED)
    run = otel_genai.tool_run(span, NAME, arguments, result, call_id or result_id, SESSION_KEYS)
    named = (attributes.get(key) for key in NAME_KEYS)
    name = next((value for value in named if isinstance(value, str) and value), None)
    return replace(
        run,
        name=name or span.name.removeprefix("execute_tool ").removesuffix(".tool"),
        shape=shape if arguments.state is State.CAPTURED else Shape.ABSENT,
        error=run.error or (ErrorInfo(message=result.raw) if failed else None),
        keys=tuple(
            key for key in (*run.keys, *ARGUMENT_KEYS[1:], *RESULT_KEYS[1:], *NAME_KEYS[1:]) if key in attributes
        ),
    )


def _arguments(value: Any) -> tuple[Content, Shape, str | None]:
    """(arguments, their shape, call id). LangChain's callback dump holds the arguments under `inputs` and the id under
    `kwargs`; the SDK's decorator writes `{"args": [...], "kwargs": {...}}`; MCP `{"tool_name": ..., "arguments": {...}}`.
    """
    if value is None:
        return NO_CONTENT, Shape.ABSENT, None
    content = read_arguments(value)
    outer = content.value
    if not isinstance(outer, dict):
        return content, Shape.TEXT, None
    if "input_str" in outer:
        keywords = outer.get("kwargs")
        call_id = keywords.get("tool_call_id") if isinstance(keywords, dict) else None
        arguments, shape = _callback_arguments(outer)
        return arguments, shape, call_id if isinstance(call_id, str) else None
    if set(outer) in ({"args", "kwargs"}, {"kwargs"}) and isinstance(outer["kwargs"], dict):
        if outer.get("args"):
            return content, Shape.POSITIONAL, None
        return _object(outer["kwargs"]), Shape.OBJECT, None
    if set(outer) == {"tool_name", "arguments"}:
        inner = outer["arguments"]
        return (_object(inner), Shape.OBJECT, None) if isinstance(inner, dict) else (EMPTY_OBJECT, Shape.OBJECT, None)
    return content, Shape.OBJECT, None


def _object(value: dict[str, Any]) -> Content:
    return Content(value, None, State.CAPTURED, structured=True)


def _callback_arguments(dump: dict[str, Any]) -> tuple[Content, Shape]:
    """Arguments out of LangChain's callback: `inputs`, or in older releases `input_str` alone, a Python repr or, where
    the tool has one argument, its bare value.
    """
    inputs = dump.get("inputs")
    if isinstance(inputs, dict):
        return _object(inputs), Shape.OBJECT
    text = dump.get("input_str")
    if not isinstance(text, str) or is_placeholder(text):
        return NO_CONTENT, Shape.ABSENT
    try:
        literal = parse_literal(text) if text.lstrip()[:1] == "{" else None
    except ValueError:
        literal = None
    if isinstance(literal, dict):
        return Content(literal, text, State.CAPTURED, structured=True), Shape.OBJECT
    return Content(text, text, State.CAPTURED), Shape.BARE


def _result(value: Any, *, quoted: bool) -> tuple[Content, str | None, bool]:
    """(result, call id found in it, whether it calls itself an error): LangChain's serialised ToolMessage, LlamaIndex'
    output and MCP's `{"result": text}` opened.
    """
    content = json_text(value) if quoted else read(value)
    outer = content.value
    if not isinstance(outer, dict):
        return content, None, False
    inner = outer.get("output")
    if isinstance(inner, dict) and "lc" in inner and isinstance(inner.get("kwargs"), dict):
        for result in read_message(inner, "tool").results:
            return result.content, result.call_id, result.is_error
    told = outer.get("tool_output")
    if isinstance(told, dict):
        call_id = outer.get("tool_id")
        answers = (told.get("raw_output"), told.get("content"), joined_text(told.get("blocks")))
        answer = read(next((value for value in answers if value is not None), None))
        return answer, call_id if isinstance(call_id, str) else None, told.get("is_error") is True
    if set(outer) <= {"output", "kwargs"} and isinstance(inner, str):
        return read(inner), None, False
    if set(outer) == {"result"} and isinstance(outer["result"], str):
        return read(outer["result"]), None, False
    return content, None, False
