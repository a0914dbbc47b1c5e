"""AutoGen: names and ids of runs, and nothing else."""

from typing import Any

from lanewatch.adapters.records import Evidence, Outcome
from lanewatch.collector.spans import Span

from tests.adapters.spans import call, chat, record, span


def ran(label: str, name: str, call_id: str | None = "call_1", **where: Any) -> Span:
    """A run of a tool."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.system": "autogen", "gen_ai.tool.name": name}
    if call_id is not None:
        attributes["gen_ai.tool.call.id"] = call_id
    return span(label, attributes, **{"scope": "autogen-core", **where})


def test_a_run_is_paired_by_its_id_and_shows_no_arguments() -> None:
    """The model's call is another instrumentor's span."""
    seen = record(chat("a", call("look", {"city": "Lyon"}), at=(1, 2)), ran("t", "look", at=(3, 4)))

    assert [(d.match_rule, d.arguments) for d in seen.dispatches] == [("R1", None)]
    assert seen.evidence["dispatches"] is Evidence.PARTIAL


def test_messages_of_the_runtime_are_noise() -> None:
    """They carry the system's name, which elsewhere makes a model call."""
    seen = record(
        span(
            "m",
            {"messaging.operation": "publish", "gen_ai.system": "autogen"},
            scope="autogen SingleThreadedAgentRuntime",
        )
    )

    assert seen.generations == ()
    assert seen.conventions == ("autogen",)


def test_handoff_tools_are_handoffs() -> None:
    """They are the framework's own."""
    seen = record(chat("a", call("transfer_to_billing", {}), at=(1, 2)), ran("t", "transfer_to_billing", at=(3, 4)))

    assert [request.outcome for request in seen.requests] == [Outcome.HANDOFF]


def test_an_agents_tools_would_show() -> None:
    """A request that no span answers was not dispatched."""
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.system": "autogen", "gen_ai.agent.name": "x"}
    seen = record(
        span("agent", agent, at=(0, 10), scope="autogen-core"),
        chat("a", call("look", {"city": "Lyon"}), under="agent", at=(1, 2)),
        chat("b", under="agent", at=(5, 6)),
    )

    assert [request.outcome for request in seen.requests] == [Outcome.NOT_DISPATCHED]
