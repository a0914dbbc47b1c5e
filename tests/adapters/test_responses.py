"""Answers of a trace and how their refusals are told."""

import json
from typing import Any

import pytest
from lanewatch.adapters.records import Response, TraceRecord
from lanewatch.collector.spans import StatusCode

from tests.adapters.spans import agent, call, chat, oi, oi_llm, oi_tool, raised, record, span, text, tool, traceloop

NO = "I can't help with that request."


def _only(found: TraceRecord) -> Response:
    (response,) = found.responses
    return response


def test_an_output_without_calls_is_an_answer() -> None:
    """One that asks for a tool goes on."""
    found = record(
        agent(),
        chat("ask", text("Let me look."), call("look", {}, "c1"), under="agent", at=(1, 2)),
        tool("t", "look", {}, under="agent", at=(3, 4)),
        chat("say", text("warm"), under="agent", at=(5, 6)),
    )

    assert [response.text for response in found.responses] == ["warm"]


def test_a_final_answer_tool_ends_a_run() -> None:
    """Smolagents answers by a tool."""
    found = record(
        oi_tool(
            "FinalAnswerTool",
            "final_answer",
            {"answer": "warm"},
            "warm",
            scope="openinference.instrumentation.smolagents",
        )
    )

    assert (_only(found).text, found.dispatches[0].kind) == ("warm", "output")


@pytest.mark.parametrize(
    "found",
    [
        record(chat("say", {"type": "refusal", "content": NO})),
        record(span("say", {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": None, "refusal": NO}])})),
        record(
            oi("say", "LLM", {
                "llm.output_messages.0.message.role": "assistant",
                "output.value": json.dumps({"choices": [{"message": {"role": "assistant", "content": None, "refusal": NO}}]}),
            })
        ),
        record(
            oi("root", "CHAIN", {"output.value": f"ev=AgentOutput(raw={{'refusal': \"{NO}\"}})"}, at=(0, 9)),
            oi_llm("say", under="root", at=(1, 2)),
        ),
        record(
            traceloop("step", "task", {"traceloop.entity.output": json.dumps({"outputs": [{"lc": 1, "id": ["x", "AIMessage"], "kwargs": {"content": "", "additional_kwargs": {"refusal": NO}}}]})}, at=(0, 9)),
            span("say", {"gen_ai.operation.name": "chat", "gen_ai.output.messages": '[{"role": "assistant", "parts": []}]'}, under="step", at=(1, 2), scope="opentelemetry.instrumentation.langchain", version="0.62.4"),
        ),
    ],
)  # fmt: skip
def test_a_refusal_that_the_api_told(found: TraceRecord) -> None:
    """09b: as a part, a field, or only deep inside what an instrumentor serialised."""
    response = _only(found)

    assert (response.text, response.refusal, response.disposition_source) == (NO, True, "field")


def test_a_content_filter_is_told_by_the_finish_reason() -> None:
    """The answer may be empty."""
    found = record(chat("say", text("..."), extra={"gen_ai.response.finish_reasons": ["content_filter"]}))

    assert (_only(found).refusal, _only(found).disposition_source) == (True, "finish_reason")


def test_a_refusal_that_the_framework_raised() -> None:
    """OpenAI Agents and Pydantic AI raise, and the run has no answer."""
    error = raised("agents.exceptions.ModelRefusalError", NO)
    found = record(
        oi("root", "AGENT", at=(0, 9), status=StatusCode.ERROR, events=(error,)), oi_llm("say", under="root", at=(1, 2))
    )

    assert (_only(found).text, _only(found).disposition_source) == (NO, "exception")


def test_a_refusal_in_words() -> None:
    """09: the model just says so."""
    response = _only(record(chat("say", text(NO))))

    assert (response.refusal, response.disposition_source) == (True, "text")


@pytest.mark.parametrize("reason", ["SAFETY", "FinishReason.PROHIBITED_CONTENT", "refusal", "guardrail_intervened"])
def test_an_output_that_was_withheld_is_an_answer_without_text(reason: str) -> None:
    """Its span has a finish reason and no messages at all; without it the refusal would vanish."""
    found = record(span("say", {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": [reason]}))

    assert (_only(found).text, _only(found).refusal, _only(found).disposition_source) == (None, True, "finish_reason")


def test_a_blocked_prompt_is_told_by_its_mark() -> None:
    """Gemini answers with no candidate, and so with no finish reason."""
    raw = json.dumps({"candidates": None, "prompt_feedback": {"block_reason": "PROHIBITED_CONTENT"}})
    found = record(oi("say", "LLM", {"llm.output_messages.0.message.role": "model", "output.value": raw}))

    assert (_only(found).disposition_source, _only(found).disposition_rule) == ("marker", "gemini.block_reason")


def test_a_filter_of_azure_is_told_by_the_code_in_its_error() -> None:
    """The client raises BadRequestError, as for any other fault of the request."""
    message = "Error code: 400 - {'error': {'code': 'content_filter', 'innererror': {'code': 'ResponsibleAIPolicyViolation'}}}"
    error = raised("openai.BadRequestError", message)
    found = record(
        oi("root", "AGENT", at=(0, 9)),
        oi("say", "LLM", {}, under="root", at=(1, 2), status=StatusCode.ERROR, events=(error,)),
    )

    assert (_only(found).refusal, _only(found).disposition_source) == (True, "marker")


GUARD = raised("agents.exceptions.OutputGuardrailTripwireTriggered", "Guardrail OutputGuardrail triggered tripwire")


def test_a_guard_that_stopped_the_run_refused_its_answer() -> None:
    """The model had answered; what the guard's exception says is the framework's, and no answer."""
    found = record(
        oi("root", "AGENT", at=(0, 9), status=StatusCode.ERROR, events=(GUARD,)),
        oi_llm("say", content="hi", under="root", at=(1, 2)),
    )

    assert (_only(found).text, _only(found).refusal, _only(found).disposition_source) == ("hi", True, "exception")


def test_a_guards_message_is_no_answer() -> None:
    """A prompt that was stopped has none at all, and nothing of it is missing."""
    found = record(oi("root", "AGENT", at=(0, 9), status=StatusCode.ERROR, events=(GUARD,)))

    assert (_only(found).text, _only(found).disposition_rule) == (
        None,
        "openai_agents.OutputGuardrailTripwireTriggered",
    )


def test_a_filter_that_another_model_got_past_refused_nothing() -> None:
    """A router falls back to another model, which answers."""
    error = raised("litellm.ContentPolicyViolationError", "content_policy_violation")
    found = record(
        oi("root", "AGENT", at=(0, 9)),
        oi("first", "LLM", {}, under="root", at=(1, 2), status=StatusCode.ERROR, events=(error,)),
        oi_llm("second", content="Warm.", under="root", at=(3, 4)),
    )

    assert (_only(found).text, _only(found).refusal) == ("Warm.", False)


@pytest.mark.parametrize("error", ["ValueError", "TimeoutError"])
def test_another_error_is_no_refusal(error: str) -> None:
    """CrewAI raises ValueError for an empty answer, whatever the reason."""
    found = record(
        oi("root", "AGENT", at=(0, 9), status=StatusCode.ERROR, events=(raised(error, "x"),)),
        oi_llm("say", content="hi", under="root", at=(1, 2)),
    )

    assert not _only(found).refusal


@pytest.mark.parametrize("attributes", [{}, {"gen_ai.output.messages": "__REDACTED__"}])
def test_a_hidden_answer_is_no_answer(attributes: dict[str, Any]) -> None:
    """The evidence says so instead."""
    found = record(span("say", {"gen_ai.operation.name": "chat", **attributes}))

    assert found.responses == ()
    assert found.evidence["responses"] != "complete"


def test_an_empty_answer_is_partial_evidence() -> None:
    """A refusal may have been lost on the way."""
    found = record(
        span("say", {"gen_ai.operation.name": "chat", "gen_ai.output.messages": '[{"role": "assistant", "parts": []}]'})
    )

    assert (_only(found).text, found.evidence["responses"]) == (None, "partial")
