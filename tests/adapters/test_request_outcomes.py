"""What became of a request, as a whole trace tells it."""

from typing import Any

import pytest
from lanewatch.adapters.records import Outcome, TraceRecord
from lanewatch.collector.spans import StatusCode

from tests.adapters.spans import UTIL_GENAI, agent, answered, asking, call, chat, oi, oi_llm, record, span, text, tool

LOOK = call("look", {"a": 1}, "c1")


def _outcome(
    *more: Any, shown: Any = None, instrumented: bool = True, ended: bool = True, asked: Any = LOOK, extra: Any = None
) -> Outcome:
    """The outcome of one request of an agent that then answered, or (not `ended`) of one whose root never came."""
    scope = UTIL_GENAI if instrumented else ""
    spans = [chat("ask", asked, under="agent", at=(1, 2), extra=extra or {})]
    if ended:
        inputs = [asking(asked), answered("c1", shown)] if shown is not None else None
        spans += [agent(scope=scope), chat("say", text("ok"), inputs=inputs, under="agent", at=(50, 51))]
    found: TraceRecord = record(*spans, *more)
    return found.requests[0].outcome


def test_a_run_makes_it_dispatched() -> None:
    """Whatever else is said."""
    assert (
        _outcome(tool("t", "look", {"a": 1}, under="agent", at=(3, 4)), shown="blocked by policy") is Outcome.DISPATCHED
    )


def test_no_run_where_runs_are_shown_is_not_dispatched() -> None:
    """The runtime dropped it."""
    assert _outcome() is Outcome.NOT_DISPATCHED


def test_no_run_where_none_would_be_shown_is_unknown() -> None:
    """A client's instrumentor alone never sees a tool."""
    assert _outcome(instrumented=False) is Outcome.UNKNOWN


def test_a_genuine_result_without_a_run_is_unknown() -> None:
    """This tool may not be instrumented, though others are."""
    other = tool("t", "other", {"b": 2}, under="agent", at=(3, 4))

    assert _outcome(other, shown="21 degrees") is Outcome.UNKNOWN


def test_a_trace_that_ends_in_the_request_is_pending() -> None:
    """17: the process died inside the tool, or the answer is still to come."""
    assert _outcome(ended=False) is Outcome.PENDING


@pytest.mark.parametrize("instrumented", [True, False])
def test_a_guards_text_as_the_result_is_blocked(instrumented: bool) -> None:
    """08: the model was told."""
    assert (
        _outcome(shown="Blocked by policy: this action was not carried out.", instrumented=instrumented)
        is Outcome.BLOCKED
    )


@pytest.mark.parametrize(
    "shown", ["Error: look is not a valid tool, try one of [refund].", "2 validation errors for look"]
)
def test_a_refusal_of_the_call_as_the_result_is_invalid(shown: str) -> None:
    """14: no such tool, or arguments that were refused."""
    assert _outcome(shown=shown) is Outcome.INVALID


def test_an_error_on_a_step_that_names_the_tool_is_invalid() -> None:
    """OpenAI Agents tells an unknown tool on the turn, smolagents refused arguments on the step."""
    step = oi(
        "turn",
        "CHAIN",
        under="agent",
        at=(1, 4),
        status=StatusCode.ERROR,
        message="Tool not found: {'tool_name': 'look'}",
    )

    assert _outcome(step) is Outcome.INVALID


def test_a_tool_that_was_not_offered_is_invalid() -> None:
    """Where the offer was recorded."""
    offered = {"gen_ai.tool.definitions": '[{"type": "function", "name": "refund", "parameters": {}}]'}

    assert _outcome(extra=offered) is Outcome.INVALID


def test_arguments_that_break_the_offered_schema_are_invalid() -> None:
    """Nothing ran, and this is why."""
    offered = {
        "gen_ai.tool.definitions": '[{"function": {"name": "look", "parameters": {"properties": {}, "required": ["b"]}}}]'
    }

    assert _outcome(extra=offered) is Outcome.INVALID


@pytest.mark.parametrize("asked", [call("look", '{"a": ', "c1"), call("drop", {}, "c1")])
def test_what_looks_invalid_may_have_run_where_no_run_would_be_shown(asked: dict[str, Any]) -> None:
    """LlamaIndex repairs arguments, ADK doesn't check them: without TOOL spans nobody knows."""
    offered = {"gen_ai.tool.definitions": '[{"type": "function", "name": "look", "parameters": {}}]'}

    assert _outcome(asked=asked, extra=offered, instrumented=False) is Outcome.UNKNOWN


def test_an_offer_that_lost_attributes_proves_nothing() -> None:
    """Some tools of it may be among what was dropped."""
    offered = {"gen_ai.tool.definitions": '[{"type": "function", "name": "refund", "parameters": {}}]'}
    found = record(
        agent(),
        chat("ask", LOOK, under="agent", at=(1, 2), extra=offered, dropped=1),
        chat("say", text("ok"), under="agent", at=(50, 51)),
    )

    assert found.requests[0].outcome is Outcome.NOT_DISPATCHED


def test_what_the_provider_runs_is_not_missing() -> None:
    """Web search and its like."""
    assert _outcome(asked={"type": "server_tool_call", "id": "c1", "name": "web_search"}) is Outcome.BY_PROVIDER


@pytest.mark.parametrize("name", ["transfer_to_weather_agent", "handoff_to_x", "transfer_back_to_boss"])
def test_a_handoffs_name_is_a_handoff(name: str) -> None:
    """Its span, if there is one, names the agent and not the call."""
    assert _outcome(asked=call(name, {}, "c1")) is Outcome.HANDOFF


def test_a_handoff_step_in_the_turn_is_a_handoff() -> None:
    """OpenAI Agents lets the call's name be chosen freely."""
    step = oi(
        "handoff to weather",
        "TOOL",
        {"input.value": "boss", "output.value": "weather"},
        under="agent",
        at=(3, 4),
        scope="openinference.instrumentation.openai_agents",
    )

    assert _outcome(step, asked=call("ask_weather_please", {}, "c1")) is Outcome.HANDOFF


def test_an_agent_that_is_called_by_its_name_is_a_handoff() -> None:
    """Smolagents writes an AGENT span for a managed agent, and no TOOL span; its arguments can't be compared."""
    managed = oi(
        "weather_agent.run", "AGENT", under="agent", at=(3, 40), scope="openinference.instrumentation.smolagents"
    )
    inner = oi_llm("inner", content="warm", under="weather_agent.run", at=(4, 5))
    asked = call("weather_agent", {"task": "Rome?"}, "c1")
    found = record(
        agent(),
        chat("ask", asked, under="agent", at=(1, 2)),
        managed,
        inner,
        chat("say", text("ok"), under="agent", at=(50, 51)),
    )

    assert found.requests[0].outcome is Outcome.HANDOFF
    assert found.evidence["dispatches"] == "partial"


def test_an_agent_that_started_before_the_request_is_not_its_answer() -> None:
    """It is the agent that asks."""
    assert _outcome(asked=call("agent", {"task": "x"}, "c1")) is Outcome.NOT_DISPATCHED


def test_results_of_ids_used_again_belong_to_their_turn() -> None:
    """18a: the first turn's result must not answer for the second's."""
    one, two = call("look", {"n": 1}, "call_0"), call("look", {"n": 2}, "call_0")
    history = [asking(one), answered("call_0", "warm")]
    found = record(
        agent(),
        chat("a", one, under="agent", at=(1, 2)),
        chat("b", two, inputs=history, under="agent", at=(10, 11)),
        chat(
            "c",
            text("ok"),
            inputs=[*history, asking(two), answered("call_0", "blocked by policy")],
            under="agent",
            at=(20, 21),
        ),
    )

    assert [request.observed_result for request in found.requests] == ["warm", "blocked by policy"]
    assert found.requests[1].outcome is Outcome.BLOCKED


def test_results_of_an_earlier_trace_are_not_this_ones() -> None:
    """11: the first input repeats other turns, ids and all."""
    one = call("look", {"n": 1}, "call_0")
    earlier = [asking(one), answered("call_0", "old")]
    found = record(
        agent(),
        chat("a", one, inputs=earlier, under="agent", at=(1, 2)),
        chat("b", text("ok"), inputs=[*earlier, asking(one), answered("call_0", "new")], under="agent", at=(10, 11)),
    )

    assert found.requests[0].observed_result == "new"


def test_an_unknown_operation_changes_nothing() -> None:
    """Spans that say nothing are steps."""
    assert _outcome(span("x", {"gen_ai.operation.name": "plan"}, under="agent", at=(3, 4))) is Outcome.NOT_DISPATCHED
