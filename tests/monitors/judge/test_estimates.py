"""Estimates from six sums: unbiased, additive, and as sure as they say."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.judge.estimates import Sums, interval, mean, n_eff, total, total_error, traffic_error
from lanewatch.monitors.judge.metrics import METRICS

SCORES = st.lists(st.tuples(st.floats(0, 1), st.floats(1, 1000)), min_size=1, max_size=50)


def sums_of(scores: list[tuple[float, float]]) -> Sums:
    """Of pairs of value and weight."""
    found = Sums()
    for value, weight in scores:
        found.add(value, weight)
    return found


@given(SCORES, SCORES)
def test_sums_of_two_replicas_are_the_sums_of_all(
    one: list[tuple[float, float]], other: list[tuple[float, float]]
) -> None:
    """Prometheus is the merge."""
    merged, whole = sums_of(one).with_(sums_of(other)), sums_of(one + other)

    for name in whole.__struct_fields__:
        assert getattr(merged, name) == pytest.approx(getattr(whole, name))


@given(SCORES)
def test_the_mean_lies_within_its_interval_and_its_range(scores: list[tuple[float, float]]) -> None:
    """However few there are."""
    found = interval(sums_of(scores))

    assert found is not None
    assert -1e-9 <= found.low <= found.value + 1e-9
    assert found.value <= found.high + 1e-9 <= 1 + 2e-9


def test_the_variance_is_that_of_the_definition() -> None:
    """By the sum over draws, w (w - 1) (x - m)^2 / W^2."""
    scores = [(0.2, 1.0), (0.9, 20.0), (0.4, 20.0), (1.0, 3.0)]
    whole = sum(w for _, w in scores)
    m = sum(w * x for x, w in scores) / whole
    defined = math.sqrt(sum(w * (w - 1) * (x - m) ** 2 for x, w in scores)) / whole

    assert mean(sums_of(scores)) == pytest.approx(m)
    assert traffic_error(sums_of(scores)) == pytest.approx(defined)


def test_what_was_all_judged_is_known_of_this_traffic_and_not_of_the_next() -> None:
    """Nothing was drawn; still the next hour is another one."""
    whole = sums_of([(0.0, 1.0), (1.0, 1.0)] * 20)
    found = interval(whole)

    assert traffic_error(whole) == 0
    assert found is not None
    assert found.high - found.low > 0.2


def test_a_few_scores_of_1_are_no_certainty() -> None:
    """Five right answers do not prove that all are."""
    found = interval(sums_of([(1.0, 1.0)] * 5))

    assert found is not None
    assert found.value == 1
    assert found.low < 0.7


@pytest.mark.parametrize(("ones", "n"), [(0, 30), (15, 30), (29, 30), (50, 60), (199, 200)])
def test_of_yes_and_no_it_is_nearly_wilsons_interval(ones: int, n: int) -> None:
    """Which is the usual one for shares."""
    z, p = 1.96, ones / n
    centre, reach = (
        (p + z * z / 2 / n) / (1 + z * z / n),
        z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n),
    )
    found = interval(sums_of([(1.0, 7.0)] * ones + [(0.0, 7.0)] * (n - ones)))

    assert found is not None
    assert found.low == pytest.approx(max(0, centre - reach), abs=0.025)
    assert found.high == pytest.approx(min(1, centre + reach), abs=0.025)


@pytest.mark.parametrize("kind", ["mostly_right", "spread", "even"])
def test_nineteen_intervals_in_twenty_hold_the_truth(kind: str) -> None:
    """Unequal weights that go with the score, as risky traces are judged more often and score lower."""
    draw = {
        "mostly_right": lambda r: float(r.random() < 0.9),
        "spread": lambda r: r.betavariate(5, 2),
        "even": random.Random.random,
    }
    truth = {"mostly_right": 0.9, "spread": 5 / 7, "even": 0.5}[kind]
    source, held = random.Random(5), 0
    for _ in range(400):
        found = Sums()
        for _ in range(300):
            x = draw[kind](source)
            p = 1.0 if x < truth - 0.2 else 0.2
            if source.random() < p:
                found.add(x, 1 / p)
        within = interval(found)
        held += within is not None and within.low <= truth <= within.high

    assert held >= 0.92 * 400


def test_n_is_what_the_weights_are_worth() -> None:
    """One observation that stands for a thousand others decides alone."""
    assert n_eff(sums_of([(1.0, 5.0)] * 7)) == pytest.approx(7)
    assert n_eff(sums_of([(1.0, 1000.0), (0.0, 1.0)])) < 1.01
    assert n_eff(Sums()) == 0


def test_nothing_has_no_mean() -> None:
    """Nor one of 0."""
    assert mean(Sums()) is None
    assert interval(Sums()) is None
    assert math.isnan(traffic_error(Sums()))


def test_a_total_is_of_all_traffic() -> None:
    """Two of ten were judged, each for five."""
    found = sums_of([(1.0, 5.0), (0.5, 5.0)])

    assert total(found) == 7.5
    assert total_error(found) == pytest.approx(math.sqrt(20 + 5))


def test_every_metric_has_the_range_that_the_rules_assume() -> None:
    """The recorded intervals add an observation at 0 and one at 1."""
    assert {(metric.low, metric.high) for metric in METRICS} == {(0.0, 1.0)}
