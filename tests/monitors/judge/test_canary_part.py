"""The canaries' part of a budget: as much as their rounds take, and never so much that nothing is left for traffic."""

import pytest
from lanewatch.monitors.efficiency import Price
from lanewatch.monitors.judge.canary_part import NOTHING_KEPT, kept_for_canaries
from lanewatch.monitors.judge.states import ALL, DAY, HOUR

DEAR = Price(1000.0, 1000.0)


def test_what_is_kept_back_is_never_more_than_half_of_a_limit_and_nothing_without_rounds() -> None:
    """A budget that one round would spend still judges traffic."""
    dear = kept_for_canaries(DEAR, 3600.0, 7)

    assert dear.of(dear.dollars or 0.0, ("a", HOUR, 10.0)) == 5.0
    assert kept_for_canaries(Price(1.0, 1.0), 21_600.0, 7).of(0.1, (ALL, DAY, 20.0)) == pytest.approx(0.1 * 4 * 7)
    assert kept_for_canaries(DEAR, 0.0, 7) == NOTHING_KEPT
