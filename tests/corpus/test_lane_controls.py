"""A known-bad control per lane fails that lane only, over recordings of every stack."""

from functools import cache
from pathlib import Path

import pytest
from lanewatch.adapters.records import Dispatch, ErrorInfo, Evidence, Executed, Outcome, OutcomeFact, TraceRecord
from lanewatch.config.keys import Config
from lanewatch.monitors.divergence import find_divergences
from lanewatch.monitors.lanes import judge_lanes
from lanewatch.monitors.policies import Documents, Forbidden, Policy
from lanewatch.monitors.verdicts import Lane, Status, Verdict
from lanewatch.observation import Observation
from lanewatch.replaying.playback import replay
from msgspec.structs import replace

from tests.monitors.test_policies import case

HERE = Path(__file__).parent
SCENARIOS = ("02_wrong_tool", "05_tool_error", "05b_tool_crash", "10_rag_only", "09*")
CAPTURES = sorted(path for scenario in SCENARIOS for path in HERE.glob(f"*/{scenario}"))


@cache
def observed(capture: Path) -> tuple[Observation, ...]:
    """What is seen of a capture's traces."""
    return replay(capture, Config()).observations


def names(capture: Path) -> str:
    """stack/scenario."""
    return f"{capture.parent.name}/{capture.name}"


def failed(lanes: dict[Lane, Verdict]) -> set[Lane]:
    """The lanes that fail."""
    return {lane for lane, verdict in lanes.items() if verdict.status is Status.FAIL}


def lanes_of(record: TraceRecord) -> dict[Lane, Verdict]:
    """The lanes of a record alone."""
    return judge_lanes(record, find_divergences(record))


def with_bad_retrieval(record: TraceRecord) -> TraceRecord | None:
    """Nothing was found any more."""
    if not record.retrievals or record.evidence["retrievals"] is not Evidence.COMPLETE:
        return None
    return replace(record, retrievals=tuple(replace(one, documents=()) for one in record.retrievals))


def with_bad_generation(record: TraceRecord) -> TraceRecord | None:
    """The model's API failed, and no answer came."""
    if not record.generations or any(response.refusal for response in record.responses):
        return None
    generations = tuple(replace(one, error=ErrorInfo("APIError")) for one in record.generations)
    return replace(record, generations=generations, responses=())


def with_bad_tools(record: TraceRecord) -> TraceRecord | None:
    """The runtime ran the call with another argument."""

    def changed(run: Dispatch) -> Dispatch:
        if run.request is None or not isinstance(run.arguments, dict) or run.executed is not Executed.YES:
            return run
        return replace(run, arguments={**run.arguments, "rewritten": "by the runtime"})

    dispatches = tuple(changed(run) for run in record.dispatches)
    asked = [r for r in record.requests if r.outcome is Outcome.DISPATCHED and r.arguments_state == "captured"]
    return replace(record, dispatches=dispatches) if asked and dispatches != record.dispatches else None


def with_bad_outcome(record: TraceRecord) -> TraceRecord:
    """Somebody looked, and the state is wrong."""
    return replace(record, outcomes=(OutcomeFact("state", held=False),))


CONTROLS = {
    Lane.RETRIEVAL: with_bad_retrieval,
    Lane.GENERATION: with_bad_generation,
    Lane.TOOLS: with_bad_tools,
    Lane.OUTCOME: with_bad_outcome,
}


@pytest.mark.parametrize("lane", list(Lane))
@pytest.mark.parametrize("capture", CAPTURES, ids=names)
def test_a_known_bad_control_fails_its_lane_and_leaves_the_others_as_they_were(capture: Path, lane: Lane) -> None:
    """What is broken in one lane moves no other lane's status, in any stack."""
    for seen in observed(capture):
        bad = CONTROLS[lane](seen.record)
        if bad is None:
            continue
        before, after = lanes_of(seen.record), lanes_of(bad)
        others = [one for one in Lane if one is not lane]

        assert after[lane].status is Status.FAIL
        assert {one: after[one].status for one in others} == {one: before[one].status for one in others}


@pytest.mark.parametrize(("lane", "least"), [(Lane.RETRIEVAL, 20), (Lane.GENERATION, 50), (Lane.TOOLS, 25)])
def test_the_controls_are_made_of_enough_recordings(lane: Lane, least: int) -> None:
    """A control that fits no recording would prove nothing."""
    made = {names(c) for c in CAPTURES if any(CONTROLS[lane](seen.record) is not None for seen in observed(c))}

    assert len(made) >= least


@pytest.mark.parametrize("capture", CAPTURES, ids=names)
def test_a_recording_fails_in_the_lane_of_its_scenario_alone(capture: Path) -> None:
    """A tool's error and a refusal are outcomes; a wrong choice of the model and a plain answer fail nothing by themselves."""
    found = {lane for seen in observed(capture) for lane in failed(seen.lanes)}
    outcome = capture.name.startswith(("05", "09"))

    assert found <= ({Lane.OUTCOME} if outcome else set())


@pytest.mark.parametrize("capture", sorted(HERE.glob("*/02_wrong_tool")), ids=names)
def test_a_wrong_tool_fails_the_tools_lane_where_a_policy_forbids_it(capture: Path) -> None:
    """And the documents that the same traces retrieved still pass."""
    policy = Policy("keep", "no account is closed", Lane.TOOLS, "support", Forbidden(("close_account",)))
    for seen in observed(capture):
        ruling = policy.rule.judge(case(seen.record))
        ran = any(run.executed is Executed.YES for run in seen.record.dispatches)

        assert (ruling.status is Status.FAIL) is ran
        assert ran or ruling.status in (Status.INCOMPLETE, Status.PASS)


def test_a_wrong_tool_is_caught_by_the_policy_in_most_stacks() -> None:
    """In the others its run is not recorded, and the policy is then not kept either."""
    rule = Forbidden(("close_account",))
    caught = {
        capture.parent.name
        for capture in HERE.glob("*/02_wrong_tool")
        if any(rule.judge(case(seen.record)).status is Status.FAIL for seen in observed(capture))
    }

    assert len(caught) >= 20


@pytest.mark.parametrize("capture", sorted(HERE.glob("*/10_rag_only")), ids=names)
def test_a_document_that_was_not_retrieved_fails_the_retrieval_lane_or_is_not_known(capture: Path) -> None:
    """Where ids are recorded, a missing one is a breach; where they are not, nothing is claimed."""
    missing, rule = Documents(("pol-none",)), Documents(("pol-001",))
    for seen in observed(capture):
        record = seen.record
        ids = {document.id for one in record.retrievals for document in one.documents}
        whole = record.evidence["retrievals"] is Evidence.COMPLETE and bool(record.retrievals) and None not in ids

        assert missing.judge(case(record)).status is (Status.FAIL if whole else Status.INCOMPLETE)
        assert (rule.judge(case(record)).status is Status.PASS) is ("pol-001" in ids)
