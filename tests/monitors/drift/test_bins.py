"""Bins: every value has exactly one place, and nonsense has one of its own."""

import math
from bisect import bisect_left
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.drift.bins import (
    NAN,
    OTHER,
    CategoryBins,
    CountBins,
    EventBins,
    NumericBins,
    category_bins,
    numeric_bins,
)

ANYTHING = st.one_of(st.floats(), st.integers(), st.text(), st.none(), st.booleans(), st.lists(st.integers()))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=300), ANYTHING)
def test_every_value_has_one_place(sample: list[float], value: object) -> None:
    """Whatever it is, in bins of whatever sample."""
    for bins in (numeric_bins(sample), CountBins(), CategoryBins(("a", "b"))):
        assert 0 <= bins.place()(value) < len(bins.names)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=300))
def test_numeric_bins_are_closed_above_as_le_is(sample: list[float]) -> None:
    """A value on an edge counts below it; order is kept."""
    bins = numeric_bins(sample)
    place = bins.place()

    assert list(bins.edges) == sorted(set(bins.edges))
    assert all(place(edge) == index for index, edge in enumerate(bins.edges))
    assert all(place(value) == bisect_left(bins.edges, value) for value in sample)
    assert len(bins.names) == len(set(bins.names)) or len(bins.edges) > 1


@pytest.mark.parametrize("value", [math.nan, None, "12", [1.0]])
def test_what_is_no_number_has_a_bin_of_its_own(value: object) -> None:
    """A rise of missing values is drift, and no value is ever made of them."""
    bins = NumericBins((1.0, 2.0))

    assert bins.names[bins.place()(value)] == NAN


def test_infinities_fall_into_the_end_bins() -> None:
    """They are numbers, larger or smaller than all others."""
    place = NumericBins((1.0, 2.0)).place()

    assert (place(-math.inf), place(math.inf)) == (0, 2)
    assert CountBins(9).place()(math.inf) == 10


def test_a_frequent_value_has_a_bin_of_its_own() -> None:
    """Zero in every second trace would else hide what is just above it."""
    bins = numeric_bins([0.0] * 50 + [float(k) for k in range(1, 51)])
    place = bins.place()

    assert place(0.0) != place(math.nextafter(0.0, 1))
    assert place(0.0) != place(-1e-9)


def test_a_constant_and_an_empty_reference_have_bins() -> None:
    """A constant: below, itself, above. Nothing at all: one bin."""
    constant = numeric_bins([7.0] * 20)

    assert [constant.place()(value) for value in (6, 7, 8)] == [0, 1, 2]
    assert numeric_bins([]).names == ("all", NAN)
    assert numeric_bins([math.nan, math.inf]).place()(3.0) == 0


def test_unseen_categories_are_counted_together() -> None:
    """Top twenty, then everything else; ties in the order of names, so that replicas agree."""
    counts = Counter({f"tool{k:02}": 5 for k in range(30)})
    bins = category_bins(counts)

    assert bins.categories == tuple(f"tool{k:02}" for k in range(20))
    assert bins.names[bins.place()("never seen")] == OTHER
    assert bins.names[bins.place()(None)] == NAN
    assert category_bins(Counter(dict(reversed(counts.items())))) == bins


def test_counts_beyond_nine_share_a_bin() -> None:
    """And negative ones are no counts."""
    bins = CountBins()

    assert [bins.names[bins.place()(value)] for value in (0, 9, 10, 4000, -1)] == ["0", "9", "10+", "10+", NAN]
    assert EventBins().names[EventBins().place()(True)] == "yes"
