"""Where a request, its dispatch and the result differ first: what is proved, and what is only hidden."""

from typing import Any

import pytest
from lanewatch.adapters.records import Evidence, Executed, Outcome, Shape, ToolKind, TraceRecord
from lanewatch.monitors.divergence import Boundary, Divergence, Kind, find_divergences
from msgspec.structs import replace

from tests.adapters.spans import agent, asking, call, chat, oi, oi_llm, oi_tool, text, tool
from tests.adapters.spans import record as read
from tests.monitors.records import dispatch, record, request


def _found(seen: TraceRecord) -> list[tuple[str, str, str | None]]:
    return [(found.boundary, found.kind, found.path) for found in find_divergences(seen)]


def _one(seen: TraceRecord) -> Divergence:
    (found,) = find_divergences(seen)
    return found


def _pair(asked: Any, ran: Any, **changes: Any) -> TraceRecord:
    return record(requests=(request(arguments=asked),), dispatches=(dispatch(arguments=ran, **changes),))


def test_equal_arguments_are_no_divergence() -> None:
    """Key order and 1 against 1.0 mean nothing."""
    assert _found(_pair({"a": 1, "b": [2]}, {"b": [2.0], "a": 1})) == []


def test_other_arguments_are_told_with_the_first_path() -> None:
    """07: both values, and who owns the difference."""
    found = _one(_pair({"id": "A-7", "amount": 100}, {"id": "A-7", "amount": 50}))

    assert (found.boundary, found.kind, found.path) == (Boundary.DISPATCH, Kind.ARGUMENTS, "$.amount")
    assert (found.requested, found.dispatched, found.owner) == (100, 50, "agent runtime")


def test_another_name_is_told() -> None:
    """06: the runtime resolved an alias."""
    found = _one(record(requests=(request("cancel_sub"),), dispatches=(dispatch("cancel_subscription"),)))

    assert (found.kind, found.requested, found.dispatched) == (Kind.NAME, "cancel_sub", "cancel_subscription")


def test_a_prefix_is_no_other_name() -> None:
    """Frameworks put a plugin's name before the tool's."""
    assert _found(record(requests=(request("shop-refund"),), dispatches=(dispatch("refund"),))) == []


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [(Outcome.NOT_DISPATCHED, "dropped"), (Outcome.BLOCKED, "blocked"), (Outcome.INVALID, "invalid")],
)
def test_a_request_that_did_not_run_is_told_with_the_reason(outcome: Outcome, reason: str) -> None:
    """08 and 14."""
    found = _one(record(requests=(request(outcome=outcome),)))

    assert (found.kind, found.reason, found.requested) == (Kind.NOT_DISPATCHED, reason, {"id": 1})


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.PENDING, Outcome.BY_PROVIDER, Outcome.HANDOFF])
def test_what_is_unknown_open_or_elsewhere_is_no_divergence(outcome: Outcome) -> None:
    """A handoff carries a request on, and a provider runs its own."""
    assert _found(record(requests=(request(outcome=outcome),))) == []


def test_a_run_that_nobody_asked_for_is_told() -> None:
    """Only where the requests are all known."""
    extra = dispatch("drop_tables", request=None, match_rule=None)

    assert _found(record(dispatches=(extra,))) == [("dispatch", "unrequested", None)]


@pytest.mark.parametrize("state", [state for state in Evidence if state is not Evidence.COMPLETE])
def test_hidden_requests_make_no_run_unrequested(state: Evidence) -> None:
    """15b: the request may be what is hidden."""
    extra = dispatch(request=None, match_rule=None)

    assert _found(record(dispatches=(extra,), evidence={"requests": state})) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"executed": Executed.NO},
        {"executed": Executed.UNKNOWN},
        {"inside": 0},
        {"kind": ToolKind.OUTPUT},
        {"kind": ToolKind.HANDOFF},
    ],
)
def test_what_is_no_application_tools_own_run_is_not_unrequested(changes: dict[str, Any]) -> None:
    """A phantom, a tool inside a tool, a final answer, a handoff."""
    first = dispatch()
    extra = dispatch("other", {"x": 2}, request=None, match_rule=None, span_id="cc" * 8, **changes)

    assert _found(record(requests=(request(),), dispatches=(first, extra))) == []


def test_tools_that_run_without_any_model_are_not_unrequested() -> None:
    """An application that calls its tools itself, and no agent."""
    assert _found(read(tool("t", "refund", {"n": 1}))) == []


@pytest.mark.parametrize(
    "changes", [{"arguments_state": "absent"}, {"arguments_state": "redacted"}, {"executed": Executed.UNKNOWN}]
)
def test_hidden_arguments_and_doubtful_runs_are_not_compared(changes: dict[str, Any]) -> None:
    """15c: the evidence says so instead."""
    assert _found(_pair({"a": 1}, {"a": 2}, **changes)) == []


def test_a_text_in_place_of_an_object_is_not_compared() -> None:
    """An attribute limit may have cut it."""
    assert _found(_pair({"a": 1}, '{"a": ', shape=Shape.TEXT)) == []


def test_a_malformed_request_that_ran_repaired_is_told() -> None:
    """14a: LlamaIndex mends cut JSON and calls the tool."""
    asked = replace(request(arguments_raw='{"id": "sub_4'), arguments=None)

    assert _found(record(requests=(asked,), dispatches=(dispatch(arguments={"id": "sub_4"}),))) == [
        ("dispatch", "arguments", "$")
    ]


def test_where_values_may_be_cut_a_shorter_text_is_no_difference() -> None:
    """A length limit cuts both sides, at different places of their values."""
    pair = _pair({"note": "a long note", "n": 1}, {"note": "a long", "n": 2})
    cut = record(requests=pair.requests, dispatches=pair.dispatches, evidence={"requests": Evidence.TRUNCATED})

    assert _found(pair) == [("dispatch", "arguments", "$.note")]
    assert _found(cut) == [("dispatch", "arguments", "$.n")]


@pytest.mark.parametrize("shape", [Shape.BARE, Shape.POSITIONAL])
def test_lossy_arguments_that_match_are_no_divergence(shape: Shape) -> None:
    """Rule R6 held the values equal."""
    assert _found(_pair({"city": "Rome"}, {"city": "Rome"}, shape=shape, match_rule="R6")) == []


def test_a_change_inside_the_frameworks_span_is_told() -> None:
    """The same tool, called on by the application's guard with other arguments."""
    outer, inner = (
        dispatch(arguments={"n": 100}),
        dispatch(arguments={"n": 50}, request=None, inside=0, span_id="cc" * 8),
    )

    assert _found(record(requests=(request(arguments={"n": 100}),), dispatches=(outer, inner))) == [
        ("dispatch", "arguments", "$.n")
    ]


def test_an_alias_inside_the_frameworks_span_is_told() -> None:
    """The only tool inside, with the same arguments and the same result."""
    outer = dispatch("cancel_sub")
    inner = dispatch("cancel_subscription", request=None, inside=0, span_id="cc" * 8)

    assert _found(record(requests=(request("cancel_sub"),), dispatches=(outer, inner))) == [("dispatch", "name", None)]


@pytest.mark.parametrize(
    "inner",
    [
        (dispatch("geocode", result={"lat": 1}, request=None, inside=0, span_id="cc" * 8),),
        (
            dispatch("audit", request=None, inside=0, span_id="cc" * 8),
            dispatch("notify", request=None, inside=0, span_id="dd" * 8),
        ),
        (dispatch("geocode", arguments={"other": 1}, request=None, inside=0, span_id="cc" * 8),),
    ],
)
def test_a_tool_that_calls_other_tools_is_a_composite(inner: tuple[Any, ...]) -> None:
    """Their arguments may be the same by chance."""
    assert _found(record(requests=(request(),), dispatches=(dispatch(), *inner))) == []


def test_a_later_attempt_with_other_arguments_is_told() -> None:
    """A framework's retry that changed the call."""
    attempts = (dispatch(arguments={"n": 1}), dispatch(arguments={"n": 2}, attempt=2, span_id="cc" * 8))

    assert _found(record(requests=(request(arguments={"n": 1}),), dispatches=attempts)) == [
        ("dispatch", "arguments", "$.n")
    ]


def test_an_echo_is_advice_at_the_execution_boundary() -> None:
    """07b: the span shows 100, the result says 50, and the tool's owner is asked."""
    found = _one(_pair({"amount": 100}, {"amount": 100}, result={"amount": 50}))

    assert (found.boundary, found.kind, found.path, found.dispatched) == (
        Boundary.EXECUTION,
        Kind.ECHO,
        "$.amount",
        100,
    )
    assert found.owner == "tool refund"


# ---- whole traces


def test_a_guards_text_is_not_dispatched() -> None:
    """08: a TOOL span with status OK."""
    seen = read(
        agent(),
        chat("ask", call("close_account", {"id": 1}, "c1"), under="agent", at=(1, 2)),
        tool(
            "t",
            "close_account",
            {"id": 1},
            "Blocked by policy: this action was not carried out.",
            call_id="c1",
            under="agent",
            at=(3, 4),
        ),
        chat("say", text("closed"), under="agent", at=(5, 6)),
    )

    assert _found(seen) == [("dispatch", "not_dispatched", None)]


@pytest.mark.parametrize("ran", ["Lisbon", "Porto"])
def test_a_bare_argument_that_was_changed_is_told(ran: str) -> None:
    """openinference-langchain writes the value alone; a middleware changed it."""
    result = {"type": "tool", "data": {"content": "ok", "tool_call_id": "c1", "status": "success"}}
    seen = read(
        oi("root", "CHAIN", at=(0, 9)),
        oi_llm("ask", ("look", '{"city": "Lisbon"}', "c1"), under="root", at=(1, 2)),
        oi_tool("t", "look", ran, result, under="root", at=(3, 4)),
        oi_llm("say", content="ok", under="root", at=(5, 6)),
    )

    assert _found(seen) == ([] if ran == "Lisbon" else [("dispatch", "arguments", "$.city")])


def test_a_code_agents_calls_are_not_unrequested() -> None:
    """Its model asks in a text."""
    seen = read(
        agent(),
        chat("ask", text("```py\nlook(city='Rome')\n```"), under="agent", at=(1, 2)),
        tool("t", "look", {"city": "Rome"}, under="agent", at=(3, 4)),
        chat("say", text("warm"), under="agent", at=(5, 6)),
    )

    assert _found(seen) == []


def test_a_resumed_runs_call_is_not_unrequested() -> None:
    """It was asked for in an earlier trace, before a human approved."""
    seen = read(
        agent(),
        tool("t", "refund", {"n": 1}, call_id="c1", under="agent", at=(1, 2)),
        chat("say", text("done"), inputs=[asking(call("refund", {"n": 1}, "c1"))], under="agent", at=(5, 6)),
    )

    assert _found(seen) == []


def test_sub_agents_side_by_side_are_compared_each_with_their_own() -> None:
    """Their turns overlap; arguments are hidden on one side and ids are missing."""
    spans = [agent()]
    for name, start in (("A", 1), ("B", 2)):
        spans += [
            agent(name, under="agent", at=(start, 60)),
            chat(f"ask {name}", call("look", {"of": name}, None), under=name, at=(start + 1, start + 2)),
            tool(f"run {name}", "look", {"of": f"{name}!"}, under=name, at=(start + 20, start + 21)),
            chat(f"say {name}", text("ok"), under=name, at=(start + 30, start + 31)),
        ]

    assert [(d.requested, d.dispatched) for d in find_divergences(read(*spans))] == [("A", "A!"), ("B", "B!")]


@pytest.mark.parametrize(("asked", "ran"), [({"a": 1, "b": None}, {"a": 1}), ({"a": 1}, {"a": 1, "b": None})])
def test_null_and_nothing_are_no_divergence(asked: Any, ran: Any) -> None:
    """Frameworks fill optional arguments in, or leave nulls out."""
    assert _found(_pair(asked, ran)) == []


@pytest.mark.parametrize(("default", "found"), [(10, []), (20, [("dispatch", "arguments", "$.limit")])])
def test_a_default_of_the_offered_schema_that_was_filled_in_is_no_divergence(default: int, found: list[Any]) -> None:
    """Validators give the function what the model left to it; any other value is somebody's."""
    schema = {"type": "object", "properties": {"a": {}, "limit": {"type": "integer", "default": default}}}
    pair = _pair({"a": 1}, {"a": 1, "limit": 10})

    assert _found(replace(pair, tools={"refund": schema})) == found


def test_a_value_that_is_not_there_is_told_from_null() -> None:
    """In JSON both are null, so the side is named."""
    (lost,) = find_divergences(_pair({"a": 1, "b": 2}, {"a": 1}))
    (nulled,) = find_divergences(_pair({"a": 1, "b": 2}, {"a": 1, "b": None}))

    assert (lost.dispatched, lost.missing) == (None, ("dispatched",))
    assert (nulled.dispatched, nulled.missing) == (None, ())
