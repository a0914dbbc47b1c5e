"""The samples of an exposition in Prometheus' text format, as a report, the doctor and other readers of a page take them."""

from collections.abc import Iterable, Iterator

from prometheus_client.parser import text_string_to_metric_families

from lanewatch.monitors.rates import Sample


def samples_of(text: str) -> Iterator[Sample]:
    """Each sample; counters by their name without `_total`. Raises ValueError for what is no exposition."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield sample.name.removesuffix("_total"), sample.labels, sample.value


def total(samples: Iterable[Sample], name: str, **labels: str) -> float | None:
    """The sum over all labels that are not given; None where there is no such sample, which is not 0."""
    wanted = labels.items()
    found = [value for sample, have, value in samples if sample == name and wanted <= have.items()]
    return sum(found) if found else None
