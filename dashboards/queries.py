"""What a dashboard asks, read back out of its JSON, with variables filled in as Grafana fills them in.

Invariants: a variable that nothing gives a value for is an error, never an empty text; a range variable's length is the one given.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")
SELECTOR = re.compile(r"\b(up|ALERTS|lanewatch[\w:]*)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')


class Target(msgspec.Struct, frozen=True):
    """One expression of one panel; `kind` is the panel's type."""

    dashboard: str
    panel: str
    ref: str
    expr: str
    kind: str
    legend: str
    instant: bool
    exemplar: bool

    @property
    def name(self) -> str:
        """Where it stands."""
        return f"{self.dashboard} / {self.panel} / {self.ref}"

    def selectors(self) -> list[tuple[str, tuple[tuple[str, str, str], ...]]]:
        """(metric, its (label, operator, value)) of each selector."""
        return [(metric, tuple(MATCHER.findall(matchers or ""))) for metric, matchers in SELECTOR.findall(self.expr)]


class Span(msgspec.Struct, frozen=True):
    """The time shown, in seconds: its length, the step between points, and how often Prometheus scrapes."""

    length: float
    step: float
    scrape: float

    def variables(self) -> dict[str, str]:
        """Grafana's own variables; $__rate_interval is max(step + scrape, 4 scrapes) (Grafana's Prometheus data source)."""
        rate = max(self.step + self.scrape, 4 * self.scrape)
        return {
            "__range": f"{self.length:.0f}s",
            "__range_s": f"{self.length:.0f}",
            "__interval": f"{self.step:.0f}s",
            "__rate_interval": f"{rate:.0f}s",
            "__rate_interval_ms": f"{rate * 1000:.0f}",
        }


def panels(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every panel, also those of rows that are folded up; no rows."""
    for panel in document["panels"]:
        yield from panel.get("panels") or ()
        if panel["type"] != "row":
            yield panel


def targets(document: Mapping[str, Any]) -> Iterator[Target]:
    """Every expression of a dashboard."""
    for panel in panels(document):
        for target in panel.get("targets", ()):
            yield Target(
                document["title"],
                panel["title"],
                target["refId"],
                target["expr"],
                panel["type"],
                target.get("legendFormat", ""),
                bool(target.get("instant")),
                bool(target.get("exemplar")),
            )


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with each $name and ${name} replaced. Raises KeyError for a variable without a value."""
    return _VARIABLE.sub(lambda found: values[found[1] or found[2]], text)
