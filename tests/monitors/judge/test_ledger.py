"""The ledger: the sums of live scores by service and metric, and of nothing else."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.judge.ledger import BOUNDS, OTHER, Ledger, heaped, lane_and_evaluator
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result, unscored
from lanewatch.monitors.judge.samples import Job, Sample

METRIC = "number_support"


def job(service: str = "shop", weight: float = 1.0, purpose: str = "live", trace_id: str = "t") -> Job:
    """One that was offered."""
    return Job(METRIC, Sample(trace_id, 0, service, 0), weight, purpose=purpose)


def score(value: float) -> Result:
    """A score."""
    return Result(EvaluationOutcome.SCORED, value=value)


def test_scores_add_up_with_their_weights() -> None:
    """By service."""
    ledger = Ledger([METRIC])
    for value, weight in ((1.0, 1.0), (0.5, 20.0)):
        ledger.discover("shop", {METRIC: 1.0}, {METRIC: None})
        ledger.finish(job(weight=weight), score(value))
    sums = ledger.scores()["shop", METRIC].sums

    assert (sums.n, sums.weight, sums.weighted, sums.squares) == (2, 21, 11, 401)
    assert ledger.evaluations()[METRIC].ended == {
        (EvaluationOutcome.SCORED, Reason.NONE): 2,
        (EvaluationOutcome.NOT_SAMPLED, Reason.RATE): 0,
    }


def test_a_missing_score_moves_no_sum_but_what_is_missing() -> None:
    """It is no 0, and the mean does not stand for it; by its weight, however it came to be missing."""
    ledger = Ledger([METRIC])
    full = EvaluationOutcome.THROTTLED, Reason.QUEUE_FULL
    ended = [unscored(Reason.TIMEOUT), Result(EvaluationOutcome.OVER_BUDGET, Reason.MONEY)]
    for result in ended:
        ledger.discover("shop", {METRIC: 20.0}, {METRIC: None})
        ledger.finish(job(weight=20.0), result)
    ledger.discover("shop", {METRIC: 3.0}, {METRIC: (EvaluationOutcome.THROTTLED, Reason.CAP)})
    ledger.discover("shop", {METRIC: 1.0}, {METRIC: None})
    ledger.withdraw(job(), *full)
    scores = ledger.scores()["shop", METRIC]

    assert (scores.sums.n, scores.missing) == (0, 44.0)


def test_what_could_not_be_judged_is_not_missing() -> None:
    """Neither for the trace's sake, nor since evidence lacks, which has an alert of its own."""
    ledger = Ledger([METRIC])
    for how in (
        (EvaluationOutcome.NOT_APPLICABLE, Reason.REFUSED),
        (EvaluationOutcome.UNSUPPORTED, Reason.TOO_LONG),
        (EvaluationOutcome.UNSCORED, Reason.INCOMPLETE_EVIDENCE),
    ):
        ledger.discover("shop", {METRIC: 20.0}, {METRIC: how})

    assert [scores.missing for scores in ledger.scores().values()] == []


@pytest.mark.parametrize("purpose", ["canary", "check", "compare"])
def test_what_is_no_live_traffic_counts_nowhere(purpose: str) -> None:
    """A canary's score is the judge's, not the product's."""
    ledger = Ledger([METRIC])

    assert not ledger.finish(job(purpose=purpose), score(0.5))
    assert ledger.evaluations()[METRIC].pending == 0
    assert ledger.scores() == {}


@pytest.mark.parametrize(("value", "bucket"), [(0.0, 0), (0.05, 1), (0.1, 1), (0.95, 10), (1.0, 10)])
def test_a_score_falls_into_the_bucket_that_it_does_not_exceed(value: float, bucket: int) -> None:
    """As Prometheus counts, with its trace as the exemplar."""
    ledger = Ledger([METRIC])
    ledger.discover("shop", {METRIC: 1.0}, {METRIC: None})
    ledger.finish(job(trace_id="abc"), score(value))
    scores = ledger.scores()["shop", METRIC]

    assert [place for place, n in enumerate(scores.counts) if n] == [bucket]
    assert scores.exemplars == {bucket: ("abc", value)}
    assert heaped(scores.counts)[-1] == 1
    assert len(scores.counts) == len(BOUNDS) + 1


def test_a_services_series_are_there_before_it_has_a_score() -> None:
    """Increase() takes a counter that is born with a value for none."""
    ledger = Ledger([METRIC])
    ledger.open("shop")

    assert ledger.scores()["shop", METRIC].sums.n == 0


def test_services_beyond_the_limit_are_other() -> None:
    """And their names are labels, not content."""
    ledger = Ledger([METRIC], max_services=2)
    for service in ("a", "b\n", "c", "d"):
        ledger.open(service)
        ledger.discover(service, {METRIC: 1.0}, {METRIC: None})
        ledger.finish(job(service), score(1.0))

    assert {service: scores.sums.n for (service, _), scores in ledger.scores().items()} == {"a": 1, "b\\n": 1, OTHER: 2}


def test_jobs_of_an_earlier_process_are_discovered_anew() -> None:
    """Their outcomes are counted by this one."""
    ledger = Ledger([METRIC])
    ledger.resume(METRIC, "shop", 20.0, 2)
    ledger.resume("a_metric_that_is_no_longer_judged", "shop", 20.0)
    ledger.finish(job(weight=20.0), score(1.0))
    counted = ledger.evaluations()[METRIC]

    assert (counted.discovered, counted.pending) == (2, 1)
    assert ledger.scores()["shop", METRIC].waiting == 20.0


@given(st.lists(st.sampled_from([0.1, 1 / 3, 20.0, 7.7]), max_size=30), st.randoms())
def test_what_waits_weighs_and_weighs_nothing_once_it_has_ended(weights: list[float], order: Random) -> None:
    """In whatever order and however it ends; a remainder of adding and taking away would be a share of traffic that nobody misses."""
    ledger = Ledger([METRIC])
    for weight in weights:
        ledger.discover("shop", {METRIC: weight}, {METRIC: None})
    waiting = [scores.waiting for scores in ledger.scores().values()]
    order.shuffle(weights)
    for place, weight in enumerate(weights):
        if place % 2:
            ledger.finish(job(weight=weight), score(1.0))
        else:
            ledger.withdraw(job(weight=weight), EvaluationOutcome.THROTTLED, Reason.QUEUE_FULL)

    assert sum(waiting) == pytest.approx(sum(weights))
    assert [scores.waiting for scores in ledger.scores().values()] == [0.0] * len(waiting)


def test_what_is_read_is_a_copy() -> None:
    """A scrape must not see a sum change under its hands."""
    ledger = Ledger([METRIC])
    ledger.open("shop")
    before = ledger.scores()["shop", METRIC]
    ledger.discover("shop", {METRIC: 1.0}, {METRIC: None})
    ledger.finish(job(), score(1.0))

    assert before.sums.n == 0
    assert sum(before.counts) == 0


def test_a_metrics_lane_and_evaluator_are_its_rows() -> None:
    """Labels of every score."""
    assert lane_and_evaluator("context_relevance") == ("retrieval", "ragas")
