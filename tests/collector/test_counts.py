"""Counts: declared once, zero from the start."""

import pytest
from lanewatch.collector.counts import Counts, Metric

TABLE = (
    Metric("seen", "Things seen.", ("kind",), (("a",), ("b",))),
    Metric("late", "Late things."),
)


def test_known_labels_are_zero_from_the_start() -> None:
    """A scrape before the first event shows every known label value."""
    families = dict(Counts(TABLE).families())

    assert families[TABLE[0]] == {("a",): 0, ("b",): 0}
    assert families[TABLE[1]] == {(): 0}


def test_add_sums_by_label() -> None:
    """A label value nobody declared is counted all the same."""
    counts = Counts(TABLE)

    counts.add("seen", "a")
    counts.add("seen", "z", n=3)

    assert (counts.value("seen", "a"), counts.value("seen", "z"), counts.value("seen")) == (1, 3, 4)


def test_an_undeclared_counter_is_an_error() -> None:
    """A typing error in a name can't open a counter of its own."""
    with pytest.raises(KeyError):
        Counts(TABLE).add("sene", "a")
