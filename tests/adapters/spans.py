"""Builders of spans and traces, so that a test writes only what it is about. Times are in milliseconds."""

import json
from hashlib import blake2b
from typing import Any

from lanewatch.adapters.records import TraceRecord
from lanewatch.adapters.trace_record import read_trace
from lanewatch.collector.spans import Event, LogRecord, Resource, Scope, Span, Trace

TRACE_ID = b"\x01" * 16
MS = 1_000_000  # nanoseconds
LANGCHAIN = "openinference.instrumentation.langchain"
UTIL_GENAI = "opentelemetry.instrumentation.genai.langchain"
OPENLLMETRY = "opentelemetry.instrumentation.langchain"


def span_id(label: str) -> bytes:
    """The id that stands for a label; the empty label stands for no parent."""
    return blake2b(label.encode(), digest_size=8).digest() if label else b""


def span(
    label: str,
    attributes: dict[str, Any] | None = None,
    *,
    at: tuple[float, float] = (0, 1),
    under: str = "",
    name: str | None = None,
    scope: str = "",
    version: str = "",
    status: int = 0,
    message: str = "",
    events: tuple[Event, ...] = (),
    dropped: int = 0,
) -> Span:
    """A span whose id is its label's, from `at[0]` to `at[1]`."""
    return Span(
        trace_id=TRACE_ID,
        span_id=span_id(label),
        parent_id=span_id(under),
        name=label if name is None else name,
        start_ns=int(at[0] * MS),
        end_ns=int(at[1] * MS),
        status=status,
        status_message=message,
        attributes=attributes or {},
        events=events,
        resource=Resource({"service.name": "shop"}),
        scope=Scope(scope, version),
        dropped_attributes=dropped,
    )


def raised(kind: str, message: str, stack: str = "") -> Event:
    """An exception event."""
    attributes = {"exception.type": kind, "exception.message": message, "exception.stacktrace": stack}
    return Event("exception", 0, {key: value for key, value in attributes.items() if value})


def log(label: str, event: str, body: Any = None, attributes: dict[str, Any] | None = None, at: float = 0) -> LogRecord:
    """A log record of the span with this label."""
    return LogRecord(TRACE_ID, span_id(label), event, int(at * MS), body, attributes or {})


def trace(*spans: Span, logs: tuple[LogRecord, ...] = (), complete: bool = True) -> Trace:
    """A closed trace: spans in order of start, then id, as the assembler hands them on."""
    ordered = tuple(sorted(spans, key=lambda one: (one.start_ns, one.span_id)))
    return Trace(TRACE_ID, ordered, logs, complete=complete)


def record(*spans: Span, logs: tuple[LogRecord, ...] = (), complete: bool = True) -> TraceRecord:
    """The record of a trace of these spans."""
    return read_trace(trace(*spans, logs=logs, complete=complete))


def call(name: str, arguments: Any = None, call_id: str | None = "call_1") -> dict[str, Any]:
    """A GenAI `tool_call` part."""
    part: dict[str, Any] = {"type": "tool_call", "name": name}
    if call_id is not None:
        part["id"] = call_id
    if arguments is not None:
        part["arguments"] = arguments
    return part


def text(content: str) -> dict[str, Any]:
    """A GenAI text part."""
    return {"type": "text", "content": content}


def answered(call_id: str, response: Any) -> dict[str, Any]:
    """A GenAI message with a tool's result."""
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": response}]}


def asking(*parts: dict[str, Any]) -> dict[str, Any]:
    """A GenAI message of the assistant."""
    return {"role": "assistant", "parts": list(parts)}


def chat(label: str, *parts: dict[str, Any], inputs: list[dict[str, Any]] | None = None, **where: Any) -> Span:
    """A GenAI model call that answers with these parts."""
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.output.messages": json.dumps([asking(*parts)]),
    }
    if inputs is not None:
        attributes["gen_ai.input.messages"] = json.dumps(inputs)
    extra = where.pop("extra", {})
    return span(label, {**attributes, **extra}, **where)


def tool(
    label: str,
    name: str,
    arguments: Any = None,
    result: Any = "fine",
    call_id: str | None = None,
    **where: Any,
) -> Span:
    """A GenAI run of a tool."""
    attributes: dict[str, Any] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    for key, value in (("arguments", arguments), ("result", result)):
        if value is not None:
            attributes[f"gen_ai.tool.call.{key}"] = value if isinstance(value, str) else json.dumps(value)
    if call_id is not None:
        attributes["gen_ai.tool.call.id"] = call_id
    return span(label, attributes, **where)


def agent(label: str = "agent", **where: Any) -> Span:
    """A GenAI agent, whose instrumentor also reports tools."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": label}
    return span(label, attributes, **{"at": (0, 1000), "scope": UTIL_GENAI, **where})


def oi(label: str, kind: str, attributes: dict[str, Any] | None = None, **where: Any) -> Span:
    """An OpenInference span, of LangChain's instrumentor unless `scope` says otherwise."""
    return span(label, {"openinference.span.kind": kind, **(attributes or {})}, **{"scope": LANGCHAIN, **where})


def oi_llm(label: str, *calls: tuple[str, str, str | None], content: str | None = None, **where: Any) -> Span:
    """An OpenInference model call that asks for (name, arguments as text, id)."""
    prefix = "llm.output_messages.0.message"
    attributes: dict[str, Any] = {f"{prefix}.role": "assistant"}
    if content is not None:
        attributes[f"{prefix}.content"] = content
    for index, (name, arguments, call_id) in enumerate(calls):
        place = f"{prefix}.tool_calls.{index}.tool_call"
        attributes[f"{place}.function.name"] = name
        attributes[f"{place}.function.arguments"] = arguments
        if call_id is not None:
            attributes[f"{place}.id"] = call_id
    extra = where.pop("extra", {})
    return oi(label, "LLM", {**attributes, **extra}, **where)


def oi_tool(label: str, name: str, value: Any = None, result: Any = None, **where: Any) -> Span:
    """An OpenInference run of a tool; an object is written as JSON with its mime type, a text bare."""
    attributes: dict[str, Any] = {"tool.name": name}
    if isinstance(value, str):
        attributes["input.value"] = value
    elif value is not None:
        attributes |= {"input.value": json.dumps(value), "input.mime_type": "application/json"}
    if result is not None:
        attributes["output.value"] = result if isinstance(result, str) else json.dumps(result)
    extra = where.pop("extra", {})
    return oi(label, "TOOL", {**attributes, **extra}, **where)


def traceloop(label: str, kind: str, attributes: dict[str, Any] | None = None, **where: Any) -> Span:
    """An OpenLLMetry span, of LangChain's instrumentor unless `scope` says otherwise."""
    where = {"scope": OPENLLMETRY, "version": "0.62.4", **where}
    return span(label, {"traceloop.span.kind": kind, **(attributes or {})}, **where)
