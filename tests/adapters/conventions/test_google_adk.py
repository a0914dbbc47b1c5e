"""Google's ADK: schema 2 with content on spans or in logs, schema 1 with JSON of its own, streams, and refusals."""

import json
from typing import Any

import pytest
from lanewatch.adapters.conventions.google_adk.model_calls import merged
from lanewatch.adapters.facts import ErrorKind, Executed
from lanewatch.adapters.message_shapes import read_messages
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import Evidence, Outcome, TraceRecord
from lanewatch.collector.spans import LogRecord, Span

from tests.adapters.spans import answered, asking, call, log, raised, record, span, text
from tests.corpus.known import captures, verdicts

SCOPE = "gcp.vertex.agent"
DETAILS = "gen_ai.client.inference.operation.details"
ARGUMENTS = {"city": "Lyon", "unit": "c"}
DECLARED = {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}}}
NO_DISPATCHES = {"09a_refusal_text", "14a_bad_json"}
LOST_REQUESTS = {"12_hard_args", "14a_bad_json"}


def adk(label: str, operation: str | None, attributes: dict[str, Any] | None = None, **where: Any) -> Span:
    """A span of ADK's tracer."""
    own = {"gcp.vertex.agent.event_id": label} | ({"gen_ai.operation.name": operation} if operation else {})
    return span(label, {**own, **(attributes or {})}, **{"scope": SCOPE, **where})


def agent() -> Span:
    """The span of an agent, with its session."""
    attributes = {"gen_ai.agent.name": "support", "gen_ai.conversation.id": "s1"}
    return adk("agent", "invoke_agent", attributes, at=(0, 100))


def model(label: str, at: tuple[float, float], *parts: dict[str, Any], on_span: bool = True, **extra: Any) -> Span:
    """A model call of schema 2."""
    attributes = {"gen_ai.request.model": "m", "gen_ai.response.finish_reasons": ["stop"], **extra.pop("extra", {})}
    if on_span:
        attributes["gen_ai.output.messages"] = json.dumps([{**asking(*parts), "finish_reason": "stop"}])
    return adk(label, "generate_content", attributes, at=at, under="agent", **extra)


def details(label: str, *outputs: dict[str, Any], inputs: list[dict[str, Any]] | None = None) -> LogRecord:
    """The log of a model call with content in events: native values."""
    return log(label, DETAILS, None, {"gen_ai.output.messages": list(outputs), "gen_ai.input.messages": inputs or []})


def ran(label: str, at: tuple[float, float], given: Any = None, response: Any = None, **extra: Any) -> Span:
    """A run of schema 2; what is None is not recorded."""
    attributes = {"gen_ai.tool.name": extra.pop("name", "weather"), "gen_ai.tool.type": "FunctionTool"}
    attributes["gen_ai.tool.call.id"] = extra.pop("call_id", "call_1")
    attributes |= {"gen_ai.tool.call.arguments": json.dumps(given)} if given is not None else {}
    attributes |= {"gen_ai.tool.call.result": json.dumps(response)} if response is not None else {}
    attributes |= extra.pop("extra", {})
    return adk(label, "execute_tool", attributes, at=at, under="agent", **extra)


def failed(kind: str = "TOOL_ERROR") -> dict[str, Any]:
    """A status that repeats the error's type."""
    return {"status": 2, "message": kind, "extra": {"error.type": kind}}


def one_run(run: Span, *more: Span, logs: tuple[LogRecord, ...] = ()) -> TraceRecord:
    """An agent that calls one tool, with content on the spans."""
    ask, end = model("ask", (1, 2), call("weather", ARGUMENTS)), model("end", (5, 6), text("Sunny."))
    return record(agent(), ask, run, *more, end, logs=logs)


@pytest.mark.parametrize("capture", captures("google-adk"))
def test_no_capture_is_silently_wrong(capture: str) -> None:
    """Recordings of version 2.13 with content in events alone: spans of tools have no arguments to compare."""
    seen, scenario = verdicts(capture), capture.partition("/")[2]
    flagged = {facet for facet, verdict in seen.items() if verdict == "flagged"}

    assert flagged == ({"dispatches"} - ({"dispatches"} if scenario in NO_DISPATCHES else set())) | (
        {"requests"} if scenario in LOST_REQUESTS else set()
    )
    assert seen["divergence"] in ("hit", "quiet", "open")
    assert "wrong" not in seen.values()


@pytest.mark.parametrize(
    ("added", "arguments", "result"),
    [
        (
            {
                "input.value": json.dumps(ARGUMENTS),
                "output.value": '{"id": "call_1", "name": "weather", "response": {"t": 21}}',
            },
            ARGUMENTS,
            {"t": 21},
        ),
        ({"tool.parameters": json.dumps(ARGUMENTS), "output.value": '{"t": 21}'}, ARGUMENTS, {"t": 21}),
        ({"gen_ai.tool.call.arguments": "{}", "input.value": json.dumps(ARGUMENTS)}, {}, None),
        ({"input.value": "__REDACTED__", "output.value": "__REDACTED__"}, None, None),
        ({}, None, None),
    ],
)
def test_openinference_adds_the_content_that_adks_own_span_leaves_out(
    added: dict[str, Any], arguments: Any, result: Any
) -> None:
    """ADK's own content comes first where it is there; a placeholder, or nothing, is no arguments."""
    extra = {"openinference.span.kind": "TOOL", "tool.name": "weather", **added}
    (dispatch,) = record(agent(), ran("t", (5, 6), extra=extra)).dispatches

    assert (dispatch.call_id, dispatch.arguments, dispatch.result) == ("call_1", arguments, result)


def test_a_call_and_its_run_are_read() -> None:
    """Schema 2 with content on the spans."""
    seen = one_run(ran("run", (3, 4), ARGUMENTS, {"t": 21}))

    assert (seen.dispatches[0].arguments, seen.dispatches[0].result) == (ARGUMENTS, {"t": 21})
    assert (seen.dispatches[0].match_rule, seen.session_id, seen.responses[0].text) == ("R1", "s1", "Sunny.")
    assert {seen.evidence[kind] for kind in ("requests", "dispatches", "responses")} == {Evidence.COMPLETE}


def test_gemini_gives_no_ids_and_adk_gives_them_too_late() -> None:
    """The request's id is made up of name and place, the run's is ADK's: name and arguments pair them."""
    ask = model("ask", (1, 2), call("weather", ARGUMENTS, "weather_0"))
    run = ran("run", (3, 4), ARGUMENTS, {"t": 21}, call_id="adk-1c2")
    (dispatch,) = record(agent(), ask, run, model("end", (5, 6), text("x"))).dispatches

    assert (dispatch.match_rule, dispatch.request) == ("R5", 0)


def test_the_span_of_merged_responses_is_no_run() -> None:
    """ADK writes it after parallel calls, with the id of an event."""
    merged_span = adk("merged", "execute_tool", {"gen_ai.tool.name": "(merged tools)", "gen_ai.tool.call.id": "event"})
    seen = one_run(ran("run", (3, 4), ARGUMENTS, {"t": 21}), merged_span)

    assert [dispatch.name for dispatch in seen.dispatches] == ["weather"]


def test_a_placeholder_is_no_id() -> None:
    """`<not specified>` where a tool raised."""
    error: dict[str, Any] = {"status": 2, "message": "RuntimeError", "events": (raised("RuntimeError", "no stock"),)}
    (dispatch,) = one_run(ran("run", (3, 4), ARGUMENTS, call_id="<not specified>", **error)).dispatches

    assert (dispatch.match_rule, dispatch.call_id, dispatch.executed) == ("R5", "call_1", Executed.YES)
    assert dispatch.error is not None
    assert dispatch.error.message == "no stock"


@pytest.mark.parametrize(
    ("response", "executed", "outcome"),
    [
        ({"error": "no stock"}, Executed.YES, Outcome.DISPATCHED),
        ({"error": "blocked by policy"}, Executed.NO, Outcome.BLOCKED),
        ({"error": "This tool call is rejected."}, Executed.NO, Outcome.BLOCKED),
        ({"error": "This tool call requires confirmation, please approve or reject."}, Executed.NO, Outcome.PENDING),
        (
            {"error": "Invoking `weather()` failed as the following mandatory input parameters are not present:\nunit"},
            Executed.NO,
            Outcome.INVALID,
        ),
        (
            {"error": "Invoking `weather()` failed due to argument validation errors:\nunit"},
            Executed.NO,
            Outcome.INVALID,
        ),
        ({"error": "ValueError: Tool 'weather' not found.\nAvailable tools: now"}, Executed.NO, Outcome.INVALID),
    ],
)
@pytest.mark.parametrize("on_span", [True, False])
def test_a_response_tells_whether_the_function_was_called(
    response: dict[str, str], executed: Executed, outcome: Outcome, on_span: bool
) -> None:
    """The status says TOOL_ERROR of all of them; with content in events, the next model input has the response."""
    if on_span:
        seen = one_run(ran("run", (3, 4), ARGUMENTS, response, **failed()))
    else:
        ask, end = model("ask", (1, 2), on_span=False), model("end", (5, 6), on_span=False)
        asked = asking(call("weather", ARGUMENTS))
        told = details("end", asking(text("x")), inputs=[asked, {**answered("call_1", response), "role": "user"}])
        seen = record(agent(), ask, ran("run", (3, 4), **failed()), end, logs=(details("ask", asked), told))

    assert (seen.dispatches[0].executed, seen.requests[0].outcome) == (executed, outcome)
    assert seen.dispatches[0].result == response


def test_an_error_without_its_response_proves_no_run() -> None:
    """With content off, a callback that stopped the call looks like a function that failed."""
    (dispatch,) = one_run(ran("run", (3, 4), **failed())).dispatches

    assert dispatch.executed is Executed.UNKNOWN


def test_the_stand_in_for_a_missing_tool_ran_nothing() -> None:
    """Its description says so, whatever content is recorded."""
    error = failed("ValueError")
    error["extra"] |= {"gen_ai.tool.type": "BaseTool", "gen_ai.tool.description": "Tool not found"}
    (dispatch,) = one_run(ran("run", (3, 4), **error)).dispatches

    assert dispatch.executed is Executed.NO
    assert dispatch.error is not None
    assert dispatch.error.kind is ErrorKind.VALIDATION


def test_arguments_that_are_not_declared_do_not_reach_the_function() -> None:
    """ADK leaves them out of the call, but not out of the span."""
    given = {**ARGUMENTS, "force": True}
    definitions = json.dumps([{"name": "weather", "parameters": DECLARED}])
    ask = model("ask", (1, 2), call("weather", given), extra={"gen_ai.tool.definitions": definitions})
    seen = record(agent(), ask, ran("run", (3, 4), given, {"t": 1}), model("end", (5, 6), text("x")))

    assert seen.evidence["dispatches"] is not Evidence.COMPLETE


def test_a_malformed_call_is_dropped_by_adk() -> None:
    """Only the finish reason is left of it."""
    ask = model("ask", (1, 2), extra={"gen_ai.response.finish_reasons": ["malformed_function_call"]})

    assert record(agent(), ask).evidence["requests"] is not Evidence.COMPLETE


def test_the_older_span_of_a_tool_that_raised_has_its_name_alone() -> None:
    """Up to 1.x attributes were written after the call."""
    run = span("run", {}, at=(3, 4), under="agent", scope=SCOPE, name="execute_tool weather", status=2,
               events=(raised("RuntimeError", "no stock"),))  # fmt: skip
    (dispatch,) = one_run(run).dispatches

    assert (dispatch.name, dispatch.match_rule, dispatch.executed) == ("weather", "R7", Executed.YES)


def test_thoughts_of_schema_2_look_like_text() -> None:
    """Where reasoning tokens were spent, the first of several texts is the thought."""
    parts = (text("Let me see."), text("Sunny."))
    thought = model("ask", (1, 2), *parts, extra={"gen_ai.usage.reasoning.output_tokens": 9})

    assert record(agent(), thought).responses[0].text == "Sunny."
    assert record(agent(), model("ask", (1, 2), *parts)).responses[0].text == "Let me see.Sunny."


def chunk(*parts: dict[str, Any], finish: str = "") -> dict[str, Any]:
    """A streamed message."""
    return {**asking(*parts), "finish_reason": finish}


def partial(call_id: str, name: str = "weather") -> dict[str, Any]:
    """A call whose arguments have not come yet."""
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": None}


def test_fragments_and_the_whole_text_are_one_text() -> None:
    """LiteLLM's streams end with the whole; Gemini's do not."""
    fragments = [chunk(text("It is ")), chunk(text("sunny."))]
    whole = [*fragments, chunk(text("It is sunny."), finish="stop")]

    assert merged(read_messages(whole), "stop").text == "It is sunny."
    assert merged(read_messages([*fragments, chunk(finish="stop")]), "stop").text == "It is sunny."
    assert merged(read_messages([chunk(text("ha")), chunk(text("hm"))]), None).text == "hahm"


def test_a_streamed_call_is_asked_for_once() -> None:
    """Its id and name come first, again and again, and its arguments last."""
    chunks = [chunk(partial("c1")), chunk(partial("c2")), chunk(partial("c1"))]
    end = chunk(call("weather", ARGUMENTS, "c1"), call("weather", {}, "c2"), finish="stop")
    message = merged(read_messages([*chunks, end]), "stop")

    assert [(one.call_id, one.arguments.value) for one in message.calls] == [("c1", ARGUMENTS), ("c2", {})]
    assert message.finish_reason == "stop"


def test_a_stream_that_broke_off_leaves_arguments_unknown() -> None:
    """Null is no empty object."""
    (asked,) = merged(read_messages([chunk(partial("c1")), chunk(partial("c1"))]), None).calls
    (malformed,) = merged(read_messages([chunk(partial("c1")), chunk(finish="malformed_function_call")]), None).calls

    assert (asked.arguments.state, malformed.arguments.state) == (State.ABSENT, State.ABSENT)


def test_calls_without_real_ids_stay_apart() -> None:
    """Gemini streams whole calls, whose made-up ids repeat."""
    chunks = [
        chunk(call("weather", ARGUMENTS, "weather_0")),
        chunk(call("weather", ARGUMENTS, "weather_0"), finish="stop"),
    ]

    assert len(merged(read_messages(chunks), "stop").calls) == 2


REQUEST, RESPONSE = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"


def call_llm(label: str, at: tuple[float, float], response: Any, request: Any = None, under: str = "agent") -> Span:
    """A model call of schema 1."""
    tool = {"name": "weather", "parameters": DECLARED}
    asked = (
        request if request is not None else {"contents": [], "config": {"tools": [{"function_declarations": [tool]}]}}
    )
    written = response if isinstance(response, str) else json.dumps(response)
    attributes = {"gen_ai.system": SCOPE, "gen_ai.request.model": "m", REQUEST: json.dumps(asked), RESPONSE: written}
    attributes["gcp.vertex.agent.session_id"] = "s1"
    return adk(label, None, attributes, at=at, under=under, name="call_llm")


def gemini(*parts: dict[str, Any]) -> dict[str, Any]:
    """A response of Gemini."""
    return {"content": {"role": "model", "parts": list(parts)}, "finish_reason": "STOP"}


def old_run(given: str, response: str, **where: Any) -> Span:
    """A run of schema 1."""
    attributes = {
        "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "adk-1", REQUEST: "{}", RESPONSE: "{}",
        "gcp.vertex.agent.tool_call_args": given, "gcp.vertex.agent.tool_response": response,
    }  # fmt: skip
    return adk("run", "execute_tool", attributes, at=(3, 4), **{"under": "agent", **where})


@pytest.mark.parametrize("under", ["agent", "ask"])
def test_schema_1_has_json_of_its_own(under: str) -> None:
    """Gemini's contents, no ids; older releases ran tools inside the model's span."""
    asked = gemini({"function_call": {"name": "weather", "args": ARGUMENTS}})
    root = span("root", {}, at=(0, 100), scope=SCOPE, name="invocation")
    old_agent = span("agent", {}, at=(0, 90), under="root", scope=SCOPE, name="agent_run [support]")
    run = old_run(json.dumps(ARGUMENTS), '{"result": "sunny"}', under=under)
    said = gemini({"text": "hm", "thought": True}, {"text": "Sunny."})
    seen = record(root, old_agent, call_llm("ask", (1, 4.5), asked), run, call_llm("end", (5, 6), said))

    assert (seen.requests[0].arguments, seen.requests[0].outcome) == (ARGUMENTS, Outcome.DISPATCHED)
    assert (seen.dispatches[0].arguments, seen.dispatches[0].match_rule) == (ARGUMENTS, "R5")
    assert (seen.responses[0].text, seen.session_id, list(seen.tools)) == ("Sunny.", "s1", ["weather"])
    assert {seen.evidence[kind] for kind in ("requests", "dispatches", "responses")} == {Evidence.COMPLETE}


def test_schema_1_without_content_writes_empty_objects() -> None:
    """A call without arguments would have a response."""
    seen = record(agent(), call_llm("ask", (1, 2), "{}", {}), old_run("{}", "{}"))
    taking_none = record(agent(), call_llm("ask", (1, 2), "{}", {}), old_run("{}", '{"result": "noon"}'))

    assert (seen.dispatches[0].arguments, seen.evidence["requests"]) == (None, Evidence.ABSENT)
    assert taking_none.dispatches[0].arguments == {}


def test_the_last_chunk_of_a_stream_that_broke_off_is_not_the_answer() -> None:
    """`partial` stays true where no whole answer came."""
    seen = record(agent(), call_llm("ask", (1, 2), {**gemini({"text": "Sun"}), "partial": True}))

    assert seen.evidence["responses"] is Evidence.TRUNCATED


def test_schema_1_tells_a_model_call_twice() -> None:
    """`call_llm` around `generate_content`, whose logs are elided unless asked for."""
    outer = call_llm("ask", (1, 4), gemini({"text": "Sunny."}))
    inner = adk("inner", "generate_content", {"gen_ai.system": "gemini"}, at=(2, 3), under="ask")
    elided = log("inner", "gen_ai.choice", {"content": "<elided>", "index": 0, "finish_reason": "STOP"})
    seen = record(agent(), outer, inner, logs=(elided,))

    assert [(one.reports, one.span_id) for one in seen.generations] == [(2, outer.span_id.hex())]
    assert seen.responses[0].text == "Sunny."


def test_logs_of_schema_1_hold_all_of_geminis_fields() -> None:
    """Most of them null."""
    empty = {"text": None, "thought": None, "function_call": None, "function_response": None, "inline_data": None}
    asked = {**empty, "function_call": {"id": "c1", "name": "weather", "args": ARGUMENTS}}
    told = {**empty, "function_response": {"id": "c1", "name": "weather", "response": {"t": 21}}}
    body = {"index": 0, "finish_reason": "STOP"}
    logs = (
        log("ask", "gen_ai.user.message", {"content": {"role": "user", "parts": [{**empty, "text": "Weather?"}]}}),
        log("ask", "gen_ai.choice", {**body, "content": {"role": "model", "parts": [asked]}}),
        log("end", "gen_ai.user.message", {"content": {"role": "user", "parts": [told]}}),
        log("end", "gen_ai.choice", {**body, "content": {"role": "model", "parts": [{**empty, "text": "Sunny."}]}}),
    )
    ask, end = model("ask", (1, 2), on_span=False), model("end", (5, 6), on_span=False)
    seen = record(agent(), ask, ran("run", (3, 4), call_id="c1"), end, logs=logs)

    assert (seen.requests[0].arguments, seen.requests[0].observed_result) == (ARGUMENTS, '{"t": 21}')
    assert [response.text for response in seen.responses] == ["Sunny."]


def test_passing_on_to_another_agent_is_a_handoff() -> None:
    """`transfer_to_agent` is ADK's own tool."""
    ask = model("ask", (1, 2), call("transfer_to_agent", {"agent_name": "billing"}))
    run = ran("run", (3, 4), {"agent_name": "billing"}, {"result": None}, name="transfer_to_agent")

    assert record(agent(), ask, run, model("end", (5, 6), text("x"))).requests[0].outcome is Outcome.HANDOFF
