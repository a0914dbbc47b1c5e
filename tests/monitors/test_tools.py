"""The registry: names that are one tool's, contracts in comparison, owners, failures in results, what is learned."""

from typing import Any

import pytest
from lanewatch.adapters.artifact_messages import Artifact
from lanewatch.adapters.records import ErrorInfo, Executed
from lanewatch.monitors.artifact_divergence import compare_artifact
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome
from lanewatch.monitors.contracts import Contract, Rule, place_of
from lanewatch.monitors.divergence import find_divergences
from lanewatch.monitors.tools import UNREGISTERED, ErrorShape, Registry, Source, Tool, with_error_shapes

from tests.monitors.records import dispatch, record, request


def contract(**rules: Rule) -> Contract:
    """Rules for arguments of the top."""
    return Contract({(key,): rule for key, rule in rules.items()})


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("cancel_sub", "cancel_subscription", True),
        ("Cancel-Sub", "crm.cancel_subscription", True),
        ("shop-refund", "refund", True),
        ("shop-refund", "billing-refund", False),
        ("send", "mail.send", False),  # two entries, however alike
        ("other", "cancel_sub", False),
        ("unknown", "un_known", True),
    ],
)
def test_names_of_one_entry_are_one_tool(a: str, b: str, same: bool) -> None:
    """Aliases join names, and entries keep names apart that look alike."""
    registry = Registry(
        [Tool("cancel_subscription", ("cancel_sub",)), Tool("refund"), Tool("send"), Tool("mail.send")],
    )

    assert registry.same(a, b) is registry.same(b, a) is same


def test_an_alias_that_ran_is_no_divergence() -> None:
    """Asked by one name and run by the other, as the registry says it may."""
    seen = record(requests=(request("cancel_sub"),), dispatches=(dispatch("cancel_subscription"),))

    assert [found.kind for found in find_divergences(seen)] == ["name"]
    assert find_divergences(seen, Registry([Tool("cancel_subscription", ("cancel_sub",))])) == ()


def test_a_contract_excuses_only_what_it_names() -> None:
    """A volatile argument and a spelling; a third difference is told still."""
    asked, ran = {"at": 1, "day": "2026-01-02", "n": 1}, {"at": 2, "day": "20260102", "n": 2}
    seen = record(requests=(request(arguments=asked),), dispatches=(dispatch(arguments=ran),))
    registry = Registry([Tool("refund", contract=contract(at=Rule.VOLATILE, day=Rule.ISO_DATE))])

    assert [found.path for found in find_divergences(seen)] == ["$.at"]
    assert [found.path for found in find_divergences(seen, registry)] == ["$.n"]
    assert [found.path for found in find_divergences(seen, Registry([Tool("other")]))] == ["$.at"]


def test_the_contract_of_an_alias_is_the_tool_s() -> None:
    """Whichever name the run has."""
    seen = record(requests=(request("pay", {"t": 1}),), dispatches=(dispatch("pay_v2", {"t": 2}),))

    assert find_divergences(seen, Registry([Tool("pay", ("pay_v2",), contract=contract(t=Rule.VOLATILE))])) == ()


def test_an_echo_of_a_volatile_argument_is_none_and_others_are_the_owner_s() -> None:
    """The tool's owner answers for what its result says."""
    run = dispatch(arguments={"amount": 100, "seq": 5}, result={"amount": 50, "seq": 6})
    registry = Registry([Tool("refund", owner="payments", contract=contract(seq=Rule.VOLATILE))])
    found = find_divergences(record(requests=(request(arguments=run.arguments),), dispatches=(run,)), registry)

    assert [(one.path, one.owner) for one in found] == [("$.amount", "payments")]


@pytest.mark.parametrize(
    ("name", "arguments", "kinds"),
    [
        ("refund", {"n": 1, "t": 1}, []),
        ("refund", {"n": 1, "t": 7}, []),
        ("pay_back", {"n": 1, "t": 7}, []),
        ("refund", {"n": 2, "t": 7}, ["arguments"]),
    ],
)
def test_an_artifact_is_compared_by_the_same_contract(name: str, arguments: Any, kinds: list[str]) -> None:
    """An adapter that tells a volatile argument otherwise, or an alias, changed nothing that counts."""
    seen = record(requests=(request(arguments={"n": 1, "t": 1}),), dispatches=(dispatch(arguments={"n": 1, "t": 1}),))
    call = {"name": name, "args": arguments}
    message = {"type": "ai", "content": "", "metadata": {"tool_call_ids": ["call_1"]}, "tool_calls": [call]}
    result = {"type": "tool", "content": '{"ok": true}', "metadata": {"tool_call_id": "call_1"}}
    registry = Registry([Tool("refund", ("pay_back",), contract=contract(t=Rule.VOLATILE))])
    compared = compare_artifact(seen, Artifact("p", "somebody", (message, result)), registry)

    assert [one.kind for one in compared.divergences] == kinds
    assert compared.verdict is (ArtifactOutcome.DIVERGENT if kinds else ArtifactOutcome.EQUAL)


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ({"status": "declined"}, True),
        ('{"status": "declined"}', True),
        ({"status": "ok", "errors": []}, False),
        ({"errors": [{"code": 0}, {"code": 7}]}, True),
        ({"errors": [{"code": 0}]}, False),
        ("declined", False),
        ("[1", False),
        (None, False),
    ],
)
def test_an_error_shape_makes_a_result_a_failure(result: Any, failed: bool) -> None:
    """Only for runs of that tool that report no error yet."""
    shapes = (ErrorShape(("status",), ("declined",)), ErrorShape(("errors", None, "code")))
    registry = Registry([Tool("refund", errors=shapes)])
    runs = (dispatch(result=result), dispatch("other", result=result), dispatch(result=result, executed=Executed.NO))
    judged = with_error_shapes(record(dispatches=runs), registry).dispatches

    assert [run.error for run in judged] == [ErrorInfo("error_shape") if failed else None, None, None]


def test_what_spans_define_is_learned_and_never_overrides_an_entry() -> None:
    """A configured schema first, then the run's own, then what the model was offered."""
    seen = record(tools={"refund": {"title": "offered"}, "mcp__x__send": {"title": "sent"}})
    registry = Registry([Tool("refund", arguments={"title": "configured"})])

    assert registry.schema("refund", seen) == ({"title": "configured"}, Source.CONFIGURED)
    assert UNREGISTERED.schema("refund", seen) == ({"title": "offered"}, Source.LEARNED)
    assert UNREGISTERED.schema("refund", seen, {"title": "own"}) == ({"title": "own"}, Source.LEARNED)
    assert UNREGISTERED.schema("send", seen) == ({"title": "sent"}, Source.LEARNED)
    assert UNREGISTERED.schema("none", seen) is None


def test_the_version_is_the_same_in_every_process() -> None:
    """It goes into records that other processes read."""
    tool = Tool("a", ("b",), {"type": "object"}, contract=Contract({place_of("$.x[*]"): Rule.SET}))

    assert Registry([tool]).version == "16878d9a29c6"
