"""Seeded traffic for the drift simulation: many series at once, with every nuisance that live traffic has.

Diurnal and weekend rhythm of the traffic and of the rate, days that differ by themselves, sessions that repeat
themselves, and sampling. Counts come per tick, day after day, so that memory stays small.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from lanewatch.monitors.drift.distances import Floats

TICKS_A_DAY = 8640
TICKS_AN_HOUR = 360
HOURS_A_WEEK = 168
SECONDS_A_DAY = 86_400
MEAN_GAP_SECONDS = 60.0  # between the requests of a session


class Nuisance(NamedTuple):
    """What live traffic does without any drift."""

    rhythm_of_traffic: float = 0.0  # x (1 +- this) over the day
    rhythm_of_rate: float = 0.0
    weekend: float = 1.0  # traffic at weekends
    day_sd: float = 0.0  # of the logarithm of the rate, between days
    session_size: float = 1.0
    session_icc: float = 0.0
    kept_events: float = 1.0  # the probability with which a trace is kept
    kept_others: float = 1.0


CALM = Nuisance()
RHYTHM = Nuisance(rhythm_of_traffic=0.8, rhythm_of_rate=0.6, weekend=0.7)
WOBBLE = Nuisance(day_sd=0.2)
STICKY = Nuisance(session_size=5.0, session_icc=0.3)
TAIL_SAMPLED = Nuisance(kept_others=0.1)
TAIL_SAMPLED_MORE = Nuisance(kept_others=0.05)
ALL_AT_ONCE = Nuisance(0.8, 0.6, 0.7, 0.2, 5.0, 0.3, 1.0, 0.1)


class Day(NamedTuple):
    """A day of R series: for each weight, (ticks, R, bins)."""

    first_tick: int
    counts: dict[float, Floats]


def hour_factors(day: int, amplitude: float) -> Floats:
    """A factor for each of the 24 hours, around 1."""
    hours = np.arange(24)
    return 1 + amplitude * np.sin(2 * np.pi * (hours - 9) / 24)


def is_weekend(day: int) -> bool:
    """Day 0 is a Monday."""
    return day % 7 >= 5


def rate_days(
    rng: np.random.Generator,
    series: int,
    per_second: float,
    rate: float,
    nuisance: Nuisance = CALM,
    *,
    days: range,
    change: tuple[int, float] | None = None,
) -> Iterator[Day]:
    """Trials without an earlier event of their session, and first events; from `change` = (tick, rate) on, another rate."""
    for day in days:
        traffic = per_second * hour_factors(day, nuisance.rhythm_of_traffic)
        traffic = traffic * (nuisance.weekend if is_weekend(day) else 1.0)
        shape = hour_factors(day, nuisance.rhythm_of_rate)
        wobble = np.exp(nuisance.day_sd * rng.standard_normal(series))
        first = day * TICKS_A_DAY
        ticks = first + np.arange(TICKS_A_DAY)
        base = np.full(TICKS_A_DAY, rate) if change is None else np.where(ticks >= change[0], change[1], rate)
        p = np.clip(base[:, None] * np.repeat(shape, TICKS_AN_HOUR)[:, None] * wobble, 0, 0.99)
        if nuisance.session_size > 1:
            n, x = _sessions(rng, traffic, p, nuisance)
        else:
            n = rng.poisson(np.repeat(traffic, TICKS_AN_HOUR)[:, None] * 10, (TICKS_A_DAY, series))
            x = rng.binomial(n, p)
            n, x = rng.binomial(n - x, nuisance.kept_others), rng.binomial(x, nuisance.kept_events)
        yield Day(first, _by_weight(n, x, nuisance))


def _sessions(
    rng: np.random.Generator, traffic: Floats, p: Floats, nuisance: Nuisance
) -> tuple[np.ndarray, np.ndarray]:
    """(non-events, events) by tick that are the first of their session, as far as the sampling shows."""
    series = p.shape[1]
    n_sessions = rng.poisson(np.repeat(traffic[:, None], series, axis=1) * 3600 / nuisance.session_size)
    hour, owner = (np.repeat(index.ravel(), n_sessions.ravel()) for index in np.indices(n_sessions.shape))
    start = (hour + rng.random(len(hour))) * 3600
    size = rng.geometric(1 / nuisance.session_size, len(hour))
    mean = p[(start // 10).astype(int), owner]
    strength = 1 / nuisance.session_icc - 1
    own_p = rng.beta(mean * strength, (1 - mean) * strength)
    session = np.repeat(np.arange(len(hour)), size)
    gap = rng.exponential(MEAN_GAP_SECONDS, len(session))
    firsts = np.cumsum(size) - size
    elapsed = np.cumsum(gap)
    elapsed -= np.repeat(elapsed[firsts], size)
    tick = ((start[session] + elapsed) % SECONDS_A_DAY // 10).astype(int)
    event = rng.random(len(session)) < own_p[session]
    kept = rng.random(len(session)) < np.where(event, nuisance.kept_events, nuisance.kept_others)
    session, tick, event = session[kept], tick[kept], event[kept]
    before = np.cumsum(event) - event
    sizes = np.bincount(session, minlength=len(hour))
    starts = np.minimum(np.cumsum(sizes) - sizes, max(len(session) - 1, 0))
    first = before - before[starts][session] == 0
    place = tick[first] * series + owner[session[first]]
    counts = [np.bincount(place[event[first] == k], minlength=TICKS_A_DAY * series) for k in (False, True)]
    return counts[0].reshape(-1, series), counts[1].reshape(-1, series)


def _by_weight(n: np.ndarray, x: np.ndarray, nuisance: Nuisance) -> dict[float, Floats]:
    zero = np.zeros_like(n)
    weights = 1 / nuisance.kept_others, 1 / nuisance.kept_events
    if weights[0] == weights[1]:
        return {weights[0]: np.stack([n, x], axis=-1).astype(float)}
    return {
        weights[0]: np.stack([n, zero], axis=-1).astype(float),
        weights[1]: np.stack([zero, x], axis=-1).astype(float),
    }


class Mixing(NamedTuple):
    """What a distribution does without any drift."""

    rhythm_of_traffic: float = 0.0
    rhythm_of_mix: float = 0.0  # added to the first bin's logit, taken from the second's, over the day
    weekend: float = 1.0
    kappa_day: float = np.inf  # each day's shares are Dirichlet(kappa_day x shares)
    session_size: float = 1.0
    session_icc: float = 0.0
    kept: float = 1.0  # head sampling


MIX_CALM = Mixing()
HALF_SAMPLED = Mixing(kept=0.5)
MIX_RHYTHM = Mixing(rhythm_of_traffic=0.8, rhythm_of_mix=0.5, weekend=0.7)
MIX_WOBBLE = Mixing(kappa_day=1000.0)
MIX_STICKY = Mixing(session_size=5.0, session_icc=0.3)
MIX_ALL_AT_ONCE = Mixing(0.8, 0.5, 0.7, 1000.0, 5.0, 0.1, 0.5)


def share_days(
    rng: np.random.Generator,
    series: int,
    per_second: float,
    shares: Floats,
    mixing: Mixing = MIX_CALM,
    *,
    days: range,
    change: tuple[int, Floats] | None = None,
) -> Iterator[Day]:
    """Counts by bin of distributions (R, B) or (B); from `change` = (tick, shares) on, others."""
    before = np.broadcast_to(shares, (series, np.shape(shares)[-1]))
    for day in days:
        first = day * TICKS_A_DAY
        traffic = per_second * hour_factors(day, mixing.rhythm_of_traffic)
        traffic = traffic * (mixing.weekend if is_weekend(day) else 1.0)
        wobble = np.ones_like(before)
        if np.isfinite(mixing.kappa_day):
            wobble = _dirichlet(rng, before, mixing.kappa_day) / np.maximum(before, 1e-300)
        parts = []
        for hour in range(24):
            tick = first + hour * TICKS_AN_HOUR
            n = rng.poisson(traffic[hour] * 10 * mixing.kept, (TICKS_AN_HOUR, series))
            moved = before
            if change is not None and tick >= change[0]:
                moved = np.broadcast_to(change[1], before.shape)
            q = moved * wobble
            logit = mixing.rhythm_of_mix * np.sin(2 * np.pi * (hour - 9) / 24)
            q = q * np.exp(np.concatenate([[logit, -logit], np.zeros(q.shape[1] - 2)]))
            q /= q.sum(axis=1, keepdims=True)
            parts.append((n, q))
        if mixing.session_size > 1:
            counts = _mixed_sessions(rng, traffic, np.stack([q for _, q in parts]), mixing)
        else:
            counts = np.concatenate([rng.multinomial(n, q[None]) for n, q in parts])
        yield Day(first, {1.0 / mixing.kept: counts.astype(float)})


def _mixed_sessions(rng: np.random.Generator, traffic: Floats, q: Floats, mixing: Mixing) -> np.ndarray:
    series, bins = q.shape[1:]
    n_sessions = rng.poisson(np.repeat(traffic[:, None], series, axis=1) * 3600 / mixing.session_size)
    hour, owner = (np.repeat(index.ravel(), n_sessions.ravel()) for index in np.indices(n_sessions.shape))
    own = _dirichlet(rng, q[hour, owner], 1 / mixing.session_icc - 1)
    size = rng.geometric(1 / mixing.session_size, len(hour))
    session = np.repeat(np.arange(len(hour)), size)
    gap = np.cumsum(rng.exponential(MEAN_GAP_SECONDS, len(session)))
    gap -= np.repeat(gap[np.cumsum(size) - size], size)
    tick = (((hour + rng.random(len(hour))) * 3600)[session] + gap) % SECONDS_A_DAY // 10
    drawn = (rng.random(len(session))[:, None] > np.cumsum(own, axis=1)[session]).sum(axis=1)
    kept = rng.random(len(session)) < mixing.kept
    place = (tick.astype(int) * series + owner[session]) * bins + np.minimum(drawn, bins - 1)
    return np.bincount(place[kept], minlength=TICKS_A_DAY * series * bins).reshape(-1, series, bins)


def _dirichlet(rng: np.random.Generator, mean: Floats, strength: float) -> Floats:
    drawn = rng.gamma(np.maximum(mean * strength, 1e-12)) + 1e-300
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))
