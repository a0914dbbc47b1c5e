"""Ragas' tool metrics as the installed ragas computes them: the surprises that they are told beside each other for."""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from lanewatch.adapters import ragas_tool_metrics
from lanewatch.adapters.artifact_messages import Artifact
from lanewatch.adapters.ragas_tool_metrics import METRICS, RagasNotInstalled, RagasToolMetrics, load_metrics
from lanewatch.adapters.worker_process import WorkerLimits
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome
from lanewatch.monitors.reference_calls import Agreement, beside_each_other, compare_reference

pytest.importorskip("ragas")

Call = tuple[str, dict[str, Any]]


def f(**arguments: Any) -> Call:
    """A call."""
    return "f", arguments


def g(**arguments: Any) -> Call:
    """Another tool's call."""
    return "g", arguments


EQUAL, DIVERGENT = ArtifactOutcome.EQUAL, ArtifactOutcome.DIVERGENT
NAN = math.nan
# What was called, what the reference has; ToolCallF1, ToolCallAccuracy strict and flexible; and our own verdict.
CASES: tuple[tuple[str, list[Call], list[Call], tuple[float, float, float], ArtifactOutcome], ...] = (
    ("the same", [f(x=1), g()], [f(x=1), g()], (1, 1, 1), EQUAL),
    ("a retried call", [f(x=1), f(x=1)], [f(x=1)], (1, 0, 0), DIVERGENT),
    ("one of two equal calls", [f(x=1)], [f(x=1), f(x=1)], (1, 0, 0), DIVERGENT),
    ("history replayed", [f(x=1), g(), f(x=1), g()], [f(x=1), g()], (1, 0, 0), DIVERGENT),
    ("repeated, and another", [f(), f(), f(), g()], [f()], (0.6667, 0, 0), DIVERGENT),
    ("nothing asked, nothing called", [], [], (0, 1, 1), EQUAL),
    ("nothing called", [], [f()], (0, 0, 0), DIVERGENT),
    ("nothing asked", [f()], [], (0, 0, 0), DIVERGENT),
    ("an extra argument", [f(id=1, force=True)], [f(id=1)], (0, 1, 1), DIVERGENT),
    ("a missing argument", [f(id=1)], [f(id=1, force=True)], (0, 0.5, 0.5), DIVERGENT),
    ("null for omitted", [f(x=1, y=None)], [f(x=1)], (0, 1, 1), DIVERGENT),
    ("no arguments in the reference", [f(force=True)], [f()], (0, 0, 0), DIVERGENT),
    ("1 for 1.0", [f(x=1)], [f(x=1.0)], (1, 0, 0), EQUAL),
    ("1 for true", [f(x=1)], [f(x=True)], (1, 0, 0), DIVERGENT),
    ("0 for false", [f(x=0)], [f(x=False)], (1, 0, 0), DIVERGENT),
    ("1 for a text", [f(x=1)], [f(x="1")], (0, 1, 1), DIVERGENT),
    ("true for a text", [f(x=True)], [f(x="True")], (0, 1, 1), DIVERGENT),
    ("null for a text", [f(x=None)], [f(x="None")], (0, 1, 1), DIVERGENT),
    ("a list for a text", [f(x=[1, 2])], [f(x="[1, 2]")], (0, 1, 1), DIVERGENT),
    ("keys in another order", [f(x={"a": 1, "b": 2})], [f(x={"b": 2, "a": 1})], (1, 0, 0), EQUAL),
    ("1.0 further inside", [f(x={"a": 1})], [f(x={"a": 1.0})], (1, 0, 0), EQUAL),
    ("a list in another order", [f(x=[1, 2])], [f(x=[2, 1])], (0, 0, 0), DIVERGENT),
    ("case", [f(x="A")], [f(x="a")], (0, 0, 0), DIVERGENT),
    ("NFC for NFD", [f(x="\u00e9")], [f(x="e\u0301")], (0, 0, 0), EQUAL),
    ("a sum of floats", [f(x=0.1 + 0.2)], [f(x=0.3)], (0, 0, 0), DIVERGENT),
    ("two that are no numbers", [f(x=NAN)], [f(x=float("nan"))], (0, 1, 1), EQUAL),
    ("another order", [f(), g()], [g(), f()], (1, 0, 1), DIVERGENT),
    ("one more", [f(), g()], [f()], (0.6667, 0, 0), DIVERGENT),
    ("one of three", [f()], [f(), g(), ("h", {})], (0.5, 0, 0), DIVERGENT),
    (
        "sorting pairs the wrong calls",
        [f(a=3, b="x"), f(a=0, b="y")],
        [f(a=1, b="x"), f(a=2, b="y")],
        (0, 0.5, 0),
        DIVERGENT,
    ),
)


def told(calls: list[Call]) -> list[dict[str, Any]]:
    """Calls as dictionaries."""
    return [{"name": name, "args": arguments} for name, arguments in calls]


def messages(calls: list[Call]) -> tuple[dict[str, Any], ...]:
    """A conversation with the calls in it."""
    asked = {"type": "human", "content": "?", "metadata": None}
    asking = {"type": "ai", "content": "", "metadata": None, "tool_calls": told(calls) or None}
    return asked, asking


@cache
def metrics() -> Any:
    """Ragas, imported once."""
    return load_metrics()


@pytest.mark.parametrize(("case", "called", "reference", "scores", "own"), CASES, ids=[case[0] for case in CASES])
def test_what_ragas_says_of_a_case_and_what_we_do(
    case: str, called: list[Call], reference: list[Call], scores: tuple[float, float, float], own: ArtifactOutcome
) -> None:
    """A release of ragas that changes one of these is to be noticed."""
    found = metrics()({"messages": messages(called), "reference": told(reference)})
    compared = compare_reference(Artifact("mine", "me", messages(called)), told(reference))

    assert tuple(found[name] for name in METRICS) == scores
    assert "fault" not in found
    assert compared.verdict is own
    disagree = len({score == 1 for score in scores}) > 1
    assert (beside_each_other(*scores).agreement is Agreement.DISAGREE) is disagree


def test_no_metric_of_ragas_is_right_where_it_matters_and_ours_is() -> None:
    """Each of the three calls some wrong artifact right, and some right one wrong."""
    for place in range(3):
        assert any(scores[place] == 1 and own is DIVERGENT for *_, scores, own in CASES)
        assert any(scores[place] < 1 and own is EQUAL for *_, scores, own in CASES)


def test_a_metric_that_raises_is_a_fault_and_the_others_stand() -> None:
    """ToolCallF1 can't hash everything; JSON holds nothing of the kind, a caller's own object may be."""
    given = {"messages": messages([f(x=bytearray(b"1"))]), "reference": told([f(x=bytearray(b"1"))])}
    found = metrics()(given)

    assert found["fault"].startswith("tool_call_f1: TypeError at ")
    assert [found.get(name) for name in METRICS] == [None, 1, 1]


@pytest.fixture
def process() -> Iterator[RagasToolMetrics]:
    """Ragas in its own process."""
    made = RagasToolMetrics(WorkerLimits(call_seconds=30))
    yield made
    made.close()


def test_the_metrics_come_out_of_a_process_of_their_own(process: RagasToolMetrics) -> None:
    """Integers of any size, and keys in the order in which they were given, which ToolCallAccuracy sees."""
    one, other = f(x={"a": 2**70, "b": 2}), f(x={"b": 2, "a": 2**70})
    found = process.scores(messages([one]), tuple(told([other])))
    again = process.scores(messages([one]), tuple(told([one])))

    assert (found.tool_call_f1, found.tool_call_accuracy, found.fault) == (1, 0, None)
    assert (again.tool_call_accuracy, again.tool_call_accuracy_flexible) == (1, 1)


def test_without_ragas_nothing_is_started(process: RagasToolMetrics, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the remedy is said."""
    monkeypatch.setattr(ragas_tool_metrics, "ragas_version", lambda: None)
    with pytest.raises(RagasNotInstalled, match="make ragas"):
        process.scores((), ())

    assert process._process is None
