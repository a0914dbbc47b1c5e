"""Values as pictures write them: units, names of series, colours of thresholds."""

from typing import Any

import pytest

from dashboards.queries import panels
from dashboards.shown import COLOURS, by_threshold, named, written
from tests.dashboards.pages import PAGES


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (0.0524, "percentunit", "5.24 %"),
        (12.0, "cpm", "12/min"),
        (0.256, "cps", "0.26/s"),
        (3 * 2**20, "bytes", "3 MiB"),
        (512.0, "bytes", "512 B"),
        (0.0, "s", "0 s"),
        (0.25, "s", "250 ms"),
        (129.0, "s", "2.15 min"),
        (4.5, "currencyUSD", "$4.5"),
        (20000.0, "short", "20k"),
        (0.0, "short", "0"),
        (2.1e-6, "short", "2e-06"),
        (1.3e20, "short", "1e+20"),
        (float("nan"), "short", "NaN"),
    ],
)
def test_a_value_is_written_with_its_unit(value: float, unit: str, expected: str) -> None:
    """As Grafana would, or shorter."""
    assert written(value, unit) == expected


def test_every_unit_of_the_dashboards_can_be_written() -> None:
    """And one that is not known is an error, not a bare number."""
    units = {panel["fieldConfig"]["defaults"]["unit"] for page in PAGES.values() for panel in panels(page)}

    assert all(written(1.0, unit) for unit in units)
    with pytest.raises(LookupError):
        written(1.0, "furlong")


def test_a_series_is_called_as_its_legend_says() -> None:
    """Labels in the place of their names; all of them where nothing says."""
    labels = {"__name__": "up", "tool": "search", "kind": "missing"}

    assert named("{{tool}}: {{kind}}", labels) == "search: missing"
    assert named("__auto", labels) == "kind=missing, tool=search"
    assert named("{{service}}", labels) == ""


def test_a_colour_is_that_of_the_last_threshold_that_is_reached() -> None:
    """From the base up."""
    steps: list[dict[str, Any]] = [{"value": None, "color": "green"}, {"value": 1, "color": "red"}]

    assert by_threshold(0.9, steps) == COLOURS["green"]
    assert by_threshold(1.0, steps) == COLOURS["red"]
