"""The monitor over recorded traces: the same alarms as live, evidence over time, and bins then and now."""

import random

import pytest
from lanewatch.monitors.drift.building import build_reference
from lanewatch.monitors.drift.monitor import DriftMonitor
from lanewatch.monitors.drift.recorded_run import STRETCHES, RecordedRun, run_recorded
from lanewatch.monitors.drift.reference import Reference

from tests.monitors.drift.traces import Habits, traces

DAY = 86_400
MOVED = Habits(tools=(0.1, 0.1, 0.8))


@pytest.fixture(scope="module")
def reference() -> Reference:
    """Of 1,500 traces."""
    history = list(traces(random.Random(1), 1500, 4 * DAY, 1 / 12, Habits()))
    return build_reference(lambda: ((facts, 1.0) for facts in history), random.Random(0), created=0)


@pytest.fixture(scope="module")
def both(reference: Reference) -> tuple[RecordedRun, DriftMonitor]:
    """An hour as it was and an hour of other tools: the run, and a monitor that saw the same traces."""
    given = [
        *traces(random.Random(2), 450, 6 * DAY, 0.125, Habits()),
        *traces(random.Random(3), 450, 6 * DAY + 3600, 0.125, MOVED),
    ]
    given.sort(key=lambda facts: facts.record.end_ns)
    monitor = DriftMonitor(reference)
    for facts in given:
        monitor.observe(facts)
    ends = given[0].record.end_ns, given[-1].record.end_ns
    run = run_recorded(reference, ((facts, 1.0) for facts in given), first_ns=ends[0], last_ns=ends[1])
    return run, monitor


def test_it_raises_what_a_sidecar_would_have(both: tuple[RecordedRun, DriftMonitor]) -> None:
    """The tools' alarm, and as many of the others as the monitor itself."""
    run, monitor = both
    alarms = {(one.reading.service, one.reading.signal): one.reading.alarms for one in run.series}

    assert alarms["shop", "tool"] == 1
    assert alarms == {key: watched.watch.alarms for key, watched in monitor.watched.items()}


def test_bins_then_and_now_are_shares(both: tuple[RecordedRun, DriftMonitor]) -> None:
    """What was expected adds up, and so does what was found; their PSI is that of the whole."""
    tool = next(one for one in both[0].series if one.reading.signal == "tool")
    now = dict(zip(tool.reading.bins, tool.now, strict=True))

    assert sum(tool.then) == pytest.approx(1)
    assert sum(tool.now) == pytest.approx(1)
    assert now["lookup"] == pytest.approx(0.5, abs=0.05)
    assert tool.observations == 900
    assert tool.shares is not None
    assert tool.shares.psi == pytest.approx(sum(tool.shares.contributions))


def test_evidence_over_time_has_the_moment_of_the_alarm(both: tuple[RecordedRun, DriftMonitor]) -> None:
    """At most so many stretches; the line is passed in the one in which the alarm was raised, and in none before."""
    run, _ = both
    raised = next(change for change in run.changes if change.signal == "tool")
    place = (raised.tick - run.first_tick) // run.ticks_a_stretch
    tool = next(one for one in run.series if one.reading.signal == "tool")
    largest = [max(ratio or 0.0 for ratio in at) for at in zip(*(track.ratios for track in tool.tracks), strict=True)]

    assert len(largest) <= STRETCHES
    assert largest[place] >= 1
    assert max(largest[:place]) < 1


def test_vectors_have_no_bins_to_show(both: tuple[RecordedRun, DriftMonitor]) -> None:
    """But evidence they have."""
    ngrams = next(one for one in both[0].series if one.reading.signal == "query_text_ngrams")

    assert (ngrams.then, ngrams.now, ngrams.shares, ngrams.rate) == ((), (), None, None)
    assert {track.detector for track in ngrams.tracks} >= {"t2"}
