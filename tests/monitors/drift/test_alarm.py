"""An alarm's life: latched, cleared by evidence of return or by a person, held back while a gate is shut."""

import msgspec
import numpy as np
import pytest
from lanewatch.monitors.drift.alarm import SILENT_TICKS, Event, State, Watch, WatchState
from lanewatch.monitors.drift.bins import CategoryBins
from lanewatch.monitors.drift.rate_reference import known_rate
from lanewatch.monitors.drift.rate_series import RateSeries
from lanewatch.monitors.drift.share_reference import known_shares
from lanewatch.monitors.drift.share_series import ShareSeries

TOOLS = np.array([0.4, 0.3, 0.2, 0.09, 0.01])
OTHER = np.array([0.2, 0.5, 0.2, 0.09, 0.01])


def rate_watch() -> Watch:
    """A rate of 1 % with the usual budget."""
    return Watch(RateSeries(known_rate(0.01)))


def feed(watch: Watch, rate: float, ticks: range, seed: int = 0, shut: tuple[str, ...] = ()) -> list[tuple[int, Event]]:
    """Ticks of 20 trials; what happened."""
    rng = np.random.default_rng(seed)
    events = []
    for index in ticks:
        x = int(rng.binomial(20, rate))
        event = watch.update(index, 0, {1.0: [20 - x, x]}, {}, shut)
        if event is not None:
            events.append((index, event))
    return events


def test_an_alarm_latches_and_does_not_fire_again() -> None:
    """One event, however long the change lasts; the state stays ALARM."""
    watch = rate_watch()
    feed(watch, 0.01, range(500))
    events = feed(watch, 0.08, range(500, 1500))

    assert [event for _, event in events] == [Event.RAISED]
    assert watch.state(1500) is State.ALARM
    assert watch.alarms == 1
    assert watch.alarm is not None
    assert watch.alarm.direction == "up"
    assert abs(watch.alarm.changed - 500) < 20


def test_evidence_of_return_clears_it() -> None:
    """The rate is back: cleared within the hour, and quiet after."""
    watch = rate_watch()
    feed(watch, 0.08, range(200))
    events = feed(watch, 0.01, range(200, 1200), seed=1)

    assert [event for _, event in events] == [Event.CLEARED]
    assert 200 < events[0][0] < 560
    assert watch.state(1200) is State.OK


def test_half_the_way_back_clears_nothing() -> None:
    """From 1 % to 10 %, and down to 5 %: still an alarm, after a day."""
    watch = rate_watch()
    feed(watch, 0.10, range(200))
    events = feed(watch, 0.05, range(200, 200 + 8640), seed=1)

    assert events == []
    assert watch.state(8840) is State.ALARM


def test_a_distribution_clears_too() -> None:
    """Alarmed by a new mix, cleared by the old one."""
    watch = Watch(ShareSeries(CategoryBins(("a", "b", "c")), known_shares(TOOLS)))
    rng = np.random.default_rng(0)
    events = []
    for index in range(3000):
        shares = OTHER if index < 500 else TOOLS
        event = watch.update(index, 0, {1.0: rng.multinomial(5, shares).tolist()}, {})
        if event is not None:
            events.append(event)

    assert events == [Event.RAISED, Event.CLEARED]


def test_a_person_ends_it_and_evidence_begins_anew() -> None:
    """Acknowledged, it is over; a change that lasts is found again."""
    watch = rate_watch()
    feed(watch, 0.08, range(100))

    assert watch.acknowledge()
    assert watch.state(100) is State.OK
    assert not watch.acknowledge()
    assert [event for _, event in feed(watch, 0.08, range(100, 200), seed=2)] == [Event.RAISED]


def test_a_shut_gate_holds_everything_back() -> None:
    """UNSURE, no alarm; and what came meanwhile is not saved up for when it opens."""
    watch = rate_watch()
    feed(watch, 0.01, range(100))

    assert feed(watch, 0.5, range(100, 400), shut=("judge_canaries",)) == []
    assert watch.state(400) is State.UNSURE
    assert feed(watch, 0.01, range(400, 600), seed=3) == []
    assert watch.state(600) is State.OK


def test_a_standing_alarm_outlives_a_shut_gate() -> None:
    """While it is shut the state is UNSURE; then ALARM again."""
    watch = rate_watch()
    feed(watch, 0.08, range(100))
    feed(watch, 0.01, range(100, 5000), shut=("judge_canaries",))

    assert watch.state(5000) is State.UNSURE
    feed(watch, 0.08, range(5000, 5002))
    assert watch.state(5002) is State.ALARM


def test_nothing_observed_is_unsure() -> None:
    """Before the first observation, and after a day without one: not OK."""
    watch = rate_watch()

    assert watch.state(0) is State.UNSURE
    feed(watch, 0.01, range(10))
    assert watch.state(10) is State.OK
    assert watch.state(10 + SILENT_TICKS) is State.UNSURE


def test_a_year_of_silence_raises_nothing() -> None:
    """Evidence grows with time by itself, but a gap counts as an hour at most."""
    watch = rate_watch()
    feed(watch, 0.01, range(10))

    assert feed(watch, 0.0, range(3_000_000, 3_000_003)) == []


@pytest.mark.parametrize("at", [50, 250])
def test_a_watch_goes_on_from_json(at: int) -> None:
    """Before and after the alarm: the same events at the same ticks."""
    whole, first = rate_watch(), rate_watch()
    expected = feed(whole, 0.05, range(200)) + feed(whole, 0.01, range(200, 900), seed=1)
    done = feed(first, 0.05, range(min(at, 200))) + feed(first, 0.01, range(200, max(at, 200)), seed=1)
    second = rate_watch()
    second.restore(msgspec.json.decode(msgspec.json.encode(first.snapshot()), type=WatchState))
    assert isinstance(first.series, RateSeries)
    assert isinstance(second.series, RateSeries)
    assert second.series.restore(first.series.state())
    rng = np.random.default_rng(0 if at < 200 else 1)
    start, rate = (0, 0.05) if at < 200 else (200, 0.01)
    rest = []
    for index in range(start, 200 if at < 200 else 900):
        x = int(rng.binomial(20, rate))
        event = second.update(index, 0, {1.0: [20 - x, x]}, {}) if index >= at else None
        rest += [(index, event)] if event is not None else []
    if at < 200:
        rest += feed(second, 0.01, range(200, 900), seed=1)

    assert done + rest == expected
