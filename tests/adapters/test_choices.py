"""Several answers to one request of the model: the calls of those that the application did not take."""

import json
from typing import Any

import pytest
from lanewatch.adapters.records import Outcome
from lanewatch.monitors.divergence import find_divergences

from tests.adapters.spans import agent, answered, asking, call, chat, record, text, tool

FIRST, SECOND = call("look", {"a": 1}, "c1"), call("look", {"a": 2}, "c2")


def _chose(*ran: Any, finish: str | None = "tool_calls", asked: int | None = None) -> Any:
    """The outcomes of two alternatives, one call each."""
    ended = {} if finish is None else {"finish_reason": finish}
    extra: dict[str, Any] = {
        "gen_ai.output.messages": json.dumps([{**asking(one), **ended} for one in (FIRST, SECOND)])
    }
    if asked is not None:
        extra["gen_ai.request.choice.count"] = asked
    seen = record(
        agent(),
        chat("ask", under="agent", at=(1, 2), extra=extra),
        *ran,
        chat("say", text("ok"), under="agent", at=(9, 10)),
    )
    return [request.outcome for request in seen.requests], [found.kind for found in find_divergences(seen)]


@pytest.mark.parametrize("how", [{}, {"finish": None, "asked": 2}])
@pytest.mark.parametrize("taken", [1, 2])
def test_the_calls_of_the_other_alternative_were_never_to_run(taken: int, how: dict[str, Any]) -> None:
    """Whichever it was."""
    run = tool("t", "look", {"a": taken}, call_id=f"c{taken}", under="agent", at=(3, 4))
    expected = [Outcome.DISPATCHED if number == taken else Outcome.UNUSED for number in (1, 2)]

    assert _chose(run, **how) == (expected, [])


def test_where_neither_ran_nothing_is_said() -> None:
    """One of them was dropped, and nobody knows which was taken."""
    other = tool("t", "other", {}, under="agent", at=(3, 4), call_id="c9")

    assert _chose(other)[0] == [Outcome.UNKNOWN, Outcome.UNKNOWN]


def test_several_messages_of_one_answer_are_no_alternatives() -> None:
    """Items of OpenAI's Responses, or chunks of a stream: a call among them that did not run was dropped."""
    run = tool("t", "look", {"a": 1}, call_id="c1", under="agent", at=(3, 4))

    assert _chose(run, finish=None) == ([Outcome.DISPATCHED, Outcome.NOT_DISPATCHED], ["not_dispatched"])


def test_calls_that_both_ran_are_no_alternatives() -> None:
    """OpenLLMetry ends each item of one answer by itself: the third, whose run is lost, was not left out by choice."""
    ended = {"finish_reason": "tool_call"}
    said = [{**asking(call(name, {"a": 1}, f"c_{name}")), **ended} for name in ("look", "read", "lost")]
    seen = record(
        agent(),
        chat("ask", under="agent", at=(1, 2), extra={"gen_ai.output.messages": json.dumps(said)}),
        tool("t", "look", {"a": 1}, call_id="c_look", under="agent", at=(3, 4)),
        tool("u", "read", {"a": 1}, call_id="c_read", under="agent", at=(3, 4)),
        chat("say", text("ok"), under="agent", at=(9, 10)),
    )

    assert [request.outcome for request in seen.requests][2] is not Outcome.UNUSED


def test_calls_whose_results_both_came_back_are_no_alternatives() -> None:
    """The runs of all but one are lost; the model was shown what they gave."""
    said = [{**asking(one), "finish_reason": "tool_call"} for one in (FIRST, SECOND)]
    seen = record(
        agent(),
        chat("ask", under="agent", at=(1, 2), extra={"gen_ai.output.messages": json.dumps(said)}),
        tool("t", "look", {"a": 1}, call_id="c1", under="agent", at=(3, 4)),
        chat("say", text("ok"), inputs=[answered("c1", "x"), answered("c2", "y")], under="agent", at=(9, 10)),
    )

    assert [request.outcome for request in seen.requests] == [Outcome.DISPATCHED, Outcome.UNKNOWN]
    assert seen.evidence["dispatches"] == "partial"
