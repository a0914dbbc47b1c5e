"""ADK's runs of tools: what ran, what it answered, and whether ADK let the function be called at all.

A response with the key `error` makes the span an error of type TOOL_ERROR, whether the function returned it, ADK did in
its place, or a callback that stopped the call. Only the response tells; where the span has none, the next model input
has it. ADK passes a function those arguments alone that it declares.
"""

import re
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions.google_adk.model_calls import declared
from lanewatch.adapters.conventions.openinference.marks import KIND
from lanewatch.adapters.conventions.otel_genai import LLM, operation_of, tool_run
from lanewatch.adapters.facts import ErrorInfo, ErrorKind, Executed, ToolKind, ToolRun
from lanewatch.adapters.genai_content import INPUT
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

WRITTEN = "gen_ai.tool.call.arguments"
ARGUMENTS, RESPONSE = "gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response"
NO_SUCH_TOOL = "Tool not found"  # the description of the stand-in for a tool that does not exist
TRANSFER = "transfer_to_agent"
# What ADK answers in place of a function (google/adk/tools/function_tool.py).
UNCONFIRMED = "This tool call requires confirmation, please approve or reject."
REFUSED = "This tool call is rejected."
NOT_INVOKED = re.compile(
    r"Invoking `[^`]{1,200}\(\)` failed (as the following mandatory input parameters are not present"
    r"|due to argument validation errors)"
)
DETECTED = ("TOOL_ERROR", "HTTP_ERROR", "MCP_TOOL_ERROR")  # types of an error that a response told


def read_run(span: Span, tree: SpanTree, convention: str, session_keys: tuple[str, ...]) -> ToolRun:
    """A run in either schema."""
    attributes = span.attributes
    arguments, result = _json_content(attributes) if RESPONSE in attributes else (None, None)
    shown = WRITTEN in attributes or (arguments is not None and arguments.state is not State.ABSENT)
    if not shown and attributes.get(KIND) == "TOOL":
        arguments, result = _added_content(attributes)
    run = tool_run(span, convention, arguments, result, session_keys=session_keys)
    if run.result.state is State.ABSENT and run.call_id is not None:
        run = replace(run, result=_shown(span, run.call_id, tree))
    if run.arguments.value and _has_undeclared(run, tree):
        run = replace(run, arguments=replace(run.arguments, state=State.TRUNCATED))
    if run.name == TRANSFER:
        run = replace(run, kind=ToolKind.HANDOFF)
    return _judged(run)


def _json_content(attributes: dict[str, Any]) -> tuple[Content, Content]:
    """Schema 1. With content off, both are `{}`; a response that there was none to is `<not specified>`."""
    written, response = attributes.get(ARGUMENTS), attributes.get(RESPONSE)
    if response == "{}":
        return NO_CONTENT, NO_CONTENT
    result = read(response)
    if isinstance(result.value, dict) and set(result.value) == {"result"} and is_placeholder(result.value["result"]):
        result = NO_CONTENT
    return NO_CONTENT if written is None else read_arguments(written), result


def _added_content(attributes: dict[str, Any]) -> tuple[Content, Content]:
    """What OpenInference's instrumentor adds to ADK's own span, whose content is off by default: the response in it
    stands inside a `{"id", "name", "response"}`.
    """
    result = read(attributes.get("output.value"))
    if isinstance(result.value, dict) and result.value.keys() >= {"name", "response"}:
        result = read(result.value["response"])
    written = attributes.get("input.value", attributes.get("tool.parameters"))
    return NO_CONTENT if written is None else read_arguments(written), result


def _judged(run: ToolRun) -> ToolRun:
    """A run with what its response says of it. The status repeats the error's type, not its message."""
    error, attributes = run.error, run.span.attributes
    response = run.result.value if isinstance(run.result.value, dict) else {}
    told = response.get("error")
    message = told if isinstance(told, str) and told else None
    kind = _refusal(message) if message is not None else None
    if attributes.get("gen_ai.tool.description") == NO_SUCH_TOOL and attributes.get("gen_ai.tool.type") == "BaseTool":
        kind = ErrorKind.VALIDATION
    if kind is not None:
        return replace(run, executed=Executed.NO, error=ErrorInfo(error.type if error else None, kind, message))
    if error is None:
        return run
    if message is None and error.message != error.type:
        message = error.message
    executed = Executed.UNKNOWN if message is None and error.type in DETECTED else Executed.YES
    return replace(run, executed=executed, error=ErrorInfo(error.type, error.kind, message))


def _refusal(message: str) -> ErrorKind | None:
    if message == UNCONFIRMED:
        return ErrorKind.DEFERRED
    if message == REFUSED:
        return ErrorKind.BLOCKED
    return ErrorKind.VALIDATION if NOT_INVOKED.match(message) else None


def _later_calls(span: Span, tree: SpanTree) -> Iterator[Span]:
    return (sibling for sibling in tree.later_beside(span) if operation_of(sibling) in LLM)


def _shown(span: Span, call_id: str, tree: SpanTree) -> Content:
    """The response with this id in the log of the next model call: with content in events only, spans have none."""
    following = next(_later_calls(span, tree), None)
    for log in tree.logs(following) if following is not None else ():
        for message in dictionaries(log.attributes.get(INPUT)):
            for part in dictionaries(message.get("parts")):
                if part.get("type") == "tool_call_response" and part.get("id") == call_id:
                    return read(part.get("response"))
    return NO_CONTENT


def _has_undeclared(run: ToolRun, tree: SpanTree) -> bool:
    """Whether arguments are known to go beyond what the function declares: ADK leaves those out of the call."""
    parent = tree.parent(run.span)
    if parent is None or run.span.attributes.get("gen_ai.tool.type", "FunctionTool") != "FunctionTool":
        return False
    calls = [parent, *(s for s in tree.children(parent) if s.start_ns <= run.span.start_ns and operation_of(s) in LLM)]
    for span in reversed(calls):
        schema = (declared(span, tree) or {}).get(run.name)
        properties = read_json(schema.get("properties")) if isinstance(schema, dict) else None
        if isinstance(properties, dict):
            return any(key not in properties for key in run.arguments.value)
    return False
