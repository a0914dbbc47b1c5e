"""An artifact against the calls that a test expects: our own typed comparison, and Ragas' two metrics beside it.

Invariants:

- The verdict is our own: every reference call as often as it is given, in its order, arguments equal by type and value.
  Ragas' numbers are told beside it and never averaged: ToolCallF1 is a set over `==` (five equal calls are one, 1 is True),
  ToolCallAccuracy compares texts and passes over further arguments (`delete(id=1, force=True)` is `delete(id=1)`).
- Metrics that contradict each other are `disagree`: one calls the artifact right (1), another does not. Whoever gates on
  one of them has to know.
- A metric that could not be computed is no score: without Ragas `unsupported`, raised `failed`, and so on.

Source of the cases: ragas 0.4.3, `metrics/collections/tool_call_f1` and `tool_call_accuracy`, pinned by
tests/adapters/test_ragas_tool_metrics.py.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import replace

from lanewatch.adapters.artifact_messages import Artifact
from lanewatch.monitors.artifact_divergence import compare_calls
from lanewatch.monitors.artifact_outcomes import Compared
from lanewatch.monitors.expected_calls import told_call
from lanewatch.monitors.tools import UNREGISTERED, Registry


class Agreement(StrEnum):
    """What comes of computing Ragas' tool metrics beside each other."""

    AGREE = "agree"
    DISAGREE = "disagree"
    UNSUPPORTED = "unsupported"  # ragas is not installed
    FAILED = "failed"  # a metric raised, or its process ended
    TIMED_OUT = "timed_out"
    SKIPPED = "skipped"  # not computed: more was waiting than may


class RagasToolScores(msgspec.Struct, frozen=True):
    """The metrics from 0 to 1, None where there is none; `reason` says why, and `right` which call the artifact right."""

    agreement: Agreement
    tool_call_f1: float | None = None
    tool_call_accuracy: float | None = None
    tool_call_accuracy_flexible: float | None = None
    reason: str | None = None

    @property
    def right(self) -> tuple[str, ...]:
        """The metrics that are 1."""
        return tuple(name for name, value in self.values.items() if value == 1)

    @property
    def values(self) -> dict[str, float | None]:
        """Each metric by its name."""
        return {
            "tool_call_f1": self.tool_call_f1,
            "tool_call_accuracy": self.tool_call_accuracy,
            "tool_call_accuracy_flexible": self.tool_call_accuracy_flexible,
        }


class ReferenceCompared(msgspec.Struct, frozen=True):
    """An artifact of `producer` against reference calls: our own verdict, and Ragas' metrics."""

    producer: str
    compared: Compared
    scores: RagasToolScores


def compare_reference(
    artifact: Artifact, reference: Iterable[dict[str, Any]], registry: Registry = UNREGISTERED
) -> Compared:
    """Compare an artifact's calls with reference calls (`name` and `args`). Results are nobody's reference."""
    calls = tuple(
        told_call(
            name=call["name"], arguments=call["args"], call_id=None, result=None, error=None, span_id="", place=place
        )
        for place, call in enumerate(reference)
    )
    return compare_calls(calls, replace(artifact, calls_only=True), frozenset(), registry)


def beside_each_other(
    tool_call_f1: float | None,
    tool_call_accuracy: float | None,
    tool_call_accuracy_flexible: float | None,
    fault: str | None = None,
) -> RagasToolScores:
    """The metrics, with whether they agree on the one thing that each of them tells: that the artifact is right, or not."""
    values = (tool_call_f1, tool_call_accuracy, tool_call_accuracy_flexible)
    if fault is not None or None in values:
        return RagasToolScores(Agreement.FAILED, *values, fault or "a metric gave no number")
    agreement = Agreement.DISAGREE if len({value == 1 for value in values}) > 1 else Agreement.AGREE
    return RagasToolScores(agreement, *values)
