"""Tool runs: arguments and results out of their wrappers, call ids from wherever one is."""

import re
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions.openinference.marks import KIND, NAME, instrumentor, session, string
from lanewatch.adapters.facts import HANDOFF, ErrorInfo, ErrorKind, Executed, Fact, Shape, Step, ToolKind, ToolRun
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.loose_arguments import loosely_same
from lanewatch.adapters.message_parts import joined_text
from lanewatch.adapters.reading import (
    EMPTY_OBJECT,
    NO_CONTENT,
    Content,
    State,
    dictionaries,
    is_placeholder,
    parse_literal,
    read,
    read_arguments,
    read_repeated,
    unlayered,
)
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

# `tool.parameters` holds the arguments here; everywhere else it holds their JSON Schema.
ARGUMENTS_IN_PARAMETERS = frozenset({"agno", "autogen", "autogen_agentchat", "google_adk", "pydantic_ai", "strands",
                                     "agent_framework", "claude_agent_sdk"})  # fmt: skip
# Claude's SDK: with its run the instrumentor ends every span that is still open, whatever the tool did or went on to do
# (openinference-instrumentation-claude-agent-sdk 0.1.22, _wrappers.py, end_all_in_flight).
ABANDONED = "Abandoned"
ID_KEYS = ("tool.id", "tool_call.id", "tool.call_id", "gen_ai.tool.call.id")
TOOL_ID_IN_EVENT = re.compile(r"\btool_id='([^']+)'")  # LlamaIndex's ToolCall event, as its repr

DUMPED_MESSAGE = frozenset({"type", "content", "tool_call_id", "additional_kwargs"})
# LangChain's ToolMessage as its repr, which releases before 0.1.3x wrote for a tool's output.
TOOL_MESSAGE = re.compile(
    r"content=(?P<content>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?: name='[^']*')?(?: id='[^']*')?"
    r" tool_call_id='(?P<id>[^']+)'(?: status='(?P<status>\w+)')?",
    re.DOTALL,
)


def tool_run(span: Span, tree: SpanTree, *, named: bool) -> Fact:
    """A TOOL span: a run of a tool, or the handoff step of OpenAI Agents."""
    attributes = span.attributes
    source = instrumentor(span)
    if not named and source == "openai_agents":
        # "handoff to X": input is the agent that hands over, output the one that takes over; no arguments.
        target = string(attributes.get("output.value")) or span.name.rpartition(" ")[2]
        return Step(
            span, NAME, HANDOFF, instruments_tools=True, target=target, error=error_of(span), session_id=session(span)
        )
    name = str(attributes["tool.name"]) if named else _name_in(span.name, source)
    schema = _schema(attributes.get("tool.parameters"))
    arguments, shape = _arguments(span, source, schema)
    result, result_id, result_error = _result(attributes.get("output.value"))
    call_id = next((attributes[key] for key in ID_KEYS if string(attributes.get(key))), None)
    rule = "R1"
    parent_id, parent_arguments = _from_parent(span, tree, name, result_id)
    if call_id is None:
        call_id, rule = result_id or parent_id, "R3"
    if source == "langchain" and _is_only_value(parent_arguments, attributes.get("input.value")):
        # A text that looks like JSON (`{"id": 7}`, `[1, 2]`) is written with JSON's mime type, as an object would be.
        arguments, shape = read_arguments(parent_arguments), Shape.OBJECT
    elif shape is Shape.BARE and isinstance(parent_arguments, dict):
        # The node above names the only argument. A middleware in between may have changed its value: then they differ.
        named_alike = loosely_same(parent_arguments, None, arguments.value, shape)
        arguments, shape = (read_arguments(parent_arguments), Shape.OBJECT) if named_alike else (arguments, shape)
    error = error_of(span) or (ErrorInfo(message=result.raw) if result_error else None)
    executed = Executed.YES
    if source == "claude_agent_sdk" and error is not None and error.message == ABANDONED:
        executed, error = Executed.UNKNOWN, replace(error, kind=ErrorKind.CANCELLED)
    ends_run = source == "smolagents" and name == "final_answer"
    return ToolRun(
        span,
        NAME,
        name,
        call_id,
        rule,
        arguments,
        shape,
        result,
        executed=executed,
        error=error,
        kind=ToolKind.OUTPUT if ends_run else ToolKind.FUNCTION,
        schema=schema,
        session_id=session(span),
        keys=tuple(key for key in ("tool.name", "input.value", "output.value", *ID_KEYS) if key in attributes),
    )


def _name_in(span_name: str, source: str) -> str:
    """The tool's name in a span's: CrewAI's listener writes `{tool}.run`, AutoGen `{agent}.{tool}`, DSPy the method."""
    if source.startswith("autogen"):
        return span_name.rpartition(".")[2]
    if source == "dspy":
        return span_name.removesuffix(".__call__").removesuffix(".acall")
    return span_name.removesuffix(".run")


def _schema(value: Any) -> dict[str, Any] | None:
    """`tool.parameters` as a JSON Schema, or None where it holds arguments.

    smolagents leaves the outer object out: `{"city": {"type": "string", "description": ...}}`.
    """
    decoded = read_repeated(value)
    if not isinstance(decoded, dict) or not decoded:
        return None
    if "properties" in decoded and isinstance(decoded["properties"], dict):
        return decoded
    if all(isinstance(rule, dict) and ("type" in rule or "anyOf" in rule) for rule in decoded.values()):
        return {"type": "object", "properties": decoded}
    return None


def _arguments(span: Span, source: str, schema: dict[str, Any] | None) -> tuple[Content, Shape]:
    attributes = span.attributes
    value = attributes.get("input.value")
    if value is None:
        parameters = attributes.get("tool.parameters")
        if parameters is not None and (source in ARGUMENTS_IN_PARAMETERS or schema is None):
            content = read_arguments(parameters)
            if isinstance(content.value, dict):
                return content, Shape.OBJECT
        # LangChain and OpenAI Agents leave the input out for a call without arguments; a hidden one would be a
        # placeholder. A span that shows nothing at all proves nothing.
        shows = "output.value" in attributes or error_of(span) is not None
        return (EMPTY_OBJECT, Shape.OBJECT) if shows else (NO_CONTENT, Shape.ABSENT)
    bare = source == "langchain" and "input.mime_type" not in attributes
    content = (
        Content(value, value, State.CAPTURED)
        if bare and isinstance(value, str) and not is_placeholder(value)
        else read(unlayered(value), literal=source == "langchain")
    )
    if content.state is not State.CAPTURED:
        return content, Shape.ABSENT
    if isinstance(content.value, dict):
        return _unwrap(content, schema)
    if bare:
        return content, Shape.BARE
    if isinstance(value, str) and not value.strip():
        return EMPTY_OBJECT, Shape.OBJECT
    return Content(None, content.text, State.CAPTURED), Shape.TEXT


def _unwrap(content: Content, schema: dict[str, Any] | None) -> tuple[Content, Shape]:
    """Take the arguments out of `{"args": [...], "kwargs": {...}}` (smolagents, LlamaIndex)."""
    value: dict[str, Any] = content.value
    own = schema is not None and "kwargs" in schema.get("properties", {})
    if (
        own
        or not isinstance(value.get("kwargs"), dict)
        or not set(value) <= {"args", "kwargs", "sanitize_inputs_outputs"}
    ):
        return content, Shape.OBJECT
    given = value.get("args") or []
    named = dict(value["kwargs"])
    if given:
        names = [name for name in (schema or {}).get("properties", {}) if name not in named]
        if not isinstance(given, list) or len(names) < len(given):
            return Content(value, content.raw, State.CAPTURED, structured=True), Shape.POSITIONAL
        named = {**dict(zip(names, given, strict=False)), **named}
    return Content(named, None, State.CAPTURED, structured=True), Shape.OBJECT


def _result(value: Any) -> tuple[Content, str | None, bool]:
    """(result, call id found in it, whether it calls itself an error): LangChain's and LlamaIndex' envelopes opened."""
    content = read(value)
    outer = content.value
    if isinstance(outer, dict):
        data = outer.get("data") if outer.get("type") == "tool" else None
        if not isinstance(data, dict) and outer.keys() >= DUMPED_MESSAGE and outer["type"] == "tool":
            data = outer  # releases around 0.1.5x dump the message's fields without an envelope
        if isinstance(data, dict):
            joined = joined_text(data.get("content"))
            inner = read(joined if joined is not None else data.get("content"))
            call_id = data.get("tool_call_id")
            return inner, call_id if isinstance(call_id, str) else None, data.get("status") == "error"
        if "raw_output" in outer and "tool_name" in outer:
            return read(outer["raw_output"]), None, outer.get("is_error") is True
    written = TOOL_MESSAGE.match(content.raw) if content.raw is not None and not content.structured else None
    if written is not None:
        inner = read(_unquoted(written["content"]))
        return inner, written["id"], written["status"] == "error"
    return content, None, False


def _unquoted(literal: str) -> str:
    try:
        return str(parse_literal(literal))
    except ValueError:
        return literal[1:-1]


def _is_only_value(arguments: Any, text: Any) -> bool:
    """Whether these arguments are one text alone, and this is it."""
    return isinstance(text, str) and isinstance(arguments, dict) and list(arguments.values()) == [text]


def _told_to(decoded: Any) -> Any:
    """The calls in the input of LangGraph's `tools` node: a list of them, one call beside the graph's state (since 1.1),
    or (before) the state alone, whose last answer has them.
    """
    if not isinstance(decoded, dict):
        return decoded
    if isinstance(decoded.get("tool_call"), dict):
        return decoded["tool_call"]
    answers = [data for m in dictionaries(decoded.get("messages")) if isinstance(data := m.get("data", m), dict)]
    return answers[-1].get("tool_calls") if answers and answers[-1].get("type") == "ai" else decoded


def _from_parent(span: Span, tree: SpanTree, name: str, result_id: str | None) -> tuple[str | None, Any]:
    """(call id, arguments) from the CHAIN span above: LangGraph's `tools` node lists its calls, LlamaIndex' `call_tool`
    shows the event that it handles. Used only where exactly one call there has this tool's name, or the result's id.
    """
    parent = tree.span(span.parent_id)
    if parent is None or parent.attributes.get(KIND) != "CHAIN":
        return None, None
    value = parent.attributes.get("input.value")
    if not isinstance(value, str):
        return None, None
    decoded = tree.read_json(parent, "input.value")
    if isinstance(decoded, dict) and isinstance(decoded.get("ev"), str):
        found = TOOL_ID_IN_EVENT.search(decoded["ev"])
        return (found.group(1), None) if found else (None, None)
    calls = [c for c in dictionaries(_told_to(decoded)) if c.get("type") == "tool_call" and c.get("name") == name]
    if len(calls) > 1 and result_id is not None:
        calls = [c for c in calls if c.get("id") == result_id]
    if len(calls) == 1:
        call_id = calls[0].get("id")
        return (call_id if isinstance(call_id, str) else None), calls[0].get("args")
    return None, None
