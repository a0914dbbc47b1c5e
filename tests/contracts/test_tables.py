"""The pages of settings, metrics and refused requests say what the code says: their tables are built from declarations."""

from pathlib import Path

import pytest
from lanewatch.monitors.exposition import Exposition
from lanewatch.parts import COUNTS

from docs.build import FIRST_LIMITS, METRICS_PAGE, PAGES, README, REFUSED_PAGE, SETTINGS_PAGE, built


@pytest.mark.parametrize("page", [README, SETTINGS_PAGE, METRICS_PAGE, REFUSED_PAGE], ids=lambda page: page.stem)
def test_the_tables_are_those_of_the_code(page: Path) -> None:
    """Metrics, settings and reasons, row by row; `make docs` writes them anew."""
    text = page.read_text()

    assert built(text, PAGES[page]) == text


def test_the_readme_leads_to_each_page_and_is_read_in_one_sitting() -> None:
    """Tables of hundreds of rows would hide the two commands that a newcomer needs: it has the first rows of them."""
    text = README.read_text()
    pages = {page.name for page in (Path(__file__).parents[2] / "docs").glob("*.md")}
    linked = {name for name in pages if f"(docs/{name})" in text}

    assert {SETTINGS_PAGE.name, METRICS_PAGE.name, REFUSED_PAGE.name} <= linked
    assert len(text.splitlines()) <= 235


@pytest.mark.parametrize(("setting", "counted"), FIRST_LIMITS.items(), ids=FIRST_LIMITS)
def test_a_limit_names_a_reason_that_is_counted(setting: str, counted: tuple[str, str, tuple[str, ...]]) -> None:
    """The words of the table are label values that a sidecar exports from its start, or none would be found."""
    series, label, values = counted
    exported = {(f"{metric.name}_total", metric.labels, known) for metric in COUNTS for known in metric.known}
    exposition = Exposition(max_services=1, max_tools=1)
    exported |= {
        (sample.name, tuple(sample.labels), tuple(sample.labels.values()))
        for metric in exposition.registry.collect()
        for sample in metric.samples
    }

    assert {(series, (label,), (value,)) for value in values} <= exported, setting
