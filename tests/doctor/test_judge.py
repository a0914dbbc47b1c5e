"""What the figures of the judge tell the doctor: whether it runs, is reached, is paid for; scores alone hang on it."""

import pytest
from lanewatch.config.judge import Judge
from lanewatch.config.loading import Config
from lanewatch.doctor.check import Check, Status
from lanewatch.doctor.judge import MISSING, judge
from lanewatch.monitors.judge.breaker import REMEDIES, Cause
from lanewatch.monitors.judge.figures import JUDGE_METRICS
from lanewatch.monitors.judge.store_file import REMEDIES as STORE_REMEDIES
from lanewatch.monitors.judge.store_file import Trouble
from lanewatch.monitors.rates import Sample
from lanewatch.pages.samples import samples_of

QUEUE = {'lanewatch_judge_queue_jobs{state="waiting"}': 0.0}
ENDPOINT = Config(judge=Judge(base_url="https://judge.example/v1", model="big"))


def checks(counters: dict[str, float], config: Config = ENDPOINT) -> dict[str, Check]:
    """The checks of a page with these series, by name."""
    page = "\n".join(f"{name} {value}" for name, value in {**QUEUE, **counters}.items())
    return {check.name: check for check in judge(config, list(samples_of(page)))}


@pytest.mark.parametrize(
    ("counters", "status", "told"),
    [
        ({}, Status.OK, "nothing was to be judged yet; big is asked"),
        (
            {
                'lanewatch_evaluations_total{metric="a",outcome="not_applicable",reason="no_contexts"}': 1.0,
                'lanewatch_evaluations_total{metric="b",outcome="not_applicable",reason="no_contexts"}': 1.0,
                'lanewatch_evaluations_total{metric="a",outcome="not_applicable",reason="refused"}': 1.0,
                'lanewatch_evaluations_total{metric="a",outcome="not_sampled",reason="rate"}': 3.0,
            },
            Status.OK,
            "of the traces drawn so far there was nothing to judge (evaluations by reason: no_contexts 2, refused 1); big is asked",
        ),
        ({"lanewatch_judge_worker_up": 1.0}, Status.OK, "its process runs; big is asked"),
        (
            {"lanewatch_judge_worker_up": 0.0, 'lanewatch_judge_worker_restarts_total{reason="died"}': 1.0},
            Status.WRONG,
            "its process does not run; it was restarted 1 time",
        ),
    ],
)
def test_a_process_that_does_not_run_is_wrong_and_one_that_was_not_needed_is_not(
    counters: dict[str, float], status: Status, told: str
) -> None:
    """It is neither up nor down before there was anything to judge."""
    check = checks(counters)["judge"]

    assert (check.status, check.found) == (status, told)


@pytest.mark.parametrize("cause", Cause)
def test_an_endpoint_that_is_not_reached_is_wrong_with_the_remedy_of_its_cause(cause: Cause) -> None:
    """A refused key, a limit, a model that can't answer: each has another one."""
    check = checks({f'lanewatch_judge_circuit_open{{cause="{cause}"}}': 1.0})["judge endpoint"]

    assert (check.status, check.found) == (Status.WRONG, f"nobody is asked for now: {cause}")
    assert check.remedy == REMEDIES[cause]
    assert "judge endpoint" not in checks({f'lanewatch_judge_circuit_open{{cause="{cause}"}}': 0.0})


def test_what_waits_for_an_endpoint_is_told_with_how_long() -> None:
    """Thirty evaluations that don't end are a riddle, unless it is said what they wait for."""
    cause = Cause.SERVER_ERROR
    figures = {f'lanewatch_judge_circuit_open{{cause="{cause}"}}': 1.0, "lanewatch_judge_queue_oldest_seconds": 250.4}
    check = checks(figures | {'lanewatch_judge_queue_jobs{state="waiting"}': 30.0})["judge endpoint"]

    assert check.found == f"nobody is asked for now: {cause}; 30 evaluations wait for it, the oldest for 250 s"


@pytest.mark.parametrize("trouble", Trouble)
def test_a_store_that_can_not_be_used_is_wrong_with_its_remedy(trouble: Trouble) -> None:
    """What is drawn meanwhile is lost for scores, and counted."""
    check = checks({f'lanewatch_judge_store_faults_total{{trouble="{trouble}"}}': 1.0})["judge store"]

    assert (check.status, check.remedy) == (Status.WRONG, STORE_REMEDIES[trouble])


@pytest.mark.parametrize("reason", MISSING)
def test_scores_that_somebody_can_bring_back_are_named(reason: str) -> None:
    """Those that were not drawn, or that the evidence does not allow, are no fault."""
    key = 'lanewatch_evaluations_total{metric="faithfulness",outcome="unscored",reason="%s"}'

    assert checks({key % reason: 2.0})["judge scores"].found == f"2 evaluations ended without a score: {reason}"
    assert "judge scores" not in checks({key % "incomplete_evidence": 2.0, key % "rate": 3.0})


def test_what_it_costs_is_told() -> None:
    """A budget that is spent, and calls that are in none."""
    spent = checks({'lanewatch_evaluations_total{metric="m",outcome="over_budget",reason="money"}': 1.0})
    unpriced = {'lanewatch_judge_unpriced_calls_total{metric="m"}': 3.0}
    unknown = checks({**unpriced, 'lanewatch_judge_calls_total{metric="m",outcome="ok"}': 3.0})
    unreached = checks({**unpriced, 'lanewatch_judge_calls_total{metric="m",outcome="unreachable"}': 3.0})

    assert spent["judge budget"].found == "1 evaluation found the budget spent"
    assert "3 calls of unknown price" in unknown["judge budget"].found
    assert "judge budget" not in unreached


def test_a_judge_that_moved_is_told_by_its_canaries() -> None:
    """Then scores tell of the judge, and not of the traffic."""
    assert "faithfulness" in checks({'lanewatch_judge_drift{metric="faithfulness"}': 1.0})["judge canaries"].found
    assert "judge canaries" not in checks({'lanewatch_judge_drift{metric="faithfulness"}': 0.0})


def test_a_judge_of_the_family_that_it_scores_and_a_second_one_of_the_first_ones_are_told() -> None:
    """It may favour its own, and two of a kind agree in what they get wrong."""
    alike = checks({'lanewatch_judge_same_family{metric="faithfulness"}': 1.0})["judge family"]
    second = ENDPOINT.judge.model_copy(update={"model": "gpt-4o", "second_base_url": "x", "second_model": "codex-mini"})
    twins = checks({}, Config(judge=second))["judge family"]

    assert (alike.status, twins.status) == (Status.NOTE, Status.NOTE)
    assert alike.found.endswith("which it may favour: faithfulness")
    assert "codex-mini" in twins.found
    assert "judge.second_model" in twins.remedy
    assert "judge family" not in checks({'lanewatch_judge_same_family{metric="faithfulness"}': 0.0})


@pytest.mark.parametrize(
    ("age", "whole", "unknown", "told"),
    [
        (7200.0, 3.0, 2.0, ""),
        (21_700.0, 3.0, 1.0, "the last whole round is 6.0 hours old, 1 round ended unknown"),
        (21_700.0, 3.0, 0.0, ""),
        (39_700.0, 3.0, 0.0, "the last whole round is 11.0 hours old, 0 rounds ended unknown"),
        (900.0, 0.0, 2.0, "no round was whole yet, 2 rounds ended unknown"),
        (900.0, 0.0, 0.0, ""),
    ],
)
def test_a_judge_whose_canaries_tell_nothing_is_unknown(age: float, whole: float, unknown: float, told: str) -> None:
    """A round that is under way is no news; one that came to nothing, or is too old, is."""
    rounds = 'lanewatch_judge_canary_rounds_total{metric="faithfulness",outcome="%s"}'
    found = checks(
        {
            "lanewatch_judge_canary_every_seconds": 21_600.0,
            'lanewatch_judge_canary_age_seconds{metric="faithfulness"}': age,
            rounds % "steady": whole,
            rounds % "unknown": unknown,
        }
    ).get("judge canaries")

    assert (found is None) is not bool(told)
    assert found is None or (found.status is Status.UNKNOWN and found.found.endswith(told))


def test_without_an_endpoint_no_model_is_asked_and_that_is_fine() -> None:
    """The offline signals need none."""
    assert "no model is asked" in checks({}, Config())["judge"].found


def test_a_second_judge_is_told_with_its_share() -> None:
    """It is paid for, too."""
    both = Judge(base_url="http://127.0.0.1:1/v1", model="a", second_base_url="http://127.0.0.1:2/v1", second_model="b")

    assert (
        "a is asked, b of 20% of what it scores (judge.second_share)" in checks({}, Config(judge=both))["judge"].found
    )


def test_a_sidecar_that_judges_nothing_is_only_told_where_it_should() -> None:
    """Off by choice is no news; a page that could not be read tells nothing."""
    other: list[Sample] = [("lanewatch_spans_received", {}, 1.0)]
    off = Config(judge=Judge(enabled=False))

    assert [check.status for check in judge(Config(), other)] == [Status.NOTE]
    assert list(judge(off, other)) == []
    assert list(judge(Config(), [])) == []


def test_the_figures_that_it_reads_are_exported() -> None:
    """By the judge's own table."""
    names = {metric.name for metric in JUDGE_METRICS}
    read = (
        "judge_queue_jobs",
        "judge_worker_up",
        "judge_worker_restarts",
        "judge_circuit_open",
        "judge_queue_oldest_seconds",
        "judge_unpriced_calls",
    )

    assert {f"lanewatch_{name}" for name in (*read, "judge_drift", "evaluations")} <= names
