"""Logfire's spans of MCP: a client's request and a server's handling of it, each with both messages as JSON.

`MCP request: tools/call add` and `MCP server handle request: tools/call` (logfire 4.41.0, integrations/mcp.py); all are of
the internal kind, and none has a key of MCP's conventions.
"""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import mcp, otel_genai
from lanewatch.adapters.facts import ErrorInfo, ErrorKind, Executed, Fact, Step, ToolRun
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.reading import NO_CONTENT, State, read_json
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

SCOPE = "logfire.mcp"
REQUEST, RESPONSE = "request", "response"


def read_span(span: Span, tree: SpanTree, convention: str) -> tuple[Fact, ...]:
    """The facts that a span states: a run where a tool is called, else a step."""
    request = read_json(span.attributes.get(REQUEST))
    method = request.get("method") if isinstance(request, dict) else span.attributes.get("rpc.method")
    if method != mcp.CALL:
        return (Step(span, convention, "mcp", error=error_of(span), session_id=otel_genai.session_of(span)),)
    params = request.get("params") if isinstance(request, dict) else None
    return (_tool_run(span, tree, convention, params if isinstance(params, dict) else {}),)


def _tool_run(span: Span, tree: SpanTree, convention: str, params: dict[str, Any]) -> ToolRun:
    """The run, read as of a span with MCP's own keys."""
    told: dict[str, Any] = {mcp.METHOD: mcp.CALL, "gen_ai.operation.name": "execute_tool"}
    if isinstance(params.get("name"), str):
        told["gen_ai.tool.name"] = params["name"]
    if params:
        told["gen_ai.tool.call.arguments"] = params.get("arguments") or {}
    response = span.attributes.get(RESPONSE)
    if response is not None:
        told["gen_ai.tool.call.result"] = response
    keys = tuple(key for key in (REQUEST, RESPONSE) if key in span.attributes)
    run = mcp.tool_run(replace(span, attributes={**span.attributes, **told}), tree, convention)
    run = replace(run, span=span, keys=keys)
    answer = run.result.value
    if isinstance(answer, dict) and isinstance(answer.get("code"), int) and "message" in answer:
        return _refused(run, str(answer["code"]), answer["message"])
    if run.error is None and run.result.state is not State.CAPTURED:
        return replace(run, executed=Executed.UNKNOWN)  # still under way when its span ended, or hidden
    return run


def _refused(run: ToolRun, code: str, message: Any) -> ToolRun:
    """A run that a server answered with a JSON-RPC error in place of a result."""
    refused = code in mcp.REFUSED
    kind = ErrorKind.VALIDATION if refused else ErrorKind.FAILURE
    error = ErrorInfo(code, kind, message if isinstance(message, str) else None)
    return replace(run, result=NO_CONTENT, error=error, executed=Executed.NO if refused else run.executed)
