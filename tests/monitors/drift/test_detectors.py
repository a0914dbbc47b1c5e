"""What every detector keeps: it stays quiet when nothing changes, fires at known ticks, restarts, goes on, merges."""

import math
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanewatch.monitors.drift.alarm import Series
from lanewatch.monitors.drift.bins import CategoryBins, NumericBins
from lanewatch.monitors.drift.rate_reference import known_rate
from lanewatch.monitors.drift.rate_series import RateSeries, RateState
from lanewatch.monitors.drift.share_reference import known_shares
from lanewatch.monitors.drift.share_series import ShareSeries, ShareState
from lanewatch.monitors.drift.tick import Tick

TOOLS = np.array([0.40, 0.25, 0.15, 0.10, 0.05, 0.04, 0.005, 0.005])
MOVED = np.array([0.25, 0.40, 0.15, 0.10, 0.05, 0.04, 0.005, 0.005])
LENGTHS = np.array([0.1] * 9 + [0.05, 0.049, 0.001])
LONGER = np.array([0.06] * 4 + [0.1] * 5 + [0.11, 0.149, 0.001])
CHANGE = 2000

Make = Callable[[], RateSeries | ShareSeries]
CASES: dict[str, tuple[Make, np.ndarray, np.ndarray]] = {
    "rate": (lambda: RateSeries(known_rate(0.01)), np.array([0.99, 0.01]), np.array([0.94, 0.06])),
    "tools": (lambda: ShareSeries(CategoryBins(tuple("abcdef")), known_shares(TOOLS)), TOOLS, MOVED),
    "lengths": (
        lambda: ShareSeries(NumericBins(tuple(float(k) for k in range(10))), known_shares(LENGTHS, 11)),
        LENGTHS,
        LONGER,
    ),
}


def ticks(before: np.ndarray, after: np.ndarray, seed: int, n: int = 6, length: int = 4000) -> list[Tick]:
    """Ticks of n observations on average; from CHANGE on, of the other shares."""
    rng = np.random.default_rng(seed)
    return [
        Tick(index, 0, 1 / 6, {1.0: rng.multinomial(rng.poisson(n), before if index < CHANGE else after).astype(float)})
        for index in range(length)
    ]


def first_alarm(series: Series, given: list[Tick]) -> int | None:
    """The tick at which it fires."""
    return next((tick.index for tick in given if series.detect(tick) is not None), None)


@pytest.mark.parametrize(
    ("case", "seed", "tick"), [("rate", 1, 2018), ("tools", 1, 2025), ("lengths", 1, 2021), ("tools", 2, 2036)]
)
def test_they_fire_where_they_have_always_fired(case: str, seed: int, tick: int) -> None:
    """Golden positions: a change of the mathematics moves them."""
    make, before, after = CASES[case]

    assert first_alarm(make(), ticks(before, after, seed)) == tick


@pytest.mark.parametrize("case", CASES)
def test_they_are_quiet_while_nothing_changes(case: str) -> None:
    """Eleven hours of the reference's own shares."""
    make, before, _ = CASES[case]

    assert first_alarm(make(), ticks(before, before, 3)) is None


@pytest.mark.parametrize("case", CASES)
def test_they_go_on_from_json_where_they_stopped(case: str) -> None:
    """Killed and restarted at any tick, they fire at the same one."""
    make, before, after = CASES[case]
    given = ticks(before, after, 1)
    expected = first_alarm(make(), given)
    assert expected is not None
    stopped = make()
    for tick in given[: expected - 5]:
        stopped.detect(tick)
    written = msgspec.json.encode(stopped.state())
    resumed = make()
    state = msgspec.json.decode(written, type=RateState | ShareState)

    assert resumed.restore(state)  # type: ignore[arg-type]
    assert msgspec.json.encode(resumed.state()) == written
    assert first_alarm(resumed, given[expected - 5 :]) == expected


@pytest.mark.parametrize("case", CASES)
def test_after_a_restart_nothing_is_left(case: str) -> None:
    """The same data never fires twice."""
    make, before, after = CASES[case]
    series = make()
    given = ticks(before, after, 1)
    alarm = first_alarm(series, given)
    assert alarm is not None
    series.restart()

    assert series.detect(Tick(alarm + 1, 0, 1 / 6, given[0].counts)) is None
    assert all(ratio < 0.5 for _, _, ratio in series.ratios())


@pytest.mark.parametrize("case", CASES)
def test_a_smaller_budget_is_never_faster(case: str) -> None:
    """One false alarm a year against one a month."""
    make, before, after = CASES[case]
    given = ticks(before, after, 1)
    strict = make()
    strict.allow(1 / 12)
    usual, late = first_alarm(make(), given), first_alarm(strict, given)
    assert usual is not None
    assert late is not None

    assert late >= usual


@pytest.mark.parametrize("case", CASES)
def test_an_hour_of_silence_is_no_evidence(case: str) -> None:
    """Empty ticks change nothing but the time."""
    make, before, _ = CASES[case]
    series = make()
    for index in range(360):
        assert series.detect(Tick(index, 0, 1 / 6, {1.0: np.zeros(len(before))})) is None

    assert series.effects(60) is None


@pytest.mark.parametrize("case", CASES)
def test_the_time_of_change_is_near(case: str) -> None:
    """Within ten minutes of the truth, at 36 observations a minute."""
    make, before, after = CASES[case]
    series = make()
    fired = next(found for tick in ticks(before, after, 1) if (found := series.detect(tick)) is not None)

    assert abs(fired.changed - CHANGE) <= 60


def test_a_fall_fires_downward() -> None:
    """A refusal rate that drops to nothing is a broken guardrail."""
    series = RateSeries(known_rate(0.05))
    fired = next(
        found
        for index in range(3000)
        if (found := series.detect(Tick(index, 0, 1 / 6, {1.0: np.array([6.0, 0.0])}))) is not None
    )

    assert fired.direction == "down"


def test_what_moved_is_named() -> None:
    """The bins that add most to the PSI, with what was expected and what was found."""
    make, before, after = CASES["tools"]
    series = make()
    fired = next(found for tick in ticks(before, after, 1) if (found := series.detect(tick)) is not None)
    moved, _ = series.found(fired)

    assert {bin_.name for bin_ in moved[:2]} == {"a", "b"}
    assert moved[0].expected == pytest.approx(0.25, abs=0.2)


def test_weights_give_the_same_answer_as_full_data() -> None:
    """Tail sampling that keeps every refusal and a tenth of the rest, reweighted: no alarm, where raw counts would fire."""
    rng = np.random.default_rng(5)
    sampled, naive = RateSeries(known_rate(0.01)), RateSeries(known_rate(0.01))
    fired, naively = None, None
    for index in range(CHANGE):
        n, x = rng.poisson(20), rng.poisson(0.2)
        kept = rng.binomial(n, 0.1)
        counts = {10.0: np.array([float(kept), 0.0]), 1.0: np.array([0.0, float(x)])}
        fired = fired or sampled.detect(Tick(index, 0, 1 / 6, counts))
        naively = naively or naive.detect(Tick(index, 0, 1 / 6, {1.0: np.array([float(kept), float(x)])}))

    assert fired is None
    assert naively is not None


def test_a_weighted_rise_is_found() -> None:
    """The same sampling, and refusals five times as frequent."""
    rng = np.random.default_rng(6)
    series = RateSeries(known_rate(0.01))
    for index in range(CHANGE):
        n, x = rng.poisson(20), rng.poisson(1.0)
        counts = {10.0: np.array([float(rng.binomial(n, 0.1)), 0.0]), 1.0: np.array([0.0, float(x)])}
        if series.detect(Tick(index, 0, 1 / 6, counts)) is not None:
            break

    assert index < 60


def test_one_bin_never_fires() -> None:
    """A distribution over one bin can't change."""
    series = ShareSeries(CategoryBins(()), known_shares(np.array([1.0])))
    for index in range(500):
        assert series.detect(Tick(index, 0, 1 / 6, {1.0: np.array([50.0])})) is None


@given(
    st.lists(
        st.lists(st.one_of(st.floats(), st.none(), st.text(max_size=3), st.integers()), max_size=30),
        max_size=30,
    )
)
@settings(max_examples=50)
def test_nothing_that_is_observed_makes_evidence_anything_but_a_number(values: list[list[object]]) -> None:
    """NaN, infinities, None, text, and ticks without anything: every ratio stays finite, every state can be written."""
    bins = NumericBins(tuple(float(k) for k in range(10)))
    series, place = ShareSeries(bins, known_shares(LENGTHS, 11)), bins.place()
    for index, tick in enumerate(values):
        counts = np.zeros(len(bins.names))
        for value in tick:
            counts[place(value)] += 1
        series.detect(Tick(index, 0, 1 / 6, {1.0: counts}))
        series.look(Tick(index, 0, 1 / 6, {1.0: counts}))

    assert all(0 <= ratio < math.inf for _, _, ratio in series.ratios())
    effects = series.effects(60)
    assert effects is None or all(math.isfinite(x) for x in (effects.psi, effects.kl_nats, effects.js_distance))
    written = msgspec.json.decode(msgspec.json.encode(series.state()), type=ShareState)
    assert ShareSeries(bins, known_shares(LENGTHS, 11)).restore(written)


def test_a_single_missing_value_is_no_alarm() -> None:
    """One NaN among a hundred is an observation of its own bin, not a change; a third of them is."""
    bins = NumericBins(tuple(float(k) for k in range(10)))
    few, many = (ShareSeries(bins, known_shares(LENGTHS, 11)) for _ in range(2))
    fired = [
        few.detect(Tick(k, 0, 1 / 6, {1.0: 10 * LENGTHS + (np.eye(12)[11] if k == 50 else 0)})) for k in range(300)
    ]
    found = [many.detect(Tick(k, 0, 1 / 6, {1.0: 7 * LENGTHS + 3 * np.eye(12)[11]})) for k in range(300)]

    assert not any(fired)
    assert any(found)
