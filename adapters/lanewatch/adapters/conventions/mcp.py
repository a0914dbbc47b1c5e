"""Model Context Protocol: spans of clients and servers, all layers of one dispatch.

A client's span can't see whether the server ran the tool (it stays unset where the result says `isError`), and the
server's tells an error by its kind alone. The model's call id never crosses the wire, arguments and results rarely do.
"""

import re
from itertools import islice
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.facts import ErrorInfo, ErrorKind, Executed, Fact, Step, ToolRun
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.message_parts import joined_text
from lanewatch.adapters.reading import Content, State, read
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "mcp"
KEYS = (b"mcp.method.name",)
SCOPES = ("mcp-python-sdk", "fastmcp")

METHOD = "mcp.method.name"
CALL = "tools/call"
CLIENT = 3  # OTLP's number of the span kind
LEVELS = 4  # framework's tool, client, transport, server
# `tools/call add`, `MCP send tools/call add`, `delegate add`
NAMED = re.compile(r"^(?:.*\btools/call |delegate )(?P<name>\S.*)$")
REFUSED = frozenset({"-32700", "-32600", "-32601", "-32602"})  # JSON-RPC: parse error, bad request, method, parameters
TOOL_MARKS = (
    ("gen_ai.operation.name", "execute_tool"),
    ("openinference.span.kind", "TOOL"),
    ("traceloop.span.kind", "tool"),
    ("langfuse.observation.type", "tool"),
    ("langsmith.span.kind", "tool"),
    ("mlflow.spanType", '"TOOL"'),
    ("ai.operationId", "ai.toolCall"),
)


def matches(span: Span) -> bool:
    """Whether the span is of an MCP client or server."""
    return METHOD in span.attributes or span.scope.name in SCOPES


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states: a run where a tool is called, else a step."""
    if span.attributes.get(METHOD) != CALL:
        return (Step(span, NAME, "mcp", error=error_of(span), session_id=otel_genai.session_of(span)),)
    return (tool_run(span, tree, NAME),)


def tool_run(span: Span, tree: SpanTree, convention: str) -> ToolRun:
    """The run that a `tools/call` span reports."""
    run = otel_genai.tool_run(span, convention)
    if "gen_ai.tool.name" not in span.attributes:
        named = NAMED.match(span.name)
        run = replace(
            run, name=named["name"] if named else str(span.attributes.get("fastmcp.component.key", span.name))
        )
    result, failed = _opened(run.result)
    error = run.error or (ErrorInfo("tool_error", ErrorKind.FAILURE, result.text) if failed else None)
    executed = Executed.YES
    if error is not None and (error.type in REFUSED or _rpc_code(span) in REFUSED):
        executed, error = Executed.NO, replace(error, kind=ErrorKind.VALIDATION)
    elif error is None and result.state is not State.CAPTURED and not _seen_elsewhere(span, tree):
        executed = Executed.UNKNOWN
    return replace(run, result=result, error=error, executed=executed)


def _rpc_code(span: Span) -> str:
    return str(span.attributes.get("rpc.response.status_code", ""))


def _opened(result: Content) -> tuple[Content, bool]:
    """The text in `{"content": [{"type": "text", "text": ...}], "isError": ...}`, and whether it is an error."""
    outer: Any = result.value
    if not isinstance(outer, dict) or not isinstance(outer.get("content"), list):
        return result, False
    failed = outer.get("isError") is True or outer.get("is_error") is True
    text = joined_text(outer["content"])
    structured = outer.get("structuredContent")
    value = structured if isinstance(structured, dict) else text
    return (read(value) if value is not None else result), failed


def _seen_elsewhere(span: Span, tree: SpanTree) -> bool:
    """Whether another span tells more of a call than this one does: a server's, or that of the framework around it."""
    if span.kind != CLIENT:
        return True
    if any(below.attributes.get(METHOD) == CALL for below in tree.children(span)):
        return True
    above = islice(tree.ancestors(span), LEVELS)
    return any(
        one.attributes.get(key) == mark and METHOD not in one.attributes for one in above for key, mark in TOOL_MARKS
    )
