"""Counters of the sidecar itself: plain integers on the hot path, read when somebody scrapes.

Each counter is declared once in a table with the label values that are known beforehand, so that these are exported as
0 from the start (https://prometheus.io/docs/practices/instrumentation/#avoid-missing-metrics). A counter belongs to the
one thread that adds to it; reading from another thread sees a value that was true a moment ago.
"""

from collections.abc import Iterator

import msgspec


class Metric(msgspec.Struct, frozen=True):
    """A counter's declaration: exposition name without `_total`, help, label names, label values known beforehand."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    known: tuple[tuple[str, ...], ...] = ()


class Counts:
    """The values of a table of counters."""

    def __init__(self, table: tuple[Metric, ...]) -> None:
        self.table = table
        self._values: dict[str, dict[tuple[str, ...], int]] = {
            metric.name: dict.fromkeys(metric.known if metric.labels else ((),), 0) for metric in table
        }

    def add(self, name: str, *labels: str, n: int = 1) -> None:
        """Add `n`; KeyError for a name that is not in the table."""
        values = self._values[name]
        values[labels] = values.get(labels, 0) + n

    def value(self, name: str, *labels: str) -> int:
        """One value; without labels the sum over all of them."""
        values = self._values[name]
        return values.get(labels, 0) if labels else sum(values.values())

    def families(self) -> Iterator[tuple[Metric, dict[tuple[str, ...], int]]]:
        """Every counter with its values, in table order."""
        for metric in self.table:
            yield metric, dict(self._values[metric.name])
