"""Pydantic AI: all instrumentation versions, refused and deferred calls, and answers that come as calls."""

import json
from typing import Any

import pytest
from lanewatch.adapters.facts import ErrorKind, Executed, ToolKind
from lanewatch.adapters.records import Evidence, Outcome, TraceRecord
from lanewatch.collector.spans import Span

from tests.adapters.spans import asking, call, raised, record, span, text
from tests.corpus.known import captures, verdicts

SCOPE = "pydantic-ai"
ARGUMENTS = {"city": "Lyon", "unit": "c"}
OPERATIONS = {"execute_tool": "running tool", "invoke_agent": "agent run"}
# An alias is a tool of its own name here, which calls another function: no span shows that.
KNOWN_MISSED = {"pydantic-ai-fmt6/06_runtime_alias"}
VERSIONS = (1, 2, 3, 4, 5, 6)


def pydantic(
    label: str, operation: str, attributes: dict[str, Any] | None = None, version: int = 5, **where: Any
) -> Span:
    """A span; up to version 2 it is known by its name (which early releases had alone)."""
    name = OPERATIONS.get(operation, operation) if version < 3 else operation
    own = {} if version < 3 and operation in OPERATIONS else {"gen_ai.operation.name": operation}
    return span(label, {**own, **(attributes or {})}, **{"scope": SCOPE, "name": name, "under": "agent", **where})


def agent(version: int = 5, **where: Any) -> Span:
    """The span of a run."""
    attributes = {"gen_ai.conversation.id": "s1", "agent_name": "support"}
    return pydantic("agent", "invoke_agent", attributes, version, at=(0, 100), **{"under": "", **where})


def said(label: str, at: tuple[float, float], *parts: dict[str, Any], version: int = 5, **extra: Any) -> Span:
    """A model call that answers with these GenAI parts."""
    if version == 1:
        calls = [
            {"id": part["id"], "type": "function",
             "function": {"name": part["name"], **({"arguments": part["arguments"]} if "arguments" in part else {})}}
            for part in parts if part["type"] == "tool_call"
        ]  # fmt: skip
        texts = [{"kind": "text", "text": part["content"]} for part in parts if part["type"] == "text"]
        message: dict[str, Any] = {
            "role": "assistant",
            **({"tool_calls": calls} if calls else {}),
            **({"content": texts} if texts else {}),
        }
        events = [
            {"event.name": "gen_ai.user.message", "content": "Weather?", "role": "user", "gen_ai.message.index": 0},
            {"event.name": "gen_ai.choice", "index": 0, "message": message},
        ]
        written = {"events": json.dumps(events)}
    else:
        written = {"gen_ai.output.messages": json.dumps([asking(*parts)])}
    return pydantic(label, "chat", {**written, **extra.pop("extra", {})}, version, at=at, **extra)


def ran(label: str, at: tuple[float, float], given: Any, result: Any, version: int = 5, **extra: Any) -> Span:
    """A run of a tool."""
    keys = (
        ("tool_arguments", "tool_response")
        if version < 3
        else ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
    )
    attributes = {
        "gen_ai.tool.name": extra.pop("name_of_tool", "weather"),
        "gen_ai.tool.call.id": extra.pop("call_id", "call_1"),
    }
    for key, value in zip(keys, (given, result), strict=True):
        if value is not None:
            attributes[key] = value if isinstance(value, str) else json.dumps(value)
    return pydantic(label, "execute_tool", {**attributes, **extra.pop("extra", {})}, version, at=at, **extra)


def run_of(*spans: Span, version: int = 5) -> TraceRecord:
    """A run of an agent that ends with an answer."""
    return record(agent(version), *spans, said("end", (50, 51), text("Sunny."), version=version))


@pytest.mark.parametrize("capture", captures("pydantic-ai-fmt6"))
def test_no_capture_is_silently_wrong(capture: str) -> None:
    """Recordings of version 6, against their truth."""
    seen = verdicts(capture)

    assert "flagged" not in seen.values() or capture.endswith("15_no_content")
    assert seen["divergence"] in ("hit", "quiet", *(("missed",) if capture in KNOWN_MISSED else ()))
    assert "wrong" not in seen.values()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_call_and_its_run_are_read_in_every_version(version: int) -> None:
    """Events, then messages; names of spans and keys, then operations."""
    ask = said("ask", (1, 2), call("weather", json.dumps(ARGUMENTS)), version=version)
    seen = run_of(ask, ran("run", (3, 4), ARGUMENTS, {"t": 21}, version), version=version)

    assert (seen.requests[0].arguments, seen.requests[0].outcome) == (ARGUMENTS, Outcome.DISPATCHED)
    assert (seen.dispatches[0].arguments, seen.dispatches[0].result) == (ARGUMENTS, {"t": 21})
    assert (seen.dispatches[0].match_rule, seen.session_id, seen.responses[0].text) == ("R1", "s1", "Sunny.")
    assert {seen.evidence[kind] for kind in ("requests", "dispatches", "responses")} == {Evidence.COMPLETE}


@pytest.mark.parametrize("version", VERSIONS)
def test_with_content_off_names_and_ids_are_left(version: int) -> None:
    """Parts lose their content, spans their arguments."""
    bare = {"type": "tool_call", "id": "call_1", "name": "weather"}
    seen = run_of(said("ask", (1, 2), bare, version=version), ran("run", (3, 4), None, None, version), version=version)

    assert (seen.requests[0].arguments, seen.dispatches[0].match_rule) == (None, "R1")
    assert seen.evidence["requests"] is Evidence.PARTIAL
    assert seen.evidence["dispatches"] is Evidence.PARTIAL


def test_early_releases_have_the_operation_in_the_name_alone() -> None:
    """Version 3 of the telemetry in 1.x: `execute_tool {tool}` and `invoke_agent {agent}`."""
    ran = {"gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": '{"city": "Lyon"}'}
    above = span("agent", {"agent_name": "support"}, name="invoke_agent support", scope=SCOPE, at=(0, 100))
    tool = span("t", ran, name="execute_tool weather", scope=SCOPE, under="agent", at=(5, 6))
    asked = said("a", (1, 4), call("weather", {"city": "Lyon"}, "c1"))
    seen = record(above, asked, tool)

    assert [(d.name, d.call_id, d.arguments, d.executed) for d in seen.dispatches] == [
        ("weather", "c1", {"city": "Lyon"}, Executed.YES)
    ]
    assert seen.evidence["dispatches"] is Evidence.COMPLETE


def test_texts_of_events_without_content_are_absent() -> None:
    """`{"kind": "text"}` is all that version 1 leaves."""
    events = [{"event.name": "gen_ai.choice", "message": {"role": "assistant", "content": [{"kind": "text"}]}}]
    seen = record(agent(1), pydantic("ask", "chat", {"events": json.dumps(events)}, 1))

    assert seen.evidence["responses"] is Evidence.PARTIAL


def test_events_that_were_cut_are_truncated() -> None:
    """One JSON text holds the whole conversation."""
    seen = record(agent(1), pydantic("ask", "chat", {"events": '[{"event.name": "gen_ai.cho'}, 1))

    assert seen.evidence["requests"] is Evidence.TRUNCATED


REFUSED = "1 validation error for weather\nunit\n  Field required"


def test_a_call_that_failed_validation_never_ran() -> None:
    """The span says so itself."""
    events = (raised("pydantic_core._pydantic_core.ValidationError", REFUSED),)
    stage = {"pydantic_ai.tool.failure_stage": "validation"}
    run = ran("run", (3, 4), ARGUMENTS, "[]", status=2, events=events, extra=stage)
    seen = run_of(said("ask", (1, 2), call("weather", ARGUMENTS)), run)

    assert (seen.dispatches[0].executed, seen.requests[0].outcome) == (Executed.NO, Outcome.INVALID)


@pytest.mark.parametrize(
    ("stack", "executed"),
    [
        (f"pydantic_core._pydantic_core.ValidationError: {REFUSED}\n", Executed.NO),
        (f'  File "/app/tools.py", line 3, in weather\nValidationError: {REFUSED}\n', Executed.YES),
    ],
)
def test_before_version_2_the_stack_tells_a_refusal(stack: str, executed: Executed) -> None:
    """A function that fails to validate something itself did run; the retry's exception has no text."""
    events = (raised("pydantic_ai.exceptions.ToolRetryError", "", stack),)
    words = "1 validation errors: []\n\nFix the errors and try again."
    run = ran("run", (3, 4), ARGUMENTS, words, 1, status=2, message="ToolRetryError: ", events=events)
    (dispatch,) = run_of(said("ask", (1, 2), call("weather", ARGUMENTS), version=1), run, version=1).dispatches

    assert dispatch.executed is executed
    assert dispatch.error is not None
    assert dispatch.error.message == words


def test_an_unknown_tool_has_a_span_in_version_1() -> None:
    """Its result says that there is none."""
    words = "Unknown tool name: 'nope'. Available tools: 'weather'"
    events = (raised("pydantic_ai.exceptions.ToolRetryError", ""),)
    run = ran("run", (3, 4), {}, words, 1, status=2, message="ToolRetryError: ", events=events, name_of_tool="nope")
    seen = run_of(said("ask", (1, 2), call("nope", "{}"), version=1), run, version=1)

    assert (seen.dispatches[0].executed, seen.requests[0].outcome) == (Executed.NO, Outcome.INVALID)


def test_a_function_that_asks_for_a_retry_ran() -> None:
    """ModelRetry is an error of the span; the model asks again under another id."""
    stack = '  File "/app/tools.py", line 3, in weather\n'
    events = (raised("pydantic_ai.exceptions.ToolRetryError", "upstream timed out", stack),)
    first = ran("run", (3, 4), ARGUMENTS, "upstream timed out", status=2, events=events)
    again = ran("again", (7, 8), ARGUMENTS, {"t": 21}, call_id="call_2")
    asked = (
        said("ask", (1, 2), call("weather", ARGUMENTS)),
        said("more", (5, 6), call("weather", ARGUMENTS, "call_2")),
    )
    seen = run_of(*asked, first, again)

    assert [dispatch.executed for dispatch in seen.dispatches] == [Executed.YES, Executed.YES]
    assert [dispatch.request for dispatch in seen.dispatches] == [0, 1]


@pytest.mark.parametrize("name", ["CallDeferred", "ApprovalRequired"])
@pytest.mark.parametrize("version", [4, 5])
def test_a_deferred_call_may_not_have_run(name: str, version: int) -> None:
    """An error up to version 4, unset since; the function may have asked for it, or its validator. It waits."""
    where: dict[str, Any] = {"extra": {"pydantic_ai.tool.deferral.name": name}}
    if version == 4:
        where |= {"status": 2, "events": (raised(f"pydantic_ai.exceptions.{name}", ""),)}
    run = ran("run", (3, 4), ARGUMENTS, None, version, **where)
    seen = record(agent(), said("ask", (1, 2), call("weather", ARGUMENTS)), run)

    assert (seen.dispatches[0].executed, seen.requests[0].outcome) == (Executed.UNKNOWN, Outcome.PENDING)


def test_a_call_that_wants_approval_is_left_open() -> None:
    """Where the tool itself is declared so there is no span: the run's result lists the call."""
    result = {"calls": [], "approvals": [{"tool_name": "weather", "args": "{}", "tool_call_id": "call_1"}]}
    run = agent()
    run.attributes["final_result"] = json.dumps(result, separators=(",", ":"))
    asked = said("ask", (1, 2), call("weather", ARGUMENTS), call("weather", ARGUMENTS, "call_2"))
    seen = record(run, asked, ran("run", (3, 4), ARGUMENTS, {"t": 1}, call_id="call_2"))

    assert [request.outcome for request in seen.requests] == [Outcome.PENDING, Outcome.DISPATCHED]


def test_malformed_arguments_are_taken_out_of_their_wrapper() -> None:
    """The model's span has the text itself."""
    stage = {"pydantic_ai.tool.failure_stage": "validation"}
    run = ran("run", (3, 4), {"INVALID_JSON": '{"city": "Ly'}, "[]", status=2, extra=stage)
    (dispatch,) = run_of(said("ask", (1, 2), call("weather", '{"city": "Ly')), run).dispatches

    assert dispatch.arguments == '{"city": "Ly'


PARAMETERS = {
    "model_request_parameters": json.dumps({"function_tools": [], "output_tools": [{"name": "final_result"}]})
}


def test_an_output_tool_is_an_answer() -> None:
    """No function follows it, and nothing was dropped."""
    ask = said("ask", (1, 2), call("final_result", ARGUMENTS), extra=PARAMETERS)
    seen = record(agent(), ask)

    assert (seen.requests[0].outcome, seen.dispatches) == (Outcome.BY_PROVIDER, ())
    assert seen.responses[0].text == json.dumps(ARGUMENTS)
    assert seen.evidence["responses"] is Evidence.COMPLETE


@pytest.mark.parametrize("version", [1, 5])
def test_an_output_function_is_given_the_answer(version: int) -> None:
    """It is no tool of the agent; its only argument stands without a name; what it returns is the answer."""
    ask = said("ask", (1, 2), call("final_result", '{"city": "Lyon"}', "c1"), extra=PARAMETERS, version=version)
    message = {"logfire.msg": "running output function: final_result"}
    run = ran("run", (3, 4), '"Lyon"', "It is Lyon", version, name_of_tool="final_result", call_id="c1", extra=message)
    seen = record(agent(version), ask, run)

    assert (seen.dispatches[0].kind, seen.dispatches[0].arguments) == (ToolKind.OUTPUT, {"city": "Lyon"})
    assert [response.text for response in seen.responses] == ["It is Lyon"]
    assert seen.requests[0].outcome is Outcome.DISPATCHED


def test_tools_of_the_provider_have_no_span() -> None:
    """Parts of theirs are marked `builtin`."""
    searched = {**call("web_search", ARGUMENTS), "builtin": True}

    assert record(agent(), said("ask", (1, 2), searched, text("x"))).requests[0].outcome is Outcome.BY_PROVIDER


def test_a_pending_span_states_nothing() -> None:
    """Logfire writes one for each span that is still open, with its attributes and an id of its own."""
    pending = ran("pending", (3, 3), ARGUMENTS, None, extra={"logfire.span_type": "pending_span"})
    seen = run_of(said("ask", (1, 2), call("weather", ARGUMENTS)), ran("run", (3, 4), ARGUMENTS, {"t": 1}), pending)

    assert len(seen.dispatches) == 1


def test_scrubbed_arguments_are_redacted() -> None:
    """Logfire's scrubber goes into JSON: what is left is not what the model wrote."""
    given = {"city": "Lyon", "session": "[Scrubbed due to 'session']"}
    seen = run_of(said("ask", (1, 2), call("weather", json.dumps(given))), ran("run", (3, 4), given, {"t": 1}))

    assert (seen.requests[0].arguments, seen.dispatches[0].arguments) == (None, None)
    assert seen.evidence["requests"] is Evidence.REDACTED
    assert seen.evidence["dispatches"] is Evidence.REDACTED


def test_a_model_that_refuses_raises_on_the_run() -> None:
    """The model's own message is empty."""
    events = (raised("pydantic_ai.exceptions.ContentFilterError", "Content filter triggered"),)
    run = agent(status=2, message="Content filter triggered", events=events)
    (response,) = record(run, said("ask", (1, 2))).responses

    assert (response.refusal, response.disposition_source) == (True, "exception")


def test_the_kind_of_a_refusal_is_validation() -> None:
    """Whatever class the exception is of."""
    stage = {"pydantic_ai.tool.failure_stage": "validation"}
    run = ran("run", (3, 4), ARGUMENTS, None, status=2, events=(raised("ModelRetry", "no"),), extra=stage)
    (dispatch,) = run_of(said("ask", (1, 2), call("weather", ARGUMENTS)), run).dispatches

    assert dispatch.error is not None
    assert dispatch.error.kind is ErrorKind.VALIDATION
