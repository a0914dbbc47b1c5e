"""What every evaluator is: given a metric and a sample, it returns a result, and never raises for what it was given."""

from typing import Protocol

from lanewatch.monitors.judge.metrics import Metric
from lanewatch.monitors.judge.results import Result
from lanewatch.monitors.judge.samples import Sample


class Evaluates(Protocol):
    """The pluggable judge. `evaluate` may take seconds and be cancelled; the metric is one of its own rows."""

    async def evaluate(self, metric: Metric, sample: Sample) -> Result:
        """The result of one sample by one metric."""
        ...
