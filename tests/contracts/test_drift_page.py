"""The page of drift says what the code watches."""

from lanewatch.monitors.drift.signals import SIGNALS

from docs.build import DRIFT, PAGES, built


def test_the_table_of_signals_is_that_of_the_code() -> None:
    """Row by row; `make docs` writes it anew."""
    text = DRIFT.read_text()

    assert built(text, PAGES[DRIFT]) == text
    assert all(f"| `{signal.name}` | {signal.lane} |" in text for signal in SIGNALS)
    assert all(signal.meaning.endswith(".") for signal in SIGNALS)
