"""Pydantic AI, instrumentation versions 1 to 6: GenAI operations with quirks of their own.

A call whose arguments were refused has a span with `pydantic_ai.tool.failure_stage`; its function never ran. ModelRetry
ends a run in an error though the function asked for just that. A deferred or unapproved call ends its span early.
An output tool is the model's way to answer: no function follows, unless the application gave an output function.
"""

import re
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions.logfire.event_lists import read_events
from lanewatch.adapters.conventions.logfire.scrubbing import unscrubbed_call, unscrubbed_run
from lanewatch.adapters.conventions.otel_genai import LLM, llm_call, operation_of, shape_of, step, tool_run
from lanewatch.adapters.facts import (
    AGENT,
    ErrorInfo,
    ErrorKind,
    Executed,
    Fact,
    LlmCall,
    Shape,
    Step,
    ToolKind,
    ToolRun,
)
from lanewatch.adapters.failures import enters, stack_of
from lanewatch.adapters.genai_content import state_of
from lanewatch.adapters.json_text import parse_json, parse_json_text
from lanewatch.adapters.messages import Message, Part, Text, ToolCall
from lanewatch.adapters.reading import Content, State, dictionaries, read, read_arguments, read_json
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "pydantic_ai"
KEYS = (b"pydantic_ai.", b"tool_arguments", b"tool_response", b"model_request_parameters", b"all_messages_events")
SCOPES = ("pydantic-ai",)

SCOPE = "pydantic-ai"
OUTPUT_FUNCTION = "running output function"
NAMES = {"running tool": "execute_tool", OUTPUT_FUNCTION: "execute_tool", "agent run": "invoke_agent"}
STAGE, DEFERRAL = "pydantic_ai.tool.failure_stage", "pydantic_ai.tool.deferral.name"
DEFERRALS = ("CallDeferred", "ApprovalRequired")
DEFERRED = '{"calls":'  # DeferredToolRequests, as a run's result
INVALID_JSON = "INVALID_JSON"
OUTPUT_TOOLS = re.compile(r'"output_tools":\s*\[\s*\{')


def matches(span: Span) -> bool:
    """Whether Pydantic AI wrote the span."""
    return span.scope.name == SCOPE or "gen_ai.agent.call.id" in span.attributes


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    operation = NAMES.get(span.name) or operation_of(span) or _named(span)
    if operation == "execute_tool":
        return (_tool_run(span),)
    if operation in LLM:
        return (_llm_call(span, tree),)
    return (_step(span, operation),)


def _named(span: Span) -> str:
    """The operation that a span's name begins with: up to 1.x, spans of tools and agents had it there alone."""
    operation = span.name.partition(" ")[0]
    return operation if operation in NAMES.values() else ""


def _step(span: Span, operation: str) -> Step:
    fact = step(span, NAME, operation)
    name = span.attributes.get("agent_name")
    target = fact.target or (name if isinstance(name, str) else None)
    return replace(fact, target=target, instruments_tools=fact.role == AGENT)


def _tool_run(span: Span) -> ToolRun:
    attributes = span.attributes
    written = attributes.get("gen_ai.tool.call.arguments", attributes.get("tool_arguments"))
    result = read(attributes.get("gen_ai.tool.call.result", attributes.get("tool_response")))
    arguments = None if written is None else _arguments(written)
    run = unscrubbed_run(tool_run(span, NAME, arguments, result))
    told = attributes.get("logfire.msg")
    if span.name == OUTPUT_FUNCTION or (isinstance(told, str) and told.startswith(OUTPUT_FUNCTION)):
        return _output_run(run)
    return _judged(replace(run, shape=shape_of(run.arguments)))


def _output_run(run: ToolRun) -> ToolRun:
    """A run of an output function, whose only argument stands without its name."""
    if run.shape is Shape.TEXT and run.arguments.raw is not None:
        value = parse_json_text(run.arguments.raw)
        run = replace(run, arguments=Content(value, None, State.CAPTURED), shape=Shape.BARE)
    return replace(run, kind=ToolKind.OUTPUT)


def _arguments(written: Any) -> Content:
    """Arguments, or the text that is no JSON, which Pydantic AI wraps."""
    arguments = read_arguments(written)
    value = arguments.value
    if isinstance(value, dict) and set(value) == {INVALID_JSON} and isinstance(value[INVALID_JSON], str):
        return Content(None, value[INVALID_JSON], State.CAPTURED)
    return arguments


def _judged(run: ToolRun) -> ToolRun:
    """A run with what the span says of whether its function was called."""
    attributes, error = run.span.attributes, run.error
    name = (error.type or "").rpartition(".")[2] if error is not None else None
    if DEFERRAL in attributes or name in DEFERRALS:
        kind = error.type if error is not None else str(attributes[DEFERRAL])
        message = error.message if error is not None else None
        return replace(run, executed=Executed.UNKNOWN, error=ErrorInfo(kind, ErrorKind.DEFERRED, message))
    if error is None:
        return run
    if (error.message or "").rstrip(": ") in ("", name):  # up to 1.x a retry's exception has no text; the result has it
        error = ErrorInfo(error.type, error.kind, run.result.text)
    stack = stack_of(run.span)
    refused = f"for {run.name}\n" in stack and "validation error" in stack and not enters(stack, run.name)
    if attributes.get(STAGE) == "validation" or refused:
        return replace(run, executed=Executed.NO, error=replace(error, kind=ErrorKind.VALIDATION))
    return replace(run, error=error)


def _llm_call(span: Span, tree: SpanTree) -> LlmCall:
    call = llm_call(span, tree, NAME)
    attributes = span.attributes
    if "events" in attributes and call.output_state is State.ABSENT:
        inputs, outputs = read_events(read_json(attributes["events"]))
        state = state_of(outputs) if outputs else _cut(attributes["events"])
        call = replace(call, input=inputs, output=outputs, input_state=state, output_state=state)
    parameters = attributes.get("model_request_parameters")
    if isinstance(parameters, str) and OUTPUT_TOOLS.search(parameters):
        call = _with_answers(call, _names_of_output_tools(parameters), tree)
    return unscrubbed_call(_left_open(call, tree))


def _left_open(call: LlmCall, tree: SpanTree) -> LlmCall:
    """The call with those calls marked that the run ended with: they want an approval, or run elsewhere."""
    parent = tree.parent(call.span)
    result = parent.attributes.get("final_result") if parent is not None else None
    if not isinstance(result, str) or not result.startswith(DEFERRED):
        return call
    held = {
        one.get("tool_call_id")
        for listed in (read_json(result) or {}).values()
        for one in (dictionaries(listed) if isinstance(listed, list) else ())
    }
    return replace(call, output=tuple(_marked(message, held) for message in call.output))


def _marked(message: Message, held: set[Any]) -> Message:
    parts = tuple(
        replace(part, left_open=True) if isinstance(part, ToolCall) and part.call_id in held else part
        for part in message.parts
    )
    return replace(message, parts=parts)


def _cut(events: Any) -> State:
    """The state of a list of events that gives no answer: cut short, hidden, or without one."""
    state = read(events).state
    return State.TRUNCATED if state is State.CAPTURED and read_json(events) is None else state


def _names_of_output_tools(parameters: str) -> frozenset[str]:
    try:
        decoded = parse_json(parameters)
    except ValueError:
        return frozenset()
    tools = decoded.get("output_tools") if isinstance(decoded, dict) else None
    return frozenset(tool["name"] for tool in dictionaries(tools) if isinstance(tool.get("name"), str))


def _with_answers(call: LlmCall, names: frozenset[str], tree: SpanTree) -> LlmCall:
    """A call of an output tool is an answer, whose text is the arguments, unless an output function is given them."""
    asked = [part for message in call.output for part in message.calls if part.name in names]
    if not asked:
        return call
    parent = tree.parent(call.span)
    beside = tree.children(parent) if parent is not None else []
    ran = {span.attributes.get("gen_ai.tool.call.id") for span in beside}
    if any(part.call_id in ran for part in asked):
        return call
    return replace(call, output=tuple(_answered(message, names) for message in call.output))


def _answered(message: Message, names: frozenset[str]) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCall) and part.name in names:
            text = part.arguments.text
            parts.extend([Text(text)] if text else [])
            parts.append(replace(part, by_provider=True))
        else:
            parts.append(part)
    return replace(message, parts=tuple(parts))
