"""How much the spans show: complete only where nothing is known to be missing."""

import json
from typing import Any

import pytest
from lanewatch.adapters.cuts import is_cut
from lanewatch.adapters.records import TraceRecord
from lanewatch.collector.spans import Span, StatusCode
from msgspec.structs import replace

from tests.adapters.spans import agent, asking, call, chat, log, oi, oi_llm, oi_tool, record, span, text, tool, trace

DOCUMENT = {"input.value": "q", "retrieval.documents.0.document.content": "d"}
HIDDEN = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["tool_calls"]}


def _whole(**changes: Any) -> TraceRecord:
    """A trace that shows everything, with changes to its run."""
    return record(
        agent(),
        chat("ask", call("look", {"a": 1}, "c1"), under="agent", at=(1, 2)),
        tool("t", "look", **{"arguments": {"a": 1}, "call_id": "c1", "under": "agent", "at": (3, 4), **changes}),
        chat("say", text("ok"), under="agent", at=(5, 6)),
    )


def test_a_whole_trace_is_complete() -> None:
    """What it doesn't have is absent."""
    assert _whole().evidence == {
        "requests": "complete",
        "dispatches": "complete",
        "retrievals": "absent",
        "responses": "complete",
    }


def test_a_trace_of_retrieval_alone_says_nothing_of_models() -> None:
    """Absent is not complete."""
    found = record(oi("r", "RETRIEVER", {"input.value": "q", "retrieval.documents.0.document.content": "d"}))

    assert found.evidence == {
        "requests": "absent",
        "dispatches": "absent",
        "retrievals": "complete",
        "responses": "absent",
    }


def test_hidden_outputs_hide_requests_and_answers() -> None:
    """15: the finish reason is the only sign that calls were made."""
    found = record(agent(), span("ask", HIDDEN, under="agent", at=(1, 2)))

    assert (found.evidence["requests"], found.evidence["responses"]) == ("absent", "partial")
    assert found.evidence["dispatches"] == "partial"


def test_outputs_that_end_in_calls_and_show_none_leave_requests_absent() -> None:
    """LangChain's span loses calls with malformed arguments."""
    found = record(chat("ask", text("hm"), extra={"gen_ai.response.finish_reasons": ["tool_call"]}))

    assert found.evidence["requests"] == "absent"


def test_redacted_arguments_are_redacted_evidence() -> None:
    """15c: names can be compared, arguments can't."""
    found = record(
        oi("root", "CHAIN", at=(0, 9)),
        oi_llm("ask", ("look", '{"a": 1}', "c1"), under="root", at=(1, 2)),
        oi_tool("t", "look", "__REDACTED__", "ok", under="root", at=(3, 4)),
        oi_llm("say", content="ok", under="root", at=(5, 6)),
    )

    assert found.evidence["dispatches"] == "redacted"
    assert found.dispatches[0].arguments is None


@pytest.mark.parametrize(("changes", "state"), [({"arguments": None}, "partial"), ({"arguments": '{"a": '}, "partial")])
def test_arguments_that_are_not_shown_or_no_object_are_partial(changes: dict[str, Any], state: str) -> None:
    """Nobody can say with what the tool ran."""
    assert _whole(**changes).evidence["dispatches"] == state


def test_a_doubtful_run_is_partial() -> None:
    """`executed: unknown` and complete evidence exclude each other."""
    assert _whole(result="Declined: card expired").evidence["dispatches"] == "partial"


def test_a_dead_process_leaves_partial_evidence() -> None:
    """17: children without parents; what there is, is recorded."""
    found = record(chat("ask", call("look", {"a": 1}, "c1"), under="lost", at=(1, 2)))

    assert len(found.requests) == 1
    assert (found.requests[0].outcome, found.evidence["dispatches"]) == ("pending", "absent")
    assert found.evidence["requests"] == "partial"


def test_a_process_that_died_may_have_called_its_model_again() -> None:
    """The parent never came, and what the last call asked for has run."""
    found = record(
        chat("ask", call("look", {"a": 1}, "c1"), under="lost", at=(1, 2)),
        tool("run", "look", {"a": 1}, call_id="c1", under="lost", at=(3, 4)),
    )

    assert (found.evidence["requests"], found.evidence["dispatches"]) == ("partial", "partial")


@pytest.mark.parametrize(
    "spans",
    [
        (  # the turn has ended in an answer
            chat("ask", call("look", {"a": 1}, "c1"), under="lost", at=(1, 2)),
            tool("run", "look", {"a": 1}, call_id="c1", under="lost", at=(3, 4)),
            chat("say", text("ok"), under="lost", at=(5, 6)),
        ),
        (  # the agent has ended, and its caller is another service, or lost
            agent(under="lost"),
            chat("ask", call("look", {"a": 1}, "c1"), under="agent", at=(1, 2)),
            tool("run", "look", {"a": 1}, call_id="c1", under="agent", at=(3, 4)),
        ),
        (  # so has the request that a server handled
            replace(span("server", under="lost", at=(0, 9)), relevant=False),
            chat("ask", call("look", {"a": 1}, "c1"), under="server", at=(1, 2)),
        ),
        (  # another span of the same caller goes on
            chat("ask", call("look", {"a": 1}, "c1"), under="first", at=(1, 2)),
            chat("say", text("ok"), under="second", at=(5, 6)),
        ),
    ],
)
def test_a_missing_parent_alone_hides_no_request(spans: tuple[Span, ...]) -> None:
    """Of a distributed application the caller's spans may go elsewhere."""
    assert record(*spans).evidence["requests"] == "complete"


def test_a_lost_span_makes_everything_partial() -> None:
    """A limit of ours, or a span that its convention could not read."""
    found = record(chat("say", text("ok")), complete=False)

    assert (found.evidence["requests"], found.evidence["responses"]) == ("partial", "partial")


@pytest.mark.parametrize(
    ("lossy", "kinds"),
    [
        ("ask", {"requests", "responses"}),
        ("run", {"dispatches"}),
        ("search", {"retrievals"}),
        ("agent", {"requests", "dispatches", "retrievals", "responses"}),  # a step: its kind may be what was dropped
        ("unread", {"requests", "dispatches", "retrievals", "responses"}),
    ],
)
def test_dropped_attributes_count_against_what_their_span_can_carry(lossy: str, kinds: set[str]) -> None:
    """Nobody knows which they were, but a tool's span takes no answer of a model with it."""
    found = record(
        agent(dropped=int(lossy == "agent")),
        chat("ask", call("look", {"a": 1}, "c1"), under="agent", at=(1, 2), dropped=int(lossy == "ask")),
        tool("run", "look", {"a": 1}, call_id="c1", under="agent", at=(3, 4), dropped=int(lossy == "run")),
        oi("search", "RETRIEVER", DOCUMENT, under="agent", at=(5, 6), dropped=int(lossy == "search")),
        span("unread", {"other": 1}, under="agent", at=(6, 7), dropped=int(lossy == "unread")),
        chat("say", text("ok"), under="agent", at=(8, 9)),
    )

    assert {kind for kind, state in found.evidence.items() if state == "truncated"} == kinds
    assert set(found.evidence.values()) <= {"truncated", "complete"}


def test_attributes_that_a_log_record_lost_count_as_its_span_s() -> None:
    """Google ADK keeps a model call's content in logs."""
    lossy = replace(log("say", "gen_ai.choice"), dropped_attributes=2)
    found = record(chat("say", text("ok")), logs=(lossy,))

    assert (found.evidence["requests"], found.evidence["responses"]) == ("truncated", "truncated")


HALF = {"card": "[REDACTED]", "amount": 3}


@pytest.mark.parametrize(
    ("asked", "ran", "states"),
    [
        (HALF, HALF, ("redacted", "redacted")),
        ({"card": "4111", "amount": 3}, HALF, ("complete", "redacted")),
        (HALF, {"card": "4111", "amount": 3}, ("redacted", "complete")),
        ({"of": [{"card": "__REDACTED__"}]}, {"of": [{"card": "4111"}]}, ("redacted", "complete")),
    ],
)
def test_arguments_with_a_hidden_value_are_redacted_evidence_of_their_side(
    asked: dict[str, Any], ran: dict[str, Any], states: tuple[str, str]
) -> None:
    """The names and the other values are still there to compare."""
    found = record(
        agent(),
        chat("ask", call("pay", asked, "c1"), under="agent", at=(1, 2)),
        tool("run", "pay", ran, call_id="c1", under="agent", at=(3, 4)),
        chat("say", text("ok"), under="agent", at=(5, 6)),
    )

    assert (found.evidence["requests"], found.evidence["dispatches"]) == states
    assert found.evidence["responses"] == "complete"
    assert (found.requests[0].arguments, found.dispatches[0].arguments) == (asked, ran)
    assert found.shows("requests")
    assert found.shows("dispatches")


@pytest.mark.parametrize(
    ("finish", "requests"), [({"gen_ai.response.finish_reasons": ["stop"]}, "complete"), ({}, "redacted")]
)
def test_a_hidden_text_hides_the_answer_and_no_call(finish: dict[str, Any], requests: str) -> None:
    """An output that says that it stopped asked for nothing; one that says nothing may have been more than a text."""
    found = _said(text("[REDACTED]"), extra=finish)

    assert (found.evidence["responses"], found.evidence["requests"]) == ("redacted", requests)
    assert [response.text for response in found.responses] == [None]


def test_an_answer_of_which_one_text_is_hidden_is_redacted() -> None:
    """What is left of it is not what the model said."""
    found = _said(text("Your code is "), text("[REDACTED]"))

    assert found.evidence["responses"] == "redacted"


def test_a_run_after_a_hidden_text_may_have_been_asked_for_in_it() -> None:
    """ReAct loops are driven by text."""
    found = record(
        agent(),
        chat("ask", text("[REDACTED]"), under="agent", at=(1, 2)),
        tool("run", "look", {"a": 1}, under="agent", at=(3, 4)),
        chat("say", text("ok"), under="agent", at=(5, 6)),
    )

    assert found.evidence["requests"] == "partial"


def _said(*parts: dict[str, Any], **how: Any) -> TraceRecord:
    """A trace whose answer has these parts, after one call."""
    return record(
        agent(),
        chat("ask", call("look", {"a": 1}, "c1"), under="agent", at=(1, 2)),
        tool("run", "look", {"a": 1}, call_id="c1", under="agent", at=(3, 4)),
        chat("say", *parts, under="agent", at=(5, 6), **how),
    )


def test_values_that_were_cut_at_one_length_make_everything_truncated() -> None:
    """OTLP leaves no sign on them, but that they all end alike."""
    messages = json.dumps([{"role": "user", "content": "x " * 200}])
    spans = [
        oi_llm(name, content=f"{name} " + "word " * 100, extra={"input.value": messages}, at=(n, n + 1))
        for n, name in enumerate("ab")
    ]
    cut = [
        span(one.name, {k: v[:200] if isinstance(v, str) else v for k, v in one.attributes.items()}, at=(n, n + 1))
        for n, one in enumerate(spans)
    ]

    assert not is_cut(trace(*spans))
    assert is_cut(trace(*cut))
    assert record(*cut).evidence["responses"] == "truncated"


def test_equal_lengths_alone_prove_no_cut() -> None:
    """Hashes, and the same text twice."""
    hashes = [span(n, {"a": n * 200}, at=(1, 2)) for n in "abcd"]
    same = [span(n, {"a": "word " * 100}, at=(1, 2)) for n in "abcd"]

    assert not is_cut(trace(*hashes))
    assert not is_cut(trace(*same))


def test_a_failed_model_call_hides_nothing() -> None:
    """A retry follows; what failed has no output."""
    failed = span(
        "a", {"gen_ai.operation.name": "chat"}, at=(1, 2), status=StatusCode.ERROR, message="429", under="agent"
    )
    found = record(agent(), failed, chat("b", text("ok"), under="agent", at=(3, 4)))

    assert (found.evidence["requests"], found.evidence["responses"]) == ("complete", "complete")


@pytest.mark.parametrize(
    "said",
    ['weather_lookup(city="Rome")', "Action: weather_lookup\nAction Input: Rome", '{"action": "weather_lookup"}'],
)
def test_a_run_that_a_text_asked_for_makes_requests_partial(said: str) -> None:
    """Code agents and ReAct loops are driven by text: no call is shown, and none is missing."""
    found = record(
        agent(),
        chat("ask", text(said), under="agent", at=(1, 2)),
        tool("t", "weather_lookup", {"city": "Rome"}, under="agent", at=(3, 4)),
        chat("say", text("warm"), under="agent", at=(5, 6)),
    )

    assert found.evidence["requests"] == "partial"


def test_a_run_that_an_earlier_trace_asked_for_makes_requests_partial() -> None:
    """A human approved it, and the run was resumed in a trace of its own."""
    history = [asking(call("refund", {"n": 1}, "c1"))]
    found = record(
        agent(),
        tool("t", "refund", {"n": 1}, under="agent", at=(1, 2)),
        chat("say", text("ok"), inputs=history, under="agent", at=(5, 6)),
    )

    assert found.evidence["requests"] == "partial"


def test_a_run_of_an_agent_whose_model_is_not_shown_makes_requests_partial() -> None:
    """Some instrumentors emit no span for a model that they don't know."""
    found = record(
        agent(),
        chat("ask", text("go"), under="agent", at=(1, 2)),
        agent("helper", under="agent", at=(3, 9)),
        tool("t", "refund", {"n": 1}, under="helper", at=(4, 5)),
    )

    assert found.evidence["requests"] == "partial"


def test_a_run_that_nobody_asked_for_leaves_requests_complete() -> None:
    """Then it may be called unrequested."""
    found = record(
        agent(),
        chat("say", text("hello"), under="agent", at=(1, 2)),
        tool("t", "refund", {"n": 1}, under="agent", at=(3, 4)),
    )

    assert found.evidence["requests"] == "complete"


def _ran(arguments: dict[str, Any], schema: dict[str, Any], *, offered: bool = True) -> str:
    """What is known of a run with these arguments of a tool with this schema, told by the model's span or the run's."""
    tools = [{"type": "function", "name": "look", "parameters": schema}]
    extra = {"gen_ai.tool.definitions": json.dumps(tools)} if offered else {}
    where: dict[str, Any] = {"under": "agent", "at": (3, 4)}
    shown = {"tool.parameters": json.dumps(schema)}
    run = oi_tool("t", "look", arguments, "fine", extra=shown, **where)
    found = record(agent(), chat("ask", call("look", arguments, "c1"), under="agent", at=(1, 2), extra=extra), run)
    return found.evidence["dispatches"]


@pytest.mark.parametrize("offered", [True, False])
@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        ({"n": 2, "city": "Rome"}, "complete"),
        ({"n": "2", "city": "Rome"}, "partial"),  # a lax validator hands on 2
        ({"n": 2, "city": 7}, "partial"),
        ({"n": 2, "city": "Rome", "force": True}, "partial"),  # no parameter takes it
        ({"n": 2.0}, "complete"),
        ({"n": None}, "complete"),
    ],
)
def test_arguments_that_a_runtime_changes_before_the_body_are_not_surely_those_that_it_got(
    *, arguments: dict[str, Any], state: str, offered: bool
) -> None:
    """The span shows what the model wrote; the body got what the framework made of it."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "city": {"type": "string"}}}

    assert _ran(arguments, schema, offered=offered) == state


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"properties": {"n": {}}, "additionalProperties": True},
        {"properties": {"n": {"type": ["integer", "string"]}}},
    ],
)
def test_a_schema_that_leaves_arguments_open_says_nothing_of_them(schema: dict[str, Any]) -> None:
    """Only what is declared otherwise is in doubt."""
    assert _ran({"n": "2", **({"force": 1} if schema.get("additionalProperties") else {})}, schema) == "complete"
