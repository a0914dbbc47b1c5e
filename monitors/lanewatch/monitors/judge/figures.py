"""The judge's metrics: what each is called, and the figures of all that is not an evaluation or a score (ledger.py has those).

Names are an interface. Figures may be moved by any thread and read by any; labels are of closed lists or of what is
configured, never traced. What can't be told is absent, not 0: `drop` takes it back.
"""

import math
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

import msgspec

Labels = tuple[str, ...]


class Kind(StrEnum):
    """Of a family."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class JudgeMetric(msgspec.Struct, frozen=True):
    """A family: exposition name (of a counter without `_total`), help, labels, and values that are known beforehand."""

    name: str
    help: str
    labels: Labels = ()
    kind: Kind = Kind.GAUGE
    known: tuple[Labels, ...] = ()  # of the labels behind `metric`, exported as 0 from the start
    buckets: tuple[float, ...] = ()


def _counter(name: str, text: str, labels: Labels = (), known: tuple[Labels, ...] = ()) -> JudgeMetric:
    return JudgeMetric(name, text, labels, Kind.COUNTER, known)


SCORE = ("service", "lane", "metric", "evaluator")
PER_METRIC: tuple[Labels, ...] = ((),)
PERIODS: tuple[Labels, ...] = (("hour",), ("day",))

SCORE_METRICS = (
    JudgeMetric(
        "lanewatch_score",
        "Scores of live traces as they were judged, not weighted: risky ones are more often judged.",
        SCORE,
        Kind.HISTOGRAM,
    ),
    _counter("lanewatch_score_weight", "Sum of weights w = 1 / inclusion probability of scored traces.", SCORE),
    _counter("lanewatch_score_weighted_sum", "Sum of w x over scores x; over that of w it is the mean.", SCORE),
    _counter("lanewatch_score_weighted_squares", "Sum of w x^2.", SCORE),
    _counter("lanewatch_score_weight_squares", "Sum of w^2: n is worth W^2 over it.", SCORE),
    _counter("lanewatch_score_weight_squares_values", "Sum of w^2 x, for the mean's variance.", SCORE),
    _counter("lanewatch_score_weight_squares_squares", "Sum of w^2 x^2, for the mean's variance.", SCORE),
    _counter(
        "lanewatch_score_missing_weight",
        "Sum of w of drawn traces that could be judged and have no score: a mean tells nothing of these.",
        SCORE,
    ),
    JudgeMetric(
        "lanewatch_score_waiting_weight",
        "Sum of w of drawn traces that are not judged yet: a mean tells nothing of these either.",
        SCORE,
    ),
)
EVALUATION_METRICS = (
    _counter("lanewatch_evaluations_discovered", "Traces that came up for a metric, each once.", ("metric",)),
    _counter(
        "lanewatch_evaluations",
        "How evaluations ended: discovered = the sum of these + pending. A missing score says why.",
        ("metric", "outcome", "reason"),
    ),
    JudgeMetric("lanewatch_evaluations_pending", "Traces that were drawn and are not judged yet.", ("metric",)),
)
FIGURES = (
    _counter("lanewatch_judge_tokens", "Tokens that judging took.", ("metric", "model", "direction")),
    _counter(
        "lanewatch_judge_cost_dollars", "Dollars that judging cost, of calls with a price.", ("metric",), PER_METRIC
    ),
    _counter(
        "lanewatch_judge_unpriced_calls",
        "Calls whose price is not known: they are not in the dollars. Remedy: set prices.MODEL.",
        ("metric",),
        PER_METRIC,
    ),
    _counter("lanewatch_judge_calls", "Calls of an endpoint, by how they ended.", ("metric", "outcome")),
    JudgeMetric(
        "lanewatch_judge_call_seconds",
        "Seconds that one evaluation took.",
        ("evaluator",),
        Kind.HISTOGRAM,
        buckets=(0.001, 0.01, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0),
    ),
    JudgeMetric(
        "lanewatch_sampling_kept_ratio",
        "Of the traces that the rates of [sampling] ask for, the share that sampling.per_minute, and what a model can judge, leave: below "
        "1 rates are lowered. Of metrics that ask a model, and of the others.",
        ("judge",),
    ),
    JudgeMetric("lanewatch_judge_queue_jobs", "Jobs in the store, by state.", ("state",)),
    JudgeMetric("lanewatch_judge_queue_oldest_seconds", "Age of the oldest job that waits; 0 where none does."),
    _counter("lanewatch_judge_queue_evicted", "Jobs that made room for others.", ("metric",), PER_METRIC),
    _counter("lanewatch_judge_cache_hits", "Evaluations whose result was there already.", ("metric",), PER_METRIC),
    _counter(
        "lanewatch_judge_store_faults",
        "Times that the store could not be used, by what was wrong; what is drawn meanwhile ends as store_failed.",
        ("trouble",),
    ),
    _counter(
        "lanewatch_judge_revisions",
        "Later readings of drawn traces: the sample was replaced, or had been judged and was left.",
        ("metric", "outcome"),
        (("replaced",), ("left",)),
    ),
    JudgeMetric(
        "lanewatch_judge_budget_limit_dollars", "What may be spent; metric `all` is the sum.", ("metric", "period")
    ),
    JudgeMetric(
        "lanewatch_judge_budget_spent_dollars",
        "What was spent in the period so far; absent where all of it is at a price that nobody knows.",
        ("metric", "period"),
    ),
    JudgeMetric(
        "lanewatch_judge_budget_unpriced_tokens",
        "Tokens of the period so far whose price is not known: they are in no dollars. Remedy: set prices.MODEL.",
        ("metric", "period"),
    ),
    JudgeMetric("lanewatch_judge_circuit_open", "1 while nobody is asked, for this cause.", ("cause",)),
    JudgeMetric(
        "lanewatch_judge_info",
        "Who scores a metric, as it is configured: version of metric, evaluator and prompts, model, embedding model; empty for none.",
        ("metric", "evaluator", "version", "model", "embedding_model"),
    ),
    JudgeMetric("lanewatch_judge_worker_up", "1 while the judging process runs and answers."),
    _counter("lanewatch_judge_worker_restarts", "Restarts of the judging process.", ("reason",)),
    JudgeMetric("lanewatch_judge_worker_memory_bytes", "Resident memory of the judging process."),
    JudgeMetric("lanewatch_judge_canary_score", "Mean score of the last round's anchors.", ("metric", "kind")),
    JudgeMetric(
        "lanewatch_judge_canary_shift", "Mean change of the anchors' scores against their reference.", ("metric",)
    ),
    _counter(
        "lanewatch_judge_canary_rounds",
        "Rounds of anchors, by how they ended.",
        ("metric", "outcome"),
        (("anchor",), ("steady",), ("shifted",), ("unknown",)),
    ),
    _counter(
        "lanewatch_judge_canary_cost_dollars",
        "Dollars of those in lanewatch_judge_cost_dollars_total that rounds of anchors took.",
        ("metric",),
        PER_METRIC,
    ),
    _counter(
        "lanewatch_judge_canary_unpriced",
        "Anchors that were asked at a price nobody knows: they are in no dollars. Remedy: set prices.MODEL.",
        ("metric",),
        PER_METRIC,
    ),
    JudgeMetric(
        "lanewatch_judge_canary_age_seconds",
        "Age of the last whole round; where none was whole yet, time since the first began.",
        ("metric",),
    ),
    JudgeMetric(
        "lanewatch_judge_canary_every_seconds", "The interval of rounds (judge.canary_every_seconds); absent for 0."
    ),
    JudgeMetric(
        "lanewatch_judge_drift",
        "1 where anchors shifted beyond chance, 0 where not, absent while unknown: then scores tell of the judge.",
        ("metric",),
    ),
    JudgeMetric(
        "lanewatch_judge_agreement",
        "Agreement of two judges on the same samples: kappa of yes and no, or correlation; value and 95 % interval.",
        ("metric", "statistic", "bound"),
    ),
    JudgeMetric(
        "lanewatch_judge_length_correlation",
        "Rank correlation of score and length of the answer: a judge that favours long answers; 95 % interval.",
        ("metric", "bound"),
    ),
    JudgeMetric(
        "lanewatch_judge_same_family",
        "1 where a judge scores answers of its own family, which it may favour; absent while unknown.",
        ("metric",),
    ),
    _counter(
        "lanewatch_judge_unstable", "Verdicts that another order of the same contexts changed.", ("metric",), PER_METRIC
    ),
    _counter(
        "lanewatch_judge_injection_suspected", "Samples with text that addresses the judge.", ("metric",), PER_METRIC
    ),
    _counter("lanewatch_scores_exported", "Scores for scores_endpoint, by how sending went.", ("outcome",)),
)
JUDGE_METRICS = (*SCORE_METRICS, *EVALUATION_METRICS, *FIGURES)
_BY_NAME = {one.name: one for one in FIGURES}


class Histogram(msgspec.Struct):
    """Counts of each bucket by itself, and the sum of what was observed."""

    counts: list[int]
    values: float = 0.0


class Figures:
    """All figures of this process. Raises KeyError for a name that is not in the table, ValueError for labels that do not fit."""

    def __init__(self, metrics: Iterable[str]) -> None:
        """`metrics` are those that are judged here: what they count is there from the start."""
        self._lock = threading.Lock()
        self._values: dict[str, dict[Labels, float]] = {one.name: {} for one in FIGURES}
        self._histograms: dict[str, dict[Labels, Histogram]] = {
            one.name: {} for one in FIGURES if one.kind is Kind.HISTOGRAM
        }
        for one in FIGURES:
            for metric in metrics if one.labels[:1] == ("metric",) else ():
                self._values[one.name].update({(metric, *rest): 0.0 for rest in one.known})

    def add(self, name: str, labels: Labels = (), n: float = 1) -> None:
        """Count on."""
        values = self._of(name, labels, Kind.COUNTER)
        with self._lock:
            values[labels] = values.get(labels, 0.0) + n

    def put(self, name: str, value: float | None, labels: Labels = ()) -> None:
        """What a gauge stands at; None where that is not known."""
        if value is None:
            self.drop(name, labels)
            return
        values = self._of(name, labels, Kind.GAUGE)
        with self._lock:
            values[labels] = value

    def drop(self, name: str, labels: Labels = ()) -> None:
        """It is not known any more."""
        values = self._of(name, labels, Kind.GAUGE)
        with self._lock:
            values.pop(labels, None)

    def observe(self, name: str, value: float, labels: Labels = ()) -> None:
        """One more observation."""
        self._of(name, labels, Kind.HISTOGRAM)
        buckets = _BY_NAME[name].buckets
        with self._lock:
            found = self._histograms[name].setdefault(labels, Histogram([0] * (len(buckets) + 1)))
            found.counts[bisect_left(buckets, value)] += 1
            found.values += value

    def values(self) -> Iterator[tuple[JudgeMetric, dict[Labels, float]]]:
        """Counters and gauges, each family as it stands; a value that is no number is left out."""
        for one in FIGURES:
            if one.kind is not Kind.HISTOGRAM:
                with self._lock:
                    known = dict(self._values[one.name])
                yield one, {labels: value for labels, value in known.items() if math.isfinite(value)}

    def histograms(self) -> Iterator[tuple[JudgeMetric, dict[Labels, Histogram]]]:
        """Histograms, each as it stands."""
        for one in FIGURES:
            if one.kind is Kind.HISTOGRAM:
                with self._lock:
                    known = {
                        labels: Histogram(list(found.counts), found.values)
                        for labels, found in self._histograms[one.name].items()
                    }
                yield one, known

    def _of(self, name: str, labels: Sequence[str], kind: Kind) -> dict[Labels, float]:
        metric = _BY_NAME[name]
        if metric.kind is not kind or len(labels) != len(metric.labels):
            msg = f"{name} is a {metric.kind} of {metric.labels}"
            raise ValueError(msg)
        return self._values[name]
