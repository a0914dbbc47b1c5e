"""Which run answers which request: each rule, and what no rule may join. Whole traces, so that turns count too."""

from typing import Any

import pytest
from lanewatch.adapters.records import Outcome, TraceRecord

from tests.adapters.spans import agent, answered, asking, call, chat, oi, oi_llm, oi_tool, record, text, tool, traceloop


def _matches(found: TraceRecord) -> list[tuple[str | None, int | None]]:
    """(rule, request) of each run, in order of start."""
    return [(run.match_rule, run.request) for run in found.dispatches]


def _asked(*calls: dict[str, Any], runs: tuple[Any, ...] = ()) -> TraceRecord:
    """One turn of an agent: a model call that asks, the runs, and an answer."""
    return record(
        agent(),
        chat("ask", *calls, under="agent", at=(1, 2)),
        *runs,
        chat("say", text("ok"), under="agent", at=(90, 91)),
    )


def test_r1_an_equal_id() -> None:
    """Whatever the order of the runs, and whatever the arguments say."""
    found = _asked(
        call("look", {"city": "Rome"}, "c1"),
        call("look", {"city": "Oslo"}, "c2"),
        runs=(
            tool("b", "look", {"city": "Oslo"}, call_id="c2", under="agent", at=(3, 9)),
            tool("a", "look", {"city": "Bern"}, call_id="c1", under="agent", at=(4, 5)),
        ),
    )

    assert _matches(found) == [("R1", 1), ("R1", 0)]


def test_r1_an_equal_id_with_another_name_is_joined_and_said() -> None:
    """The runtime resolved an alias under the call's own id."""
    found = _asked(
        call("cancel_sub", {"id": 1}, "c1"),
        runs=(tool("a", "cancel_subscription", {"id": 1}, call_id="c1", under="agent", at=(3, 4)),),
    )

    assert _matches(found) == [("R1", 0)]


def test_r3_an_id_out_of_a_payload() -> None:
    """OpenLLMetry's LangChain has it inside the arguments, also where the tool raised."""
    dump = '{"input_str": "{}", "inputs": {"city": "Rome"}, "kwargs": {"tool_call_id": "c1"}}'
    run = traceloop(
        "a", "tool", {"gen_ai.tool.name": "look", "gen_ai.tool.call.arguments": dump}, under="agent", at=(3, 4)
    )

    assert _matches(_asked(call("look", {"city": "Rome"}, "c1"), runs=(run,))) == [("R3", 0)]


def test_r4_an_item_id_is_bridged_by_the_next_input() -> None:
    """OpenLLMetry's OpenAI Responses: the output has `fc_1`, the repeated call too, the result and the run `call_1`."""
    asked = call("look", {"city": "Rome"}, "fc_1")
    found = record(
        agent(),
        chat("ask", asked, under="agent", at=(1, 2)),
        tool("a", "look", {"city": "Bern"}, call_id="call_1", under="agent", at=(3, 4)),
        chat("say", text("ok"), inputs=[asking(asked), answered("call_1", "warm")], under="agent", at=(5, 6)),
    )

    assert _matches(found) == [("R1", 0)]
    assert found.requests[0].aliases == ("call_1",)
    assert found.requests[0].observed_result == "warm"


def test_r4_counts_that_disagree_bridge_nothing() -> None:
    """Two calls and one result: nobody knows whose."""
    asked = [call("look", {"n": n}, f"fc_{n}") for n in (1, 2)]
    found = record(
        agent(),
        chat("ask", *asked, under="agent", at=(1, 2)),
        chat("say", text("ok"), inputs=[asking(*asked), answered("call_1", "warm")], under="agent", at=(5, 6)),
    )

    assert [request.aliases for request in found.requests] == [(), ()]


def test_r5_equal_name_and_arguments() -> None:
    """Where runs have no ids; key order and spelling mean nothing."""
    found = _asked(
        call("mail__send", {"to": "a", "n": 1}, "c1"),
        call("mail__send", {"to": "b", "n": 2}, "c2"),
        runs=(
            tool("b", "send", '{"n": 2.0, "to": "b"}', under="agent", at=(3, 4)),
            tool("a", "send", {"n": 1, "to": "a"}, under="agent", at=(5, 6)),
        ),
    )

    assert _matches(found) == [("R5", 1), ("R5", 0)]


def test_r5_identical_parallel_calls_pair_in_order() -> None:
    """They are interchangeable, and each run answers one."""
    same = {"city": "Rome"}
    runs = tuple(tool(f"run {n}", "look", same, under="agent", at=(3 + n, 9)) for n in range(3))
    found = _asked(call("look", same, "c1"), call("look", same, "c2"), call("look", same, "c3"), runs=runs)

    assert _matches(found) == [("R5", 0), ("R5", 1), ("R5", 2)]
    assert {request.outcome for request in found.requests} == {Outcome.DISPATCHED}


def test_r5_malformed_arguments_pair_as_text() -> None:
    """Both sides kept what the model wrote."""
    found = _asked(
        call("look", '{"city": "Ro', "c1"), runs=(tool("a", "look", '{"city": "Ro', under="agent", at=(3, 4)),)
    )

    assert _matches(found) == [("R5", 0)]


def test_r5_prefers_the_own_turn() -> None:
    """The same call asked twice, and the first was never carried out."""
    same = call("look", {"city": "Rome"}, None)
    found = record(
        agent(),
        chat("one", same, under="agent", at=(1, 2)),
        chat("two", same, under="agent", at=(10, 11)),
        tool("a", "look", {"city": "Rome"}, under="agent", at=(12, 13)),
        chat("say", text("ok"), under="agent", at=(20, 21)),
    )

    assert _matches(found) == [("R5", 1)]


def test_r6_a_bare_value_of_the_only_argument() -> None:
    """openinference-langchain writes the value alone; a text that looks like JSON is a text."""
    found = record(
        oi("root", "CHAIN", at=(0, 99)),
        oi_llm("ask", ("save", '{"text": "42"}', "c1"), ("save", '{"text": "true"}', "c2"), under="root", at=(1, 2)),
        oi_tool("b", "save", "true", "ok", under="root", at=(3, 4)),
        oi_tool("a", "save", "42", "ok", under="root", at=(5, 6)),
        oi_llm("say", content="ok", under="root", at=(7, 8)),
    )

    assert _matches(found) == [("R6", 1), ("R6", 0)]
    assert [run.arguments for run in found.dispatches] == [{"text": "true"}, {"text": "42"}]


def test_r7_equal_counts_where_arguments_are_hidden() -> None:
    """Names and ids alone; in order."""
    runs = tuple(tool(f"run {n}", "look", under="agent", at=(3 + n, 9)) for n in range(2))
    found = _asked(call("look", {"n": 1}, "c1"), call("look", {"n": 2}, "c2"), runs=runs)

    assert _matches(found) == [("R7", 0), ("R7", 1)]


def test_r7_counts_that_disagree_match_none() -> None:
    """One of three ran: nobody can say which."""
    found = _asked(
        *(call("look", {"n": n}, f"c{n}") for n in range(3)), runs=(tool("a", "look", under="agent", at=(3, 4)),)
    )

    assert _matches(found) == [(None, None)]
    assert found.evidence["dispatches"] != "complete"


def test_r9_equal_counts_where_arguments_differ() -> None:
    """A guard changed them before the framework called the tool."""
    found = _asked(
        call("refund", {"amount": 100}, "c1"), runs=(tool("a", "refund", {"amount": 50}, under="agent", at=(3, 4)),)
    )

    assert _matches(found) == [("R9", 0)]


def test_r9_counts_that_disagree_match_none() -> None:
    """Two were asked for and one other ran."""
    found = _asked(
        call("refund", {"amount": 100}, "c1"),
        call("refund", {"amount": 200}, "c2"),
        runs=(tool("a", "refund", {"amount": 50}, under="agent", at=(3, 4)),),
    )

    assert _matches(found) == [(None, None)]


def test_r9_counts_the_outermost_of_nested_runs() -> None:
    """A framework's span and the application's own inside it are one answer."""
    found = _asked(
        call("refund", {"amount": 100}, "c1"),
        runs=(
            tool("outer", "refund", {"amount": 50}, under="agent", at=(3, 9)),
            tool("inner", "refund", {"amount": 40}, under="outer", at=(4, 5)),
        ),
    )

    assert _matches(found) == [("R9", 0), (None, None)]


def test_r10_equal_arguments_under_another_name() -> None:
    """An alias: the only request and the only run that are left in a turn."""
    found = _asked(
        call("cancel_sub", {"id": 1}, "c1"),
        runs=(tool("a", "cancel_subscription", {"id": 1}, under="agent", at=(3, 4)),),
    )

    assert _matches(found) == [("R10", 0)]


@pytest.mark.parametrize("arguments", [{}, {"id": 2}])
def test_r10_needs_arguments_that_tell(arguments: dict[str, Any]) -> None:
    """Two calls without arguments are alike by chance."""
    asked = {"id": 1} if arguments else {}
    found = _asked(call("ping", asked, "c1"), runs=(tool("a", "pong", arguments, under="agent", at=(3, 4)),))

    assert _matches(found) == [(None, None)]


def test_another_known_id_forbids_a_weaker_rule() -> None:
    """The run says which call it is, and it is not this one."""
    found = record(
        agent(),
        chat("one", call("look", {"a": 1}, "c1"), under="agent", at=(1, 2)),
        tool("first", "look", {"a": 1}, call_id="c1", under="agent", at=(3, 4)),
        chat("two", call("look", {"a": 1}, "c2"), under="agent", at=(10, 11)),
        tool("again", "look", {"a": 1}, call_id="c1", under="agent", at=(12, 13)),
        chat("say", text("ok"), under="agent", at=(20, 21)),
    )

    assert _matches(found) == [("R1", 0), ("R1", 0)]
    assert [run.attempt for run in found.dispatches] == [1, 2]


def test_an_id_that_no_output_knows_counts_as_none() -> None:
    """An instrumentor's run id must not hinder a match by arguments."""
    found = _asked(
        call("look", {"a": 1}, "c1"), runs=(tool("a", "look", {"a": 1}, call_id="0b5e-uuid", under="agent", at=(3, 4)),)
    )

    assert _matches(found) == [("R5", 0)]


def test_ids_used_again_mean_the_latest_output() -> None:
    """18a: `call_0` in every turn."""
    found = record(
        agent(),
        chat("one", call("look", {"city": "Rome"}, "call_0"), under="agent", at=(1, 2)),
        tool("a", "look", {"city": "Rome"}, call_id="call_0", under="agent", at=(3, 4)),
        chat("two", call("look", {"city": "Oslo"}, "call_0"), under="agent", at=(5, 6)),
        tool("b", "look", {"city": "Oslo"}, call_id="call_0", under="agent", at=(7, 8)),
        chat("say", text("ok"), under="agent", at=(9, 10)),
    )

    assert _matches(found) == [("R1", 0), ("R1", 1)]


def test_ids_used_by_two_agents_mean_the_own_one() -> None:
    """Sub-agents side by side both count from `call_0`."""
    found = record(
        agent(),
        *(agent(name, under="agent", at=(1, 50)) for name in ("A", "B")),
        chat("ask A", call("look", {"of": "A"}, "call_0"), under="A", at=(2, 3)),
        chat("ask B", call("look", {"of": "B"}, "call_0"), under="B", at=(4, 5)),
        tool("run A", "look", {"of": "A"}, call_id="call_0", under="A", at=(6, 7)),
        tool("run B", "look", {"of": "B"}, call_id="call_0", under="B", at=(8, 9)),
        chat("say A", text("ok"), under="A", at=(10, 11)),
        chat("say B", text("ok"), under="B", at=(12, 13)),
    )

    assert [(run.arguments["of"], found.requests[run.request or 0].arguments) for run in found.dispatches] == [
        ("A", {"of": "A"}),
        ("B", {"of": "B"}),
    ]


@pytest.mark.parametrize("call_id", ["", "unknown", None])
def test_empty_ids_are_no_ids(call_id: str | None) -> None:
    """18b: two calls with the same empty id are two calls."""
    found = _asked(
        call("look", {"city": "Rome"}, call_id),
        call("look", {"city": "Oslo"}, call_id),
        runs=(
            tool("b", "look", {"city": "Oslo"}, call_id=call_id, under="agent", at=(3, 4)),
            tool("a", "look", {"city": "Rome"}, call_id=call_id, under="agent", at=(5, 6)),
        ),
    )

    assert _matches(found) == [("R5", 1), ("R5", 0)]


def test_retries_with_one_id_are_attempts_at_one_request() -> None:
    """A framework's retry; a model's retry would be another request."""
    runs = tuple(
        tool(f"run {n}", "look", {"a": 1}, call_id="c1", under="agent", at=(3 + 2 * n, 4 + 2 * n)) for n in range(3)
    )
    found = _asked(call("look", {"a": 1}, "c1"), runs=runs)

    assert [(run.request, run.attempt) for run in found.dispatches] == [(0, 1), (0, 2), (0, 3)]
    assert len(found.requests) == 1


def test_a_tool_that_starts_before_the_stream_ends_is_paired() -> None:
    """13: the runtime acts on the first complete call."""
    found = record(
        agent(),
        chat("ask", call("look", {"a": 1}, None), under="agent", at=(1, 20)),
        tool("a", "look", {"a": 1}, under="agent", at=(10, 15)),
        chat("say", text("ok"), under="agent", at=(30, 31)),
    )

    assert _matches(found) == [("R5", 0)]


def test_a_run_before_its_request_is_not_paired() -> None:
    """An answer can't come before the question."""
    found = record(
        agent(),
        tool("a", "look", {"a": 1}, under="agent", at=(1, 2)),
        chat("ask", call("look", {"a": 1}, "c1"), under="agent", at=(10, 11)),
        chat("say", text("ok"), under="agent", at=(20, 21)),
    )

    assert _matches(found) == [(None, None)]
