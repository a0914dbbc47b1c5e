"""Drift as Prometheus sees it: a collector that turns the last view into series at each scrape.

Every bin, detector and signal is there from the start, counters at 0. What can't be told is absent, not 0: a window in
which nothing was counted has no effect sizes. `ref` names the reference, so that counts of two never meet.
"""

from collections.abc import Callable, Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from lanewatch.monitors.drift.metrics import DRIFT_METRICS, DriftMetric, drift_rows
from lanewatch.monitors.drift.view import DriftView

Family = CounterMetricFamily | GaugeMetricFamily


class DriftCollector(Collector):
    """`look` gives the view; it is called at each scrape, on the scraper's thread."""

    def __init__(self, look: Callable[[], DriftView]) -> None:
        self._look = look

    def collect(self) -> Iterable[Family]:
        """Every family, also those without a series yet."""
        families = {metric.name: _family(metric) for metric in DRIFT_METRICS}
        for name, labels, value in drift_rows(self._look()):
            families[name].add_metric(labels, float(value))
        return families.values()

    def describe(self) -> Iterable[Family]:
        """Named beforehand, so that registering works nothing out."""
        return [_family(metric) for metric in DRIFT_METRICS]


def _family(metric: DriftMetric) -> Family:
    return (CounterMetricFamily if metric.counter else GaugeMetricFamily)(
        metric.name, metric.help, labels=metric.labels
    )
