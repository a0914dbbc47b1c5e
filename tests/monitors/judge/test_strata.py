"""What kind of trace one is, before anything is drawn."""

from typing import Any

import msgspec
import pytest
from lanewatch.adapters.records import Evidence, TraceRecord
from lanewatch.monitors.divergence import Boundary, Divergence, find_divergences
from lanewatch.monitors.judge.strata import STRATA, Strata, stratum_name
from lanewatch.monitors.lanes import Lane, Status, Verdict, judge_lanes
from lanewatch.monitors.tools import Registry, Risk, Tool

from tests.monitors.records import answer, dispatch, failure, generation, record, request

REGISTRY = Registry([
    Tool("charge", aliases=("bill",), risk=Risk.DESTRUCTIVE),
    Tool("lookup", risk=Risk.READ),
    Tool("note", risk=Risk.WRITE),
])  # fmt: skip


class Trace(msgspec.Struct):
    """A trace as it was seen."""

    record: TraceRecord
    divergences: tuple[Divergence, ...] = ()
    lanes: dict[Lane, Verdict] = {}
    again: bool = False


def name(**fields: Any) -> str:
    """The stratum of a record."""
    known = record(**fields)
    divergences = find_divergences(known, REGISTRY)
    return stratum_name(Strata(REGISTRY).of(Trace(known, divergences, judge_lanes(known, divergences))))


def test_a_trace_without_tools_is_ordinary() -> None:
    """Most traffic is of this kind."""
    assert name() == "complete/none/ok"


@pytest.mark.parametrize(("tool", "risk"), [("bill", "destructive"), ("lookup", "read"), ("other", "none")])
def test_the_registry_tells_the_risk(tool: str, risk: str) -> None:
    """By any of a tool's names; a tool that it does not know has none."""
    assert name(requests=(request(tool),), dispatches=(dispatch(tool),)) == f"complete/{risk}/ok"


def test_the_riskiest_tool_counts_asked_for_or_run() -> None:
    """A charge that was asked for and blocked is looked at too."""
    calls = (request("lookup"), request("charge", call_id="call_2", outcome="blocked"))

    assert name(requests=calls, dispatches=(dispatch("lookup"),)).split("/")[1] == "destructive"


def test_a_run_otherwise_than_asked_is_diverging() -> None:
    """And not failing for the same difference."""
    assert name(requests=(request("note"),), dispatches=(dispatch("note", {"id": 2}),)) == "complete/write/diverging"


def test_what_an_artifact_or_an_echo_differs_in_is_not_the_runtimes() -> None:
    """The one is its adapter's, the other advice: neither makes a trace worth all the more judging."""
    known = record(requests=(request("note"),), dispatches=(dispatch("note"),))
    found = find_divergences(record(requests=(request("note"),), dispatches=(dispatch("note", {"id": 2}),)), REGISTRY)
    others = tuple(
        msgspec.structs.replace(found[0], boundary=boundary) for boundary in (Boundary.ARTIFACT, Boundary.EXECUTION)
    )

    assert stratum_name(Strata(REGISTRY).of(Trace(known, others, judge_lanes(known, ())))) == "complete/write/ok"


@pytest.mark.parametrize("lane", [Lane.TOOLS, Lane.GENERATION, Lane.OUTCOME])
def test_a_broken_policy_is_failing(lane: Lane) -> None:
    """Of whichever lane but retrieval, which has no score that asks of it more often."""
    known = record()
    lanes = {**judge_lanes(known, ()), lane: Verdict(Status.FAIL, ("policy:p",))}

    assert stratum_name(Strata(REGISTRY).of(Trace(known, (), lanes))) == "complete/none/failing"


def test_a_failed_tool_and_a_refusal_are_both_told() -> None:
    """Each kind has a rate of its own; the highest counts."""
    failed = dispatch("note", error=failure())

    assert name(requests=(request("note"),), dispatches=(failed,)) == "complete/write/failing"
    assert name(responses=(answer(refusal=True),)) == "complete/none/refusing"
    both = name(requests=(request("note"),), dispatches=(failed,), responses=(answer(refusal=True),))
    assert both == "complete/write/failing+refusing"


def test_a_failed_model_call_is_failing() -> None:
    """Without an answer."""
    assert name(generations=(generation(error=failure()),), responses=()).endswith("failing")


@pytest.mark.parametrize("kind", ["responses"])
def test_hidden_evidence_is_weak(kind: str) -> None:
    """A judge would see a part."""
    assert name(evidence={kind: Evidence.REDACTED}) == "weak/none/ok"


def test_each_stratum_has_a_name() -> None:
    """Two strata under one name would be one."""
    assert len({stratum_name(one) for one in STRATA}) == len(STRATA)
