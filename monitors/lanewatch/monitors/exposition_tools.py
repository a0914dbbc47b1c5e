"""What the registry says of tools as a metric, so that a rule of Prometheus can tell a destructive tool and its owner.

Invariants: one series a tool's label, as the other metrics write it: configured names and aliases from the start, and every
spelling that traffic brought; what nobody configured has the risk `unknown`, which is not harmless.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from lanewatch.monitors.label_text import label_text
from lanewatch.monitors.tools import Registry

NAME = "lanewatch_tool_info"
HELP = "1 for each tool: what a run can do (`unknown` where no entry says so), and who answers for it."
LABELS = ("tool", "risk", "owner")
UNKNOWN = "unknown"


class ToolInfo(Collector):
    """`seen` gives the label values of tools that other metrics have; it is called at each scrape, on the scraper's thread."""

    def __init__(self, registry: Registry, seen: Callable[[], Iterable[str]]) -> None:
        self._registry = registry
        self._seen = seen
        self._configured = tuple(name for tool in registry.tools for name in tool.names)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The one family."""
        family = GaugeMetricFamily(NAME, HELP, labels=LABELS)
        rows = {label_text(name): name for name in (*self._configured, *self._seen())}
        for label, name in rows.items():
            tool = self._registry.find(name)
            risk = UNKNOWN if tool is None or tool.risk is None else tool.risk
            family.add_metric((label, risk, label_text(self._registry.owner(name))), 1)
        yield family
