"""Logfire's spans of OpenAI's Agents SDK: its span data as attributes, told apart by the template of the span's name.

Tools have no call id. A handoff names both agents. An error stands in the attribute `error`, not in the status.
"""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions.logfire.event_lists import read_events, split_answer
from lanewatch.adapters.conventions.logfire.scrubbing import unscrubbed_call, unscrubbed_run
from lanewatch.adapters.conventions.otel_genai import llm_call, session_of, shape_of
from lanewatch.adapters.facts import AGENT, HANDOFF, ErrorInfo, Fact, LlmCall, Step, ToolRun
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.genai_content import state_of
from lanewatch.adapters.message_shapes import read_messages
from lanewatch.adapters.reading import NO_CONTENT, State, read, read_arguments, read_json
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

SCOPE = "logfire.openai_agents"
SESSION_KEYS = ("group_id", "gen_ai.conversation.id", "session.id")
ROLES = {"Agent run": AGENT, "Handoff": HANDOFF, "OpenAI Agents trace": AGENT}


def read_span(span: Span, tree: SpanTree, convention: str) -> tuple[Fact, ...]:
    """The facts that a span states."""
    template = span.attributes.get("logfire.msg_template", span.name)
    head = template.partition(":")[0] if isinstance(template, str) else ""
    if head == "Function":
        return (_tool_run(span, convention),)
    if head.startswith(("Responses API", "Chat completion")):
        return (_llm_call(span, tree, convention),)
    attributes = span.attributes
    role = ROLES.get(head, "step")
    target = attributes.get("to_agent" if role == HANDOFF else "name")
    return (
        Step(
            span,
            convention,
            role,
            instruments_tools=role == AGENT,
            target=target if isinstance(target, str) else None,
            error=_error(span),
            session_id=session_of(span, SESSION_KEYS),
        ),
    )


def _error(span: Span) -> ErrorInfo | None:
    seen, told = error_of(span), read_json(span.attributes.get("error"))
    if not isinstance(told, dict) or (seen is not None and seen.type is not None):
        return seen
    data = told.get("data")
    message: Any = data.get("error") if isinstance(data, dict) else None
    message = message if isinstance(message, str) else told.get("message")
    return ErrorInfo(message=message if isinstance(message, str) else None)


def _tool_run(span: Span, convention: str) -> ToolRun:
    attributes = span.attributes
    name, written = attributes.get("name"), attributes.get("input")
    arguments = NO_CONTENT if written is None else read_arguments(written)
    run = ToolRun(
        span,
        convention,
        name if isinstance(name, str) else "",
        arguments=arguments,
        shape=shape_of(arguments),
        result=read(attributes.get("output")),
        error=_error(span),
        session_id=session_of(span, SESSION_KEYS),
        keys=tuple(key for key in ("name", "input", "output") if key in attributes),
    )
    return unscrubbed_run(run)


def _llm_call(span: Span, tree: SpanTree, convention: str) -> LlmCall:
    call = llm_call(span, tree, convention, SESSION_KEYS)
    if call.output_state is State.ABSENT:
        inputs, outputs = read_events(read_json(span.attributes.get("events")))
        request = read_json(span.attributes.get("request_data"))
        if isinstance(request, dict) and not inputs:  # a history that the answer was joined to
            inputs, outputs = split_answer(read_messages(request.get("messages") or [], "user"))
        states = (State.CAPTURED if inputs else State.ABSENT, state_of(outputs) if outputs else State.ABSENT)
        call = replace(call, input=inputs, output=outputs, input_state=states[0], output_state=states[1])
    return unscrubbed_call(replace(call, error=_error(span)))
