"""Policies, kind by kind: kept, broken, not to be told, and not applicable; each fails its own lane alone."""

from collections import Counter
from typing import Any

import pytest
from lanewatch.adapters.facts import Usage
from lanewatch.adapters.records import Document, Evidence, Executed, TraceRecord
from lanewatch.monitors.divergence import find_divergences
from lanewatch.monitors.efficiency import efficiency
from lanewatch.monitors.lanes import judge_lanes
from lanewatch.monitors.policies import (
    Budget,
    CallLimit,
    Case,
    Criticality,
    Documents,
    Finding,
    Forbidden,
    Order,
    Paths,
    Policy,
    Rule,
    Ruling,
    judge_policies,
    part_of,
    session_runs,
)
from lanewatch.monitors.policies.case import Scope
from lanewatch.monitors.rule_readings import known_series, rule_readings
from lanewatch.monitors.session_facts import MAX_RUNS, Sessions
from lanewatch.monitors.tools import UNREGISTERED, Registry, Risk, Tool
from lanewatch.monitors.verdicts import Lane, Status
from msgspec.structs import replace

from tests.monitors.records import dispatch, failure, generation, record, request, retrieval

ABSENT = {"dispatches": Evidence.ABSENT}


def case(seen: TraceRecord, registry: Registry = UNREGISTERED, sessions: Sessions | None = None) -> Case:
    """A trace with its facts."""
    facts = efficiency(seen)
    return Case(seen, registry, facts, (sessions or Sessions()).add(seen, facts))


def ruled(rule: Rule, registry: Registry = UNREGISTERED, **fields: Any) -> tuple[str, str | None]:
    """(status, reason) of a rule on a record of these fields."""
    ruling: Ruling = rule.judge(case(record(**fields), registry))
    return ruling.status.value, ruling.reason


def at(name: str, start: int, end: int, **fields: Any) -> Any:
    """A run of a tool at a time."""
    return dispatch(name, start_ns=start, end_ns=end, span_id=f"{start:016x}", **fields)


def policy(rule: Rule, lane: Lane = Lane.TOOLS, **fields: Any) -> Policy:
    """A policy with this rule."""
    return Policy("p", "what must hold", lane, "somebody", rule, **fields)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"dispatches": (dispatch("drop"),)}, ("fail", "forbidden_tool")),
        ({"dispatches": (dispatch("mcp__db__drop"),)}, ("fail", "forbidden_tool")),
        ({"dispatches": (dispatch("drop", executed=Executed.UNKNOWN),)}, ("incomplete", "run_not_proved")),
        ({"dispatches": (dispatch("drop", executed=Executed.NO),)}, ("pass", None)),
        ({"requests": (request("drop"),), "dispatches": (dispatch("read"),)}, ("pass", None)),
        ({"evidence": ABSENT}, ("incomplete", "dispatches_absent")),
        ({"evidence": {"dispatches": Evidence.REDACTED}}, ("pass", None)),
        ({"complete": False}, ("incomplete", "dispatches_complete")),
        ({"unread": 1}, ("incomplete", "dispatches_complete")),
    ],
)
def test_a_forbidden_tool_that_ran_breaks_the_policy(fields: Any, expected: Any) -> None:
    """A proved run, under any spelling of the name; what was turned down is no breach."""
    assert ruled(Forbidden(("drop",)), **fields) == expected


@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        (("payments:write",), ("pass", None)),
        (("payments:read",), ("fail", "no_permission")),
        ((), ("fail", "no_permission")),
        (None, ("incomplete", "identity_unknown")),
    ],
)
def test_an_identity_without_the_permission_breaks_the_policy(scopes: Any, expected: Any) -> None:
    """A call that is perfect in all else; an identity that no span tells is unknown, not without permission."""
    rule = Forbidden(("refund",), unless=("payments:write",))

    assert ruled(rule, requests=(request(),), dispatches=(dispatch(),), scopes=scopes) == expected
    assert ruled(rule, scopes=scopes) == ("pass", None)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ((at("authorize", 1, 2), at("capture", 3, 4)), ("pass", None)),
        ((at("capture", 3, 4), at("authorize", 5, 6)), ("fail", "out_of_order")),
        ((at("authorize", 1, 5), at("capture", 3, 8)), ("fail", "out_of_order")),  # not ended yet
        ((at("authorize", 1, 2, error=failure()), at("capture", 3, 4)), ("fail", "out_of_order")),
        ((at("authorize", 1, 2, executed=Executed.UNKNOWN), at("capture", 3, 4)), ("incomplete", "order_not_proved")),
        ((at("capture", 3, 4, executed=Executed.UNKNOWN),), ("incomplete", "order_not_proved")),
        ((at("authorize", 1, 2),), ("not_applicable", "not_run")),
        ((at("authorize", 1, 0), at("capture", 3, 4)), ("incomplete", "order_not_proved")),  # no end is told
        ((at("authorize", 1, 2), at("capture", 3, 4), at("capture", 5, 6)), ("pass", None)),
    ],
)
def test_a_tool_runs_only_after_the_one_it_needs(runs: Any, expected: Any) -> None:
    """Authorize before capture."""
    assert ruled(Order("authorize", "capture"), dispatches=runs) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"order": 1}, {"order": 1}, ("pass", None)),
        ({"order": 2}, {"order": 1}, ("fail", "out_of_order")),
        ({}, {"order": 1}, ("incomplete", "order_not_proved")),
    ],
)
def test_another_order_s_authorization_is_none(first: Any, second: Any, expected: Any) -> None:
    """Where the policy names the argument that both must share."""
    runs = (at("authorize", 1, 2, arguments=first), at("capture", 3, 4, arguments=second))

    assert ruled(Order("authorize", "capture", same="order"), dispatches=runs) == expected


def in_session(rule: Order, *turns: tuple[Any, ...], session: str = "a", max_sessions: int = 9) -> list[Any]:
    """(status, reason) of an order on the turns of a session; a turn is its runs, and a text among them names another session."""
    kept = session_runs((policy(rule),), UNREGISTERED)
    sessions, found = Sessions(kept=kept, max_sessions=max_sessions), []
    for number, turn in enumerate(turns):
        runs = tuple(run for run in turn if not isinstance(run, str))
        name = next((run for run in turn if isinstance(run, str)), session)
        evidence = {} if runs else ABSENT
        seen = record(session_id=name, trace_id=f"{number:032x}", dispatches=runs, evidence=evidence)
        ruling = rule.judge(case(seen, sessions=sessions))
        found.append((ruling.status.value, ruling.reason))
    return found


CAPTURE, AUTHORIZE = (
    at("capture", 8, 9, arguments={"id": 1}),
    at("authorize", 1, 2, arguments={"id": 1, "more": "x" * 999}),
)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (((AUTHORIZE,), (CAPTURE,)), ("pass", None)),
        (((AUTHORIZE, "other"), (CAPTURE,)), ("fail", "out_of_order")),
        (((at("authorize", 1, 2, arguments={"id": 2}),), (CAPTURE,)), ("fail", "out_of_order")),
        (((at("authorize", 1, 2, error=failure()),), (CAPTURE,)), ("fail", "out_of_order")),
        (((at("authorize", 9, 10),), (CAPTURE,)), ("fail", "out_of_order")),
        (((at("look", 1, 2),), (CAPTURE,)), ("fail", "out_of_order")),
        (((), (CAPTURE,)), ("incomplete", "order_not_proved")),  # what ran in that turn was not seen
        (((at("authorize", 1, 2, executed=Executed.UNKNOWN),), (CAPTURE,)), ("incomplete", "order_not_proved")),
    ],
)
def test_an_order_of_a_session_looks_back_over_its_turns(turns: Any, expected: Any) -> None:
    """Authorized in one turn, captured in the next; another session's authorization is none, and what was not seen is no breach."""
    assert in_session(Order("authorize", "capture", "id", Scope.SESSION), *turns)[-1] == expected


def test_an_order_of_a_turn_does_not_look_back() -> None:
    """The default is what it was."""
    assert in_session(Order("authorize", "capture"), (AUTHORIZE,), (CAPTURE,))[-1] == ("fail", "out_of_order")


def test_an_order_is_not_broken_by_what_was_forgotten() -> None:
    """Runs beyond those that are kept, and sessions that went, may have held the run that was needed."""
    rule = Order("authorize", "capture", "id", Scope.SESSION)
    others = tuple(at("authorize", 1, 2, arguments={"id": n}) for n in range(100, 100 + MAX_RUNS))

    assert in_session(rule, (AUTHORIZE,), others, (CAPTURE,))[-1] == ("incomplete", "order_not_proved")
    assert in_session(rule, (AUTHORIZE,), (AUTHORIZE, "b"), (CAPTURE,), max_sessions=1)[-1] == (
        "incomplete",
        "order_not_proved",
    )


def test_a_limit_counts_runs_and_names_the_retry_of_a_destructive_call() -> None:
    """Three different refunds are too many; the same one twice is worse, and only where the registry calls it so."""
    rule = CallLimit(("refund",), 1)
    other = (dispatch(), dispatch(arguments={"id": 2}))
    same = (dispatch(), dispatch(error=failure()))
    destructive = Registry([Tool("refund", risk=Risk.DESTRUCTIVE)])

    assert ruled(rule, dispatches=other) == ("fail", "too_many_calls")
    assert ruled(rule, dispatches=same) == ("fail", "too_many_calls")
    assert ruled(rule, destructive, dispatches=same) == ("fail", "destructive_retry")
    assert ruled(rule, destructive, dispatches=other) == ("fail", "too_many_calls")
    assert ruled(rule, dispatches=(dispatch(),)) == ("pass", None)
    assert ruled(rule, dispatches=(dispatch(), dispatch(executed=Executed.UNKNOWN))) == (
        "incomplete",
        "runs_not_proved",
    )
    assert ruled(rule, evidence=ABSENT) == ("incomplete", "dispatches_absent")


def test_a_limit_of_a_session_counts_its_earlier_traces_and_no_other_session_s() -> None:
    """State of one session does not leak into another."""
    sessions, rule = Sessions(), CallLimit(("refund",), 1, Scope.SESSION)
    found = []
    for number, session in enumerate(["a", "b", "a"]):
        seen = record(session_id=session, trace_id=f"{number:032x}", dispatches=(dispatch(),))
        found.append(rule.judge(case(seen, sessions=sessions)).status)

    assert found == [Status.PASS, Status.PASS, Status.FAIL]


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ((at("authorize", 1, 2), at("capture", 3, 4)), ("pass", None)),
        ((at("charge", 1, 2),), ("pass", None)),  # the composite tool does for both
        ((at("capture", 1, 2), at("authorize", 3, 4)), ("fail", "no_path")),
        ((at("charge", 1, 2, error=failure()),), ("fail", "no_path")),
        ((at("authorize", 1, 2),), ("fail", "no_path")),
        ((at("charge", 1, 2, executed=Executed.UNKNOWN),), ("incomplete", "path_not_proved")),
        ((), ("not_applicable", "not_asked_for")),
    ],
)
def test_any_allowed_path_will_do(runs: Any, expected: Any) -> None:
    """A reference that knows one way only would fail the other one that is as good."""
    rule = Paths((("authorize", "capture"), ("charge",)), when=("authorize", "capture", "charge"))

    assert ruled(rule, dispatches=runs) == expected


def _documents(*ids: str | None, end: int = 1) -> Any:
    documents = tuple(Document(rank, one, "text") for rank, one in enumerate(ids))
    return replace(retrieval("x"), documents=documents, end_ns=end)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"retrievals": (_documents("P-104", "P-1"),)}, ("pass", None)),
        ({"retrievals": (_documents("P-1"),)}, ("fail", "document_missing")),
        ({"retrievals": (_documents("P-1", None),)}, ("incomplete", "documents_without_ids")),
        ({"retrievals": (_documents("P-104", end=9),)}, ("fail", "document_missing")),  # too late to decide by
        ({"retrievals": (_documents("P-1"),), "evidence": {"retrievals": Evidence.PARTIAL}},
         ("incomplete", "retrievals_partial")),
        ({}, ("incomplete", "retrievals_absent")),
        ({"evidence": {"retrievals": Evidence.COMPLETE}}, ("incomplete", "no_retrieval_seen")),
        ({"dispatches": ()}, ("not_applicable", "not_run")),
    ],
)  # fmt: skip
def test_a_required_document_must_be_retrieved_before_the_tool_runs(fields: Any, expected: Any) -> None:
    """A refund is decided by policy P-104."""
    rule = Documents(("P-104",), when=("refund",))

    assert ruled(rule, **{"dispatches": (at("refund", 5, 6),), **fields}) == expected


@pytest.mark.parametrize(
    ("fact", "at_most", "fields", "expected"),
    [
        ("tokens", 100, {"generations": (generation(usage=Usage(50, 50)),)}, ("pass", None)),
        ("tokens", 99, {"generations": (generation(usage=Usage(50, 50)),)}, ("fail", "too_many_tokens")),
        ("tokens", 99, {"generations": (generation(), generation(usage=Usage(50, 50)))}, ("fail", "too_many_tokens")),
        ("tokens", 100, {"generations": (generation(),)}, ("incomplete", "tokens_unknown")),
        ("dollars", 1, {"generations": (generation(usage=Usage(1, 1)),)}, ("incomplete", "dollars_unknown")),
        ("seconds", 1, {"start_ns": 1, "end_ns": 1_500_000_002}, ("fail", "too_slow")),
        ("tool_calls", 0, {"evidence": ABSENT}, ("incomplete", "tool_calls_unknown")),
        ("repeated_calls", 0, {"dispatches": (dispatch(), dispatch())}, ("fail", "too_many_repeated_calls")),
        ("idle_turns", 0, {"requests": (request(), request(turn=1))}, ("fail", "too_many_idle_turns")),
        ("model_turns", 0, {}, ("fail", "too_many_model_turns")),
    ],
)
def test_a_budget_is_broken_by_what_is_known_and_kept_only_where_all_is(
    fact: str, at_most: float, fields: Any, expected: Any
) -> None:
    """A lower bound above the limit is above it; below it, unknown is no pass."""
    assert ruled(Budget(fact, at_most), **fields) == expected


@pytest.mark.parametrize("lane", list(Lane))
def test_a_broken_policy_fails_its_own_lane_and_no_other(lane: Lane) -> None:
    """Nothing is blended: three of four verdicts are as they were."""
    seen = record(requests=(request(),), dispatches=(dispatch(),), retrievals=(retrieval("a"),))
    before = judge_lanes(seen, find_divergences(seen))
    findings = judge_policies((policy(Forbidden(("refund",)), lane),), case(seen))
    after = judge_lanes(seen, find_divergences(seen), findings)

    assert (after[lane].status, after[lane].reasons) == (Status.FAIL, ("policy:p",))
    assert {one: after[one] for one in Lane if one is not lane} == {one: before[one] for one in Lane if one is not lane}


def test_a_policy_that_can_t_be_told_makes_its_lane_incomplete_and_a_kept_one_changes_nothing() -> None:
    """A failure stays one, whatever else is unknown."""
    seen = record(requests=(request(),), dispatches=(dispatch(executed=Executed.UNKNOWN),))
    unknown = judge_policies((policy(Forbidden(("refund",)), Lane.OUTCOME),), case(seen))
    kept = judge_policies((policy(Forbidden(("other",)), Lane.OUTCOME),), case(seen))

    assert judge_lanes(seen, (), unknown)[Lane.OUTCOME].reasons == ("policy:p",)
    assert judge_lanes(seen, (), unknown)[Lane.OUTCOME].status is Status.INCOMPLETE
    assert judge_lanes(seen, (), kept) == judge_lanes(seen, ())


def test_a_minor_policy_is_counted_and_its_lane_does_not_heed_it() -> None:
    """Advice."""
    seen = record(dispatches=(dispatch(),))
    findings = judge_policies((policy(Forbidden(("refund",)), criticality=Criticality.MINOR),), case(seen))

    assert judge_lanes(seen, (), findings) == judge_lanes(seen, ())
    assert Counter(rule_readings(seen, (), findings))["lanewatch_policy_violations", ("shop", "p", "tools")] == 1


def test_a_breach_of_related_traces_is_told_once_where_it_shows() -> None:
    """A run of an agent that gives a trace for each model call; a budget shows at no span, so the last one has it."""
    seen = record(dispatches=(dispatch(),))
    shown = judge_policies((policy(Forbidden(("refund",))),), case(seen))
    unplaced = judge_policies((policy(Budget("model_turns", 0)),), case(seen))

    assert [one.failed for one in part_of(shown, {"bb" * 8: "ee" * 8}, last=False)] == [True]
    assert [one.failed for one in part_of(shown, {"cc" * 8: "cc" * 8}, last=True)] == [False]
    assert [[one.failed for one in part_of(unplaced, {}, last=last)] for last in (False, True)] == [
        [False],
        [True],
    ]


def test_a_policy_holds_for_the_services_that_it_names() -> None:
    """Elsewhere there is no finding, not a pass."""
    seen = record(dispatches=(dispatch(),))

    assert judge_policies((policy(Forbidden(("refund",)), services=("billing",)),), case(seen)) == ()
    assert judge_policies((policy(Forbidden(("refund",)), services=("shop",)),), case(seen))[0].failed


def test_an_alias_is_the_tool_that_a_policy_names() -> None:
    """A policy can't be got around by another name of the same tool."""
    registry = Registry([Tool("refund", ("issue_money_back",))])

    assert ruled(Forbidden(("refund",)), registry, dispatches=(dispatch("issue_money_back"),))[0] == "fail"


def test_known_series_are_there_from_zero() -> None:
    """An alert on a rate needs the series before the first breach."""
    made = policy(Forbidden(("x",)))

    assert known_series((made,))["lanewatch_policy_violations"] == (("p", "tools"),)
    assert {status for _, _, status in known_series((made,))["lanewatch_policy_checks"]} == {
        "pass", "fail", "incomplete", "not_applicable",
    }  # fmt: skip


def test_a_finding_holds_names_and_no_content() -> None:
    """Arguments, results and texts of the trace are not in it."""
    seen = record(dispatches=(dispatch(arguments={"card": "canary"}, result="canary"),))
    (found,) = judge_policies((policy(Forbidden(("refund",))),), case(seen))

    assert isinstance(found, Finding)
    assert "canary" not in repr(found)


def test_a_policy_costs_time_in_proportion_to_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are compared once each, and no run with each other run."""
    compared: list[tuple[str, str]] = []
    original = Registry.same

    def counted(registry: Registry, a: str, b: str) -> bool:
        compared.append((a, b))
        return original(registry, a, b)

    monkeypatch.setattr(Registry, "same", counted)
    runs = tuple(at("authorize", n, n, arguments={"id": n}) for n in range(1, 2_000)) + tuple(
        at("capture", n + 5_000, n + 5_000, arguments={"id": n}) for n in range(1, 2_000)
    )

    assert ruled(Order("authorize", "capture", same="id"), dispatches=runs) == ("pass", None)
    assert len(compared) == 2
