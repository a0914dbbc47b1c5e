"""Whether a round of anchors differs from the first one."""

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.judge.canaries.shift import (
    LEAST_SCORED,
    SMALLEST,
    Shift,
    binomial_interval,
    shifts,
    student_quantile,
)
from scipy import stats  # type: ignore[import-untyped]

ITEMS = [f"item-{at}" for at in range(48)]
GOOD = "supported"
KINDS = {item: ("supported", "unsupported", "contradicted", "evasive")[at % 4] for at, item in enumerate(ITEMS)}


BANDS = {item: (0.75, 1.0) if kind == GOOD else (0.0, 0.4) for item, kind in KINDS.items()}


def sound(rng: Random, noise: float = 0.05) -> dict[str, float]:
    """Scores of a sound judge with some noise."""
    level = {"supported": 0.9, "unsupported": 0.1, "contradicted": 0.15, "evasive": 0.3}
    return {item: min(1.0, max(0.0, rng.gauss(level[KINDS[item]], noise))) for item in ITEMS}


def found(anchor: Mapping[str, float | None], now: Mapping[str, float | None]) -> list[str]:
    """The groups that shifted."""
    return [one.group for one in shifts(anchor, now, KINDS, BANDS) or () if one.is_shifted]


def test_an_unchanged_judge_is_called_shifted_in_less_than_1_of_100_rounds() -> None:
    """400 rounds of noise alone: at 0.1 % each, more than 3 have a chance of 1 in 1,000."""
    rng = Random(7)
    anchor = sound(rng, 0.15)

    assert sum(bool(found(anchor, sound(rng, 0.15))) for _ in range(400)) <= 3


def test_a_milder_judge_is_found_by_the_mean_of_all() -> None:
    """Everything a tenth higher."""
    rng = Random(1)
    anchor = sound(rng)
    now = {item: min(1.0, value + 0.1) for item, value in sound(rng).items()}

    assert "all" in found(anchor, now)


def test_a_judge_that_gives_everything_the_middle_mark_is_found_by_kind() -> None:
    """The mean of all stands still; supported anchors fall, the others rise."""
    rng = Random(2)
    anchor = sound(rng)
    middle = sum(anchor.values()) / len(anchor)
    now = {item: middle + rng.gauss(0, 0.02) for item in ITEMS}
    moved = found(anchor, now)

    assert "supported" in moved
    assert "all" not in moved


@pytest.mark.parametrize(("n", "moved"), [(48, True), (20, True), (6, False), (0, False)])
def test_a_judge_that_ends_anchors_without_a_score_has_shifted(n: int, moved: bool) -> None:
    """All of them leave no score to compare; a few are noise. The endpoint's failures are no ends at all."""
    anchor = sound(Random(6))
    now = {**anchor, **dict.fromkeys(ITEMS[:n])}

    assert ("missing" in found(anchor, now)) is moved
    assert ("missing" in found(now, anchor)) is (
        moved and n != 48
    )  # a first round without scores is none to hold against


def test_a_share_that_lost_its_scores_and_could_by_chance_is_unknown() -> None:
    """13 of 48: too few to be certain, and too many to leave them out and call the rest steady."""
    anchor = sound(Random(6))

    assert shifts(anchor, {**anchor, **dict.fromkeys(ITEMS[:13])}, KINDS, BANDS) is None


def test_a_shift_that_is_certain_and_small_is_none() -> None:
    """All anchors 0.02 higher: beyond chance, and of no consequence."""
    anchor = dict.fromkeys(ITEMS, 0.5)
    now = {item: 0.52 + 0.0001 * at for at, item in enumerate(ITEMS)}
    moved = shifts(anchor, now, KINDS, BANDS)

    assert moved is not None
    assert moved[0].low > 0
    assert moved[0].mean < SMALLEST
    assert not moved[0].is_shifted


def test_verdicts_of_two_values_are_tested_exactly() -> None:
    """20 of 48 fell from 1 to 0 is a shift; 3 up and 3 down are none; an equal round is none."""
    anchor = dict.fromkeys(ITEMS, 1.0)
    fallen = {item: 0.0 if at < 20 else 1.0 for at, item in enumerate(ITEMS)}
    mixed = {**anchor, "item-0": 0.0}

    assert "all" in found(anchor, fallen)
    assert found(anchor, mixed) == []
    assert shifts(anchor, anchor, KINDS, BANDS)[0] == Shift("all", 48, 0.0, 0.0, 0.0)  # type: ignore[index]


def test_a_judge_that_tosses_coins_is_found_by_its_errors() -> None:
    """Half of all verdicts are wrong, some this way and some that: 40 rounds, each found."""
    rng = Random(4)
    right = {item: float(kind == GOOD) for item, kind in KINDS.items()}
    tossed = [{item: float(rng.random() < 0.5) for item in ITEMS} for _ in range(40)]

    assert all("error" in found(right, now) for now in tossed)


@pytest.mark.parametrize("n", [0, LEAST_SCORED - 1, 30])
def test_too_few_anchors_with_two_scores_are_unknown(n: int) -> None:
    """Below 20, or below three quarters of those that had a score in the first round."""
    anchor = sound(Random(3))

    assert shifts(anchor, dict(list(anchor.items())[:n]), KINDS, BANDS) is None


@pytest.mark.parametrize("probability", [0.975, 0.995, 0.9995, 0.9999])
@pytest.mark.parametrize("degrees", [7, 11, 20, 47, 200])
def test_students_quantile_is_scipys(probability: float, degrees: int) -> None:
    """Within 1.5 % where the tail is longest, far less elsewhere."""
    expected = stats.t.ppf(probability, degrees)

    assert student_quantile(probability, degrees) == pytest.approx(expected, rel=0.015)


@given(n=st.integers(1, 60), data=st.data())
def test_the_interval_of_a_share_is_scipys(n: int, data: st.DataObject) -> None:
    """Clopper and Pearson's."""
    k = data.draw(st.integers(0, n))
    expected = stats.binomtest(k, n).proportion_ci(0.999, "exact")

    assert binomial_interval(k, n, 0.999) == pytest.approx((expected.low, expected.high), abs=1e-6)


@given(st.permutations(ITEMS))
def test_the_order_of_anchors_does_not_matter(order: list[str]) -> None:
    """They are paired by name."""
    rng = Random(5)
    anchor, now = sound(rng), sound(rng)

    assert shifts(anchor, {item: now[item] for item in order}, KINDS, BANDS) == shifts(anchor, now, KINDS, BANDS)
