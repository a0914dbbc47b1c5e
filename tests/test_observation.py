"""Observations under rules: what the user laid down reaches verdicts by the one way that `run` and `replay` share."""

from pathlib import Path
from typing import Any

import pytest
from lanewatch.config.loading import load_config
from lanewatch.monitors.lanes import Lane
from lanewatch.monitors.verdicts import Status
from lanewatch.observation import Observation
from lanewatch.replaying.playback import replay

CORPUS = Path(__file__).parent / "corpus"
ALIASES = sorted(path.parent.name for path in CORPUS.glob("*/06_runtime_alias"))
POLICY = '[[policies]]\nname = "p"\nrequirement = "r"\nowner = "o"\n'


def seen(folder: Path, text: str, capture: str) -> tuple[Observation, ...]:
    """A capture under a configuration."""
    (folder / "c.toml").write_text(text)
    return replay(CORPUS / capture, load_config(folder / "c.toml", {})).observations


def only(observations: tuple[Observation, ...]) -> Observation:
    """The one observation with tools."""
    (one,) = [each for each in observations if each.record.dispatches]
    return one


@pytest.mark.parametrize("stack", ALIASES)
def test_an_alias_in_the_registry_takes_a_recorded_divergence_away(tmp_path: Path, stack: str) -> None:
    """Asked for as cancel_sub, run as cancel_subscription: as the registry says it may be."""
    capture = f"{stack}/06_runtime_alias"
    registry = '[tools.cancel_subscription]\naliases = ["cancel_sub"]\n'

    assert [one for each in seen(tmp_path, registry, capture) for one in each.divergences] == []


def test_without_the_alias_most_of_these_recordings_diverge(tmp_path: Path) -> None:
    """In the other stacks the rename is below what their spans show."""
    told = {
        stack
        for stack in ALIASES
        for each in seen(tmp_path, "", f"{stack}/06_runtime_alias")
        if [one.kind for one in each.divergences] == ["name"]
    }

    assert len(told) >= 10


def test_a_volatile_argument_takes_a_recorded_rewrite_away_and_another_one_does_not(tmp_path: Path) -> None:
    """By its path alone."""
    (path,) = {one.path for one in only(seen(tmp_path, "", "langchain_oi/07_runtime_rewrite")).divergences}
    tool = only(seen(tmp_path, "", "langchain_oi/07_runtime_rewrite")).divergences[0].tool

    def differences(rule: str) -> list[Any]:
        text = f'[tools."{tool}"]\nvolatile = ["{rule}"]\n'
        return list(only(seen(tmp_path, text, "langchain_oi/07_runtime_rewrite")).divergences)

    assert differences(str(path)) == []
    assert len(differences("$.something_else")) == 1


def test_a_policy_of_the_configuration_fails_its_lane_in_a_recording(tmp_path: Path) -> None:
    """The model chose the wrong tool; nothing diverged, and the policy says what may not be."""
    text = f'{POLICY}kind = "forbidden"\nlane = "tools"\ntools = ["close_account"]\n'
    found = only(seen(tmp_path, text, "langchain_oi/02_wrong_tool"))

    assert found.divergences == ()
    assert found.lanes[Lane.TOOLS].reasons == ("policy:p",)
    assert [lane for lane, verdict in found.lanes.items() if verdict.status is Status.FAIL] == [Lane.TOOLS]


def test_an_error_shape_makes_a_recorded_result_an_outcome_failure(tmp_path: Path) -> None:
    """The span says ok, and the result says otherwise; only the tool's contract knows."""
    plain = only(seen(tmp_path, "", "langchain_oi/01_right_tool"))
    run = next(one for one in plain.record.dispatches if isinstance(one.result, dict))
    key, value = next((key, value) for key, value in run.result.items() if isinstance(value, str))
    text = f'[tools."{run.name}"]\nerrors = [{{ path = "$.{key}", values = ["{value}"] }}]\n'
    found = only(seen(tmp_path, text, "langchain_oi/01_right_tool"))

    assert plain.lanes[Lane.OUTCOME].status is Status.UNSUPPORTED
    assert found.lanes[Lane.OUTCOME].reasons == ("tool_error",)


def test_related_traces_are_judged_together(tmp_path: Path) -> None:
    """One trace a model call: what one of them retrieved counts for all, and a breach is told once."""
    text = f'{POLICY}kind = "documents"\nlane = "retrieval"\nids = ["pol-none"]\n'
    observations = seen(tmp_path, text, "langchain_double/10_rag_only")
    rulings = [one.ruling.status for each in observations for one in each.policies]

    assert len(rulings) == len(observations) > 0
    assert rulings.count(Status.FAIL) <= 1
