"""The artifact boundary, rule by rule: what an artifact must tell, may tell, and must not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.adapters.artifact_messages import Artifact, ArtifactFault, message_dicts
from lanewatch.adapters.identity import same
from lanewatch.adapters.records import Evidence, Executed, IdQuality, Outcome
from lanewatch.monitors.artifact_divergence import compare_artifact
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome
from lanewatch.monitors.divergence import Boundary, Kind
from lanewatch.monitors.lanes import Lane, Status, judge_lanes

from tests.monitors.records import dispatch, failure, record, request


def ai(*calls: tuple[str, Any], ids: list[str] | None = None, content: str = "") -> dict[str, Any]:
    """An AI message that asks for (name, args)."""
    made = [{"name": name, "args": args} for name, args in calls]
    metadata = None if ids is None else {"tool_call_ids": ids}
    return {"type": "ai", "content": content, "metadata": metadata, "tool_calls": made}


def told(content: str, call_id: str | None = None, **metadata: Any) -> dict[str, Any]:
    """A tool message."""
    meta = {"tool_call_id": call_id, **metadata} if call_id else metadata or None
    return {"type": "tool", "content": content, "metadata": meta}


def found(rec: Any, *messages: dict[str, Any], strict: bool = False) -> list[tuple[Any, ...]]:
    """(kind, tool, path, dispatched, artifact) of each difference."""
    compared = compare_artifact(rec, Artifact("p", "owner of p", message_dicts(messages), strict=strict))
    assert all(
        d.boundary is Boundary.ARTIFACT and d.owner == "owner of p" and d.producer == "p" for d in compared.divergences
    )
    return [(d.kind, d.tool, d.path, d.dispatched, d.artifact) for d in compared.divergences]


def calls(*given: tuple[str, Any], turns: list[int] | None = None, **fields: Any) -> Any:
    """A record of calls that were asked for and ran, each in a turn of its own unless `turns` says otherwise."""
    turns = turns if turns is not None else list(range(len(given)))
    return record(
        requests=tuple(request(name, args, call_id=f"c{i}", turn=turns[i]) for i, (name, args) in enumerate(given)),
        dispatches=tuple(
            dispatch(
                name, args, call_id=f"c{i}", request=i, span_id=f"{i:016x}", start_ns=i, end_ns=i + 1, result=f"r{i}"
            )
            for i, (name, args) in enumerate(given)
        ),
        **fields,
    )


ONE = calls(("refund", {"id": 1, "amount": 100}))
TWO = calls(("refund", {"id": 1}), ("mail", {"to": "x"}))


def test_what_ran_told_as_it_ran_is_equal() -> None:
    """Neither ids nor key order are needed for that."""
    assert found(ONE, ai(("refund", {"amount": 100, "id": 1})), told("r0")) == []


@pytest.mark.parametrize("kind", ["requests", "dispatches"])
def test_without_complete_evidence_nobody_is_convicted(kind: str) -> None:
    """What the spans do not show may have happened: incomplete, with the reason, and no difference."""
    rec = calls(("refund", {"id": 1}), evidence={kind: Evidence.PARTIAL})
    compared = compare_artifact(rec, Artifact("p", "o", ()))

    assert (compared.verdict, compared.reason, compared.divergences) == (
        ArtifactOutcome.INCOMPLETE,
        f"{kind}_partial",
        (),
    )


def test_a_lost_call_is_missing_and_its_result_is_not_held_against_it_too() -> None:
    """One fault, one difference."""
    assert found(TWO, ai(("refund", {"id": 1})), told("r0")) == [(Kind.MISSING, "mail", None, {"to": "x"}, None)]


def test_a_call_that_nothing_ran_is_unexpected() -> None:
    """Its arguments are what the artifact says of it."""
    messages = (ai(("refund", {"id": 1, "amount": 100})), told("r0"), ai(("close_account", {"id": 9})))

    assert found(ONE, *messages) == [(Kind.UNEXPECTED, "close_account", None, None, {"id": 9})]


def test_a_changed_argument_is_told_with_its_path_and_both_values() -> None:
    """The first that differs."""
    assert found(ONE, ai(("refund", {"id": 1, "amount": 50})), told("r0")) == [
        (Kind.ARGUMENTS, "refund", "$.amount", 100, 50)
    ]
    assert found(ONE, ai(("refund", {"id": 1})), told("r0")) == [(Kind.ARGUMENTS, "refund", "$.amount", 100, None)]


@pytest.mark.parametrize(("ran", "told_"), [(1, True), (1, "1"), (None, "None"), ("", None), (2**53 + 1, 2**53)])
def test_values_of_other_types_are_other_values(ran: Any, told_: Any) -> None:
    """Ragas' two metrics each take some of these for equal (1 and True, 1 and "1", None and "None")."""
    assert found(calls(("f", {"x": ran})), ai(("f", {"x": told_})), told("r0")) == [
        (Kind.ARGUMENTS, "f", "$.x", ran, told_)
    ]


def test_one_and_one_point_zero_differ_for_a_strict_consumer_alone() -> None:
    """Equal in value, another text: `representation`, only where the consumer compares texts."""
    rec = calls(("f", {"x": [1]}))

    assert found(rec, ai(("f", {"x": [1.0]})), told("r0")) == []
    assert found(rec, ai(("f", {"x": [1.0]})), told("r0"), strict=True) == [
        (Kind.REPRESENTATION, "f", "$.x[0]", 1, 1.0)
    ]


def test_another_name_is_a_name_where_the_arguments_are_the_call_s() -> None:
    """Prefixes and punctuation that frameworks add are the same name."""
    assert found(ONE, ai(("repay", {"id": 1, "amount": 100})), told("r0")) == [
        (Kind.NAME, "refund", None, "refund", "repay")
    ]
    assert found(ONE, ai(("billing.refund", {"id": 1, "amount": 100})), told("r0")) == []


def test_a_retry_that_is_told_once_or_thrice_is_attempts() -> None:
    """The same call again is not missing: it is told another number of times."""
    rec = calls(("f", {"x": 1}), ("f", {"x": 1}))
    once = (ai(("f", {"x": 1})), told("r0"))
    again = (ai(("f", {"x": 1})), told("r1"))

    assert found(rec, *once, *again) == []
    assert [d[:2] for d in found(rec, *once)] == [(Kind.ATTEMPTS, "f")]
    assert [d[:2] for d in found(rec, *once, *again, *again)] == [(Kind.ATTEMPTS, "f")]


def test_a_call_that_the_runtime_tried_twice_may_be_told_once_or_twice() -> None:
    """The model asked once; both ways of telling are true. Three times is not."""
    runs = tuple(dispatch("f", {"x": 1}, call_id="c0", attempt=n, span_id=f"{n}" * 16, result="r0") for n in (1, 2))
    rec = record(requests=(request("f", {"x": 1}, call_id="c0"),), dispatches=runs)
    call = (ai(("f", {"x": 1})), told("r0"))

    assert found(rec, *call) == []
    assert found(rec, *call, *call) == []
    assert [d[:2] for d in found(rec, *call, *call, *call)] == [(Kind.ATTEMPTS, "f")]


@pytest.mark.parametrize("outcome", [Outcome.BLOCKED, Outcome.NOT_DISPATCHED, Outcome.INVALID, Outcome.BY_PROVIDER])
def test_a_call_that_did_not_run_may_be_told_or_left_out(outcome: Outcome) -> None:
    """Where such a call differs first is the dispatch; a producer that tells it otherwise than asked is at fault."""
    rec = record(requests=(request("f", {"x": 1}, call_id="c0", outcome=outcome),))

    assert found(rec, ai(("f", {"x": 1}), ids=["c0"])) == []
    assert found(rec, ai()) == []
    assert [d[:3] for d in found(rec, ai(("f", {"x": 2}), ids=["c0"]))] == [(Kind.ARGUMENTS, "f", "$.x")]


def test_a_call_that_ran_otherwise_than_asked_may_be_told_either_way_and_no_third() -> None:
    """The difference between the two is the runtime's; the path is of the nearer one."""
    rec = record(
        requests=(request("cancel_sub", {"id": 1, "n": 100}, call_id="c0"),),
        dispatches=(dispatch("cancel_subscription", {"id": 1, "n": 50}, call_id="c0", result=None),),
    )

    assert found(rec, ai(("cancel_sub", {"id": 1, "n": 100}))) == []
    assert found(rec, ai(("cancel_subscription", {"id": 1, "n": 50}))) == []
    assert found(rec, ai(("cancel_sub", {"id": 1, "n": 50}))) == []
    assert [d[:3] for d in found(rec, ai(("cancel_sub", {"id": 2, "n": 100})))] == [
        (Kind.ARGUMENTS, "cancel_sub", "$.id")
    ]


def test_a_run_that_nobody_asked_for_may_be_told_or_left_out() -> None:
    """It is a difference at the dispatch already."""
    rec = record(dispatches=(dispatch("f", {"x": 1}, request=None, result=None),))

    assert found(rec, ai(("f", {"x": 1}))) == []
    assert found(rec, ai()) == []


def test_calls_in_another_order_are_one_difference() -> None:
    """With both orders as its values."""
    messages = (ai(("mail", {"to": "x"})), told("r1"), ai(("refund", {"id": 1})), told("r0"))

    assert found(TWO, *messages) == [(Kind.ORDER, "mail", None, ["refund", "mail"], ["mail", "refund"])]


def test_rounds_that_stand_in_one_message_are_an_order() -> None:
    """The model asked for the second knowing the first one's result; told as parallel, that is lost."""
    merged = (ai(("refund", {"id": 1}), ("mail", {"to": "x"})), told("r0"), told("r1"))

    assert [d[:2] for d in found(TWO, *merged)] == [(Kind.ORDER, "mail")]
    assert found(calls(("refund", {"id": 1}), ("mail", {"to": "x"}), turns=[0, 0]), *merged) == []


def test_a_result_is_held_against_what_was_returned_and_what_was_shown() -> None:
    """As JSON, as Python writes it, in text blocks, or bare: all say the same."""
    shown = {"city": "Lisbon", "temp": 21}
    rec = record(
        requests=(request("f", {}, call_id="c0"),),
        dispatches=(dispatch("f", {}, call_id="c0", result=shown),),
    )
    for content in ('{"temp": 21.0, "city": "Lisbon"}', str(shown), ' {"city": "Lisbon", "temp": 21}\n'):
        assert found(rec, ai(("f", {})), told(content)) == []

    assert found(rec, ai(("f", {})), told('{"city": "Lisbon", "temp": 22}')) == [(Kind.RESULT, "f", "$.temp", 21, 22)]
    assert found(rec, ai(("f", {}))) == [(Kind.RESULT, "f", "$", shown, None)]


def test_an_error_s_text_may_be_wrapped() -> None:
    """Every framework wraps it in words of its own."""
    rec = record(
        requests=(request("f", {}, call_id="c0"),),
        dispatches=(dispatch("f", {}, call_id="c0", result=None, error=failure()),),
    )

    assert found(rec, ai(("f", {})), told("Error: upstream timed out. Please fix it.")) == []
    assert [d[0] for d in found(rec, ai(("f", {})), told("sunny"))] == [Kind.RESULT]


def test_a_result_that_nobody_recorded_is_held_against_nothing() -> None:
    """Hidden outputs convict nobody."""
    rec = record(requests=(request("f", {}, call_id="c0"),), dispatches=(dispatch("f", {}, call_id="c0", result=None),))

    assert found(rec, ai(("f", {})), told("anything")) == []


def test_results_without_ids_belong_to_the_calls_in_their_place() -> None:
    """As whoever reads the messages takes them; ids, where there are any, say otherwise."""
    rec = calls(("f", {}), ("g", {}), turns=[0, 0])
    asked = ai(("f", {}), ("g", {}), ids=["c0", "c1"])

    assert found(rec, asked, told("r1", "c1"), told("r0", "c0")) == []
    assert [d[:2] for d in found(rec, ai(("f", {}), ("g", {})), told("r1"), told("r0"))] == [
        (Kind.RESULT, "f"),
        (Kind.RESULT, "g"),
    ]
    assert found(rec, ai(("f", {}), ("g", {})), told("r1")) == [(Kind.RESULT, "f", "$", "r0", None)]


def test_a_result_of_no_call_is_a_difference() -> None:
    """Invented, or of another conversation."""
    assert [
        d[:2]
        for d in found(ONE, ai(("refund", {"id": 1, "amount": 100}), ids=["c0"]), told("r0", "c0"), told("?", "c9"))
    ] == [(Kind.RESULT, "unknown")]


def test_an_artifact_made_from_the_records_of_what_ran_is_told_so() -> None:
    """It would agree whatever the adapter does: that proves nothing."""
    rec = calls(("f", {"x": 1}))
    for metadata in ({"span_id": "0" * 16}, {"provenance": {"span_ids": ["0" * 16]}}):
        message = ai(("f", {"x": 1}))
        message["metadata"] = metadata
        assert [d[0] for d in found(rec, message, told("r0"))] == [Kind.PROVENANCE]
    message["metadata"] = {"span_id": "f" * 16}

    assert found(rec, message, told("r0")) == []


def test_ids_that_can_t_be_trusted_pair_nothing() -> None:
    """`f_0` is made up by an instrumentor and repeats in each turn."""
    rec = record(
        requests=(
            request("f", {"x": 1}, call_id="f_0", call_id_quality=IdQuality.SYNTHETIC, turn=0),
            request("f", {"x": 2}, call_id="f_0", call_id_quality=IdQuality.SYNTHETIC, turn=1),
        ),
        dispatches=(
            dispatch("f", {"x": 1}, call_id="f_0", request=0, result=None),
            dispatch("f", {"x": 2}, call_id="f_0", request=1, result=None),
        ),
    )

    assert found(rec, ai(("f", {"x": 1}), ids=["f_0"]), ai(("f", {"x": 2}), ids=["f_0"])) == []
    assert [d[0] for d in found(rec, ai(("f", {"x": 1}), ids=["f_0"]))] == [Kind.MISSING]


def test_a_run_that_may_not_have_happened_is_not_missing() -> None:
    """Executed no: told or not."""
    rec = record(
        requests=(request("f", {}, call_id="c0", outcome=Outcome.BLOCKED),),
        dispatches=(dispatch("f", {}, call_id="c0", executed=Executed.NO, result="blocked by policy"),),
    )

    assert found(rec, ai()) == []


def test_the_tools_lane_is_incomplete_where_an_artifact_differs_and_fails_where_the_dispatch_does() -> None:
    """What ran as asked did not fail; an evaluator's verdict on it can't be trusted."""
    compared = compare_artifact(ONE, Artifact("p", "o", ()))
    verdict = judge_lanes(ONE, compared.divergences)[Lane.TOOLS]

    assert (verdict.status, verdict.reasons) == (Status.INCOMPLETE, ("artifact_missing",))
    assert judge_lanes(ONE, ())[Lane.TOOLS].status is Status.PASS


@pytest.mark.parametrize(
    ("given_", "place"),
    [
        ("text", "expected a list of messages"),
        ([5], r"messages\[0\]: expected a message"),
        ([{"role": "user", "content": "secret"}], r"messages\[0\].type"),
        ([{"type": "system", "content": "secret"}], r"messages\[0\].type"),
        ([{"type": "human", "content": None}], r"messages\[0\].content: expected text, found null"),
        ([{"type": "human", "content": "", "metadata": 1}], r"messages\[0\].metadata"),
        ([{"type": "ai", "content": "", "tool_calls": {"name": "secret"}}], r"messages\[0\].tool_calls"),
        ([{"type": "ai", "content": "", "tool_calls": [{"args": {}}]}], r"tool_calls\[0\]: expected an object"),
        ([{"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": "{}"}]}], r"tool_calls\[0\].args"),
        ([{"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {1: 2}}]}], r"tool_calls\[0\].args"),
    ],
)
def test_what_are_no_messages_is_told_by_its_place(given_: Any, place: str) -> None:
    """Ragas takes some of these without a word; no value is ever in the text."""
    with pytest.raises(ArtifactFault, match=place) as fault:
        message_dicts(given_)

    assert "secret" not in str(fault.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
CALLS = st.lists(
    st.tuples(st.sampled_from("fgh"), st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=2)), max_size=5
)


@given(CALLS)
def test_what_ran_told_in_order_is_always_equal(ran: list[tuple[str, Any]]) -> None:
    """Whatever the calls, equal ones among them; without ids, results or shortcuts."""
    messages = [one for i, call in enumerate(ran) for one in (ai(call), told(f"r{i}"))]

    assert found(calls(*ran), *messages) == []


@given(CALLS, CALLS)
def test_other_calls_are_never_equal(ran: list[tuple[str, Any]], other: list[tuple[str, Any]]) -> None:
    """An artifact is equal only where it tells as many calls, each the same as the one in its place."""
    messages = [one for i, call in enumerate(other) for one in (ai(call), told(f"r{i}"))]
    equal = found(calls(*ran), *messages) == []

    assert equal == same(ran, other)
