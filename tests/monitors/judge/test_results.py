"""A result says what it is of: a value beside a score, a reason beside everything else."""

import math

import pytest
from lanewatch.monitors.judge.metrics import BY_NAME, METRICS
from lanewatch.monitors.judge.results import REASONS, EvaluationOutcome, Reason, Result, unscored


@pytest.mark.parametrize("outcome", [one for one in EvaluationOutcome if one is not EvaluationOutcome.SCORED])
def test_what_is_not_scored_has_no_value(outcome: EvaluationOutcome) -> None:
    """A missing score must not look like a 0."""
    with pytest.raises(ValueError, match="a value stands beside"):
        Result(outcome, Reason.TIMEOUT, value=0.0)


def test_a_score_has_a_value() -> None:
    """A score without a number is none."""
    with pytest.raises(ValueError, match="a value stands beside"):
        Result(EvaluationOutcome.SCORED)


@pytest.mark.parametrize("outcome", [one for one in EvaluationOutcome if one is not EvaluationOutcome.SCORED])
def test_a_missing_score_says_why(outcome: EvaluationOutcome) -> None:
    """Each missing score has a reason."""
    with pytest.raises(ValueError, match="a reason beside every other"):
        Result(outcome)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_is_no_score(value: float) -> None:
    """Ragas' swallowed exceptions never leave as a number."""
    with pytest.raises(ValueError, match="finite"):
        Result(EvaluationOutcome.SCORED, value=value)


def test_an_unscored_result_keeps_what_was_paid() -> None:
    """A failed judgement costs too."""
    failed = unscored(Reason.TIMEOUT, judge_model="m")

    assert (failed.outcome, failed.reason, failed.value, failed.judge_model) == ("unscored", "timeout", None, "m")


def test_a_name_is_one_metrics() -> None:
    """Two evaluators under one name would share a series."""
    assert len(BY_NAME) == len(METRICS)


def test_each_reason_is_one_outcomes() -> None:
    """Both are labels of one metric, of which every pair is exported from the start."""
    told = [reason for reasons in REASONS.values() for reason in reasons]

    assert sorted(told) == sorted(Reason)
    assert set(REASONS) == set(EvaluationOutcome)
