"""Calls that are a model's answer: what frameworks write for structured output, and what only looks like it."""

import json
from typing import Any

import pytest
from lanewatch.adapters.records import Evidence, Outcome, TraceRecord
from lanewatch.collector.spans import Span, StatusCode
from lanewatch.monitors.divergence import find_divergences

from tests.adapters.spans import agent, answered, asking, call, chat, oi, oi_llm, oi_tool, record, text, tool

JOKE = {"setup": "Why?", "punchline": "Because."}
USER = {"role": "user", "parts": [{"type": "text", "content": "Tell me a joke."}]}
FORCED = {"llm.invocation_parameters": json.dumps({"tool_choice": {"type": "function", "function": {"name": "Joke"}}})}


def _structured(*more: Span, extra: dict[str, Any] | None = None, output: Any = None) -> TraceRecord:
    """LangChain's `with_structured_output` in a graph whose tools are reported."""
    given = {"output.value": json.dumps(output), "output.mime_type": "application/json"} if output is not None else {}
    return record(
        oi("graph", "CHAIN", at=(0, 90)),
        oi("sequence", "CHAIN", given, under="graph", at=(1, 20), name="RunnableSequence"),
        oi_llm("ask", ("Joke", json.dumps(JOKE), "c1"), under="sequence", at=(2, 9), extra=extra or {}),
        *more,
    )


def _parser(name: str = "PydanticToolsParser") -> Span:
    return oi("parser", "UNKNOWN", under="sequence", at=(10, 11), name=name)


@pytest.mark.parametrize(
    "seen",
    [
        _structured(extra=FORCED),
        _structured(_parser()),
        _structured(_parser("JsonOutputKeyToolsParser")),
        _structured(output=JOKE),
        _structured(output={"structured_response": JOKE}),
        _structured(extra={"metadata": json.dumps({"ls_structured_output_format": {"schema": {"title": "Joke"}}})}),
    ],
)
def test_a_sign_of_structured_output_makes_the_call_an_answer(seen: TraceRecord) -> None:
    """Nothing was to run: no divergence, complete evidence, and the arguments are what was answered."""
    (request,) = seen.requests

    assert (request.outcome, find_divergences(seen)) == (Outcome.ANSWER, ())
    assert [json.loads(response.text or "") for response in seen.responses] == [JOKE]
    assert seen.evidence["dispatches"] is Evidence.COMPLETE


@pytest.mark.parametrize(
    ("key", "choice"),
    [
        ("ai.prompt.toolChoice", json.dumps({"type": "tool", "toolName": "Joke"})),
        ("gen_ai.request.tool_choice", json.dumps({"type": "tool", "name": "Joke"})),
        ("llm.invocation_parameters", json.dumps({"function_call": {"name": "Joke"}})),
        ("llm.invocation_parameters", json.dumps({"kwargs": {"tool_choice": "Joke"}})),
    ],
)
def test_a_forced_choice_is_read_in_every_spelling(key: str, choice: str) -> None:
    """OpenAI, Anthropic, Vercel, and OpenAI's functions."""
    assert _structured(extra={key: choice}).requests[0].outcome is Outcome.ANSWER


def test_the_models_last_words_without_a_sign_are_open() -> None:
    """An answer, a call that waits for a person, or one that was dropped: nobody can tell, so nobody is accused."""
    seen = _structured()

    assert (seen.requests[0].outcome, find_divergences(seen)) == (Outcome.PENDING, ())
    assert seen.evidence["dispatches"] is not Evidence.COMPLETE


def test_a_parser_of_text_is_no_sign() -> None:
    """It takes the answer's text, and no call."""
    assert _structured(_parser("StrOutputParser")).requests[0].outcome is Outcome.PENDING


def test_a_forced_call_that_the_run_went_on_from_was_to_run() -> None:
    """Agents force a first look-up: there a call that nothing ran for was dropped."""
    asked = call("look", {"a": 1}, "c1")
    choice = {"gen_ai.request.tool_choice": json.dumps({"type": "function", "function": {"name": "look"}})}
    seen = record(
        agent(),
        chat("ask", asked, inputs=[USER], under="agent", at=(1, 2), extra=choice),
        chat("say", text("ok"), inputs=[USER, asking(asked)], under="agent", at=(5, 6)),
    )

    assert [found.kind for found in find_divergences(seen)] == ["not_dispatched"]


def test_a_forced_call_where_no_tools_are_reported_is_unknown() -> None:
    """The application may have run it out of sight."""
    seen = record(chat("ask", call("look", {"a": 1}, "c1"), extra={"gen_ai.request.tool_choice": '"look"'}))

    assert seen.requests[0].outcome is not Outcome.ANSWER


def test_the_structured_step_of_a_workflow_is_not_dropped_by_the_next_step() -> None:
    """A router answers with a call; then another node calls the model about something else, and runs a tool."""
    route = json.dumps({"to": "billing"})
    seen = record(
        oi("graph", "CHAIN", at=(0, 90)),
        oi_llm("route", ("Route", route, "c1"), under="graph", at=(1, 2), extra=_prompt("Which team?") | _forced("Route")),
        oi_llm("ask", ("look", '{"a": 1}', "c2"), under="graph", at=(5, 6), extra=_prompt("Help the customer.")),
        oi_tool("t", "look", {"a": 1}, "fine", under="graph", at=(7, 8)),
        oi_llm("say", content="ok", under="graph", at=(9, 10), extra=_prompt("Help the customer.")),
    )  # fmt: skip

    assert [request.outcome for request in seen.requests] == [Outcome.ANSWER, Outcome.DISPATCHED]
    assert find_divergences(seen) == ()


def test_an_answer_that_was_refused_and_asked_for_again_is_one_too() -> None:
    """Instructor shows the model what its validator said, as if a tool had."""
    wrong, right = call("Joke", {"setup": 1}, "c1"), call("Joke", JOKE, "c2")
    forced = {"gen_ai.request.tool_choice": json.dumps({"type": "function", "function": {"name": "Joke"}})}
    inputs = [USER, asking(wrong), answered("c1", "Validation Error found: 1 validation error for Joke")]
    seen = record(
        agent(),
        chat("ask", wrong, inputs=[USER], under="agent", at=(1, 2), extra=forced),
        chat("again", right, inputs=inputs, under="agent", at=(3, 4), extra=forced),
    )

    assert [request.outcome for request in seen.requests] == [Outcome.ANSWER, Outcome.ANSWER]
    assert find_divergences(seen) == ()


def test_an_output_tool_beside_a_tool_that_ran() -> None:
    """LangChain's agents take a structured answer beside other calls."""
    answer = {"temperature": 21, "sky": "clear"}
    root = {"output.value": json.dumps({"messages": [], "structured_response": answer})}
    seen = record(
        oi("graph", "CHAIN", root, at=(0, 90)),
        oi_llm("ask", ("look", '{"a": 1}', "c1"), ("Weather", json.dumps(answer), "c2"), under="graph", at=(1, 2)),
        oi_tool("t", "look", {"a": 1}, "fine", under="graph", at=(7, 8)),
    )

    assert [request.outcome for request in seen.requests] == [Outcome.DISPATCHED, Outcome.ANSWER]


def test_a_repeated_call_in_an_output_is_not_the_arguments_given_out() -> None:
    """A graph's state holds the call itself."""
    state = {"messages": [{"tool_calls": [{"name": "Joke", "args": JOKE}]}]}

    assert _structured(output=state).requests[0].outcome is Outcome.PENDING


def _prompt(words: str) -> dict[str, Any]:
    return {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": words}


def _forced(name: str) -> dict[str, Any]:
    return {"llm.invocation_parameters": json.dumps({"tool_choice": {"type": "function", "function": {"name": name}}})}


def test_instructors_wrapper_is_no_tool_and_its_model_is_the_answer() -> None:
    """openinference-instrumentation-instructor gives its span `instructor.patch` the kind TOOL."""
    where = {"scope": "openinference.instrumentation.instructor", "name": "instructor.patch"}
    given = {"input.value": '{"messages": []}', "output.value": json.dumps(JOKE)}
    newer = {"instructor.response_model": "Joke", "input.value": "[]"}
    for kind, attributes in (("TOOL", given), ("CHAIN", newer)):
        seen = record(
            oi("patch", kind, attributes, at=(0, 9), **where),
            oi_llm("ask", ("Joke", json.dumps(JOKE), "c1"), under="patch", at=(1, 8)),
        )

        assert ([one.outcome for one in seen.requests], seen.dispatches) == ([Outcome.ANSWER], ())
        assert find_divergences(seen) == ()


# ---- other last words


def test_a_request_of_a_model_call_that_failed_may_never_have_arrived() -> None:
    """The stream broke off behind it; the retry asks again and is answered."""
    seen = record(
        agent(),
        chat("ask", call("look", {"a": 1}, "c1"), under="agent", at=(1, 2), status=StatusCode.ERROR, message="reset"),
        chat("again", call("look", {"a": 1}, "c2"), under="agent", at=(3, 4)),
        tool("t", "look", {"a": 1}, call_id="c2", under="agent", at=(5, 6)),
        chat("say", text("ok"), under="agent", at=(7, 8)),
    )

    assert [request.outcome for request in seen.requests] == [Outcome.UNKNOWN, Outcome.DISPATCHED]
    assert find_divergences(seen) == ()


def test_a_run_that_ends_in_a_request_for_approval_is_open() -> None:
    """LangGraph's middleware interrupts before the tools; OpenAI's Agents SDK ends the run with what it would call."""
    seen = record(
        agent(),
        chat("ask", call("refund", {"n": 1}, "c1"), under="agent", at=(1, 2)),
    )

    assert (seen.requests[0].outcome, find_divergences(seen)) == (Outcome.PENDING, ())


def test_an_interrupt_inside_a_tool_leaves_the_call_open() -> None:
    """LangGraph's `interrupt()` raises out of the body; what was asked beside it waits too."""
    interrupt = {"status": StatusCode.ERROR, "message": "GraphInterrupt((Interrupt(value='Refund?'),))"}
    seen = record(
        agent(),
        chat("ask", call("refund", {"n": 1}, "c1"), call("mail", {"n": 1}, "c2"), under="agent", at=(1, 2)),
        tool("t", "refund", {"n": 1}, None, call_id="c1", under="agent", at=(3, 4), **interrupt),
        chat("other", text("meanwhile"), under="agent", at=(5, 6)),
    )

    assert [request.outcome for request in seen.requests] == [Outcome.PENDING, Outcome.PENDING]
    assert (seen.dispatches[0].executed, find_divergences(seen)) == ("unknown", ())
