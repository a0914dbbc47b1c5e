"""The simulation of sampling in short: unbiased with weights, off without, and able to fail."""

from functools import cache

import msgspec
import pytest
from lanewatch.monitors.judge.estimates import interval, mean, traffic_error
from lanewatch.monitors.judge.samples import Job

from tests.simulation.sampled_traffic import SeenTrace, judged, recorded, traffic
from tests.simulation.simulate_sampling import RATES, Compared, Days, compare, day
from tests.simulation.slow_judge import TRUTH, last_hour


@cache
def pool() -> list[SeenTrace]:
    """Recorded traces, read once."""
    return recorded()


@cache
def one_day() -> list[Compared]:
    """200,000 traces through the desk: three seconds of one core."""
    return day(200_000, 1, pool())[0]


def test_weighted_estimates_are_the_truth_of_all_traffic() -> None:
    """Of 24, within 2 standard errors all but what chance leaves out: 21 or more, and the farthest within what the farthest of 24 may
    be off by chance in one of twenty days (Bonferroni: 3.08).
    """
    z = [abs(one.z) for one in one_day()]

    assert len(z) == 24
    assert sum(one <= 2 for one in z) >= 21
    assert max(z) < 3.08


def test_without_weights_every_mean_and_rate_is_off() -> None:
    """What goes wrong is judged twenty times as often."""
    assert min(abs(one.naive_z) for one in one_day() if one.what != "sum") > 20


def test_the_cap_thins_the_incident_and_throttles_next_to_nothing() -> None:
    """Rates of the flood fall and weights rise; nothing is dropped at random."""
    given = traffic(20_000, 2, pool())
    jobs: list[Job] = []
    found = judged(given, pool(), msgspec.structs.replace(RATES, per_minute=20), jobs.append)
    refusals = {job.weight for job in jobs if job.stratum.endswith("refusing")}
    ended = {how.value: n for (how, _), n in found.ledger.evaluations()["agent_goal_accuracy"].ended.items()}

    assert max(refusals) > 5
    assert ended.get("throttled", 0) < 20
    assert max(abs(one.z) for one in compare(given, found)) < 4


def test_a_wrong_weight_is_found() -> None:
    """Whatever is estimated to be three hundredths higher is off."""
    shifted = [msgspec.structs.replace(one, estimate=1.03 * one.estimate) for one in one_day()]

    assert sum(abs(one.z) <= 2 for one in shifted) < 12


@pytest.mark.parametrize("speed", [1.6, 14, 20])
def test_a_judge_slower_than_the_draw_bends_no_mean(speed: float) -> None:
    """Of 300 traces a minute, 5 % of them failing ones that are drawn at rate 1: the last of three hours is as sure as it says, stands
    for the traffic, and is of minutes ago. Of four runs none is off by three standard errors, and one at most by two.
    """
    hours = [last_hour(speed, 3, seed) for seed in range(4)]
    off = [abs((mean(one.sums) or 0) - TRUTH) / traffic_error(one.sums) for one in hours]

    assert max(off) < 3
    assert sum(z > 2 for z in off) <= 1
    assert (
        min(one.coverage for one in hours) > 0.75
    )  # of 96 scores, of which few are of usual traces, it is known to a tenth
    assert max(one.waited for one in hours) < 15
    assert min(one.sums.n for one in hours) >= 60 * speed - 1  # all that it can do


def test_a_backlog_that_is_judged_by_risk_is_found() -> None:
    """Its mean is of risky traces alone, and surer of it than it may be; what waits says that it stands for next to nothing."""
    hour = last_hour(14, 3, 1, by_risk=True, paced=False)
    within = interval(hour.sums)

    assert within is not None
    assert within.high < TRUTH - 0.3
    assert hour.coverage < 0.1


def test_a_backlog_without_a_pace_is_old_and_fair_and_says_so() -> None:
    """In the order in which it came it bends no mean; it is of hours ago, and of a part of the traffic that grows smaller."""
    hour = last_hour(14, 4, 1, paced=False)

    assert abs((mean(hour.sums) or 0) - TRUTH) < 3 * traffic_error(hour.sums)
    assert hour.waited > 60
    assert hour.coverage < 0.5


@pytest.mark.parametrize(("within", "worst", "holds"), [(950, 2.0, True), (900, 2.0, False), (950, 5.0, False)])
def test_many_days_hold_or_do_not(within: int, worst: float, holds: bool) -> None:
    """Too many misses, or all to one side."""
    assert Days(1000, within, worst).holds() is holds
