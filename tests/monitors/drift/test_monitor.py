"""All of drift at once: built from traces, it finds what changes, survives, merges, and keeps quiet otherwise."""

import random
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from lanewatch.monitors.drift.alarm import State
from lanewatch.monitors.drift.budget import Budget
from lanewatch.monitors.drift.building import BuilderState, ReferenceBuilder, build_reference
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.gates import Gate
from lanewatch.monitors.drift.monitor import DriftMonitor, MonitorState
from lanewatch.monitors.drift.readings import Change, ranked
from lanewatch.monitors.drift.reference import Gap, Reference, load_reference, merged, save_reference
from lanewatch.monitors.drift.sums import Merged
from lanewatch.monitors.lanes import Lane

from tests.monitors.drift.traces import WORDS, Habits, traces

DAY = 86_400
USUAL = Habits(embedding=8)
NEW_WORDS = tuple(f"zu{word}q" for word in WORDS)


def stream(seed: int, count: int, start_day: float, habits: Habits = USUAL) -> list[Facts]:
    """Traces at one a second."""
    return list(traces(random.Random(seed), count, start_day * DAY, 1.0, habits))


@pytest.fixture(scope="module")
def reference() -> Reference:
    """Of 4,000 traces in two hours."""
    history = list(traces(random.Random(1), 4000, 4 * DAY, 0.5, USUAL))
    return build_reference(lambda: ((facts, 1.0) for facts in history), random.Random(0), created=0)


def run(monitor: DriftMonitor, given: Iterable[Facts]) -> list[Change]:
    """All changes."""
    return [change for facts in given for change in monitor.observe(facts)]


def test_every_kind_of_signal_is_watched(reference: Reference) -> None:
    """Numbers, counts, categories, events, text and vectors."""
    watched = {signal for _, signal in DriftMonitor(reference).watched}

    assert {
        "latency",
        "contexts",
        "tool",
        "refusal",
        "query_text_surprisal",
        "query_text_ngrams",
        "query_embedding",
    } <= watched


def test_what_the_reference_can_not_do_is_said(reference: Reference) -> None:
    """Hours of history: no hours of the week, and what days differ by is assumed."""
    assert reference.gaps()["shop", "refusal"] == (Gap.NO_HOURS, Gap.NO_DAYS)
    assert "assumed" in Gap.NO_DAYS.meaning


def test_more_of_the_same_raises_nothing(reference: Reference) -> None:
    """Fifty minutes of 30 series."""
    monitor = DriftMonitor(reference)

    assert run(monitor, stream(2, 3000, 6)) == []
    assert {reading.state for reading in monitor.readings(())} == {State.OK}
    assert monitor.observer.told.observed == 3000


@pytest.mark.parametrize(
    ("habits", "signal"),
    [
        (Habits(refusals=0.15), "refusal"),
        (Habits(tool_errors=0.2), "tool_error"),
        (Habits(slower=1.6), "latency"),
        (Habits(tools=(0.1, 0.1, 0.8)), "tool"),
        (Habits(words=NEW_WORDS), "query_text_unknown_word_share"),
        (Habits(words=NEW_WORDS), "query_text_ngrams"),
    ],
)
def test_each_change_is_found_by_its_signal(reference: Reference, habits: Habits, signal: str) -> None:
    """Within a quarter of an hour, with what moved named; signals of the other kinds stay quiet."""
    monitor = DriftMonitor(reference)
    changes = run(monitor, stream(3, 900, 6, habits))
    mine = [change for change in changes if change.signal == signal]

    assert [change.event for change in mine] == ["raised"]
    assert mine[0].alarm.moved
    assert monitor.state("shop", signal) is State.ALARM
    assert monitor.state("shop", "contexts") is State.OK


def test_a_killed_monitor_goes_on_where_it_stopped(reference: Reference) -> None:
    """State written as JSON in the middle, taken up by another process: the same changes, the same state."""
    given = [*stream(4, 600, 6), *stream(5, 900, 6.1, Habits(refusals=0.15))]
    whole, first = DriftMonitor(reference), DriftMonitor(reference)
    expected = run(whole, given)
    changes = run(first, given[:700])
    second = DriftMonitor(reference)

    # The open tick is not in the state: its traces are sent by nobody again, so close it first.
    at = first.observer.tick
    rest = [facts for facts in given[700:] if facts.record.end_ns // 10_000_000_000 > at]
    written = msgspec.json.encode(first.snapshot())
    assert second.restore(msgspec.json.decode(written, type=MonitorState)) == []
    assert msgspec.json.encode(second.snapshot()) == written
    changes += run(second, rest)
    assert [(c.signal, c.event) for c in changes] == [(c.signal, c.event) for c in expected]
    assert expected


def test_a_state_of_another_reference_is_not_taken_up(reference: Reference) -> None:
    """Evidence against other bins means nothing."""
    state = DriftMonitor(reference).snapshot()
    other = DriftMonitor(msgspec.structs.replace(reference, source="window"))

    assert set(other.restore(state)) == set(other.watched)


def test_a_reference_survives_in_one_file(reference: Reference, tmp_path: Path) -> None:
    """Written, read, the same id; a flipped byte is found, and the file set aside."""
    path = tmp_path / "reference"
    save_reference(path, reference)
    loaded = load_reference(path).reference
    assert loaded is not None
    assert loaded.id == reference.id
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    damaged = load_reference(path)

    assert damaged.reference is None
    assert damaged.set_aside is not None
    assert not path.exists()


def test_a_replica_more_or_less_is_no_alarm(reference: Reference) -> None:
    """One replica becomes two, one is lost, another is restarted, each tick is sent twice: nothing fires."""
    leader = DriftMonitor(reference, replica="a", grace_ticks=1)
    others = {name: DriftMonitor(reference, replica=name) for name in ("b", "c")}
    changes: list[Change] = []
    for number, facts in enumerate(stream(6, 1800, 6)):
        if number < 600 or number % 2:
            changes += leader.observe(facts)
            continue
        name = "b" if number < 1200 else "c"  # b is lost, c comes
        if number == 900:
            others["b"] = DriftMonitor(reference, replica="b")  # b is restarted
        for message in others[name].observer.observe(facts):
            leader.merge(message)
            assert leader.merge(message) is Merged.DUPLICATE  # and doubled

    assert changes == []
    assert leader.merged[Merged.DUPLICATE] > 90


def test_what_replicas_see_together_is_found(reference: Reference) -> None:
    """Each sees half of the refusals; the leader raises one alarm for all."""
    leader = DriftMonitor(reference, replica="a", grace_ticks=1)
    other = DriftMonitor(reference, replica="b")
    changes: list[Change] = []
    for number, facts in enumerate(stream(7, 1200, 6, Habits(refusals=0.1))):
        if number % 2:
            changes += leader.observe(facts)
        else:
            for message in other.observer.observe(facts):
                leader.merge(message)

    assert [change.signal for change in changes if change.event == "raised"] == ["refusal"]


def test_hidden_content_holds_back_what_is_read_of_it(reference: Reference) -> None:
    """Responses begin to be redacted: that is an alarm of its own, and refusals are UNSURE, not OK."""
    from lanewatch.adapters.records import Evidence  # noqa: PLC0415

    monitor = DriftMonitor(reference)
    changes = []
    for number, facts in enumerate(stream(8, 1200, 6)):
        seen = facts
        if number >= 300 and number % 4:
            evidence = {**facts.record.evidence, "responses": Evidence.REDACTED}
            hidden = msgspec.structs.replace(facts.record, evidence=evidence)
            seen = msgspec.structs.replace(facts, record=hidden, verdict=None, complete=facts.complete - {"responses"})
        changes += monitor.observe(seen)

    assert [change.signal for change in changes] == ["incomplete_responses"]
    assert monitor.state("shop", "refusal") is State.UNSURE
    assert monitor.state("shop", "latency") is State.OK
    assert monitor.acknowledge("shop", "incomplete_responses")
    changes = run(monitor, stream(9, 100, 6.2))
    assert monitor.state("shop", "refusal") is State.OK


def test_a_gate_from_outside_holds_its_signals(reference: Reference) -> None:
    """A judge whose canaries drift, for example; and a person's acknowledgement of nothing is refused."""
    monitor = DriftMonitor(reference)
    monitor.gates.shut("judge_canaries", Gate(signals=frozenset({"latency"})))
    changes = run(monitor, stream(10, 1200, 6, Habits(slower=3.0)))
    (reading,) = [reading for reading in monitor.readings(()) if reading.signal == "latency"]

    assert [change for change in changes if change.signal == "latency"] == []
    assert reading.state is State.UNSURE
    assert reading.because == ("judge_canaries",)
    monitor.gates.open("judge_canaries")
    assert [change.signal for change in run(monitor, stream(11, 600, 6.1, Habits(slower=3.0)))] == ["latency"]
    assert not monitor.acknowledge("shop", "refusal")
    assert not monitor.acknowledge("shop", "no such signal")


def test_the_budget_is_shared_by_all_series(reference: Reference) -> None:
    """One false alarm a month for the instance; each series has its part, as exported."""
    monitor = DriftMonitor(reference, Budget(1.0))
    readings = list(monitor.readings(()))

    assert sum(reading.budget for reading in readings) == pytest.approx(1.0)
    assert {reading.budget for reading in DriftMonitor(reference, Budget(2.0, "series")).readings(())} == {2.0}


def test_effect_sizes_are_finite_and_counters_add_up(reference: Reference) -> None:
    """What is exported: PSI and intervals of each window, and observed beside expected counts."""
    monitor = DriftMonitor(reference)
    run(monitor, stream(12, 1200, 6))
    for reading in monitor.readings((60, 1440)):
        assert len(reading.rates) + len(reading.shares) + len(reading.vectors) == 2
        for shares in reading.shares:
            assert 0 <= shares.psi < 0.5
            assert shares.psi_excess < shares.psi
            assert 0 <= shares.js_distance <= 1
        for rate in reading.rates:
            assert 0 <= rate.lower <= rate.rate <= rate.upper <= 1
        for vectors in reading.vectors:
            assert 0 <= vectors.psi < 0.5
            assert vectors.kl_nats is None or vectors.kl_nats < 1
    counters = monitor.counters
    for key, counts in counters.counts.items():
        assert float(counts.sum()) == pytest.approx(float(counters.expected[key].sum()))
        assert counters.raw[key] == counts.sum()
        assert counters.squares[key] == counts.sum()


def test_series_are_ranked_within_a_lane_alone(reference: Reference) -> None:
    """Alarms first; lanes are never ranked against each other."""
    monitor = DriftMonitor(reference)
    run(monitor, stream(13, 600, 6, Habits(tools=(0.1, 0.1, 0.8))))
    readings = list(monitor.readings(()))
    tools = ranked([reading for reading in readings if reading.lane is Lane.TOOLS])

    assert tools[0].signal == "tool"
    with pytest.raises(ValueError, match="lanes"):
        ranked(readings)


def test_alarmed_hours_are_left_out_of_the_next_reference(reference: Reference) -> None:
    """Counted while it watches: the alarmed series lacks the hours from the change on while its alarm stands, others none."""
    builder = ReferenceBuilder(random.Random(0))
    builder.begin_counting(reference.layout)
    monitor = DriftMonitor(reference, counting=builder.counting)
    run(monitor, traces(random.Random(14), 720, 6 * DAY, 0.1, USUAL))
    run(monitor, traces(random.Random(15), 200, 6 * DAY + 7300, 0.1, Habits(tools=(0.1, 0.1, 0.8))))
    proposed = builder.reference(created=1)
    assert proposed is not None

    hours = {signal: [row.hour for row in rows] for signal, rows in proposed.rows["shop"].items()}
    assert hours["latency"] == [144, 145, 146]
    assert hours["tool"] == [144, 145]
    assert proposed.layout.id == reference.layout.id


def test_live_learning_fits_first_and_counts_then() -> None:
    """After so many traces there are bins, then hours; a restart loses none of the counting."""
    builder = ReferenceBuilder(random.Random(0), fit_traces=1000)
    given = list(traces(random.Random(1), 3000, 4 * DAY, 1.0, Habits()))
    for facts in given[:900]:
        builder.observe(facts)
    assert builder.reference(created=0) is None
    for facts in given[900:2000]:
        builder.observe(facts)
    restarted = ReferenceBuilder(random.Random(0))
    restarted.restore(msgspec.json.decode(msgspec.json.encode(builder.state()), type=BuilderState))
    for facts in given[2000:]:
        restarted.observe(facts)
    reference = restarted.reference(created=0)
    assert reference is not None

    assert "few_observations" not in reference.gaps().get(("shop", "latency"), ())
    assert DriftMonitor(reference).watched
    assert (
        merged(reference, reference).tables()["shop", "tool"].raw.sum()
        == 2 * reference.tables()["shop", "tool"].raw.sum()
    )


def test_references_of_different_bins_are_not_added(reference: Reference) -> None:
    """Their counts mean different things."""
    other = msgspec.structs.replace(reference, time_zone="Europe/Paris")
    with pytest.raises(ValueError, match="can't be added"):
        merged(reference, other)


def test_fifteen_days_give_hours_of_the_week() -> None:
    """Every kind of series has its 168 cells; two more days of the same raise nothing, and no gap is left."""
    history = list(traces(random.Random(20), 1800, 4 * DAY, 1 / 720, USUAL))
    reference = build_reference(lambda: ((facts, 1.0) for facts in history), random.Random(0), created=0)
    monitor = DriftMonitor(reference)

    assert reference.gaps() == {}
    assert {len(watched.expected) for watched in monitor.watched.values()} == {168}
    assert run(monitor, list(traces(random.Random(21), 200, 20 * DAY, 1 / 60, USUAL))) == []
