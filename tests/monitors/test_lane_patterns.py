"""The patterns in which lanes differ, and what only looks alike: each verdict by itself, none made up."""

from collections import Counter
from typing import Any

import pytest
from lanewatch.adapters.records import Disposition, Evidence, Outcome, OutcomeFact
from lanewatch.monitors.divergence import Boundary, find_divergences
from lanewatch.monitors.efficiency import efficiency
from lanewatch.monitors.lanes import judge_lanes
from lanewatch.monitors.policies import Case, Documents, Forbidden, Paths, Policy, Rule, judge_policies
from lanewatch.monitors.readings import readings
from lanewatch.monitors.session_facts import Sessions
from lanewatch.monitors.told_state import Told, told
from lanewatch.monitors.tools import UNREGISTERED
from lanewatch.monitors.verdicts import Lane, Status, Verdict
from msgspec.structs import replace

from tests.monitors.records import dispatch, failure, record, request, retrieval

CALL = {"requests": (request(),), "dispatches": (dispatch(),)}
FOUND = {"retrievals": (retrieval("a policy"),)}


def verdicts(*policies: tuple[Lane, Rule], **fields: Any) -> dict[Lane, Verdict]:
    """The lanes of a record of these fields, under these policies."""
    seen = record(**fields)
    facts = efficiency(seen)
    case = Case(seen, UNREGISTERED, facts, Sessions().add(seen, facts))
    made = tuple(Policy(f"p{i}", "r", lane, "o", rule) for i, (lane, rule) in enumerate(policies))
    return judge_lanes(seen, find_divergences(seen), judge_policies(made, case))


def statuses(found: dict[Lane, Verdict]) -> list[str]:
    """Of retrieval, generation, tools and outcome."""
    return [found[lane].status.value for lane in Lane]


def fact(held: bool | None = True, name: str = "refund", **fields: Any) -> OutcomeFact:
    """An explicit outcome."""
    return OutcomeFact(name, held, **fields)


def test_retrieval_fails_while_tools_pass() -> None:
    """Nothing was found, and the call ran as it was asked for."""
    found = verdicts(**CALL, retrievals=(retrieval(),))

    assert statuses(found) == ["fail", "pass", "pass", "unsupported"]


def test_retrieval_passes_while_tools_fail() -> None:
    """The documents are there, and the call was dropped."""
    found = verdicts(**FOUND, requests=(request(outcome=Outcome.NOT_DISPATCHED),))

    assert statuses(found) == ["pass", "pass", "fail", "unsupported"]


def test_both_pass_while_a_tool_error_fails_the_outcome() -> None:
    """A perfect call whose execution failed: the runtime did what it was asked to."""
    found = verdicts(**FOUND, requests=(request(),), dispatches=(dispatch(error=failure(), result=None),))

    assert statuses(found) == ["pass", "pass", "pass", "fail"]
    assert found[Lane.OUTCOME].reasons == ("tool_error",)


def test_both_pass_while_a_later_reversal_fails_the_outcome() -> None:
    """The refund was there, and was taken back."""
    found = verdicts(**CALL, **FOUND, outcomes=(fact(True, time_ns=1), fact(False, time_ns=2)))

    assert statuses(found) == ["pass", "pass", "pass", "fail"]
    assert found[Lane.OUTCOME].reasons == ("reversed",)


def test_both_pass_while_a_wrong_state_fails_the_outcome() -> None:
    """The tool said "ok", and the state is not what it should be."""
    found = verdicts(**CALL, **FOUND, outcomes=(fact(True, "mail"), fact(False, "refund")))

    assert statuses(found) == ["pass", "pass", "pass", "fail"]
    assert found[Lane.OUTCOME].reasons == ("wrong_state",)


def test_both_fail_independently() -> None:
    """Each with reasons of its own, and neither is the other's."""
    found = verdicts(retrievals=(retrieval(),), requests=(request(outcome=Outcome.BLOCKED),))

    assert statuses(found) == ["fail", "pass", "fail", "unsupported"]
    assert (found[Lane.RETRIEVAL].reasons, found[Lane.TOOLS].reasons) == (
        ("empty_retrieval",),
        ("not_dispatched:blocked",),
    )


def test_what_can_t_be_evaluated_is_incomplete_and_has_no_score() -> None:
    """No zero, no pass, no failure: a count of its own."""
    seen = record(**CALL, **FOUND, evidence=dict.fromkeys(("requests", "retrievals", "responses"), Evidence.REDACTED))
    lanes = judge_lanes(seen, find_divergences(seen))
    counts = Counter(readings(seen, (), lanes))

    assert statuses(lanes) == ["incomplete", "incomplete", "incomplete", "unsupported"]
    assert {
        series[2] for name, series in counts if name == "lanewatch_lane_status" and series[1] != Lane.OUTCOME
    } == {"incomplete"}  # fmt: skip


def test_a_state_that_is_told_to_hold_passes_the_outcome() -> None:
    """The one way to a pass."""
    assert verdicts(**CALL, outcomes=(fact(),))[Lane.OUTCOME] == Verdict(Status.PASS, ("told_state",))


@pytest.mark.parametrize("reason", ["refusal", "tool_error"])
def test_a_state_that_holds_takes_no_failure_back(reason: str) -> None:
    """One right state does not prove that nothing else went wrong."""
    fields: dict[str, Any] = {"outcomes": (fact(),)}
    if reason == "tool_error":
        fields |= {"requests": (request(),), "dispatches": (dispatch(error=failure(), result=None),)}
    else:
        fields["responses"] = (replace(record().responses[0], disposition=Disposition.REFUSED),)

    assert verdicts(**fields)[Lane.OUTCOME] == Verdict(Status.FAIL, (reason,))


def test_half_a_fact_makes_the_outcome_incomplete() -> None:
    """Something was to be told, and what is not known."""
    assert verdicts(outcomes=(fact(None),))[Lane.OUTCOME] == Verdict(Status.INCOMPLETE, ("outcome_unknown",))


# ---- look-alikes


def test_an_allowed_alternative_path_passes_where_a_reference_of_one_way_would_fail() -> None:
    """The composite tool stands for the two; over-fitting the reference would call it wrong."""
    rule = Paths((("authorize", "capture"), ("charge",)))
    runs = {"requests": (request("charge"),), "dispatches": (dispatch("charge"),)}

    assert verdicts((Lane.TOOLS, rule), **runs)[Lane.TOOLS].status is Status.PASS
    assert verdicts((Lane.TOOLS, Paths((("authorize", "capture"),))), **runs)[Lane.TOOLS].status is Status.FAIL


def test_every_entity_in_the_wrong_relation_changes_nothing_in_the_retrieval_lane() -> None:
    """Documents came, and that is all that it says: whether they support the answer it does not claim to know."""
    right = verdicts(retrievals=(retrieval("Alice manages Bob."),))
    wrong = verdicts(retrievals=(retrieval("Bob manages Alice."),))

    assert right[Lane.RETRIEVAL] == wrong[Lane.RETRIEVAL] == Verdict(Status.PASS)
    assert right == wrong


def test_a_required_document_that_is_there_says_nothing_of_its_use() -> None:
    """The policy is kept; the generation lane is as it was."""
    rule = (Lane.RETRIEVAL, Documents(("d0",)))

    assert verdicts(rule, **FOUND) == verdicts(**FOUND)


@pytest.mark.parametrize("held", [True, False])
def test_a_state_of_another_session_proves_nothing_for_or_against_this_one(held: bool) -> None:
    """State that leaked over from elsewhere is told as what it is."""
    found = verdicts(**CALL, session_id="mine", outcomes=(fact(held, session_id="theirs"),))

    assert found[Lane.OUTCOME] == Verdict(Status.INCOMPLETE, ("outcome_of_another_session",))


def test_a_session_that_only_the_fact_names_makes_it_no_stranger() -> None:
    """The trace's own session is not told, and the event stands in this trace."""
    assert verdicts(**CALL, outcomes=(fact(session_id="mine"),))[Lane.OUTCOME].status is Status.PASS


def test_an_identity_without_permission_fails_the_tools_lane_of_a_call_that_is_right_in_all_else() -> None:
    """Asked for, run as asked, and succeeded: for somebody who may not."""
    rule = (Lane.TOOLS, Forbidden(("refund",), unless=("payments:write",)))
    found = verdicts(rule, **CALL, **FOUND, scopes=("payments:read",), outcomes=(fact(),))

    assert statuses(found) == ["pass", "pass", "fail", "pass"]


def test_an_artifact_that_differs_makes_the_tools_lane_incomplete_and_never_fails_it() -> None:
    """The evaluator's input can't be trusted; what ran is another matter."""
    seen = record(**CALL)
    asked = replace(seen.requests[0], arguments={"id": 2})
    (difference,) = find_divergences(replace(seen, requests=(asked,)))
    from_artifact = replace(difference, boundary=Boundary.ARTIFACT)

    assert judge_lanes(seen, (from_artifact,))[Lane.TOOLS] == Verdict(Status.INCOMPLETE, ("artifact_arguments",))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ((), Told()),
        ((fact(),), Told(held=True)),
        ((fact(False, time_ns=2), fact(True, time_ns=1)), Told(wrong=True, reversed=True)),
        ((fact(False, time_ns=1), fact(True, time_ns=2)), Told(held=True)),  # mended
        ((fact(True, time_ns=1), fact(False)), Told(wrong=True, reversed=True)),  # without a time: when it came
        ((fact(True, "a"), fact(False, "b")), Told(wrong=True)),
        ((fact(True, "a"), fact(None, "b")), Told(doubts=("outcome_unknown",))),
    ],
)
def test_of_facts_with_one_name_the_latest_counts(facts: Any, expected: Told) -> None:
    """What held once and does no longer was reversed."""
    assert told(record(), facts) == expected
