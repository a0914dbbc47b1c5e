"""Model Context Protocol: many spans of one dispatch, and what each of them can know."""

from typing import Any

import pytest
from lanewatch.adapters.records import ErrorKind, Executed, Outcome
from lanewatch.collector.spans import Span
from msgspec.structs import replace

from tests.adapters.spans import call, chat, raised, record, span, tool

SERVER, CLIENT = 2, 3


def called(label: str, kind: int, scope: str = "fastmcp", *, named: bool = True, **where: Any) -> Span:
    """A `tools/call` span; transports have no tool's name but in the span's."""
    attributes = {"mcp.method.name": "tools/call", **where.pop("extra", {})}
    if named:
        attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}
    name = "tools/call add" if named else "MCP send tools/call add"
    return replace(span(label, attributes, name=name, scope=scope, **where), kind=kind)


def layers(status: int = 0, **where: Any) -> tuple[Span, ...]:
    """Client, transport and server of one call, as fastmcp and the SDK write them."""
    return (
        called("client", CLIENT, at=(3, 9), **where),
        called("transport", CLIENT, "mcp-python-sdk", named=False, under="client", at=(4, 8)),
        called("server", SERVER, under="transport", at=(5, 7), status=status),
    )


def test_all_layers_are_one_dispatch() -> None:
    """Two of the three spans are execute_tool."""
    seen = record(chat("a", call("add", {"a": 1}), at=(1, 2)), *layers())

    assert len(seen.dispatches) == 1
    assert len(seen.dispatches[0].span_ids) == 3
    assert seen.requests[0].outcome is Outcome.DISPATCHED


def test_layers_fold_into_the_frameworks_own_run() -> None:
    """The framework knows arguments, result and id."""
    seen = record(
        chat("a", call("add", {"a": 1}), at=(1, 2)),
        tool("t", "add", {"a": 1}, "3", "call_1", at=(3, 10), scope="framework"),
        *layers(under="t"),
    )

    assert [(d.arguments, d.result, d.executed) for d in seen.dispatches] == [({"a": 1}, "3", Executed.YES)]


def test_a_client_alone_does_not_know_whether_the_tool_ran() -> None:
    """Its span stays unset where the result is an error."""
    seen = record(called("client", CLIENT))

    assert [dispatch.executed for dispatch in seen.dispatches] == [Executed.UNKNOWN]


def test_a_client_that_shows_the_result_knows() -> None:
    """The opt-in key holds it."""
    seen = record(called("client", CLIENT, extra={"gen_ai.tool.call.result": "3"}))

    assert [(d.executed, d.result) for d in seen.dispatches] == [(Executed.YES, "3")]


def test_a_client_below_a_frameworks_span_leaves_the_answer_to_it() -> None:
    """The framework saw the result."""
    seen = record(tool("t", "add", {"a": 1}, "3", at=(0, 9)), called("client", CLIENT, under="t", at=(1, 2)))

    assert [dispatch.executed for dispatch in seen.dispatches] == [Executed.YES]


def test_the_servers_error_alone_does_not_tell_whether_the_body_ran() -> None:
    """`tool_error` stands for refused arguments as for a body that raised."""
    seen = record(
        *layers(status=2)[:2],
        called("server", SERVER, status=2, under="transport", extra={"error.type": "tool_error"}, at=(5, 7)),
    )

    assert [dispatch.executed for dispatch in seen.dispatches] == [Executed.UNKNOWN]
    assert seen.dispatches[0].error is not None


def test_the_servers_stack_tells_that_the_body_ran() -> None:
    """The server records the exception."""
    stack = (
        '  File "/venv/site-packages/fastmcp/server.py", line 1, in call_tool\n  File "/app/tools.py", line 3, in add\n'
    )
    failed = called("server", SERVER, status=2, message="boom", events=(raised("ToolError", "boom", stack),))
    seen = record(failed)

    assert [dispatch.executed for dispatch in seen.dispatches] == [Executed.YES]


@pytest.mark.parametrize("code", ["-32602", "-32601"])
def test_a_protocol_error_reached_no_body(code: str) -> None:
    """Unknown tools and bad parameters are refused by the server itself."""
    failed = called(
        "server", SERVER, status=2, message="no", extra={"error.type": code, "rpc.response.status_code": code}
    )
    (dispatch,) = record(failed).dispatches

    assert dispatch.executed is Executed.NO
    assert dispatch.error is not None
    assert dispatch.error.kind is ErrorKind.VALIDATION


def test_a_result_is_taken_out_of_its_envelope() -> None:
    """With its own flag of an error."""
    envelope = '{"content": [{"type": "text", "text": "no such row"}], "isError": true}'
    (dispatch,) = record(called("server", SERVER, extra={"gen_ai.tool.call.result": envelope})).dispatches

    assert dispatch.result == "no such row"
    assert dispatch.error is not None


def test_a_server_alone_makes_no_request_out_of_nothing() -> None:
    """The model is another application's."""
    seen = record(called("server", SERVER))

    assert [dispatch.name for dispatch in seen.dispatches] == ["add"]
    assert seen.evidence["requests"] == "absent"


@pytest.mark.parametrize("method", ["initialize", "tools/list", "resources/read", "prompts/get"])
def test_other_methods_are_steps(method: str) -> None:
    """They run no tool."""
    assert record(span("m", {"mcp.method.name": method}, scope="mcp-python-sdk")).dispatches == ()
