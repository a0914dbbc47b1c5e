"""The versions of the rules that verdicts were given by, as a metric: a change of a rate may be a change of these."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

NAME = "lanewatch_rules_info"
HELP = "1, with the versions of the registry and of the policies and prices (empty: none), as handoffs carry them."
LABELS = ("registry", "policies")


class RulesInfo(Collector):
    """One series; the versions are hashes and hold nothing of what is configured."""

    def __init__(self, registry: str, policies: str) -> None:
        self._versions = (registry, policies)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The one family."""
        family = GaugeMetricFamily(NAME, HELP, labels=LABELS)
        family.add_metric(self._versions, 1)
        yield family
