"""What is said of the usual patterns of production agents: no alarm and no pass where the spans can't tell.

Each trace is in its convention's own shape, as the named frameworks write it.
"""

import json
from typing import Any

import pytest
from lanewatch.adapters.records import Evidence, Executed, Outcome, TraceRecord
from lanewatch.collector.spans import Resource, Span, StatusCode
from lanewatch.monitors.divergence import find_divergences
from lanewatch.monitors.lanes import Lane, judge_lanes
from msgspec.structs import replace

from tests.adapters.spans import agent, answered, asking, call, chat, oi, oi_llm, record, span, text, tool

LOOK = call("look", {"a": 1}, "c1")
USER = {"role": "user", "parts": [{"type": "text", "content": "Look it up."}]}


def _kinds(seen: TraceRecord) -> list[tuple[str, str | None]]:
    return [(found.kind, found.reason) for found in find_divergences(seen)]


def _tools_lane(seen: TraceRecord) -> str:
    return judge_lanes(seen, find_divergences(seen))[Lane.TOOLS].status


def _elsewhere(one: Span) -> Span:
    """The span as a process on another host exports it."""
    return replace(one, resource=Resource({"service.name": "tools", "host.name": "b"}))


# ---- an application's own calls


def test_what_an_application_fetches_before_it_calls_a_model_is_its_own() -> None:
    """Nobody had asked for anything yet."""
    seen = record(
        agent(),
        tool("fetch", "load_profile", {"user": 7}, under="agent", at=(1, 2)),
        chat("ask", LOOK, under="agent", at=(3, 4)),
        tool("t", "look", {"a": 1}, call_id="c1", under="agent", at=(5, 6)),
        chat("say", text("ok"), under="agent", at=(7, 8)),
    )

    assert [run.application for run in seen.dispatches] == ["before_any_answer", None]
    assert (_kinds(seen), _tools_lane(seen)) == ([], "pass")


def test_a_run_with_a_calls_id_before_any_answer_was_asked_for_elsewhere() -> None:
    """Resumed after a person's approval, with inputs not recorded: no alarm, and no pass."""
    seen = record(
        agent(),
        tool("t", "refund", {"n": 1}, call_id="call_9x8y7z", under="agent", at=(1, 2)),
        chat("say", text("done"), under="agent", at=(5, 6)),
    )

    assert (seen.dispatches[0].application, _kinds(seen), _tools_lane(seen)) == (None, [], "incomplete")


def test_a_refusal_that_a_server_in_another_process_told_is_no_certain_run() -> None:
    """The framework's span succeeds with the text, the MCP client's fails without one."""
    client = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "look", "gen_ai.operation.name": "execute_tool"}
    refused = "Input validation error: 'b' is a required property"
    seen = record(
        agent(),
        chat("ask", LOOK, under="agent", at=(1, 2)),
        tool("t", "look", {"a": 1}, refused, "c1", under="agent", at=(3, 9)),
        replace(
            span("mcp", {**client, "error.type": "tool_error"}, under="t", at=(4, 8), status=StatusCode.ERROR), kind=3
        ),
        chat("say", text("ok"), under="agent", at=(10, 11)),
    )

    assert (seen.dispatches[0].executed, _tools_lane(seen)) == (Executed.UNKNOWN, "incomplete")


def test_what_an_application_does_with_the_answer_is_its_own() -> None:
    """The last answer asked for nothing."""
    seen = record(
        agent(),
        chat("say", text("Dear customer"), under="agent", at=(3, 4)),
        tool("store", "save_draft", {"text": "Dear customer"}, under="agent", at=(5, 6)),
    )

    assert ([run.application for run in seen.dispatches], _kinds(seen)) == (["nothing_was_asked"], [])


def test_a_run_beside_those_that_were_asked_for_is_still_unrequested() -> None:
    """The model asked for one, and the runtime ran two."""
    seen = record(
        agent(),
        chat("ask", LOOK, under="agent", at=(1, 2)),
        tool("t", "look", {"a": 1}, call_id="c1", under="agent", at=(3, 4)),
        tool("extra", "drop_tables", {}, under="agent", at=(5, 6)),
        chat("say", text("ok"), under="agent", at=(7, 8)),
    )

    assert _kinds(seen) == [("unrequested", None)]


def test_a_run_behind_an_answer_that_hides_its_calls_is_not_called_the_applications() -> None:
    """The finish reason says that it asked for tools."""
    finish = {"gen_ai.response.finish_reasons": ["tool_calls"]}
    seen = record(
        agent(),
        chat("ask", under="agent", at=(1, 2), extra=finish),
        tool("t", "look", {"a": 1}, under="agent", at=(3, 4)),
    )

    assert (seen.dispatches[0].application, _kinds(seen)) == (None, [])


def test_a_display_name_in_a_react_agents_text_is_a_request() -> None:
    """`Action: Search Orders` runs search_orders."""
    said = text("Thought: I should look.\nAction: Search Orders\nAction Input: {}")
    seen = record(
        agent(),
        chat("ask", said, LOOK, under="agent", at=(1, 2)),
        tool("t", "look", {"a": 1}, call_id="c1", under="agent", at=(3, 4)),
        tool("s", "search_orders", {}, under="agent", at=(3, 4)),
        chat("say", text("ok"), under="agent", at=(7, 8)),
    )

    assert (seen.evidence["requests"], _kinds(seen)) == (Evidence.PARTIAL, [])


# ---- runs again


def test_one_request_that_ran_twice_with_success_is_told() -> None:
    """A runtime that retries what had succeeded does it to the customer twice."""
    seen = record(
        agent(),
        chat("ask", call("refund", {"n": 1}, "c1"), under="agent", at=(1, 2)),
        *(tool(f"t{n}", "refund", {"n": 1}, call_id="c1", under="agent", at=(3 + n, 3.5 + n)) for n in range(2)),
        chat("say", text("ok"), under="agent", at=(9, 10)),
    )

    assert (_kinds(seen), _tools_lane(seen)) == ([("unrequested", "repeated")], "fail")


def test_a_retry_of_what_had_failed_is_no_divergence() -> None:
    """The runtime's or the middleware's retry."""
    failed = tool("t0", "refund", {"n": 1}, None, "c1", under="agent", at=(3, 4), status=StatusCode.ERROR, message="x")
    seen = record(
        agent(),
        chat("ask", call("refund", {"n": 1}, "c1"), under="agent", at=(1, 2)),
        failed,
        tool("t1", "refund", {"n": 1}, call_id="c1", under="agent", at=(5, 6)),
        chat("say", text("ok"), under="agent", at=(9, 10)),
    )

    assert ([run.attempt for run in seen.dispatches], _kinds(seen)) == ([1, 2], [])


def test_a_retry_within_a_tool_that_recovered_leaves_no_error() -> None:
    """The framework's span succeeded; the first of the client's two inside it did not."""
    first = tool("i0", "look", {"a": 1}, None, under="t", at=(4, 5), status=StatusCode.ERROR, message="503")
    seen = record(
        agent(),
        chat("ask", LOOK, under="agent", at=(1, 2)),
        tool("t", "look", {"a": 1}, "fine", "c1", under="agent", at=(3, 9)),
        first,
        tool("i1", "look", {"a": 1}, "fine", under="t", at=(6, 7)),
        chat("say", text("ok"), under="agent", at=(10, 11)),
    )

    (dispatch,) = seen.dispatches
    assert (dispatch.error, dispatch.executed) == (None, Executed.YES)


def test_an_error_of_the_only_layer_inside_is_the_runs() -> None:
    """Frameworks that tell the model of an error end their own span well."""
    inner = tool("i0", "look", {"a": 1}, None, under="t", at=(4, 5), status=StatusCode.ERROR, message="503")
    seen = record(
        agent(),
        chat("ask", LOOK, under="agent", at=(1, 2)),
        tool("t", "look", {"a": 1}, "could not look", "c1", under="agent", at=(3, 9)),
        inner,
    )

    assert seen.dispatches[0].error is not None


def test_a_tool_that_calls_itself_is_no_divergence() -> None:
    """The inner call's result is another; a guard's is passed on."""
    seen = record(
        agent(),
        chat("ask", call("sum_to", {"n": 3}, "c1"), under="agent", at=(1, 2)),
        tool("t", "sum_to", {"n": 3}, "6", "c1", under="agent", at=(3, 9)),
        tool("i", "sum_to", {"n": 2}, "3", under="t", at=(4, 8)),
        chat("say", text("6"), under="agent", at=(10, 11)),
    )

    assert _kinds(seen) == []


# ---- agents side by side


@pytest.mark.parametrize("ids", [None, "call_0"])
def test_a_call_of_one_sub_agent_is_not_answered_by_another_ones_run(ids: str | None) -> None:
    """A's call was dropped and B's ran twice: equal calls, without ids or with ids counted in each agent."""
    spans = [agent()]
    for name, runs in (("A", 0), ("B", 2)):
        spans += [
            agent(name, under="agent", at=(1, 60)),
            chat(f"ask {name}", call("look", {"a": 1}, ids), under=name, at=(2, 3)),
            tool(f"other {name}", "other", {}, None, under=name, at=(4, 5)),
            *(tool(f"{name}{n}", "look", {"a": 1}, None, ids, under=name, at=(6 + n, 6.5 + n)) for n in range(runs)),
            chat(f"say {name}", text("ok"), under=name, at=(30, 31)),
        ]

    assert Outcome.DISPATCHED not in {one.outcome for one in record(*spans).requests if one.span_id == _id("ask A")}


def test_a_hundred_sub_agents_each_answer_their_own() -> None:
    """More than are near in time."""
    names = [f"agent {n}" for n in range(100)]
    seen = record(
        agent(),
        *(agent(name, under="agent", at=(1, 90)) for name in names),
        *(chat(f"ask {name}", call("look", {}, None), under=name, at=(2, 5)) for name in names),
        *(tool(f"run {name}", "look", {}, under=name, at=(10, 11)) for name in names),
        *(chat(f"say {name}", text("ok"), under=name, at=(20, 21)) for name in names),
    )

    pairs = {(run.span_id, seen.requests[run.request].span_id) for run in seen.dispatches if run.request is not None}
    assert pairs == {(_id(f"run {name}"), _id(f"ask {name}")) for name in names}
    assert _kinds(seen) == []


def _id(label: str) -> str:
    return span(label).span_id.hex()


# ---- clocks


@pytest.mark.parametrize("start", [0, 0.5])
def test_a_tools_host_with_another_clock_answers_the_only_call_that_it_can(start: float) -> None:
    """Its span has no start, or one before the model had asked."""
    run = _elsewhere(tool("t", "look", {"a": 1}, under="agent", at=(start, 1)))
    seen = record(
        agent(),
        chat("ask", call("look", {"a": 1}, None), under="agent", at=(1.9, 3)),
        run,
        chat("say", text("ok"), under="agent", at=(5, 6)),
    )

    assert (seen.requests[0].outcome, seen.dispatches[0].match_rule, _kinds(seen)) == (Outcome.DISPATCHED, "R5", [])


def test_a_strange_clock_and_two_calls_that_are_alike_is_doubt() -> None:
    """One run, two requests: nobody knows which one it was."""
    run = _elsewhere(tool("t", "look", {"a": 1}, under="agent", at=(0, 1)))
    seen = record(
        agent(),
        chat("ask", call("look", {"a": 1}, None), call("look", {"a": 1}, None), under="agent", at=(3, 4)),
        run,
        chat("say", text("ok"), under="agent", at=(5, 6)),
    )

    assert ([request.outcome for request in seen.requests], _kinds(seen)) == ([Outcome.UNKNOWN] * 2, [])


def test_a_run_of_the_same_process_before_the_request_does_not_answer_it() -> None:
    """A look-up made ahead; the model's own call was dropped, or answered out of a cache: unknown, and no pass."""
    seen = record(
        agent(),
        tool("fetch", "look", {"a": 1}, under="agent", at=(1, 2)),
        chat("ask", LOOK, under="agent", at=(10, 11)),
        chat("say", text("ok"), under="agent", at=(20, 21)),
    )

    assert (seen.requests[0].outcome, _kinds(seen)) == (Outcome.UNKNOWN, [])
    assert _tools_lane(seen) == "incomplete"


# ---- caches, queues, background work, streaming


def test_a_result_out_of_a_cache_without_a_run_is_unknown() -> None:
    """The model was shown a genuine result, and nothing ran."""
    other = call("other", {}, "c2")
    seen = record(
        agent(),
        chat("ask", LOOK, other, inputs=[USER], under="agent", at=(1, 2)),
        tool("t", "other", {}, call_id="c2", under="agent", at=(3, 4)),
        chat(
            "say",
            text("ok"),
            inputs=[USER, asking(LOOK, other), answered("c1", "21 degrees"), answered("c2", "fine")],
            under="agent",
            at=(5, 6),
        ),
    )

    assert ([request.outcome for request in seen.requests], _kinds(seen)) == ([Outcome.UNKNOWN, Outcome.DISPATCHED], [])
    assert _tools_lane(seen) == "incomplete"


def test_a_background_task_whose_root_ended_first_answers_its_request() -> None:
    """The agent went on; the tool ended after everything else."""
    seen = record(
        agent(at=(0, 20)),
        chat("ask", LOOK, under="agent", at=(1, 2)),
        chat("say", text("started"), under="agent", at=(5, 6)),
        tool("t", "look", {"a": 1}, call_id="c1", under="agent", at=(3, 90)),
    )

    assert (seen.requests[0].outcome, _kinds(seen)) == (Outcome.DISPATCHED, [])


def test_a_tool_that_starts_while_the_model_still_streams_answers_it() -> None:
    """Eager dispatch, as soon as the arguments are whole."""
    seen = record(
        agent(),
        chat("ask", call("look", {"a": 1}, None), under="agent", at=(1, 9)),
        tool("t", "look", {"a": 1}, under="agent", at=(5, 6)),
        chat("say", text("ok"), under="agent", at=(10, 11)),
    )

    assert (seen.requests[0].outcome, seen.dispatches[0].match_rule) == (Outcome.DISPATCHED, "R5")


@pytest.mark.parametrize(
    "written",
    ['"{\\"a\\": 1}"', '{"a": 1, "b": null}', '{"a": 1, "note": "one\ntwo"}', '{"a": 1, "city": "Zu\u0308rich"}'],
)
def test_arguments_that_only_the_writing_tells_apart_are_one_call(written: str) -> None:
    """JSON in JSON, null for nothing, a raw line end, and a letter composed of two."""
    plain = (
        {"a": 1, "note": "one\ntwo"}
        if "note" in written
        else {"a": 1, "city": "Z\u00fcrich"}
        if "city" in written
        else {"a": 1}
    )
    seen = record(
        oi("root", "CHAIN", at=(0, 90)),
        oi_llm("ask", ("look", written, None), ("look", '{"a": 2}', None), under="root", at=(1, 2)),
        tool("t2", "look", {"a": 2}, under="root", at=(3, 4)),
        tool("t1", "look", plain, under="root", at=(5, 6)),
        oi_llm("say", content="ok", under="root", at=(7, 8)),
    )

    assert ([request.outcome for request in seen.requests], _kinds(seen)) == ([Outcome.DISPATCHED] * 2, [])


def test_defaults_that_a_framework_fills_in_do_not_mix_up_parallel_calls() -> None:
    """Two calls of one tool, which end in another order and show more than was asked for."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string", "default": "C"}}}
    offered = {"gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "look", "parameters": schema}])}
    asked = [call("look", {"city": city}, None) for city in ("Rome", "Oslo")]
    seen = record(
        agent(),
        chat("ask", *asked, under="agent", at=(1, 2), extra=offered),
        tool("o", "look", {"city": "Oslo", "unit": "C"}, under="agent", at=(3, 4)),
        tool("r", "look", {"city": "Rome", "unit": "C"}, under="agent", at=(3.5, 4)),
        chat("say", text("ok"), under="agent", at=(7, 8)),
    )

    assert ([run.request for run in seen.dispatches], _kinds(seen)) == ([1, 0], [])


@pytest.mark.parametrize(
    ("result", "outcome", "kinds"),
    [
        ("User denied tool execution", Outcome.BLOCKED, [("not_dispatched", "blocked")]),
        ("Error: look is not a valid tool, try one of [f].", Outcome.INVALID, [("not_dispatched", "invalid")]),
        ({"content": [{"type": "text", "text": "Blocked by policy."}], "isError": True}, Outcome.BLOCKED, [("not_dispatched", "blocked")]),
        ({"status": "failed", "job": 7}, Outcome.DISPATCHED, []),
        ("The account was blocked by an administrator.", Outcome.DISPATCHED, []),
    ],
)  # fmt: skip
def test_what_stands_as_a_result_under_a_span_that_succeeded(
    result: Any, outcome: Outcome, kinds: list[tuple[str, str]]
) -> None:
    """A refusal is one in any form; a tool's own data is none."""
    seen = record(
        agent(),
        chat("ask", LOOK, under="agent", at=(1, 2)),
        tool("t", "look", {"a": 1}, result, "c1", under="agent", at=(3, 4)),
        chat("say", text("ok"), under="agent", at=(7, 8)),
    )

    assert (seen.requests[0].outcome, _kinds(seen)) == (outcome, kinds)
    assert judge_lanes(seen, find_divergences(seen))[Lane.OUTCOME].status != "fail"
