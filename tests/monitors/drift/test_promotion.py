"""What a reference of a window is made of: alarmed hours left out, whose traffic it is, and what it can't do yet."""

import random

import pytest
from lanewatch.monitors.drift.alarm import Alarm
from lanewatch.monitors.drift.building import build_reference
from lanewatch.monitors.drift.promotion import (
    Period,
    abilities,
    alarmed_periods,
    population,
    unobserved,
    without,
)
from lanewatch.monitors.drift.readings import Change
from lanewatch.monitors.drift.reference import LEAST_OBSERVATIONS, Gap, Reference
from lanewatch.monitors.drift.way_back import BinsBack

from tests.monitors.drift.traces import Habits, traces

DAY, HOUR_TICKS = 86_400, 360


@pytest.fixture(scope="module")
def reference() -> Reference:
    """Of 1,200 traces over four hours; half of them, with an embedding each, are not fitted on."""
    history = list(traces(random.Random(1), 1200, 4 * DAY, 1 / 12, Habits(embedding=4, session=2)))
    return build_reference(lambda: ((facts, 1.0) for facts in history), random.Random(0), created=0)


def change(tick: int, event: str, changed: int, signal: str = "tool") -> Change:
    """An alarm of the shop's."""
    return Change(tick, "shop", signal, event, Alarm("esr", "any", 1.0, tick, changed, [], BinsBack(())))


def test_an_alarm_lasts_from_its_change_to_its_clearing_or_to_the_end() -> None:
    """By series: one that was cleared, one that stands."""
    changes = [change(20, "raised", 10), change(25, "raised", 5, "latency"), change(40, "cleared", 10)]

    assert set(alarmed_periods(changes, 99)) == {Period("shop", "tool", 10, 40), Period("shop", "latency", 5, 99)}
    assert alarmed_periods([], 99) == []


def test_hours_of_a_period_are_left_out_of_its_series_alone(reference: Reference) -> None:
    """The hours that it touches, and no other series' hours; the reference becomes another one."""
    hours = [row.hour for row in reference.rows["shop"]["tool"]]
    cut, left_out = without(reference, [Period("shop", "tool", hours[1] * HOUR_TICKS + 5, hours[2] * HOUR_TICKS)])

    assert left_out == 2
    assert [row.hour for row in cut.rows["shop"]["tool"]] == [hours[0], *hours[3:]]
    assert cut.rows["shop"]["latency"] == reference.rows["shop"]["latency"]
    assert cut.id != reference.id
    assert without(reference, []) == (reference, 0)


def test_the_population_is_traces_by_service_and_the_hours_they_cover(reference: Reference) -> None:
    """Signals that a trace has several of don't count."""
    its = population(reference)

    assert its.services == {"shop": 1200}
    assert (its.first, its.days) == (4 * DAY, 1)
    assert its.last - its.first == 3600 * len(reference.rows["shop"]["latency"])


def test_a_vector_counts_once_however_many_components_it_has(reference: Reference) -> None:
    """Those that were not fitted on: some 600, and not 600 times its bins."""
    found = {one.signal: one for one in abilities(reference)}

    assert LEAST_OBSERVATIONS < found["query_embedding"].observations < 700
    assert found["query_embedding"].watched
    assert found["latency"].observations == 1200


def test_too_few_vectors_are_not_watched() -> None:
    """800 traces leave some 400 that are not fitted on: bins there are, but no reference yet."""
    history = list(traces(random.Random(2), 800, 4 * DAY, 1 / 12, Habits(embedding=4)))
    short = build_reference(lambda: ((facts, 1.0) for facts in history), random.Random(0), created=0)

    assert Gap.FEW in short.gaps()["shop", "query_embedding"]
    assert Gap.FEW not in short.gaps()["shop", "latency"]


def test_signals_without_bins_are_named(reference: Reference) -> None:
    """All others are."""
    absent = unobserved(reference)["shop"]

    assert "tool" not in absent
    assert {*absent} | {one.signal for one in abilities(reference)} >= {"tool", "latency", "refusal"}
