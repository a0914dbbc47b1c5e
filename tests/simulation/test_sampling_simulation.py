"""The simulation of sampling in short: unbiased with weights, off without, and able to fail."""

from functools import cache

import msgspec
import pytest
from lanewatch.monitors.judge.samples import Job

from tests.simulation.sampled_traffic import SeenTrace, judged, recorded, traffic
from tests.simulation.simulate_sampling import RATES, Compared, Days, compare, day


@cache
def pool() -> list[SeenTrace]:
    """Recorded traces, read once."""
    return recorded()


@cache
def one_day() -> list[Compared]:
    """20,000 traces through the desk."""
    return day(20_000, 1, pool())[0]


def test_weighted_estimates_are_the_truth_of_all_traffic() -> None:
    """Of 24, within 2 standard errors all but what chance leaves out, and none by four."""
    z = [abs(one.z) for one in one_day()]

    assert sum(one <= 2 for one in z) >= 21
    assert max(z) < 4


def test_without_weights_every_mean_and_rate_is_off() -> None:
    """What goes wrong is judged twenty times as often."""
    assert min(abs(one.naive_z) for one in one_day() if one.what != "sum") > 4


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
    """Whatever is estimated to be a tenth higher is off."""
    shifted = [msgspec.structs.replace(one, estimate=1.1 * one.estimate) for one in one_day()]

    assert sum(abs(one.z) <= 2 for one in shifted) < 12


@pytest.mark.parametrize(("within", "worst", "holds"), [(950, 2.0, True), (900, 2.0, False), (950, 5.0, False)])
def test_many_days_hold_or_do_not(within: int, worst: float, holds: bool) -> None:
    """Too many misses, or all to one side."""
    assert Days(1000, within, worst).holds() is holds
