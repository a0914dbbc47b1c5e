"""The README says what the code says: its tables are built from declarations."""

from docs.build import README, built


def test_the_tables_of_the_readme_are_those_of_the_code() -> None:
    """Metrics, settings and reasons, row by row; `make docs` writes them anew."""
    text = README.read_text()

    assert built(text) == text
