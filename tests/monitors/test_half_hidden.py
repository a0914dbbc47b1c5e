"""Arguments that are seen but for a value that is hidden: evidence says redacted, and what is left is still compared."""

from typing import Any

import pytest
from lanewatch.adapters.artifact_messages import Artifact, message_dicts
from lanewatch.adapters.records import TraceRecord
from lanewatch.monitors.artifact_divergence import compare_artifact
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome
from lanewatch.monitors.divergence import Kind, find_divergences
from lanewatch.monitors.lanes import Lane, Status, judge_lanes
from lanewatch.monitors.redaction.comparing import uncomparable

from tests.adapters.spans import agent, call, chat, record, text, tool

CARD, HIDDEN = "4111", "[REDACTED]"


def paid(asked: dict[str, Any], ran: dict[str, Any]) -> TraceRecord:
    """One call of a tool, as its model asked and as it ran."""
    return record(
        agent(),
        chat("ask", call("pay", asked, "c1"), under="agent", at=(1, 2)),
        tool("run", "pay", ran, call_id="c1", under="agent", at=(3, 4)),
        chat("say", text("ok"), under="agent", at=(5, 6)),
    )


@pytest.mark.parametrize("asked", [CARD, HIDDEN])
def test_a_hidden_value_makes_the_tools_lane_unsupported_and_not_incomplete(asked: str) -> None:
    """No evidence is missing that somebody could bring; the value can't be compared."""
    found = paid({"card": asked, "amount": 3}, {"card": HIDDEN, "amount": 3})
    verdict = judge_lanes(found, (), hidden=uncomparable(found, None))[Lane.TOOLS]

    assert (verdict.status, verdict.reasons) == (Status.UNSUPPORTED, ("hidden_arguments",))


def test_the_values_beside_a_hidden_one_are_compared() -> None:
    """At the dispatch boundary and at the artifact's."""
    found = paid({"card": CARD, "amount": 3}, {"card": HIDDEN, "amount": 4})
    told = [
        {"type": "ai", "content": "", "tool_calls": [{"name": "pay", "args": {"card": CARD, "amount": 5}}]},
        {"type": "tool", "content": "fine"},
    ]
    artifact = compare_artifact(found, Artifact("p", "o", message_dicts(told)))

    assert [(d.kind, d.path) for d in find_divergences(found)] == [(Kind.ARGUMENTS, "$.amount")]
    assert artifact.verdict is ArtifactOutcome.DIVERGENT
    assert [d.path for d in artifact.divergences] == ["$.amount"]


@pytest.mark.parametrize(
    ("asked", "ran"),
    [
        ({"to": "mail [REDACTED] now"}, {"to": "mail bob now"}),
        ({"to": "mail bob now"}, {"to": "mail <redacted> now"}),
        ({"to": "mail __REDACTED__ now"}, {"to": "mail bob now"}),
        ({"to": "[REDACTED] and [REDACTED]"}, {"to": "[REDACTED] and [REDACTED]"}),
        ({"[REDACTED]": "x"}, {"to": "x"}),
        ({"of": [{"__REDACTED__": "x"}]}, {"of": [{"to": "x"}]}),
    ],
)
def test_a_text_or_a_name_that_is_hidden_in_part_is_neither_the_same_nor_another(
    asked: dict[str, Any], ran: dict[str, Any]
) -> None:
    """An instrumentation that masks one side blames no tool, and it is no pass."""
    found = paid(asked, ran)
    divergences = find_divergences(found)
    verdict = judge_lanes(found, divergences, hidden=uncomparable(found, None))[Lane.TOOLS]

    assert divergences == ()
    assert verdict.status is Status.UNSUPPORTED


def test_a_member_that_differs_beside_a_hidden_name_differs() -> None:
    """What both sides name is compared."""
    found = find_divergences(paid({"[REDACTED]": "x", "amount": 3}, {"to": "x", "amount": 4}))

    assert [one.path for one in found] == ["$.amount"]
