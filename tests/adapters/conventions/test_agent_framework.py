"""Microsoft's Agent Framework: what its spans leave out, and what only the agent's span says."""

import json
from typing import Any

import pytest
from lanewatch.adapters.facts import Shape
from lanewatch.adapters.records import Evidence, Outcome
from lanewatch.collector.spans import Span

from tests.adapters.spans import answered, asking, call, chat, record, span, text, tool

SCOPE = "agent_framework"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def agent(tools: dict[str, Any] | None = None, *messages: dict[str, Any], **where: Any) -> Span:
    """The span of an agent, with the tools that it offers and the messages of its run."""
    attributes: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "support"}
    if tools:
        listed = [{"type": "function", "name": name, "parameters": schema} for name, schema in tools.items()]
        attributes["gen_ai.tool.definitions"] = json.dumps(listed)
    if messages:
        attributes["gen_ai.output.messages"] = json.dumps(messages)
    return span("agent", attributes, **{"at": (0, 1000), "scope": SCOPE, **where})


def ask(label: str, *parts: dict[str, Any], **where: Any) -> Span:
    """A model call of the agent."""
    return chat(label, *parts, **{"under": "agent", "scope": SCOPE, **where})


def run(label: str, name: str, arguments: Any, **where: Any) -> Span:
    """A run of a tool of the agent."""
    return tool(label, name, arguments, **{"under": "agent", "scope": SCOPE, **where})


def test_the_text_none_stands_for_no_arguments() -> None:
    """The framework writes it where a tool was called with nothing."""
    (dispatch,) = record(
        agent(), ask("a", call("ping", "{}"), at=(1, 2)), run("t", "ping", "None", at=(3, 4))
    ).dispatches

    assert dispatch.arguments == {}
    assert dispatch.match_rule == "R5"


def test_the_repr_of_what_holds_an_empty_result_is_no_result() -> None:
    """A tool that returns None is written so; a tool's own text that looks alike is its result."""
    held = "[<agent_framework._types.Content object at 0x7f9fbbb474d0>]"
    own = "<shop.Order object at 0x7f9fbbb474d0>"
    seen = record(agent(), run("t", "save", {"a": 1}, result=held), run("u", "save", {"a": 2}, result=own))

    assert {json.dumps(d.arguments): d.result for d in seen.dispatches} == {'{"a": 1}': None, '{"a": 2}': own}


def test_the_id_unknown_is_no_id() -> None:
    """It is written where a tool was called without one, by the application."""
    (dispatch,) = record(agent(), run("t", "ping", {"a": 1}, call_id="unknown")).dispatches

    assert dispatch.call_id is None


def test_arguments_in_messages_may_be_json_text() -> None:
    """The parts hold what the provider sent."""
    (request,) = record(agent(), ask("a", call("look", '{"city": "Lyon"}'))).requests

    assert request.arguments == {"city": "Lyon"}


def test_a_tool_that_takes_one_of_the_frameworks_own_keywords_shows_its_arguments_in_part() -> None:
    """`session`, `options`, ... are left out of a span's arguments: what is left is not all that the body got."""
    schema = {"type": "object", "properties": {"options": {"type": "object"}, "city": {"type": "string"}}}
    seen = record(
        agent({"look": schema}),
        ask("a", call("look", {"city": "Lyon", "options": {"unit": "C"}}), at=(1, 2)),
        run("t", "look", {"city": "Lyon"}, call_id="call_1", at=(3, 4)),
    )

    assert seen.dispatches[0].shape is Shape.TEXT
    assert seen.evidence["dispatches"] is Evidence.PARTIAL


def test_the_agents_tools_are_those_of_its_model_calls() -> None:
    """A call that breaks the schema, and that no span answers, was refused."""
    seen = record(
        agent({"look": CITY}),
        ask("a", call("look", {"town": "Lyon"}), at=(1, 2)),
        ask("b", text("Sorry."), at=(5, 6)),
    )

    assert [request.outcome for request in seen.requests] == [Outcome.INVALID]
    assert seen.tools["look"] == CITY


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        ("Error: Argument parsing failed.", Outcome.INVALID),
        ('Error: Requested function "erase" not found.', Outcome.INVALID),
        ("Error: Tool call invocation was rejected by user.", Outcome.BLOCKED),
    ],
)
def test_calls_that_leave_no_span_are_told_by_their_result(told: str, outcome: Outcome) -> None:
    """The framework answers the model in place of the tool."""
    history = [asking(call("erase", {"a": 1})), answered("call_1", told)]
    seen = record(
        agent(),
        ask("a", call("erase", {"a": 1}), at=(1, 2)),
        ask("b", text("Sorry."), inputs=history, at=(5, 6)),
    )

    assert [request.outcome for request in seen.requests] == [outcome]


def test_the_answer_is_the_text_of_all_turns() -> None:
    """`AgentResponse.text` joins them; the model's last output is the end of it."""
    told = [asking(text("I look."), call("look", {})), answered("call_1", "ok"), asking(text("Sunny."))]
    seen = record(
        agent(None, *told),
        ask("a", text("I look."), call("look", {}), at=(1, 2)),
        run("t", "look", "None", call_id="call_1", at=(3, 4)),
        ask("b", text("Sunny."), at=(5, 6)),
    )

    assert [response.text for response in seen.responses] == ["I look.Sunny."]


def test_an_agent_inside_a_tool_answers_with_its_own_text() -> None:
    """What it gave is the tool's result, not what the user got."""
    inner = span(
        "inner",
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.output.messages": json.dumps([asking(text("One.")), asking(text("Two."))]),
        },
        under="t",
        scope=SCOPE,
        at=(3, 8),
    )
    seen = record(
        agent(),
        ask("a", call("helper", {}), at=(1, 2)),
        run("t", "helper", "None", call_id="call_1", at=(3, 9)),
        inner,
        chat("b", text("Two."), under="inner", scope=SCOPE, at=(4, 5)),
    )

    assert [response.text for response in seen.responses] == ["Two."]


def test_an_mcp_tool_is_one_run() -> None:
    """The framework's span holds that of its MCP client."""
    client = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    seen = record(
        agent(),
        ask("a", call("look", {"city": "Lyon"}), at=(1, 2)),
        run("t", "look", {"city": "Lyon"}, call_id="call_1", at=(3, 9)),
        span("m", client, name="tools/call look", under="t", scope=SCOPE, at=(4, 8)),
    )

    assert len(seen.dispatches) == 1
    assert seen.dispatches[0].executed == "yes"


def test_workflow_spans_are_steps() -> None:
    """Executors and edges hold agents; they are no agents."""
    seen = record(span("w", {"executor.id": "x", "message.type": "standard"}, name="executor.process x", scope=SCOPE))

    assert seen.conventions == ("agent_framework",)
    assert (seen.requests, seen.dispatches) == ((), ())


def test_a_call_that_waits_for_a_person_is_pending() -> None:
    """The agent hands it back in place of running it, and ends."""
    waiting = {
        "type": "function_approval_request",
        "id": "call_1",
        "function_call": {"call_id": "call_1", "name": "erase"},
    }
    seen = record(
        agent(None, asking(call("erase", {"a": 1})), asking(waiting)),
        ask("a", call("erase", {"a": 1}), at=(1, 2)),
    )

    assert [request.outcome for request in seen.requests] == [Outcome.PENDING]
    assert seen.evidence["dispatches"] is not Evidence.COMPLETE
