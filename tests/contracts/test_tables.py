"""The pages of settings, metrics and refused requests say what the code says: their tables are built from declarations."""

from pathlib import Path

import pytest

from docs.build import METRICS_PAGE, PAGES, REFUSED_PAGE, SETTINGS_PAGE, built

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("page", [SETTINGS_PAGE, METRICS_PAGE, REFUSED_PAGE], ids=lambda page: page.stem)
def test_the_tables_are_those_of_the_code(page: Path) -> None:
    """Metrics, settings and reasons, row by row; `make docs` writes them anew."""
    text = page.read_text()

    assert built(text, PAGES[page]) == text


def test_the_readme_leads_to_each_page_and_is_read_in_one_sitting() -> None:
    """Tables of hundreds of rows hide the two commands that a newcomer needs."""
    text = README.read_text()
    pages = {page.name for page in (Path(__file__).parents[2] / "docs").glob("*.md")}
    linked = {name for name in pages if f"(docs/{name})" in text}

    assert {SETTINGS_PAGE.name, METRICS_PAGE.name, REFUSED_PAGE.name} <= linked
    assert len(text.splitlines()) <= 200
