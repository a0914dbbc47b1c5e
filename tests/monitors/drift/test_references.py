"""References: what is estimated is what was simulated, hours are shrunk, and little data means wide bounds, said."""

import numpy as np
import pytest
from lanewatch.monitors.drift.hours import Hours, overdispersion, plain_hours
from lanewatch.monitors.drift.rate_reference import LEAST_TAU, UNKNOWN_TAU, beta_kappa, known_rate, rate_bounds
from lanewatch.monitors.drift.share_reference import UNKNOWN_KAPPA_DAY, share_reference

WEEKS = 28 * 24


def rate_table(
    per_hour: float = 720, rate: float = 0.01, days: int = 28, day_sd: float = 0.0, rhythm: float = 0.0, seed: int = 0
) -> Hours:
    """Hours of a rate that differs between days and hours."""
    rng = np.random.default_rng(seed)
    hours = np.arange(days * 24) + 4 * 24  # from a Monday on
    day_factor = np.exp(day_sd * rng.standard_normal(days)).repeat(24)
    hour_factor = 1 + rhythm * np.sin(2 * np.pi * hours / 24)
    n = rng.poisson(per_hour, days * 24)
    x = rng.binomial(n, np.clip(rate * day_factor * hour_factor, 0, 1))
    return plain_hours(hours, np.stack([n - x, x], axis=1).astype(float))


def share_table(per_hour: float = 720, days: int = 28, kappa_day: float = np.inf, seed: int = 0) -> Hours:
    """Hours of a distribution that differs between days."""
    rng = np.random.default_rng(seed)
    q = np.array([0.4, 0.3, 0.2, 0.1])
    daily = rng.dirichlet(kappa_day * q, days) if np.isfinite(kappa_day) else np.tile(q, (days, 1))
    raw = np.array([rng.multinomial(rng.poisson(per_hour), daily[h // 24]) for h in range(days * 24)], float)
    return plain_hours(np.arange(days * 24) + 4 * 24, raw)


def test_the_hours_of_the_week_begin_on_monday() -> None:
    """Hour 96 of the epoch is a Monday midnight."""
    table = rate_table(days=1)

    assert table.cells[0] == 0
    assert table.n_days == 1


def test_a_steady_rate_is_one_rate() -> None:
    """No hour differs, so every bound is near the rate and tau is at its least."""
    bounds = rate_bounds(rate_table())

    assert bounds.upper.shape == (168,)
    assert np.ptp(bounds.upper) < 0.001
    assert float(bounds.upper.mean()) == pytest.approx(0.01, rel=0.1)
    assert float(bounds.tau) == LEAST_TAU
    assert float(bounds.phi) == 1


def test_a_rhythm_is_learnt_by_the_hour() -> None:
    """Three times the rate at six in the morning as at six in the evening: the bounds follow."""
    bounds = rate_bounds(rate_table(per_hour=7200, rhythm=0.5))

    assert float(bounds.upper[6] / bounds.upper[18]) == pytest.approx(3, rel=0.2)
    assert (bounds.lower <= bounds.upper).all()


@pytest.mark.parametrize("seed", range(3))
def test_what_days_differ_by_is_found(seed: int) -> None:
    """A standard deviation of 20 % between days gives exp(2.5 x 0.2) = 1.65, within its own uncertainty."""
    tau = float(rate_bounds(rate_table(per_hour=7200, day_sd=0.2, seed=seed)).tau)

    assert 1.4 < tau < 2.0


@pytest.mark.parametrize("seed", range(3))
def test_what_a_distributions_days_differ_by_is_found(seed: int) -> None:
    """Dirichlet with strength 1000, within a factor of 1.6; and none where days do not differ."""
    found = share_reference(share_table(per_hour=7200, kappa_day=1000, seed=seed), 0)
    none = share_reference(share_table(seed=seed), 0)

    assert 600 < found.kappa_day < 1600
    assert float(found.inverse_n.mean()) > 1 / 1600
    assert none.kappa_day > 20_000


def test_little_data_means_one_wide_bound() -> None:
    """Two days: one cell, a tolerance that is assumed, and a bound that holds the hours that differ most."""
    short, long = rate_bounds(rate_table(days=2, rhythm=0.5)), rate_bounds(rate_table(rhythm=0.5))

    assert short.upper.shape == (1,)
    assert float(short.tau) == UNKNOWN_TAU
    assert float(short.upper[0]) > float(long.upper.mean())
    assert float(short.upper[0] * short.tau) > float(long.mean.max())
    assert share_reference(share_table(days=2), 0).kappa_day == UNKNOWN_KAPPA_DAY


def test_a_rate_that_never_happened_has_a_bound() -> None:
    """Zero of ten thousand: positive, below one in a thousand; and the other way round."""
    never, always = rate_table(rate=0.0), rate_table(rate=1.0)

    assert 0 < float(rate_bounds(never).upper.max()) < 0.001
    assert 0.999 < float(rate_bounds(always).lower.min()) < 1


@pytest.mark.parametrize(("rate", "side"), [(0.0, "upper"), (1.0, "lower")])
def test_what_never_happened_is_known_as_well_from_many_quiet_hours_as_from_a_few_busy_ones(
    rate: float, side: str
) -> None:
    """Twenty days of six trials an hour: by each hour alone the bound would be 11 %, above what 13 days without hours give."""
    by_hour, whole = (rate_bounds(rate_table(per_hour=6, rate=rate, days=days)) for days in (20, 13))
    far = [float(np.abs(getattr(one, side) - rate).max()) for one in (by_hour, whole)]

    assert by_hour.upper.shape == (168,)
    assert 0 < far[0] < far[1] < 0.002
    assert float(np.abs(by_hour.mean - rate).max()) < 0.001  # what a report shows as the rate that was


def test_sessions_show_as_overdispersion() -> None:
    """Each of five requests of a session alike: phi near 5, measured between the minutes of an hour."""
    from lanewatch.monitors.drift.dispersion import homogeneity  # noqa: PLC0415

    rng = np.random.default_rng(0)
    x = 5 * rng.binomial(20, 0.3, (60,))
    table = rate_table(days=1)
    windows = np.stack([100 - x, x], axis=1)
    dispersion = np.tile(np.array([homogeneity(windows), homogeneity(windows)]), (24, 1, 1))
    phi = overdispersion(table._replace(dispersion=dispersion))

    assert 3 < phi < 8


def test_weights_make_a_reference_worth_less() -> None:
    """Non-events of weight ten: the same rate, from a tenth of the trials."""
    full = rate_table(per_hour=7200)
    rng = np.random.default_rng(1)
    kept = rng.binomial(full.raw[:, 0].astype(int), 0.1).astype(float)
    raw = np.stack([kept, full.raw[:, 1]], axis=1)
    weighted = full._replace(raw=raw, sums=raw * [10.0, 1.0], squares=raw * [100.0, 1.0])
    whole, sampled = rate_bounds(full), rate_bounds(weighted)

    assert float(sampled.mean.mean()) == pytest.approx(float(whole.mean.mean()), rel=0.05)
    assert float(sampled.effective_n) < float(whole.effective_n)
    assert sampled.mean_weights.tolist() == [10.0, 1.0]


def test_an_empty_reference_is_none() -> None:
    """Nothing counted: an error, not a bound."""
    empty = plain_hours(np.arange(24), np.zeros((24, 2)))
    with pytest.raises(ValueError, match="needs observations"):
        rate_bounds(empty)
    with pytest.raises(ValueError, match="needs observations"):
        share_reference(empty, 0)


def test_alike_groups_are_one_and_unlike_ones_are_not() -> None:
    """The prior's strength: millions where only chance differs, tens where rates differ by half."""
    n = np.full(50, 10_000.0)

    assert beta_kappa(np.full(50, 100.0), n) > 1e6
    assert beta_kappa(np.tile([50.0, 150.0], 25), n) < 1000


def test_the_bound_is_never_certain() -> None:
    """Between 0 and 1, so that a bet is always possible."""
    assert 0 < float(known_rate(0.0).bound("up", 0)) < 1
    assert 0 < float(known_rate(1.0).bound("up", 0)) < 1
