"""Semantic Kernel: messages in logs, functions that no model asked for, and arguments before their conversion."""

import json
from typing import Any

import pytest
from lanewatch.adapters.facts import Shape
from lanewatch.adapters.records import Evidence, Outcome
from lanewatch.collector.spans import LogRecord, Span

from tests.adapters.spans import log, record, span

CHAT = "semantic_kernel.utils.telemetry.model_diagnostics.decorators"
FUNCTION = "semantic_kernel.functions.kernel_function"
AGENT = "semantic_kernel.utils.telemetry.agent_diagnostics.decorators"


def chat(label: str, finish: str = "FinishReason.STOP", **where: Any) -> Span:
    """A model call, whose messages are log records."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.response.finish_reason": finish}
    return span(label, attributes, **{"scope": CHAT, "under": "agent", **where})


def choice(label: str, content: str | None = None, *calls: tuple[str, dict[str, Any], str]) -> LogRecord:
    """The log record of an answer with calls (name, arguments, id)."""
    message: dict[str, Any] = {"role": "assistant"}
    if content:
        message["content"] = content
    if calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for name, arguments, call_id in calls
        ]
    return log(label, "gen_ai.choice", json.dumps({"message": message, "finish_reason": "stop"}))


def told(label: str, call_id: str, content: str) -> LogRecord:
    """The log record of a result that the model was shown."""
    body = {"role": "tool", "content": content, "tool_call_id": call_id}
    return log(label, "gen_ai.tool.message", json.dumps(body))


def function(
    label: str, name: str, arguments: dict[str, Any], call_id: str | None = "call_1", result: str = "ok", **where: Any
) -> Span:
    """A kernel function's span."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.arguments": json.dumps(arguments),
        "gen_ai.tool.call.result": result,
    }
    if call_id is not None:
        attributes["gen_ai.tool.call.id"] = call_id
    return span(label, attributes, **{"scope": FUNCTION, "under": "agent", **where})


def agent(**schemas: dict[str, str]) -> Span:
    """An agent that offers tools: name -> types of their parameters."""
    listed = [
        {
            "type": "function",
            "function": {
                "name": name.replace("__", "-"),
                "parameters": {"type": "object", "properties": {key: {"type": kind} for key, kind in types.items()}},
            },
        }
        for name, types in schemas.items()
    ]
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.tool.definitions": json.dumps(listed)}
    return span(
        "agent", attributes if schemas else {"gen_ai.operation.name": "invoke_agent"}, at=(0, 1000), scope=AGENT
    )


def test_a_plugins_prefix_is_part_of_the_name_on_both_sides() -> None:
    """The model is offered `Plugin-function` too."""
    seen = record(
        agent(),
        chat("a", "FinishReason.TOOL_CALLS", at=(1, 2)),
        function("t", "mail-send", {"to": "x"}, at=(3, 4)),
        logs=(choice("a", None, ("mail-send", {"to": "x"}, "call_1")),),
    )

    assert [request.outcome for request in seen.requests] == [Outcome.DISPATCHED]
    assert seen.dispatches[0].match_rule == "R1"


def test_the_finish_reason_loses_its_class() -> None:
    """`FinishReason.TOOL_CALLS`, joined by commas where there are several; it is all that is left with content off."""
    seen = record(agent(), chat("a", "FinishReason.TOOL_CALLS,FinishReason.STOP", at=(1, 2)))

    assert seen.generations[0].finish_reason == "tool_calls"
    assert seen.evidence["requests"] is Evidence.ABSENT


def test_results_are_python_reprs() -> None:
    """The framework writes str() of a result."""
    seen = record(function("t", "a-b", {}, result="{'status': 'done', 'note': None}"), chat("a", at=(5, 6)))

    assert seen.dispatches[0].result == {"status": "done", "note": None}


def test_a_null_becomes_text_for_a_text_parameter() -> None:
    """The kernel calls str(None) behind the span; so the body got something else than the model gave."""
    seen = record(
        agent(a__b={"note": "string", "count": "integer"}),
        chat("a", at=(1, 2)),
        function("t", "a-b", {"note": None, "count": "7"}, at=(3, 4)),
        logs=(choice("a", None, ("a-b", {"note": None, "count": "7"}, "call_1")),),
    )

    assert seen.dispatches[0].arguments == {"note": "None", "count": 7}


@pytest.mark.parametrize("value", [True, {"a": 1}, [1], 1.5])
def test_what_a_parameters_type_does_not_tell_stays_as_it_is(value: Any) -> None:
    """A type that the kernel could not name is written as an object."""
    seen = record(
        agent(a__b={"x": "object"}),
        chat("a", at=(1, 2)),
        function("t", "a-b", {"x": value}, at=(3, 4)),
        logs=(choice("a", None, ("a-b", {"x": value}, "call_1")),),
    )

    assert seen.dispatches[0].arguments == {"x": value}
    assert seen.evidence["dispatches"] is Evidence.COMPLETE


def test_only_what_a_function_takes_reaches_it() -> None:
    """The span holds the whole dictionary of the kernel: variables of the prompt too."""
    seen = record(
        agent(a__b={"city": "string"}),
        chat("a", at=(1, 2)),
        function("t", "a-b", {"city": "Lyon", "history": "..."}, at=(3, 4)),
        logs=(choice("a", None, ("a-b", {"city": "Lyon"}, "call_1")),),
    )

    assert seen.dispatches[0].arguments == {"city": "Lyon"}


@pytest.mark.parametrize("arguments", [{"city": "Lyon", "history": "..."}, {"city": None}], ids=["more", "null"])
def test_without_a_schema_arguments_that_may_differ_stay_untold(arguments: dict[str, Any]) -> None:
    """Neither a divergence nor a complete record can be made of them."""
    asked = {"city": arguments["city"]}
    seen = record(
        agent(),
        chat("a", at=(1, 2)),
        function("t", "a-b", arguments, at=(3, 4)),
        logs=(choice("a", None, ("a-b", asked, "call_1")),),
    )

    assert seen.dispatches[0].shape is Shape.TEXT
    assert seen.evidence["dispatches"] is Evidence.PARTIAL


def test_a_function_without_an_id_that_no_model_named_is_no_run_of_a_tool() -> None:
    """Prompts are kernel functions, and templates call others."""
    seen = record(
        function("p", "chat-prompt", {}, None, at=(0, 9), under=""),
        chat("a", at=(1, 2), under="p"),
        logs=(choice("a", "Hello."),),
    )

    assert seen.dispatches == ()
    assert [response.text for response in seen.responses] == ["Hello."]


def test_a_function_without_an_id_that_a_model_asked_for_is_one() -> None:
    """An application may run the calls of a model by itself."""
    seen = record(
        agent(),
        chat("a", at=(1, 2)),
        function("t", "a-b", {"city": "Lyon"}, None, at=(3, 4)),
        logs=(choice("a", None, ("a-b", {"city": "Lyon"}, "call_1")),),
    )

    assert [(d.call_id, d.match_rule) for d in seen.dispatches] == [("call_1", "R5")]


@pytest.mark.parametrize(
    "text",
    [
        "The tool call with name `a-b` is not part of the provided tools, please try again.",
        "Received unexpected argument(s): ['x']. Please revise the arguments to match the function signature.",
        "Missing required argument(s): ['y']. Please revise the arguments to match the function signature.",
        "The tool call arguments are malformed. Arguments must be in JSON format. Please try again.",
        "There are `2` tool call arguments required and only `1` received. The required arguments are: ['x', 'y'].",
    ],
)
def test_calls_that_the_kernel_refused_are_told_by_their_result(text: str) -> None:
    """They leave no span."""
    seen = record(
        agent(),
        chat("a", at=(1, 2)),
        chat("b", at=(5, 6)),
        function("t", "other", {}, "call_9", at=(3, 4)),
        logs=(
            choice("a", None, ("a-b", {"x": 1}, "call_1"), ("other", {}, "call_9")),
            told("b", "call_1", text),
            choice("b", "Sorry."),
        ),
    )

    assert [request.outcome for request in seen.requests] == [Outcome.INVALID, Outcome.DISPATCHED]


def test_a_handoff_is_a_function_of_the_framework() -> None:
    """Its arguments are not those of an application's body."""
    seen = record(
        agent(),
        chat("a", at=(1, 2)),
        function("t", "Handoff-transfer_to_billing", {}, at=(3, 4)),
        logs=(choice("a", None, ("Handoff-transfer_to_billing", {}, "call_1")),),
    )

    assert [request.outcome for request in seen.requests] == [Outcome.HANDOFF]
