"""Logfire's own spans: of OpenAI's and Anthropic's clients in both versions, of OpenAI's Agents SDK, and pending ones."""

import json
from typing import Any

import pytest
from lanewatch.adapters.facts import Executed
from lanewatch.adapters.records import Evidence, Outcome
from lanewatch.collector.spans import Span

from tests.adapters.spans import asking, call, raised, record, span, text, tool

ARGUMENTS = {"city": "Lyon"}
USER = {"role": "user", "content": "Weather?"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": json.dumps(ARGUMENTS)}}
OPENAI, ANTHROPIC, AGENTS = "logfire.openai", "logfire.anthropic", "logfire.openai_agents"


def client(label: str, at: tuple[float, float], attributes: dict[str, Any], scope: str = OPENAI, **where: Any) -> Span:
    """A span of a client's call."""
    own = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "logfire.span_type": "span"}
    written = {key: value if isinstance(value, str) else json.dumps(value) for key, value in attributes.items()}
    return span(label, {**own, **written}, at=at, scope=scope, **where)


def test_version_1_keeps_the_providers_own_json() -> None:
    """The request's messages and the response's message."""
    asked = {
        "request_data": {"messages": [USER]},
        "response_data": {"message": {"role": "assistant", "tool_calls": [CALL]}},
    }
    said = {
        "request_data": {"messages": [USER]},
        "response_data": {"message": {"role": "assistant", "content": "Sunny."}},
    }
    seen = record(client("ask", (1, 2), asked), client("end", (3, 4), said))

    assert [request.arguments for request in seen.requests] == [ARGUMENTS]
    assert [response.text for response in seen.responses] == ["Sunny."]


def test_version_1_of_the_responses_api_has_events() -> None:
    """No event is a choice: the assistant's last ones are the answer."""
    events = [
        {"event.name": "gen_ai.user.message", **USER},
        {"event.name": "gen_ai.assistant.message", "role": "assistant", "tool_calls": [CALL]},
        {"event.name": "gen_ai.tool.message", "role": "tool", "id": "call_1", "content": "rain"},
        {"event.name": "gen_ai.assistant.message", "role": "assistant", "tool_calls": [{**CALL, "id": "call_2"}]},
        {"event.name": "gen_ai.assistant.message", "role": "assistant", "tool_calls": [{**CALL, "id": "call_3"}]},
    ]
    seen = record(client("ask", (1, 2), {"events": events, "request_data": {"model": "m"}}))

    assert [request.call_id for request in seen.requests] == ["call_2", "call_3"]


def test_version_2_follows_the_genai_conventions() -> None:
    """The same span, other keys."""
    seen = record(client("ask", (1, 2), {"gen_ai.output.messages": [asking(call("weather", ARGUMENTS))]}))

    assert seen.requests[0].arguments == ARGUMENTS


def test_anthropics_arguments_are_wrapped_once_more() -> None:
    """`{"input": {...}}`, by way of the block's own JSON."""
    function = {"name": "weather", "arguments": json.dumps({"input": ARGUMENTS})}
    message = {"role": "assistant", "tool_calls": [{"id": "toolu_1", "function": function}]}
    seen = record(client("ask", (1, 2), {"response_data": {"message": message}}, ANTHROPIC))

    assert (seen.requests[0].arguments, seen.requests[0].call_id) == (ARGUMENTS, "toolu_1")


@pytest.mark.parametrize("version", [1, 2])
def test_a_streamed_answer_is_told_by_a_log(version: int) -> None:
    """The span before it ended when the stream began."""
    request = (
        {"request_data": {"messages": [USER], "stream": True}} if version == 1 else {"gen_ai.input.messages": [USER]}
    )
    answer: dict[str, Any] = {"response_data": {"message": {"role": "assistant", "content": "Sunny."}}}
    answer = answer if version == 1 else {"gen_ai.output.messages": [asking(text("Sunny."))]}
    root = span("root", {}, at=(0, 10), scope="logfire")
    opened = client("ask", (1, 2), request, under="root")
    told = client("log", (5, 5), {**request, **answer, "logfire.span_type": "log"}, under="root")
    seen = record(root, opened, told)

    assert len(seen.generations) == 1
    assert [response.text for response in seen.responses] == ["Sunny."]


def test_a_call_whose_answer_was_not_recorded_stays() -> None:
    """A stream that never ended has no log."""
    seen = record(client("ask", (1, 2), {"request_data": {"messages": [USER], "stream": True}}))

    assert (len(seen.generations), seen.evidence["responses"]) == (1, Evidence.PARTIAL)


def test_chunks_joined_to_a_text_are_the_answer() -> None:
    """Where the client's stream has no message of its own."""
    seen = record(client("log", (1, 1), {"response_data": {"combined_chunk_content": "Sunny.", "chunk_count": 2}}))

    assert seen.responses[0].text == "Sunny."


def test_a_scrubbed_answer_is_redacted() -> None:
    """The whole attribute may be gone."""
    seen = record(client("ask", (1, 2), {"response_data": "[Scrubbed due to 'session']"}))

    assert seen.evidence["responses"] is not Evidence.COMPLETE
    assert seen.evidence["requests"] is Evidence.REDACTED


def sdk(
    label: str, template: str, attributes: dict[str, Any], at: tuple[float, float], under: str = "agent", **where: Any
) -> Span:
    """A span of the Agents SDK."""
    written = {key: value if isinstance(value, str) else json.dumps(value) for key, value in attributes.items()}
    own = {"gen_ai.system": "openai", "logfire.msg_template": template, "logfire.span_type": "span"}
    return span(label, {**own, **written}, at=at, under=under, scope=AGENTS, name=template, **where)


def sdk_agent() -> Span:
    """An agent's run."""
    return sdk("agent", "Agent run: {name!r}", {"name": "support"}, (0, 100), under="")


def sdk_call(label: str, at: tuple[float, float], message: dict[str, Any]) -> Span:
    """A chat completion, whose answer is joined to the history."""
    data = {"request_data": {"messages": [USER, message], "model": "m"}, "gen_ai.request.model": "m"}
    return sdk(label, "Chat completion with {gen_ai.request.model!r}", data, at)


ASKED = {"role": "assistant", "tool_calls": [CALL]}
ANSWERED = {"role": "assistant", "content": "Sunny."}


def test_the_agents_sdk_has_tools_without_ids() -> None:
    """A function's name, input and output."""
    run = sdk("run", "Function: {name}", {"name": "weather", "input": ARGUMENTS, "output": {"t": 21}}, (3, 4))
    seen = record(sdk_agent(), sdk_call("ask", (1, 2), ASKED), run, sdk_call("end", (5, 6), ANSWERED))

    assert (seen.dispatches[0].arguments, seen.dispatches[0].result) == (ARGUMENTS, {"t": 21})
    assert (seen.dispatches[0].match_rule, seen.requests[0].outcome) == ("R5", Outcome.DISPATCHED)
    assert [response.text for response in seen.responses] == ["Sunny."]
    assert {seen.evidence[kind] for kind in ("requests", "dispatches", "responses")} == {Evidence.COMPLETE}


def test_an_error_of_the_agents_sdk_is_an_attribute() -> None:
    """Its data have the words; an exception event, where there is one, has the type as well."""
    error = {"message": "Error running tool (non-fatal)", "data": {"tool_name": "weather", "error": "no stock"}}
    attributes = {"name": "weather", "input": ARGUMENTS, "output": "An error occurred", "error": error}
    plain = sdk("run", "Function: {name}", attributes, (3, 4))
    thrown = sdk("run", "Function: {name}", attributes, (3, 4), status=2, events=(raised("RuntimeError", "no stock"),))

    for run, kind in ((plain, None), (thrown, "RuntimeError")):
        (dispatch,) = record(sdk_agent(), sdk_call("ask", (1, 2), ASKED), run).dispatches
        assert dispatch.executed is Executed.YES
        assert dispatch.error is not None
        assert (dispatch.error.type, dispatch.error.message) == (kind, "no stock")


def test_a_handoff_of_the_agents_sdk_names_both_agents() -> None:
    """The model's call is `transfer_to_...`, and no function runs."""
    transfer = {"id": "call_1", "type": "function", "function": {"name": "transfer_to_billing", "arguments": "{}"}}
    step = sdk("handoff", "Handoff: {from_agent} → {to_agent}", {"from_agent": "a", "to_agent": "billing"}, (3, 4))
    ask = sdk_call("ask", (1, 2), {"role": "assistant", "tool_calls": [transfer]})
    seen = record(sdk_agent(), ask, step, sdk_call("end", (5, 6), ANSWERED))

    assert seen.requests[0].outcome is Outcome.HANDOFF


def test_turns_and_tasks_are_no_model_calls() -> None:
    """They have the provider's name, as all spans of the SDK."""
    seen = record(sdk_agent(), sdk("turn", "Turn {turn} for agent support", {"name": "turn"}, (1, 2)))

    assert seen.generations == ()


def test_a_pending_span_of_a_tool_states_nothing() -> None:
    """Whatever scope it is of: the span that it stands for comes under another id."""
    pending = tool("pending", "weather", ARGUMENTS, scope="logfire", at=(3, 3))
    pending.attributes["logfire.span_type"] = "pending_span"

    assert record(pending).dispatches == ()


def test_claudes_agent_sdk_follows_the_genai_conventions() -> None:
    """Runs of tools have their call's id."""
    scope = "logfire.claude_agent_sdk"
    root = span("agent", {"gen_ai.operation.name": "invoke_agent"}, at=(0, 100), scope=scope)
    ask = client("ask", (1, 2), {"gen_ai.output.messages": [asking(call("weather", ARGUMENTS))]}, scope, under="agent")
    run = tool("run", "weather", ARGUMENTS, call_id="call_1", at=(3, 4), under="agent", scope=scope)
    seen = record(root, ask, run)

    assert (seen.dispatches[0].match_rule, seen.conventions) == ("R1", ("logfire",))


def mcp(label: str, response: Any, at: tuple[float, float] = (1, 2), *, server: bool = False, **where: Any) -> Span:
    """A client's or server's span of a tool's call over MCP."""
    asked = {"method": "tools/call", "params": {"name": "weather", "arguments": ARGUMENTS}}
    told = {"request": json.dumps(asked), "logfire.span_type": "span"}
    told |= {} if response is None else {"response": json.dumps(response)}
    name = "MCP server handle request: tools/call" if server else "MCP request: tools/call weather"
    return span(label, told, name=name, at=at, scope="logfire.mcp", **where)


SUNNY = {"content": [{"type": "text", "text": "sunny"}], "isError": False}


@pytest.mark.parametrize(
    ("response", "result", "executed", "kind"),
    [
        (SUNNY, "sunny", Executed.YES, None),
        ({**SUNNY, "isError": True}, "sunny", Executed.YES, "failure"),
        ({"code": -32602, "message": "Unknown tool"}, None, Executed.NO, "validation"),
        ({"code": -32603, "message": "Internal error"}, None, Executed.YES, "failure"),
        (None, None, Executed.UNKNOWN, None),
    ],
)
def test_a_call_over_mcp_is_a_run(response: Any, result: str | None, executed: Executed, kind: str | None) -> None:
    """Name, arguments and result stand in the two messages."""
    (run,) = record(mcp("m", response)).dispatches

    assert (run.name, run.arguments, run.result, run.executed) == ("weather", ARGUMENTS, result, executed)
    assert (run.error.kind if run.error else None) == kind


def test_client_and_server_of_one_call_over_mcp_are_one_run() -> None:
    """Below the framework's own span of the tool, where there is one."""
    layers = (mcp("m", SUNNY, (2, 9), under="t"), mcp("s", SUNNY, (3, 8), server=True, under="m"))
    outer = tool("t", "weather", ARGUMENTS, "sunny", "call_1", at=(1, 10))

    assert len(record(*layers).dispatches) == 1
    assert [(run.call_id, run.result) for run in record(outer, *layers).dispatches] == [("call_1", "sunny")]


def test_other_messages_of_mcp_are_steps() -> None:
    """A list of tools is no call."""
    told = {"request": json.dumps({"method": "tools/list"}), "response": json.dumps({"tools": []})}

    assert record(span("m", told, name="MCP request: tools/list", scope="logfire.mcp")).dispatches == ()
