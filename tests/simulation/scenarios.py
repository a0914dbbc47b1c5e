"""What is simulated: nothing changes and it must stay quiet; something changes and it must be found in time.

Every series has a budget of one false alarm in 30 days, as in the figures to reach. References are of 28 days unless
said, estimated from traffic with the same nuisances: nothing is known to the detectors that they would not know live.
"""

from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from lanewatch.monitors.drift.bank_evidence import bank_evidence
from lanewatch.monitors.drift.bins import numeric_bins
from lanewatch.monitors.drift.budget import chance_a_check, minutes_between
from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.multi_window_g import MultiWindowG
from lanewatch.monitors.drift.rate_evidence import rate_evidence
from lanewatch.monitors.drift.rate_reference import RateBounds
from lanewatch.monitors.drift.share_reference import ShareReference

from tests.simulation import text_cohort
from tests.simulation.running import Detector, delays, false_alarms, hours_of, stacked_rates, stacked_shares
from tests.simulation.traffic import (
    ALL_AT_ONCE,
    CALM,
    HALF_SAMPLED,
    MIX_ALL_AT_ONCE,
    MIX_CALM,
    MIX_RHYTHM,
    MIX_STICKY,
    MIX_WOBBLE,
    RHYTHM,
    STICKY,
    TAIL_SAMPLED,
    TAIL_SAMPLED_MORE,
    TICKS_A_DAY,
    TICKS_AN_HOUR,
    WOBBLE,
    Mixing,
    Nuisance,
    rate_days,
    share_days,
)

REFERENCE_DAYS = 28
BUDGET = 1.0
RATE = 0.01
TOOLS = np.array([0.40, 0.25, 0.15, 0.10, 0.05, 0.04, 0.01])
TOOLS_MOVED = np.array([0.30, 0.35, 0.15, 0.10, 0.05, 0.04, 0.01])
LENGTH_MU, LENGTH_SD = 4.0, 0.8  # of the logarithm of a length
ORDERED = 15
CHANGE = REFERENCE_DAYS * TICKS_A_DAY + 12 * TICKS_AN_HOUR


class Quiet(NamedTuple):
    """A scenario without a change: how many series, over how many days each, fired how often."""

    name: str
    series: int
    days: int
    false_alarms: int


class Found(NamedTuple):
    """A scenario with a change: delays in minutes; NaN where it was not found. `target` is the median to reach, NaN where
    there is none.
    """

    name: str
    target: float
    minutes: tuple[float, ...]


Run = Callable[[float, int], Quiet | Found]  # scale of the effort, seed


def rate_detectors(bounds: RateBounds) -> list[Detector]:
    """Both directions, half of the budget each, as in RateSeries."""
    limit = minutes_between(BUDGET / 2)
    return [rate_evidence(bounds, "up", limit), rate_evidence(bounds, "down", limit)]


def share_detectors(reference: ShareReference) -> list[Detector]:
    """Bank and G, half of the budget each, as in ShareSeries."""
    return [bank_evidence(reference, minutes_between(BUDGET / 2)), MultiWindowG(reference, chance_a_check(BUDGET / 2))]


def quiet_rate(
    name: str, per_second: float, before: Nuisance, after: Nuisance | None = None, reference_days: int = REFERENCE_DAYS
) -> Run:
    """A refusal rate of 1 % that stays what it is; `after` is how it is sampled from then on."""

    def run(scale: float, seed: int) -> Quiet:
        rng, series, days = np.random.default_rng(seed), max(2, round(20 * scale)), max(2, round(30 * min(scale, 1)))
        history = rate_days(rng, series, per_second, RATE, before, days=range(reference_days))
        bounds = stacked_rates(hours_of(history))
        live = range(REFERENCE_DAYS, REFERENCE_DAYS + days)
        fired = false_alarms(
            rate_detectors(bounds), rate_days(rng, series, per_second, RATE, after or before, days=live)
        )
        return Quiet(f"refusals, {name}, {per_second:g}/s", series, days, fired)

    return run


def quiet_mix(
    name: str, per_second: float, before: Mixing, after: Mixing | None = None, *, numeric: bool = False
) -> Run:
    """A distribution that stays what it is: the tools asked for, or a length in 16 bins."""

    def run(scale: float, seed: int) -> Quiet:
        rng, series, days = np.random.default_rng(seed), max(2, round(20 * scale)), max(2, round(30 * min(scale, 1)))
        shares = lengths(rng, series)[0] if numeric else TOOLS
        history = share_days(rng, series, per_second, shares, before, days=range(REFERENCE_DAYS))
        reference = stacked_shares(hours_of(history), ORDERED if numeric else 0)
        live = range(REFERENCE_DAYS, REFERENCE_DAYS + days)
        fired = false_alarms(
            share_detectors(reference), share_days(rng, series, per_second, shares, after or before, days=live)
        )
        return Quiet(f"{'lengths' if numeric else 'tools'}, {name}, {per_second:g}/s", series, days, fired)

    return run


def risen_rate(name: str, per_second: float, rate: float, target: float, runs: int = 200) -> Run:
    """A refusal rate that rises from 1 %."""

    def run(scale: float, seed: int) -> Found:
        rng, series = np.random.default_rng(seed), max(5, round(runs * scale))
        bounds = stacked_rates(hours_of(rate_days(rng, series, per_second, RATE, CALM, days=range(REFERENCE_DAYS))))
        live = rate_days(
            rng, series, per_second, RATE, CALM, days=range(REFERENCE_DAYS, REFERENCE_DAYS + 3), change=(CHANGE, rate)
        )
        return Found(name, target, tuple(delays(rate_detectors(bounds), live, CHANGE).tolist()))

    return run


def moved_mix(
    name: str, target: float, shares: Callable[[np.random.Generator, int], tuple[Floats, Floats, int]]
) -> Run:
    """A distribution that changes, at 0.2 requests a second."""

    def run(scale: float, seed: int) -> Found:
        rng, series = np.random.default_rng(seed), max(5, round(150 * scale))
        before, after, ordered = shares(rng, series)
        reference = stacked_shares(
            hours_of(share_days(rng, series, 0.2, before, MIX_CALM, days=range(REFERENCE_DAYS))), ordered
        )
        live = share_days(
            rng, series, 0.2, before, MIX_CALM, days=range(REFERENCE_DAYS, REFERENCE_DAYS + 3), change=(CHANGE, after)
        )
        return Found(name, target, tuple(delays(share_detectors(reference), live, CHANGE).tolist()))

    return run


def lengths(rng: np.random.Generator, series: int) -> tuple[Floats, Floats, Floats]:
    """(shares, shares when everything is 1.2 times as long, with 5 % in the far tail), in bins of a sample of 2,048."""
    before, longer, tailed = [], [], []
    for _ in range(series):
        sample = np.exp(LENGTH_MU + LENGTH_SD * rng.standard_normal(2048))
        edges = np.log(numeric_bins(sample.tolist()).edges)
        before.append(_cut(edges, 0.0))
        longer.append(_cut(edges, float(np.log(1.2))))
        tail = 0.95 * before[-1]
        tail[ORDERED - 1] += 0.05
        tailed.append(tail)
    return np.array(before), np.array(longer), np.array(tailed)


def _cut(log_edges: Floats, shift: float) -> Floats:
    normal = NormalDist(LENGTH_MU + shift, LENGTH_SD)
    cdf = [0.0, *(normal.cdf(edge) for edge in log_edges.tolist()), 1.0]
    return np.append(np.diff(cdf), 0.0)  # nothing is NaN


def _tools(_: np.random.Generator, series: int) -> tuple[Floats, Floats, int]:
    return np.tile(TOOLS, (series, 1)), np.tile(TOOLS_MOVED, (series, 1)), 0


def _longer(rng: np.random.Generator, series: int) -> tuple[Floats, Floats, int]:
    before, longer, _ = lengths(rng, series)
    return before, longer, ORDERED


def _tailed(rng: np.random.Generator, series: int) -> tuple[Floats, Floats, int]:
    before, _, tailed = lengths(rng, series)
    return before, tailed, ORDERED


def _cohort(scale: float, seed: int) -> Found:
    minutes = text_cohort.cohort_delays(max(5, round(100 * scale)), seed)
    return Found("new cohort, 20 % of the questions, 0.2/s, no model", 17.0, tuple(minutes.tolist()))


def _near_cohort(scale: float, seed: int) -> Found:
    minutes = text_cohort.cohort_delays(max(5, round(60 * scale)), seed, near=True)
    return Found("the same, of a cohort that shares style and most words", np.nan, tuple(minutes.tolist()))


def _ngrams(scale: float, seed: int) -> Quiet:
    series, days = max(1, round(4 * scale)), max(2, round(30 * min(scale, 1)))
    return Quiet(
        "hashed n-grams of texts, nothing but chance, 0.2/s", series, days, text_cohort.quiet_ngrams(series, days, seed)
    )


SCENARIOS: dict[str, Run] = {
    "rate-calm-slow": quiet_rate("nothing but chance", 0.2, CALM),
    "rate-calm-fast": quiet_rate("nothing but chance", 20, CALM),
    "rate-rhythm": quiet_rate("hours and weekends", 2, RHYTHM),
    "rate-wobble": quiet_rate("days differ by 20 %", 2, WOBBLE),
    "rate-sticky": quiet_rate("sticky sessions", 0.2, STICKY),
    "rate-resampled": quiet_rate("sampling of others 10 % to 5 %", 2, TAIL_SAMPLED, TAIL_SAMPLED_MORE),
    "rate-all-slow": quiet_rate("all at once", 0.5, ALL_AT_ONCE),
    "rate-all": quiet_rate("all at once", 2, ALL_AT_ONCE),
    "rate-short": quiet_rate("hours and weekends, reference of 2 days", 0.2, RHYTHM, reference_days=2),
    "tools-calm": quiet_mix("nothing but chance", 0.2, MIX_CALM),
    "tools-rhythm": quiet_mix("hours and weekends", 2, MIX_RHYTHM),
    "tools-wobble": quiet_mix("days differ (kappa 1000)", 2, MIX_WOBBLE),
    "tools-sticky": quiet_mix("sticky sessions", 0.2, MIX_STICKY),
    "tools-resampled": quiet_mix("head sampling from all to half", 2, MIX_CALM, HALF_SAMPLED),
    "tools-all": quiet_mix("all at once", 2, MIX_ALL_AT_ONCE),
    "lengths-calm": quiet_mix("nothing but chance", 0.2, MIX_CALM, numeric=True),
    "lengths-all": quiet_mix("all at once", 0.5, MIX_ALL_AT_ONCE, numeric=True),
    "ngrams": _ngrams,
    "found-refusals-fast": risen_rate("refusals 1 % to 5 %, 20/s", 20, 0.05, 17 / 60),
    "found-refusals-slow": risen_rate("refusals 1 % to 5 %, 0.2/s", 0.2, 0.05, 17.0, 600),
    "found-tools": moved_mix("tool mix, 10 points, 0.2/s", 35.0, _tools),
    "found-longer": moved_mix("length x 1.2, 0.2/s", 36.0, _longer),
    "found-tail": moved_mix("5 % far tail, 0.2/s", 10.0, _tailed),
    "found-cohort": _cohort,
    "found-near-cohort": _near_cohort,
}
