"""CrewAI's own traces: JSON around every value, the cache, reports of a failure, and knowledge as one text."""

import json
from typing import Any

from lanewatch.adapters.conventions.carried import CARRIED, Carried
from lanewatch.adapters.records import Evidence, Executed, Outcome
from lanewatch.collector.spans import Span
from lanewatch.monitors.divergence import find_divergences

from tests.adapters.spans import asking, call, record, span, text


def crew(label: str, name: str, attributes: dict[str, Any] | None = None, **where: Any) -> Span:
    """A span of CrewAI."""
    return span(label, {"crewai.event_name": "x", **(attributes or {})}, name=name, **{"scope": "crewai", **where})


def ask(label: str, *parts: dict[str, Any], extra: dict[str, Any] | None = None, **where: Any) -> Span:
    """A model call."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps([asking(*parts)])}
    return crew(label, "call llm", {**told, **(extra or {})}, **where)


def run(label: str, name: str, arguments: Any, result: Any, extra: dict[str, Any] | None = None, **where: Any) -> Span:
    """A run of a tool."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
        "gen_ai.tool.call.result": json.dumps(result),
    }
    return crew(label, where.pop("titled", "call tool"), {**attributes, **(extra or {})}, **where)


def test_a_run_is_paired_by_its_sanitised_name_and_arguments() -> None:
    """There is no call id."""
    seen = record(
        ask("a", call("get_weather", {"city": "Lyon"}), at=(1, 2)),
        run("t", "Get Weather", {"city": "Lyon"}, {"sky": "sunny"}, at=(3, 4)),
    )

    assert [(d.call_id, d.match_rule, d.result) for d in seen.dispatches] == [("call_1", "R5", {"sky": "sunny"})]


def test_a_plain_text_is_json_too() -> None:
    """So are arguments that came as text."""
    (dispatch,) = record(run("t", "look", '{"city": "Lyon"}', "sunny")).dispatches

    assert dispatch.result == "sunny"
    assert dispatch.arguments == {"city": "Lyon"}


def test_a_result_from_the_cache_ran_no_body() -> None:
    """The model was answered all the same: the request was dispatched, and nothing diverges."""
    seen = record(
        ask("a", call("look", {"city": "Lyon"}), at=(1, 2)),
        run("t", "look", {"city": "Lyon"}, "sunny", {"crewai.tool.from_cache": True}, at=(3, 4)),
    )

    assert [dispatch.executed for dispatch in seen.dispatches] == [Executed.NO]
    assert seen.requests[0].outcome is Outcome.DISPATCHED
    assert find_divergences(seen) == ()
    assert seen.evidence["dispatches"] is Evidence.COMPLETE


def test_reports_beside_a_run_are_no_runs() -> None:
    """A failure has an instant span of its own, and an MCP tool one below the run."""
    seen = record(
        ask("a", call("look", {"city": "Lyon"}), at=(1, 2)),
        run("t", "look", {"city": "Lyon"}, "no", at=(3, 6), status=2, message="upstream down"),
        run("m", "server_look", {"city": "Lyon"}, "no", titled="execute mcp tool", under="t", at=(4, 5)),
        run("f", "look", {"city": "Lyon"}, None, titled="tool failure", at=(6, 6), status=2, message="upstream down"),
    )

    assert len(seen.dispatches) == 1
    assert seen.dispatches[0].error is not None
    assert seen.dispatches[0].error.message == "upstream down"


def test_an_mcp_tool_alone_is_a_run() -> None:
    """Without the span around it."""
    assert len(record(run("m", "look", {}, "ok", titled="execute mcp tool")).dispatches) == 1


def test_what_crewai_cut_is_truncated() -> None:
    """It says so beside the value, which stays valid JSON."""
    cut = {"gen_ai.output.messages.truncated": True, "gen_ai.output.messages.original_size_bytes": 900_000}
    seen = record(
        ask("a", call("look", {"city": "Lyon"}), extra=cut, at=(1, 2)),
        run("t", "look", {"x": 1}, "ok", {"gen_ai.tool.call.arguments.truncated": True}, at=(3, 4)),
    )

    assert seen.evidence["requests"] is Evidence.TRUNCATED
    assert seen.evidence["dispatches"] is Evidence.TRUNCATED


def test_knowledge_is_one_text_in_which_documents_cannot_be_told_apart() -> None:
    """So its evidence is not complete."""
    found = {"crewai.knowledge.query": "cats", "crewai.knowledge.retrieved_knowledge": "Additional Information: cats"}
    seen = record(crew("k", "query knowledge", found))

    assert [(r.query, r.documents[0].content) for r in seen.retrievals] == [("cats", "Additional Information: cats")]
    assert seen.evidence["retrievals"] is Evidence.PARTIAL
    assert CARRIED["crewai"].fields["documents"] is Carried.PARTLY


def test_anonymous_analytics_state_nothing() -> None:
    """`Tool Usage` of the telemetry scope is no run."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    seen = record(ask("a", text("Hi.")), span("x", attributes, name="Tool Usage", scope="crewai.telemetry"))

    assert seen.dispatches == ()
