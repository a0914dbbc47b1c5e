"""LiteLLM in both versions: dropped calls, raw spans, events, guardrails, MCP, and calls written on others' spans."""

import json
from typing import Any

import pytest
from lanewatch.adapters.conventions import convention_of
from lanewatch.adapters.message_shapes import read_messages
from lanewatch.adapters.records import Evidence, Outcome
from lanewatch.collector.spans import LogRecord, Span

from tests.adapters.spans import TRACE_ID, asking, raised, record, span, span_id, text
from tests.corpus.known import captures, verdicts

QUESTION = {"role": "user", "parts": [text("Weather?")]}
LYON = '{"city":"Lyon"}'
STAMP = {
    "metadata.user_api_key_hash": "",
    "hidden_params": "{}",
    "litellm.call_id": "u",
    "llm.request.type": "completion",
}


def first(*calls: tuple[str, str], content: str | None = None, reason: str | None = None) -> dict[str, Any]:
    """What the first version writes: output messages without calls, and the calls' names and arguments beside them."""
    parts = [] if content is None else [text(content)]
    reason = reason or ("tool_calls" if calls else "stop")
    attributes: dict[str, Any] = {
        **STAMP,
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.response.id": "chatcmpl-1",
        "gen_ai.input.messages": json.dumps([QUESTION]),
        "gen_ai.output.messages": json.dumps([{**asking(*parts), "finish_reason": reason}]),
        "gen_ai.response.finish_reasons": json.dumps([reason]),
    }
    for index, (name, arguments) in enumerate(calls):
        attributes[f"gen_ai.completion.{index}.function_call.name"] = name
        if arguments:  # an empty text is left out
            attributes[f"gen_ai.completion.{index}.function_call.arguments"] = arguments
    return attributes


def request(attributes: dict[str, Any], **where: Any) -> Span:
    """A request of LiteLLM's own."""
    return span("litellm_request", attributes, **{"scope": "litellm", "status": 1, "at": (10, 20), **where})


def raw(*calls: tuple[str, str, str], under: str = "litellm_request", at: tuple[int, int] = (10, 20),
        label: str = "raw_gen_ai_request", **message: Any) -> Span:  # fmt: skip
    """A raw span: fields of the provider's answer as Python's `str()` of them."""
    listed = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    answer = {"role": "assistant", "content": None, "refusal": None, **message}
    if listed:
        answer["tool_calls"] = listed
    choices = [{"index": 0, "message": answer, "finish_reason": "tool_calls" if listed else "stop"}]
    attributes = {"llm.openai.choices": str(choices), "llm.openai.id": "chatcmpl-1", "llm.openai.model": "m"}
    attributes["llm.openai.messages"] = str([{"role": "user", "content": "Weather?"}])
    return span(label, attributes, name="raw_gen_ai_request", scope="litellm", at=at, under=under)


@pytest.mark.parametrize("capture", captures("litellm-otel", "litellm-otel-latest"))
def test_requests_of_every_capture_are_exact_and_nothing_is_wrong(capture: str) -> None:
    """Recordings of litellm 1.110.2; an application's tools and retrievals are in none of its spans."""
    seen = verdicts(capture)

    assert "wrong" not in seen.values()
    assert seen["requests"] == ("flagged" if capture.endswith("15_no_content") else "exact")
    assert seen["divergence"] in ("hit", "open", "quiet")


def test_calls_that_the_messages_drop_are_read_beside_them() -> None:
    """Without ids; arguments that are left out are empty."""
    seen = record(request(first(("look_up", LYON), ("list_all", ""))))

    assert [(one.name, one.arguments, one.call_id) for one in seen.requests] == [
        ("look_up", {"city": "Lyon"}, None),
        ("list_all", {}, None),
    ]
    assert {one.outcome for one in seen.requests} == {Outcome.PENDING}
    assert (seen.evidence["requests"], seen.evidence["dispatches"]) == (Evidence.COMPLETE, Evidence.ABSENT)


def test_the_raw_span_gives_the_ids_and_is_no_call_of_its_own() -> None:
    """It shows the same calls."""
    seen = record(request(first(("look_up", LYON))), raw(("call_1", "look_up", LYON)))

    assert [(one.call_id, one.arguments) for one in seen.requests] == [("call_1", {"city": "Lyon"})]
    assert len(seen.generations) == 1


def test_the_raw_span_gives_a_refusal_that_the_messages_drop() -> None:
    """`"parts": []` and the reason `stop`; without a raw span the answer is not known."""
    seen = record(request(first()), raw(refusal="I can't help with that."))
    lost = record(request(first()))

    assert [(response.text, response.disposition_source) for response in seen.responses] == [
        ("I can't help with that.", "field")
    ]
    assert lost.evidence["responses"] is Evidence.PARTIAL


def test_a_call_that_litellm_turned_into_text_is_none() -> None:
    """Structured output is asked for as a tool of some providers: the application saw its content alone."""
    seen = record(request(first(content='{"sky": "blue"}')), raw(("c", "json_tool_call", '{"sky": "blue"}')))

    assert (seen.requests, seen.responses[0].text) == ((), '{"sky": "blue"}')


def test_several_choices_that_call_overwrite_each_other() -> None:
    """The keys then hold a mixture, which is nobody's call."""
    attributes = first(("look_up", LYON))
    choice = {**asking(), "finish_reason": "tool_calls"}
    attributes["gen_ai.output.messages"] = json.dumps([choice, choice])
    seen = record(request(attributes))

    assert (seen.requests, seen.evidence["requests"]) == ((), Evidence.TRUNCATED)


def test_the_second_version_writes_openais_messages() -> None:
    """Calls with ids in the messages, a session, and at most ten of the tools."""
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": LYON}}],
    }
    attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.conversation.id": "s1",
        "litellm.call_id": "u", "gen_ai.output.messages": json.dumps([message]),
        "gen_ai.response.finish_reasons": ["tool_calls"], "litellm.request.tools.declared": 1,
        "gen_ai.tool.0.name": "look_up", "gen_ai.tool.0.parameters": '{"type": "object"}',
    }  # fmt: skip
    seen = record(request(attributes))
    more = record(request({**attributes, "litellm.request.tools.declared": 40}))

    assert [(one.call_id, one.arguments) for one in seen.requests] == [("call_1", {"city": "Lyon"})]
    assert (seen.session_id, seen.tools, more.tools) == ("s1", {"look_up": {"type": "object"}}, {})


def test_a_session_may_be_in_what_the_caller_passed() -> None:
    """The first version writes the repr of the metadata."""
    passed = {"metadata.requester_metadata": "{'session_id': 's1', 'n': None}"}

    assert record(request({**first(content="Sunny."), **passed})).session_id == "s1"


@pytest.mark.parametrize("operation", ["aembedding", "embedding", "arerank", "image_generation", "amoderation"])
def test_what_generates_nothing_is_no_model_call(operation: str) -> None:
    """Call types of the first version, with or without their `a`."""
    seen = record(request({**STAMP, "gen_ai.operation.name": operation, "gen_ai.request.model": "m"}))

    assert seen.generations == ()


@pytest.mark.parametrize("operation", ["acompletion", "completion", "aresponses", "atext_completion", None])
def test_every_kind_of_generation_is_a_model_call(operation: str | None) -> None:
    """With content capture off there is no operation, and the call type alone tells."""
    keys = {"gen_ai.operation.name": operation} if operation else {}
    seen = record(request({**STAMP, **keys, "gen_ai.request.model": "m"}))

    assert len(seen.generations) == 1
    assert seen.evidence["requests"] is Evidence.ABSENT


def log(name: str, body: dict[str, Any], at: int) -> LogRecord:
    """An event of the first version, whose name is an attribute."""
    return LogRecord(TRACE_ID, span_id("litellm_request"), "", at, body, {"event_name": name})


def test_messages_may_come_as_events() -> None:
    """A completion's event never holds tool calls: the finish reason tells that there were some."""
    keys = {**STAMP, "gen_ai.request.model": "m"}
    asked = log("gen_ai.content.prompt", {"role": "user", "content": "Weather?"}, 1)
    told = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Sunny."}}
    called = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant"}}
    answered = record(request(keys), logs=(asked, log("gen_ai.content.completion", told, 2)))
    calling = record(request(keys), logs=(asked, log("gen_ai.content.completion", called, 2)))

    assert [(r.text, r.finish_reason) for r in answered.responses] == [("Sunny.", "stop")]
    assert [message["type"] for message in answered.messages] == ["human", "ai"]
    assert calling.evidence["requests"] is not Evidence.COMPLETE


def test_guardrails_and_the_gateway_are_steps() -> None:
    """The first version writes OpenInference's kind on its guardrail spans."""
    seen = record(
        span("gate", {}, name="Received Proxy Server Request", scope="litellm", at=(0, 50)),
        span("old", {"guardrail_name": "pii", "openinference.span.kind": "GUARDRAIL"}, scope="litellm", at=(1, 2),
             under="gate"),
        span("new", {"litellm.guardrail.name": "pii"}, scope="litellm", at=(3, 4), under="gate"),
        request(first(content="Sunny."), under="gate"),
    )  # fmt: skip

    assert (len(seen.generations), seen.conventions, seen.unread) == (1, ("litellm",), 0)


def test_mcp_calls_are_runs() -> None:
    """The second version has a span for them, the first writes the repr of name, arguments and result."""
    keys = {"gen_ai.operation.name": "execute_tool", "mcp.method.name": "tools/call", "litellm.call_id": "u",
            "gen_ai.tool.name": "look_up", "gen_ai.tool.call.arguments": LYON}  # fmt: skip
    told = {"name": "look_up", "arguments": {"city": "Lyon"}, "result": None}
    old = {**STAMP, "gen_ai.operation.name": "call_mcp_tool", "gen_ai.request.model": "MCP: look_up",
           "metadata.mcp_tool_call_metadata": str(told)}  # fmt: skip

    for attributes in (keys, old):
        (dispatch,) = record(span("mcp", attributes, scope="litellm")).dispatches
        assert (dispatch.name, dispatch.arguments) == ("look_up", {"city": "Lyon"})


def test_listing_tools_runs_none() -> None:
    """`tools/list` has neither operation nor tool."""
    keys = {"mcp.method.name": "tools/list", "litellm.call_id": "u"}

    assert record(span("tools/list", keys, scope="litellm")).dispatches == ()


def stamped(attributes: dict[str, Any], **where: Any) -> Span:
    """An agent's span of another scope, on which LiteLLM wrote: the agent's operation is overwritten."""
    own = {**attributes, "gen_ai.agent.name": "support"}
    return span("agent", own, **{"name": "invoke_agent support", "scope": "app", "at": (0, 100), **where})


def run(name: str = "look_up", under: str = "agent", **keys: Any) -> Span:
    """A run of a tool by the application's own instrumentation."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name,
                  "gen_ai.tool.call.arguments": LYON, **keys}  # fmt: skip
    return span(f"tool {name}", attributes, name=f"execute_tool {name}", scope="app", at=(30, 40), under=under)


def test_a_call_on_anothers_span_is_the_last_of_several() -> None:
    """Earlier ones are overwritten, and their function calls may be left: neither is this call's, nor is all known."""
    seen = record(stamped({**first(content="Sunny."), "gen_ai.completion.0.function_call.name": "look_up"}), run())

    assert (seen.requests, [response.text for response in seen.responses]) == ((), ["Sunny."])
    assert [(one.name, one.match_rule) for one in seen.dispatches] == [("look_up", None)]
    assert seen.evidence["requests"] is Evidence.PARTIAL


def test_raw_spans_below_anothers_span_are_its_calls() -> None:
    """There is one for each call, so that nothing is lost."""
    seen = record(
        stamped(first(content="Sunny.")),
        raw(("call_1", "look_up", LYON), under="agent", at=(10, 20)),
        run(),
        raw(under="agent", at=(50, 60), label="raw 2", content="Sunny."),
    )

    assert [(one.call_id, one.outcome) for one in seen.requests] == [("call_1", Outcome.DISPATCHED)]
    assert [response.text for response in seen.responses] == ["Sunny."]
    assert (seen.evidence["requests"], seen.evidence["dispatches"]) == (Evidence.COMPLETE, Evidence.COMPLETE)


def test_an_empty_raw_span_is_completed_from_what_was_written_last() -> None:
    """Streamed answers leave it empty."""
    empty = span("raw", {}, name="raw_gen_ai_request", scope="litellm", at=(50, 60), under="agent")
    seen = record(stamped(first(("look_up", LYON))), empty)

    assert [(one.name, one.arguments) for one in seen.requests] == [("look_up", {"city": "Lyon"})]
    assert seen.evidence["requests"] is Evidence.COMPLETE


def test_a_tool_that_litellm_wrote_on_is_still_a_run() -> None:
    """Its body called a model: a span's own kind beats the operation."""
    keys = {"openinference.span.kind": "TOOL", "tool.name": "look_up", "input.value": LYON}
    seen = record(span("tool", {**first(content="Sunny."), **keys}, scope="app"))

    assert [(one.name, one.arguments) for one in seen.dispatches] == [("look_up", {"city": "Lyon"})]
    assert len(seen.generations) == 1


@pytest.mark.parametrize(("kind", "failed"), [("ValueError", True), ("litellm.exceptions.RateLimitError", False)])
def test_an_error_behind_the_status_that_litellm_wrote_is_one(kind: str, failed: bool) -> None:
    """OK can't be taken back; a model call's own failure, which was tried again, is no failure of the tool."""
    keys = {"openinference.span.kind": "TOOL", "tool.name": "look_up", "input.value": LYON}
    events = (raised(kind, "no such city"),)
    seen = record(span("tool", {**first(content="Sunny."), **keys}, scope="app", status=1, events=events))

    assert (seen.dispatches[0].error is not None) is failed


def test_a_model_span_that_litellm_wrote_on_is_one_call() -> None:
    """Its maker's record is kept, and no second of the same role is made."""
    keys = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.content": "Sunny."}

    assert len(record(span("llm", {**first(content="Sunny."), **keys}, scope="app")).generations) == 1


def test_presets_for_other_backends_are_read_by_their_conventions() -> None:
    """Arize's and Langfuse's presets write only those backends' keys."""
    arize = span("llm", {"openinference.span.kind": "LLM", "metadata": "{}"}, scope="litellm")
    owner = convention_of(arize)

    assert owner is not None
    assert owner.NAME == "openinference"


def test_a_results_content_may_be_in_parts() -> None:
    """The first version's history: `{"role": "tool", "parts": [...], "tool_call_id": ...}`."""
    (message,) = read_messages([{"role": "tool", "parts": [text('{"sky": "blue"}')], "tool_call_id": "call_1"}])

    assert [(one.call_id, one.content.value) for one in message.results] == [("call_1", {"sky": "blue"})]


def test_content_that_litellm_redacted_is_no_answer() -> None:
    """`turn_off_message_logging` puts a text of its own in its place."""
    seen = record(request(first(content="redacted-by-litellm")))

    assert not any(response.text for response in seen.responses)
    assert seen.evidence["responses"] is Evidence.REDACTED
