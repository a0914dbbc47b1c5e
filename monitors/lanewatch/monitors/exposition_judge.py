"""The judge as Prometheus sees it: evaluations and scores out of the ledger, and every other figure, at each scrape.

Evaluations have every outcome and reason from the start, scores every service that was seen; what can't be told is absent.
Trace ids stand in exemplars of `lanewatch_score` and nowhere else.
"""

from collections.abc import Iterable, Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, Exemplar, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from lanewatch.monitors.judge.figures import (
    EVALUATION_METRICS,
    JUDGE_METRICS,
    SCORE_METRICS,
    Figures,
    Histogram,
    JudgeMetric,
    Kind,
)
from lanewatch.monitors.judge.ledger import BOUNDS, Ledger, Scores, heaped, lane_and_evaluator
from lanewatch.monitors.judge.results import REASONS


class JudgeCollector(Collector):
    """Reads both at each scrape, on the scraper's thread."""

    def __init__(self, ledger: Ledger, figures: Figures) -> None:
        self._ledger = ledger
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        """Every family, also those without a series yet."""
        yield from self._evaluations()
        yield from self._scores()
        for metric, values in self._figures.values():
            family = _family(metric)
            for labels, value in values.items():
                family.add_metric(labels, value)
            yield family
        for metric, found in self._figures.histograms():
            histograms = _histogram(metric)
            for labels, histogram in found.items():
                histograms.add_metric(labels, _buckets(metric, histogram), histogram.values)
            yield histograms

    def describe(self) -> Iterable[Metric]:
        """Named beforehand, so that registering reads nothing."""
        return [_histogram(m) if m.kind is Kind.HISTOGRAM else _family(m) for m in JUDGE_METRICS]

    def _evaluations(self) -> Iterator[Metric]:
        discovered, ended, pending = map(_family, EVALUATION_METRICS)
        for metric, counted in self._ledger.evaluations().items():
            discovered.add_metric((metric,), counted.discovered)
            pending.add_metric((metric,), counted.pending)
            for outcome, reasons in REASONS.items():
                for reason in reasons:
                    ended.add_metric((metric, outcome.value, reason.value), counted.ended.get((outcome, reason), 0))
        return iter((discovered, ended, pending))

    def _scores(self) -> Iterator[Metric]:
        histogram, sums = _histogram(SCORE_METRICS[0]), [_family(metric) for metric in SCORE_METRICS[1:]]
        for (service, metric), scores in self._ledger.scores().items():
            lane, evaluator = lane_and_evaluator(metric)
            labels = (service, lane, metric, evaluator)
            histogram.add_metric(labels, _score_buckets(scores), scores.values)
            for family, value in zip(sums, _sums(scores), strict=True):
                family.add_metric(labels, value)
        return iter((histogram, *sums))


def _sums(scores: Scores) -> tuple[float, ...]:
    """In the order of the table."""
    sums = scores.sums
    return (
        sums.weight,
        sums.weighted,
        sums.weighted_squares,
        sums.squares,
        sums.squares_values,
        sums.squares_squares,
        scores.missing,
        scores.waiting,
    )


def _score_buckets(scores: Scores) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
    buckets: list[tuple[str, float] | tuple[str, float, Exemplar]] = []
    for place, count in enumerate(heaped(scores.counts)):
        bound = str(BOUNDS[place]) if place < len(BOUNDS) else "+Inf"
        last = scores.exemplars.get(place)
        if last is None:
            buckets.append((bound, count))
        else:
            buckets.append((bound, count, Exemplar({"trace_id": last[0]}, last[1])))
    return buckets


def _buckets(metric: JudgeMetric, histogram: Histogram) -> list[tuple[str, float]]:
    bounds = (*map(str, metric.buckets), "+Inf")
    return list(zip(bounds, heaped(histogram.counts), strict=True))


def _family(metric: JudgeMetric) -> CounterMetricFamily | GaugeMetricFamily:
    family = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    return family(metric.name, metric.help, labels=metric.labels)


def _histogram(metric: JudgeMetric) -> HistogramMetricFamily:
    return HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
