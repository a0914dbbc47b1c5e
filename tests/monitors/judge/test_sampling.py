"""The draw: the same everywhere, at the rates that were asked for, and unbiased under a cap."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.judge.sampling import (
    ORDINARY_SHARE,
    UNKNOWN_PACE,
    Sampler,
    kept_shares,
    randomness,
    rate_of,
    shares,
)
from lanewatch.monitors.judge.settings import Rates
from lanewatch.monitors.judge.strata import DESTRUCTIVE, DIVERGING, FAILING, REFUSING

IDS = [sha256(str(n).encode()).hexdigest()[:32] for n in range(20_000)]
NO_CAP = 10**9


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


def test_a_traces_number_is_the_same_in_every_process() -> None:
    """Another value here would sample other traces after an upgrade, and on one replica of two."""
    assert randomness("4bf92f3577b34da6a3ce929d0e0e4736") == 0.8098097987599645


def test_numbers_are_uniform_also_where_ids_only_count_up() -> None:
    """Ids are no random numbers everywhere; of 20 bins none is off by five standard deviations."""
    for ids in (IDS, [f"{n:032x}" for n in range(20_000)]):
        bins = [0] * 20
        for one in ids:
            bins[int(randomness(one) * 20)] += 1

        assert all(abs(n - 1000) < 5 * 31 for n in bins)


def test_the_decision_follows_from_the_id_and_the_rate_alone() -> None:
    """Two replicas and a replay, in another order, draw the same traces."""
    first, second = (Sampler(Rates(0.1, per_minute=NO_CAP), Clock()) for _ in range(2))
    drawn = {one for one in IDS if first.draw(one, 0)}

    assert drawn == {one for one in reversed(IDS) if second.draw(one, 0)}
    assert len(drawn) == pytest.approx(2000, abs=200)


@given(st.sampled_from(IDS), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_rate_takes_all_that_a_lower_one_takes(trace_id: str, one: float, other: float) -> None:
    """So lowering a rate never brings in what was left out before."""
    low, high = sorted((one, other))
    drawn = [Sampler(Rates(rate, per_minute=NO_CAP), Clock()).draw(trace_id, 0) is not None for rate in (low, high)]

    assert drawn != [True, False]


@pytest.mark.parametrize("stratum", [DESTRUCTIVE, DIVERGING, FAILING, REFUSING, DIVERGING | FAILING])
def test_what_is_risky_is_all_kept_by_default(stratum: int) -> None:
    """With probability 1, so it stands for itself alone."""
    draws = [Sampler(Rates(0.0, per_minute=NO_CAP), Clock()).draw(one, stratum) for one in IDS[:50]]

    assert {draw.probability for draw in draws if draw is not None} == {1.0}
    assert None not in draws


def test_a_trace_of_two_kinds_has_the_higher_rate() -> None:
    """A kind that is turned down does not hide another one."""
    assert rate_of(DIVERGING | FAILING, Rates(0.0, diverging_rate=0.1, failing_rate=0.5)) == 0.5


def test_nothing_is_drawn_at_rate_0() -> None:
    """Not even the smallest number."""
    sampler = Sampler(Rates(0.0, per_minute=NO_CAP), Clock())

    assert not any(sampler.draw(one, 0) for one in IDS)


def test_a_cap_lowers_the_next_minutes_rate_and_the_draw_says_so() -> None:
    """100 traces a minute, all to be kept, under a cap of 20: each stands for five."""
    clock = Clock()
    kept: list[float] = []
    sampler = Sampler(Rates(1.0, per_minute=20), clock, kept.append)
    for one in IDS[:100]:
        sampler.draw(one, 0)
    clock.now = 61
    draw = next(draw for one in IDS[100:200] if (draw := sampler.draw(one, 0)))

    assert draw.probability == pytest.approx(0.2)
    assert kept == [pytest.approx(0.2)]


def test_a_cap_is_given_back_when_traffic_falls() -> None:
    """And after a pause nothing is held down by what was before it."""
    clock = Clock()
    kept: list[float] = []
    sampler = Sampler(Rates(1.0, per_minute=20), clock, kept.append)
    for one in IDS[:100]:
        sampler.draw(one, 0)
    clock.now = 200
    draw = sampler.draw(IDS[0], 0)

    assert draw is not None
    assert draw.probability == 1
    assert kept == [1.0]


def test_a_flood_is_thinned_and_what_is_rare_keeps_its_rate() -> None:
    """1,000 refusals and 5 destructive traces a minute, under a cap of 60."""
    clock = Clock()
    sampler = Sampler(Rates(0.0, per_minute=60), clock)
    for one in IDS[:1000]:
        sampler.draw(one, REFUSING)
    for one in IDS[1000:1005]:
        sampler.draw(one, DESTRUCTIVE)
    clock.now = 60
    kept = [sampler.draw(one, DESTRUCTIVE) for one in IDS[2000:2005]]

    assert [draw.probability for draw in kept if draw] == [1.0] * 5


@pytest.mark.parametrize("stratum", [DESTRUCTIVE, DIVERGING, FAILING, REFUSING])
def test_risky_traces_keep_their_rate_under_a_flood_of_usual_ones(stratum: int) -> None:
    """3,000 usual traces and 40 risky ones, in this minute and the next, under a cap of 60: usual ones alone give way."""
    clock = Clock()
    sampler = Sampler(Rates(0.05, per_minute=60), clock)
    for minute in range(3):
        clock.now = minute * 60.0
        ids = IDS[minute * 4000 : minute * 4000 + 3000]
        usual = [draw for one in ids if (draw := sampler.draw(one, 0))]
        risky = [sampler.draw(one, stratum) for one in IDS[minute * 4000 + 3000 : minute * 4000 + 3040]]

        assert {None if draw is None else (draw.probability, draw.throttled) for draw in risky} == {(1.0, False)}
        assert min(draw.probability for draw in usual) < 0.05
        assert sum(1 / draw.probability for draw in usual) == pytest.approx(3000, rel=0.5)


def test_usual_traces_keep_a_part_under_a_flood_of_risky_ones() -> None:
    """What is never drawn is in no mean; the risky of the flood share the rest."""
    clock = Clock()
    sampler = Sampler(Rates(0.5, per_minute=80), clock)
    for one in IDS[:1000]:
        sampler.draw(one, 0)
    for one in IDS[1000:3000]:
        sampler.draw(one, REFUSING)
    clock.now = 60
    usual = next(draw for one in IDS[3000:5000] if (draw := sampler.draw(one, 0)))
    flood = next(draw for one in IDS[5000:7000] if (draw := sampler.draw(one, REFUSING)))

    assert usual.probability == pytest.approx(10 / 1000)
    assert flood.probability == pytest.approx(70 / 2000)


@given(st.lists(st.tuples(st.integers(0, 1000), st.booleans()), min_size=1, max_size=20), st.floats(0.1, 500))
def test_what_is_kept_fits_the_cap_and_risky_ones_lose_last(wanted: list[tuple[int, bool]], cap: float) -> None:
    """Whatever comes: no usual one gets more than its part while a risky one goes short, and nobody who asks gets nothing."""
    asked, risky = [n for n, _ in wanted], [kind for _, kind in wanted]
    kept = kept_shares(asked, risky, cap)
    of_usual = sum(got for got, kind in zip(kept, risky, strict=True) if not kind)
    short = any(got < n - 1e-9 for got, n, kind in zip(kept, asked, risky, strict=True) if kind)

    assert sum(kept) <= cap + 1e-6
    assert all(0 <= got <= n for got, n in zip(kept, asked, strict=True))
    assert not short or of_usual <= ORDINARY_SHARE * cap + 1e-6
    assert all(got > 0 for got, n in zip(kept, asked, strict=True) if n > 0)


def test_what_a_judge_can_take_lowers_the_rates_and_not_the_draw_of_others() -> None:
    """Those that are drawn for it are a part of those that are drawn for a faster one, by the same number."""
    clocks = [Clock(), Clock()]
    fast, slow = (
        Sampler(Rates(0.5, per_minute=1000), clocks[0]),
        Sampler(Rates(0.5, per_minute=1000), clocks[1], pace=lambda: 5.0),
    )
    for minute in range(3):
        for clock in clocks:
            clock.now = minute * 60.0
        drawn = [{one for one in IDS[minute * 500 : minute * 500 + 500] if by.draw(one, 0)} for by in (fast, slow)]

        assert drawn[1] <= drawn[0]
        assert len(drawn[1]) < (2 * UNKNOWN_PACE if minute == 0 else 20) < len(drawn[0])


def test_a_burst_lowers_the_rate_before_it_is_refused() -> None:
    """10,000 at once under a cap of 60: at most twice the cap is judged, and hardly any is refused outright."""
    sampler = Sampler(Rates(1.0, per_minute=60), Clock())
    draws = [draw for one in IDS[:10_000] if (draw := sampler.draw(one, 0))]
    taken = [draw for draw in draws if not draw.throttled]

    assert 60 < len(taken) <= 120
    assert len(draws) - len(taken) < 10
    assert min(draw.probability for draw in taken) < 0.05


def test_beyond_twice_the_cap_a_draw_says_that_it_is_not_judged() -> None:
    """Counted, since no weight mends it."""
    sampler = Sampler(Rates(1.0, per_minute=1), Clock())
    draws = [draw for one in IDS if (draw := sampler.draw(one, 0))]

    assert sum(not draw.throttled for draw in draws) <= 2
    assert any(draw.throttled for draw in draws)


@pytest.mark.parametrize("cap", [30, 100])
def test_weights_add_up_to_the_traffic_under_a_cap(cap: int) -> None:
    """Bursts, pauses and steady minutes: the weights' sum is within 4 standard errors of the traces that came."""
    clock = Clock()
    sampler = Sampler(Rates(0.5, per_minute=cap), clock)
    weights = []
    for n, one in enumerate(IDS):
        clock.now += 0.02 if n // 2000 % 2 else 0.5
        draw = sampler.draw(one, 0)
        weights += [1 / draw.probability] if draw else []
    spread = sum(w * (w - 1) for w in weights) ** 0.5

    assert abs(sum(weights) - len(IDS)) < 4 * spread


@pytest.mark.parametrize("pace", [None, 4.0])
def test_weights_of_either_kind_add_up_where_one_gives_way(pace: float | None) -> None:
    """Usual and risky traces, each in floods and lulls: of both the weights' sum is within 4 standard errors of what came."""
    clock = Clock()
    sampler = Sampler(Rates(0.5, per_minute=60), clock, pace=None if pace is None else lambda: pace)
    came: dict[int, int] = {0: 0, FAILING: 0}
    weights: dict[int, list[float]] = {0: [], FAILING: []}
    for n, one in enumerate(IDS):
        clock.now += 0.02 if n // 3000 % 2 else 0.4
        stratum = FAILING if n % 10 < (5 if n // 2000 % 3 else 1) else 0
        came[stratum] += 1
        draw = sampler.draw(one, stratum)
        weights[stratum] += [1 / draw.probability] if draw else []

    for stratum, of in weights.items():
        spread = sum(w * (w - 1) for w in of) ** 0.5
        assert abs(sum(of) - came[stratum]) < 4 * spread
        assert spread < came[stratum] / 2


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=20), st.floats(1, 500))
def test_shares_keep_to_the_cap_and_take_from_the_greediest(wanted: list[float], cap: float) -> None:
    """Nobody gets more than it wants, and whoever gets less gets as much as anyone."""
    given_out = shares(wanted, cap)
    short = [got for got, asked in zip(given_out, wanted, strict=True) if got < asked - 1e-9]

    assert sum(given_out) <= cap + 1e-6
    assert all(got <= asked for got, asked in zip(given_out, wanted, strict=True))
    assert not short or min(short) >= max(given_out) - 1e-6


@pytest.mark.parametrize(("rate", "cap"), [(1.1, 1), (-0.1, 1), (0.5, 0)])
def test_a_rate_that_is_none_is_refused(rate: float, cap: int) -> None:
    """Rather than weights that mean nothing."""
    with pytest.raises(ValueError, match="rates are 0 to 1"):
        Sampler(Rates(rate, per_minute=cap), Clock())
