"""What is handed over of a trace, to whom, and that nothing sensitive is in it."""

from typing import Any

import msgspec
import pytest
from lanewatch.adapters.facts import ErrorInfo
from lanewatch.adapters.records import Evidence, Outcome
from lanewatch.handoffs.handoff import CUT, Handoff, decoder, hand_over, line_of
from lanewatch.monitors.contracts import place_of
from lanewatch.monitors.divergence import find_divergences
from lanewatch.monitors.lanes import Lane, Status, judge_lanes
from lanewatch.monitors.policies import Finding, Forbidden, Policy, Ruling
from lanewatch.monitors.redaction.redactor import Redactor
from lanewatch.monitors.redaction.tokens import key_of, token
from lanewatch.monitors.tools import UNREGISTERED, Registry, Tool
from lanewatch.observation import Observation
from lanewatch.rules import NO_RULES, Rules

from tests.monitors.records import answer, dispatch, record, request, retrieval

KEY = key_of(b"0123456789abcdef-one")
REGISTRY = Registry([Tool("pay", owner="payments", sensitive=(place_of("$.cvc"), place_of("$.card.holder")))])
CALL_ID = "call_1"


def observed(**fields: Any) -> Observation:
    """An observation of a record."""
    seen = record(**fields)
    divergences = find_divergences(seen)
    return Observation(seen, divergences, judge_lanes(seen, divergences))


def handed(seen: Observation, registry: Registry = UNREGISTERED) -> Handoff:
    """The handoff of an observation that has one."""
    handoff = hand_over(seen, Redactor(KEY, registry), Rules(registry))
    assert handoff is not None
    return handoff


DROPPED = {"requests": (request("pay", {"cvc": 123}, outcome=Outcome.NOT_DISPATCHED),)}


def test_a_trace_whose_lanes_pass_is_handed_to_nobody() -> None:
    """An outcome without a fact of its own is unsupported in nearly every trace, and nobody can act on it."""
    seen = observed(requests=(request(),), dispatches=(dispatch(),))

    assert seen.lanes[Lane.OUTCOME].status is Status.UNSUPPORTED
    assert hand_over(seen, Redactor(KEY), NO_RULES) is None
    assert hand_over(seen, Redactor(KEY), NO_RULES, (Status.UNSUPPORTED,)) is not None


def test_a_lane_is_handed_over_with_its_first_difference_and_owner() -> None:
    """A dropped call is the runtime's; other lanes of the trace are not handed over with it."""
    found = handed(observed(**DROPPED)).handoffs

    assert [(one.lane, one.status, one.owner) for one in found] == [("tools", "fail", "agent runtime")]
    assert found[0].first is not None
    assert found[0].first.kind == "not_dispatched"


@pytest.mark.parametrize(
    ("fields", "lane", "owner"),
    [
        (
            {"requests": (request("pay"),), "dispatches": (dispatch("pay", error=ErrorInfo("E")),)},
            "outcome",
            "payments",
        ),
        ({"responses": (answer("No.", refusal=True),)}, "outcome", "model"),
        ({"retrievals": (retrieval(),)}, "retrieval", "retriever"),
        ({"requests": (request("pay"),), "evidence": {"requests": Evidence.PARTIAL}}, "tools", "instrumentation"),
        ({"evidence": {"responses": Evidence.REDACTED}}, "generation", "instrumentation"),
    ],
)
def test_each_lane_has_an_owner_of_its_own(fields: dict[str, Any], lane: str, owner: str) -> None:
    """Missing evidence is never blamed on the part that it would have been of."""
    found = {one.lane: one.owner for one in handed(observed(**fields), REGISTRY).handoffs}

    assert found[Lane(lane)] == owner


def test_an_error_that_a_later_run_recovered_is_nobodys() -> None:
    """The owner is that of the tool whose failure stands."""
    runs = (dispatch("mail", error=ErrorInfo("E")), dispatch("mail", attempt=2), dispatch("pay", error=ErrorInfo("E")))
    found = {one.lane: one.owner for one in handed(observed(dispatches=runs), REGISTRY).handoffs}

    assert found[Lane.OUTCOME] == "payments"


def test_what_a_policy_alone_fails_is_its_owners() -> None:
    """The policy names who answers for it; a dropped call beside it stays the runtime's."""
    policy = Policy("no pay", "pay is off", Lane.TOOLS, "risk team", Forbidden(("pay",)))
    findings = (Finding(policy, Ruling(Status.FAIL)),)
    seen = record(requests=(request("pay"),), dispatches=(dispatch("pay"),))
    kept = Observation(seen, (), judge_lanes(seen, (), findings), policies=findings)

    assert [(one.lane, one.owner) for one in handed(kept).handoffs] == [("tools", "risk team")]
    dropped = observed(**DROPPED)
    both = Observation(
        dropped.record,
        dropped.divergences,
        judge_lanes(dropped.record, dropped.divergences, findings),
        policies=findings,
    )
    assert [one.owner for one in handed(both).handoffs] == ["agent runtime"]


def test_the_boundaries_stand_side_by_side() -> None:
    """Asked, run and told, with the result; a run without a request has no other side."""
    told = {
        "content": "", "type": "ai", "metadata": {"tool_call_ids": [CALL_ID]},
        "tool_calls": [{"name": "refund", "args": {"id": 3}}],
    }  # fmt: skip
    seen = observed(
        requests=(request("refund", {"id": 1}),),
        dispatches=(dispatch("refund", {"id": 2}), dispatch("mail", request=None, call_id="c2", match_rule=None)),
        messages=(told,),
    )

    first, second = handed(seen).calls

    assert (first.requested["arguments"], first.dispatched["arguments"], first.told["arguments"]) == (
        {"id": 1},
        {"id": 2},
        {"id": 3},
    )
    assert first.result == {"ok": True}
    assert (second.requested, second.told, second.dispatched["name"]) == (None, None, "mail")


def test_sensitive_arguments_are_hidden_in_records_calls_and_differences() -> None:
    """However short: `123` can't be looked for in text, and is known by its place."""
    asked, ran = ({"cvc": cvc, "card": {"holder": "Ada Lovelace"}} for cvc in (123, 456))
    told = {
        "content": "", "type": "ai", "metadata": {"tool_call_ids": [CALL_ID]}, "tool_calls": [{"name": "pay", "args": asked}],
    }  # fmt: skip
    seen = observed(requests=(request("pay", asked),), dispatches=(dispatch("pay", ran),), messages=(told,))

    handoff = handed(seen, REGISTRY)
    text = msgspec.json.encode(handoff).decode()

    assert "Lovelace" not in text
    assert '"cvc":123' not in text
    assert '"cvc":456' not in text
    assert handoff.handoffs[0].first is not None
    assert (handoff.handoffs[0].first.requested, handoff.handoffs[0].first.dispatched) == (
        token(123, KEY),
        token(456, KEY),
    )


def test_a_dropped_call_does_not_show_its_sensitive_arguments() -> None:
    """The difference has no path: it holds the arguments as a whole."""
    first = handed(observed(**DROPPED), REGISTRY).handoffs[0].first

    assert first is not None
    assert first.requested == {"cvc": token(123, KEY)}


def test_a_handoff_is_read_back_as_it_was() -> None:
    """What `lanewatch show` prints is what was known."""
    handoff = handed(observed(**DROPPED))
    line = line_of(handoff, 10**6)

    assert line is not None
    assert b"\n" not in line
    assert decoder.decode(line) == handoff


def test_a_lone_surrogate_breaks_no_line() -> None:
    """UTF-8 can't hold one; JSON can."""
    line = line_of(handed(observed(**DROPPED, session_id="x\ud800")), 10**6)

    assert line is not None
    assert b"\\ud800" in line


def test_a_line_never_grows_beyond_its_limit() -> None:
    """Long contents are cut and say so; a handoff that can't be cut so far is not written."""
    handoff = handed(observed(**DROPPED, messages=({"type": "human", "metadata": None, "content": "long " * 100_000},)))
    line = line_of(handoff, 20_000)

    assert line is not None
    assert len(line) <= 20_000
    assert CUT.encode() in line
    assert decoder.decode(line).handoffs == handoff.handoffs
    assert line_of(handoff, 100) is None


def test_without_a_key_hidden_values_are_said_to_be_beyond_comparison() -> None:
    """No token, and no id of a key."""
    handoff = hand_over(observed(**DROPPED), Redactor(None, REGISTRY), Rules(REGISTRY))

    assert handoff is not None
    assert handoff.redaction_key is None
    assert handoff.handoffs[0].first is not None
    assert handoff.handoffs[0].first.requested == {"cvc": "<redacted>"}
