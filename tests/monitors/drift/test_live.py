"""Drift in a running process, with clocks that a test moves: it learns, watches, survives, and keeps to the events' time."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lanewatch.monitors.drift.alarm import State
from lanewatch.monitors.drift.building import build_reference
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.gates import Gate
from lanewatch.monitors.drift.live import LiveDrift
from lanewatch.monitors.drift.monitor import DriftMonitor
from lanewatch.monitors.drift.readings import Change
from lanewatch.monitors.drift.reference import Reference, save_reference
from lanewatch.monitors.drift.reference_file import LOOK_SECONDS
from lanewatch.monitors.drift.settings import DriftSettings
from lanewatch.monitors.drift.share_series import ShareSeries
from lanewatch.monitors.drift.state_folder import LEARNING, REFERENCE, STATE
from lanewatch.monitors.drift.view import Phase

from tests.monitors.drift.traces import Habits, traces

DAY = 86_400
START = 6 * DAY


class Clocks:
    """A wall clock and one that never goes back, moved together."""

    def __init__(self) -> None:
        self.now = 0.0

    def wall(self) -> float:
        """Seconds since the epoch."""
        return START + self.now

    def passed(self) -> float:
        """Seconds."""
        return self.now


class Process:
    """A LiveDrift with its clocks and what it said."""

    def __init__(self, clocks: Clocks | None = None, **settings: Any) -> None:
        self.clocks = clocks or Clocks()
        self.said: list[tuple[str, str]] = []
        self.drift = LiveDrift(
            DriftSettings(**settings),
            clock=self.clocks.wall,
            passed=self.clocks.passed,
            rng=random.Random(0),
            say=lambda what, about: self.said.append((what, about)),
        )

    def run(self, given: Iterable[Facts], every: float = 10.0) -> list[Change]:
        """Traces as they end, a look at the time every ten seconds, as the sidecar does."""
        changes: list[Change] = []
        for facts in given:
            end = facts.record.end_ns / 1e9 - START
            while self.clocks.now + every <= end:
                self.clocks.now += every
                changes += self.drift.advance()
            self.clocks.now = max(self.clocks.now, end)
            changes += self.drift.observe(facts)
        return changes

    def wait(self, seconds: float) -> list[Change]:
        """Nothing comes for so long."""
        self.clocks.now += seconds
        return self.drift.advance()


def stream(seed: int, count: int, habits: Habits | None = None, after: float = 0.0) -> Iterator[Facts]:
    """Traces at one a second."""
    return traces(random.Random(seed), count, START + after, 1.0, habits or Habits())


@pytest.fixture(scope="module")
def reference() -> Reference:
    """Of 3,000 traces in an hour and a half, in few signals, so that tests are quick."""
    history = list(traces(random.Random(1), 3000, 4 * DAY, 0.5, Habits()))
    whole = build_reference(lambda: ((facts, 1.0) for facts in history), random.Random(0), created=5)
    shop = whole.layout.services["shop"]
    few = {name: shop.bins[name] for name in ("refusal", "latency", "tool", "incomplete_responses")}
    layout = msgspec.structs.replace(
        whole.layout, services={"shop": msgspec.structs.replace(shop, bins=few, projections={}, text=None)}
    )
    return msgspec.structs.replace(whole, layout=layout)


@pytest.fixture
def file(reference: Reference, tmp_path: Path) -> Path:
    """The reference in a file."""
    path = tmp_path / "made"
    save_reference(path, reference)
    return path


def test_a_reference_that_is_set_is_watched_from_the_start(file: Path, reference: Reference) -> None:
    """Unchanged traffic raises nothing; a change is found, shown, and ended by a person."""
    process = Process(reference_file=file)
    assert process.drift.view.phase is Phase.WATCHING
    assert process.drift.view.reference == reference.id
    assert process.run(stream(2, 900)) == []
    changes = process.run(stream(3, 900, Habits(refusals=0.2), after=900))
    process.wait(10)
    states = {reading.signal: reading.state for reading in process.drift.view.readings}

    assert [(change.signal, change.event) for change in changes] == [("refusal", "raised")]
    assert states["refusal"] is State.ALARM
    assert {states["latency"], states["tool"]} == {State.OK}
    assert process.drift.acknowledge("shop", "refusal")
    assert not process.drift.acknowledge("shop", "refusal")
    assert {r.signal: r.state for r in process.drift.view.readings}["refusal"] is State.OK


def test_without_one_it_is_learnt_and_then_watched(tmp_path: Path) -> None:
    """Bins first, then hours; nothing alarms while it learns; the reference survives in the folder."""
    settings: dict[str, Any] = {
        "state_folder": tmp_path,
        "fit_traces": 600,
        "learning_seconds": 1500.0,
        "snapshot_seconds": 300.0,
    }
    process = Process(**settings)
    assert process.run(stream(2, 1200)) == []
    process.wait(10)
    learning = process.drift.view.learning
    assert process.drift.view.phase == "learning"
    assert learning is not None
    assert learning.fitted == 600
    assert 500 < learning.counted_seconds < 700
    process.run(stream(3, 1200, after=1200))
    process.wait(60)
    assert process.drift.view.phase is Phase.WATCHING
    assert (tmp_path / REFERENCE).exists()
    assert not (tmp_path / LEARNING).exists()
    again = Process(process.clocks, **settings)

    assert again.drift.view.phase is Phase.WATCHING
    assert again.drift.view.reference == process.drift.view.reference
    assert again.said == []


def test_what_was_learnt_survives_a_kill(tmp_path: Path) -> None:
    """The counting goes on from the last writing; nothing is written before bins are fitted."""
    settings: dict[str, Any] = {
        "state_folder": tmp_path,
        "fit_traces": 600,
        "learning_seconds": 86_400.0,
        "snapshot_seconds": 100.0,
    }
    process = Process(**settings)
    process.run(stream(2, 500))
    process.wait(100)
    assert list(tmp_path.iterdir()) == []
    process.run(stream(3, 900, after=700))
    process.wait(100)
    process.drift.snapshots.join()
    again = Process(process.clocks, **settings)  # the other was never closed
    again.run(stream(4, 20, after=1800))
    again.wait(10)
    learning = again.drift.view.learning

    assert learning is not None
    assert learning.counted_seconds > 800


def test_evidence_survives_a_kill_and_its_alarm_stands(file: Path, tmp_path: Path) -> None:
    """A process that is killed goes on from the last writing, at most `snapshot_seconds` before."""
    settings: dict[str, Any] = {"reference_file": file, "state_folder": tmp_path, "snapshot_seconds": 20.0}
    process = Process(**settings)
    changes = process.run(stream(2, 900, Habits(refusals=0.2)))
    process.wait(30)
    process.drift.snapshots.join()
    again = Process(process.clocks, **settings)

    assert [change.event for change in changes] == ["raised"]
    assert {r.signal: r.state for r in again.drift.view.readings}["refusal"] is State.ALARM
    assert again.drift.view.storage.begun_anew == 0
    assert again.run(stream(3, 300, after=960)) == []


def test_silence_after_a_restart_is_no_ok(file: Path, tmp_path: Path) -> None:
    """A process that has seen nothing for a day says so, whatever the one before saw."""
    process = Process(reference_file=file, state_folder=tmp_path)
    process.run(stream(2, 60))
    process.drift.close()
    again = Process(process.clocks, reference_file=file, state_folder=tmp_path)
    before = {reading.state for reading in again.drift.view.readings}
    again.wait(2 * DAY)

    assert before == {State.OK}
    assert {reading.state for reading in again.drift.view.readings} == {State.UNSURE}


def test_a_process_that_ends_writes_the_open_tick(file: Path, tmp_path: Path) -> None:
    """The next one begins with all that this one saw."""
    process = Process(reference_file=file, state_folder=tmp_path)
    process.run(stream(2, 5))
    process.drift.close()
    again = Process(process.clocks, reference_file=file, state_folder=tmp_path)
    assert again.drift.monitor is not None
    series = again.drift.monitor.watched["shop", "latency"].watch.series
    assert isinstance(series, ShareSeries)

    window = series.g.windows.window(60, int(again.clocks.wall() // 60), series.reference.shares)
    assert window.counts.sum() == 5


@pytest.mark.parametrize("name", [STATE, LEARNING, REFERENCE])
def test_a_damaged_file_is_said_and_begun_anew(file: Path, tmp_path: Path, name: str) -> None:
    """Set aside, counted, and the process starts."""
    (tmp_path / name).write_bytes(b"{}")
    process = Process(reference_file=file if name == STATE else None, state_folder=tmp_path)

    assert process.said == [("damaged", name)]
    assert process.drift.view.storage.set_aside == 1
    assert process.drift.view.phase is (Phase.WATCHING if name == STATE else Phase.LEARNING)


def test_a_reference_file_that_is_not_there_is_not_replaced_by_a_learnt_one(tmp_path: Path) -> None:
    """That would not be what was asked for: nothing is watched, and the view says why."""
    process = Process(reference_file=tmp_path / "none")

    assert process.drift.view.phase is Phase.NO_REFERENCE
    assert process.drift.view.because == "missing"
    assert process.run(stream(2, 50)) == []


def test_silence_closes_a_tick_and_is_no_change(file: Path) -> None:
    """Ten seconds after the last trace its tick is counted; a day of nothing is UNSURE."""
    process = Process(reference_file=file)
    process.run(stream(2, 30))
    before = process.drift.view.tick
    assert process.wait(20) == []
    assert process.drift.view.tick > before
    process.wait(2 * DAY)

    assert {reading.state for reading in process.drift.view.readings} == {State.UNSURE}


def test_a_backlog_is_judged_by_its_own_times(file: Path) -> None:
    """An hour of traces comes at once: as many ticks, and the change in it is found where it was."""
    process = Process(reference_file=file)
    process.clocks.now = 7200.0
    changes = []
    given = [*stream(2, 1800), *stream(3, 1200, Habits(refusals=0.2), after=1800)]
    for number, facts in enumerate(given):
        process.clocks.now += 0.001
        changes += process.drift.observe(facts)
        if number % 100 == 0:
            changes += process.drift.advance()
    (change,) = changes

    assert change.signal == "refusal"
    assert START + 1500 < change.alarm.changed * 10 < START + 2400


def test_a_trace_ahead_of_the_clock_moves_it_no_further_than_now(file: Path) -> None:
    """A host whose clock is a week ahead does not close every tick to come."""
    process = Process(reference_file=file)
    (ahead,) = traces(random.Random(4), 1, START + 7 * DAY, 1.0, Habits())
    process.run(stream(2, 20))
    process.drift.observe(ahead)
    process.run(stream(3, 20, after=40))
    process.wait(10)

    assert process.drift.view.told["early"] == 1
    assert process.drift.view.tick <= process.clocks.wall() // 10
    assert process.drift.view.told["observed"] == 41


def test_judges_can_hold_their_signals_back(file: Path) -> None:
    """A gate by name: UNSURE from the moment on in which it is shut, until a tick after it was opened; never OK."""
    process = Process(reference_file=file)
    process.run(stream(1, 60))
    process.drift.hold_back("judge_canaries", Gate(signals=frozenset({"tool"})))
    at_once = {reading.signal: (reading.state, reading.because) for reading in process.drift.view.readings}
    assert at_once["tool"] == (State.UNSURE, ("judge_canaries",))
    process.run(stream(2, 60, after=60))
    process.wait(10)
    states = {reading.signal: reading.state for reading in process.drift.view.readings}
    process.drift.hold_back("judge_canaries", None)
    process.run(stream(3, 60, after=140))
    process.wait(10)

    assert (states["tool"], states["latency"]) == (State.UNSURE, State.OK)
    assert {reading.signal: reading.state for reading in process.drift.view.readings}["tool"] is State.OK


def test_canaries_hold_back_the_scores_of_their_judge(file: Path) -> None:
    """The metrics that drift, and no longer than they do; it is kept for a reference that is learnt later."""
    process = Process(reference_file=file)
    process.drift.hold_back_scores({"faithfulness", "context_relevance"})
    monitor = process.drift.monitor
    assert monitor is not None
    assert monitor.gates.before("shop", "score_faithfulness") == ("judge_canaries",)
    assert monitor.gates.before("shop", "refusal") == ()
    process.drift.hold_back_scores({"faithfulness"})
    assert monitor.gates.before("shop", "score_context_relevance") == ()
    process.drift.hold_back_scores(())
    assert monitor.gates.before("shop", "score_faithfulness") == ()

    learning = Process(fit_traces=600, learning_seconds=600.0)
    learning.drift.hold_back("by_hand", Gate("shop", frozenset({"latency"})))
    learning.run(stream(2, 1400))
    learning.wait(70)
    assert {r.signal: r.state for r in learning.drift.view.readings}["latency"] is State.UNSURE


def test_a_disk_that_refuses_is_counted(file: Path, tmp_path: Path) -> None:
    """The folder is gone: nothing is written, and that shows; watching goes on."""
    process = Process(reference_file=file, state_folder=tmp_path / "gone" / "too")
    process.run(stream(2, 30))
    process.drift.close()

    assert process.drift.view.storage.failed == 2  # evidence, and the last hours
    assert process.drift.view.storage.written == 0


def test_a_clock_that_was_set_back_is_unsure_until_it_is_there_again(file: Path) -> None:
    """No tick ends in between, so no change can be found: that is not ok. A few minutes are no matter."""
    process = Process(reference_file=file)
    process.run(stream(2, 30))
    process.wait(7200)
    process.run(stream(3, 30, after=7300))
    before = {r.signal: r.state for r in process.drift.view.readings}["latency"]
    process.clocks.now -= 600
    process.wait(0)
    little = {r.signal: r.state for r in process.drift.view.readings}["latency"]
    process.clocks.now -= 6000
    process.wait(0)
    held = {r.because for r in process.drift.view.readings}
    process.clocks.now += 6600
    process.wait(0)

    assert before is little is State.OK
    assert held == {("clock_went_back",)}
    assert {r.signal: r.state for r in process.drift.view.readings}["latency"] is State.OK


def test_two_processes_with_one_folder_are_told(file: Path, tmp_path: Path) -> None:
    """The second one's writings fail and it says so, once; the state stays the first one's."""
    first, second = (Process(reference_file=file, state_folder=tmp_path / "state") for _ in range(2))
    for turn in range(2):
        for process, seed in ((first, 2), (second, 3)):
            process.run(stream(seed, 30, after=40.0 * turn))
            process.wait(70)
            process.drift.snapshots.join()

    assert (first.drift.snapshots.written, first.drift.snapshots.failed) == (2, 0)
    assert (second.drift.snapshots.written, second.drift.snapshots.failed) == (0, 2)
    assert second.said == [("shared", STATE)]


def taken_up(process: Process) -> None:
    """Time for a look at the file, for what is read of it, and for another look."""
    process.wait(LOOK_SECONDS)
    assert process.drift._file is not None
    process.drift._file.join()
    process.wait(LOOK_SECONDS)


def test_an_adopted_reference_is_taken_up_without_a_restart(file: Path, reference: Reference, tmp_path: Path) -> None:
    """Under its own id, with evidence that begins anew; totals, sessions and gates go on."""
    process = Process(reference_file=file, state_folder=tmp_path)
    process.run(stream(2, 900, Habits(refusals=0.2)))
    process.wait(10)
    assert {r.signal: r.state for r in process.drift.view.readings}["refusal"] is State.ALARM
    process.drift.hold_back("by_hand", Gate(signals=frozenset({"tool"})))
    process.wait(LOOK_SECONDS)
    assert process.drift.view.reference == reference.id
    adopted = msgspec.structs.replace(reference, source="window")
    save_reference(file, adopted)
    taken_up(process)
    view = process.drift.view
    states = {reading.signal: reading.state for reading in view.readings}

    assert (view.reference, view.phase) == (adopted.id, Phase.WATCHING)
    assert ("taken_up", adopted.id) in process.said
    assert {reading.reference.id for reading in view.readings} == {adopted.id}
    assert all(max(found.ratio for found in reading.detecting) < 0.01 for reading in view.readings)
    assert view.told["observed"] == 900
    assert view.sessions > 0
    assert sum(reading.alarms for reading in view.readings) == 1
    assert states["tool"] is State.UNSURE
    process.run(stream(3, 900, Habits(refusals=0.2), after=1000))
    process.wait(10)
    assert {r.signal: r.state for r in process.drift.view.readings}["refusal"] is State.ALARM
    process.drift.close()
    assert Process(process.clocks, reference_file=file, state_folder=tmp_path).said == []


def test_a_file_that_can_not_be_used_changes_nothing(file: Path, reference: Reference) -> None:
    """It is said once, left where it is, and the reference in use goes on."""
    process = Process(reference_file=file)
    file.write_bytes(file.read_bytes()[:-20])
    for _ in range(3):
        taken_up(process)

    assert process.drift.view.reference == reference.id
    assert process.said == [("not_taken_up", "damaged")]
    assert file.exists()


def test_a_reference_that_comes_late_is_watched(reference: Reference, tmp_path: Path) -> None:
    """The file that is set was not there when the process started."""
    process = Process(reference_file=tmp_path / "made")
    assert process.drift.view.phase is Phase.NO_REFERENCE
    save_reference(tmp_path / "made", reference)
    taken_up(process)
    process.run(stream(2, 60))
    process.wait(10)

    assert (process.drift.view.phase, process.drift.view.because) == (Phase.WATCHING, "")
    assert process.drift.view.reference == reference.id


def test_a_window_of_live_traffic_becomes_a_reference(file: Path, reference: Reference, tmp_path: Path) -> None:
    """In the bins of the one in use, without the hours in which a series stood in alarm; it survives a restart."""
    process = Process(reference_file=file, state_folder=tmp_path)
    process.run(stream(2, 3700))
    process.run(stream(3, 900, Habits(refusals=0.2), after=3700))
    process.drift.close()
    again = Process(process.clocks, reference_file=file, state_folder=tmp_path)
    whole, first_hour = again.drift.window(START, START + 7200), again.drift.window(START, START + 3600)
    assert whole is not None
    assert first_hour is not None
    hours = {signal: len(rows) for signal, rows in whole.rows["shop"].items()}

    assert whole.source == "window"
    assert whole.layout.id == reference.layout.id
    assert (hours["latency"], hours["refusal"]) == (2, 1)
    assert {len(rows) for rows in first_hour.rows["shop"].values()} == {1}
    assert DriftMonitor(first_hour).watched.keys() == DriftMonitor(reference).watched.keys()
    assert Process(reference_file=file, window_hours=0).drift.window(START, START + 7200) is None
