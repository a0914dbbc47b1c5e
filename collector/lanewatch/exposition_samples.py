"""The samples of an exposition in Prometheus' text format, as a report reads them."""

from collections.abc import Iterator

from prometheus_client.parser import text_string_to_metric_families

from lanewatch.monitors.rates import Sample


def samples_of(text: str) -> Iterator[Sample]:
    """Each sample; counters by their name without `_total`. Raises ValueError for what is no exposition."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield sample.name.removesuffix("_total"), sample.labels, sample.value
