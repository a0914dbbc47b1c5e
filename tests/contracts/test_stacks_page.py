"""docs/stacks.md says what the hints say: one table, whose conventions exist and whose switches are the table's own."""

import re

import pytest
from lanewatch.adapters.conventions.carried import CARRIED
from lanewatch.sidecar.content_switches import STACKS, UNKNOWN_REMEDY, remedy

from docs.build import PAGES, STACKS_PAGE, built

VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")
# Named in remedies, and explained on the page beyond the table.
BESIDE = {"OTEL_LOGS_EXPORTER", "OTEL_SEMCONV_STABILITY_OPT_IN"}


def test_the_table_of_the_page_is_that_of_the_code() -> None:
    """Row by row; `make docs` writes it anew."""
    text = STACKS_PAGE.read_text()

    assert built(text, PAGES[STACKS_PAGE]) == text


def test_every_row_is_of_a_convention_that_is_read_and_there_is_one_a_convention() -> None:
    """A hint could not choose between two."""
    conventions = [stack.convention for stack in STACKS]

    assert set(conventions) <= set(CARRIED)
    assert len(conventions) == len(set(conventions))


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.convention)
def test_a_hint_names_only_switches_that_its_row_names(stack: object) -> None:
    """Variables and arguments, letter by letter."""
    row = next(one for one in STACKS if one is stack)
    variables = set(VARIABLE.findall(row.remedy))

    assert row.remedy
    assert remedy(row.convention) == row.remedy
    assert variables - BESIDE <= set(VARIABLE.findall(row.switch))
    assert set(VARIABLE.findall(STACKS_PAGE.read_text())) >= BESIDE


def test_a_convention_without_a_row_points_at_the_page() -> None:
    """The page is there under that name."""
    assert remedy("spring_ai") == UNKNOWN_REMEDY
    assert f"docs/{STACKS_PAGE.name}" in UNKNOWN_REMEDY
