"""Canaries in the sidecar: rounds out of the store, what is known kept in it, exported, and held against alerts and drift."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from sqlite3 import Connection

import pytest
from lanewatch.judging.canaries import CanaryDesk
from lanewatch.judging.figures import JudgeFigures
from lanewatch.judging.thread import JudgeThread
from lanewatch.monitors.judge.canaries.items import canaries_of, shipped
from lanewatch.monitors.judge.canaries.watch import LONGEST_SECONDS
from lanewatch.monitors.judge.figures import Figures
from lanewatch.monitors.judge.results import Cost, EvaluationOutcome, Result
from lanewatch.monitors.judge.samples import Job, Sample
from lanewatch.monitors.judge.settings import StoreLimits, WorkerSettings
from lanewatch.monitors.judge.states import Finished
from lanewatch.monitors.judge.store_facts import ADOPT, read_fact, take_fact, write_fact
from lanewatch.monitors.judge.store_file import open_store
from lanewatch.monitors.judge.store_queue import add_jobs, queue_state
from msgspec.structs import replace

METRIC = "faithfulness"
CANARIES = shipped()
N = len(canaries_of(METRIC, CANARIES))
EVERY = 3600.0
MIB = 2**20


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    """A store."""
    opened = open_store(tmp_path, 64 * MIB, mend=True)
    yield opened
    opened.close()


def scored(value: float, model: str = "judge-1") -> Result:
    """A score that cost a cent."""
    cost = Cost(calls=1, input_tokens=10, output_tokens=1, dollars=0.01)
    return Result(EvaluationOutcome.SCORED, value=value, judge_model=model, cost=cost)


def desk(db: Connection, figures: Figures) -> CanaryDesk:
    """A desk of one metric."""
    made = CanaryDesk([METRIC], CANARIES, EVERY, figures)
    made.open(db)
    return made


def play(made: CanaryDesk, db: Connection, now: float, *, up: float = 0.0) -> int:
    """A round; the middle of each band, and so much more. How many jobs it had."""
    jobs = made.turn(db, now)
    bands = {canary.id: canary.expect[METRIC] for canary in canaries_of(METRIC, CANARIES)}
    for at, job in enumerate(jobs):
        expected = bands[job.sample.trace_id.split("-", 2)[2]]
        middle = ((expected.low or 0.0) + (expected.high or 0.0)) / 2
        made.take(Finished(job, scored(min(1.0, middle + up + 0.001 * (at % 3))), now))
    made.turn(db, now + 1)
    return len(jobs)


def value(figures: Figures, name: str, *labels: str) -> float | None:
    """A figure as it stands; None where it is absent."""
    return next(values.get(labels) for metric, values in figures.values() if metric.name == name)


def test_a_shift_is_exported_said_and_held_until_it_is_adopted(
    db: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    """Absent before anything can be told, then 0, 1, and absent again until the next round confirms the new reference."""
    figures = Figures([METRIC])
    made = desk(db, figures)
    seen = []
    for number, up in enumerate((0.0, 0.0, 0.3)):
        play(made, db, 1000 + number * EVERY, up=up)
        seen.append(value(figures, "lanewatch_judge_drift", METRIC))
    drifting = made.drifting
    write_fact(db, ADOPT, b'["faithfulness", "nobody"]')
    with caplog.at_level(logging.INFO):
        play(made, db, 1000 + 3 * EVERY, up=0.3)

    assert seen == [None, 0, 1]
    assert drifting == {METRIC}
    assert value(figures, "lanewatch_judge_drift", METRIC) == 0
    assert made.drifting == frozenset()
    assert value(figures, "lanewatch_judge_canary_rounds", METRIC, "shifted") == 1
    assert value(figures, "lanewatch_judge_canary_cost_dollars", METRIC) == pytest.approx(4 * N * 0.01)
    assert value(figures, "lanewatch_judge_canary_age_seconds", METRIC) == pytest.approx(1, abs=1)
    assert value(figures, "lanewatch_judge_canary_score", METRIC, "supported") > 0.8  # type: ignore[operator]
    assert "is the reference from now on" in caplog.text


def test_the_next_process_goes_on_and_counts_from_0(db: Connection) -> None:
    """What drifted still does; counters are those of the process."""
    first = desk(db, Figures([METRIC]))
    play(first, db, 1000)
    play(first, db, 1000 + EVERY, up=0.3)
    figures = Figures([METRIC])
    second = desk(db, figures)

    assert second.drifting == {METRIC}
    assert value(figures, "lanewatch_judge_drift", METRIC) == 1
    assert value(figures, "lanewatch_judge_canary_rounds", METRIC, "shifted") == 0
    assert second.turn(db, 1000 + EVERY + 1) == []


def test_what_can_not_be_read_is_said_and_begun_anew(db: Connection, caplog: pytest.LogCaptureFixture) -> None:
    """A damaged note is no reason to stop judging."""
    write_fact(db, "canaries", b"nonsense")
    made = desk(db, Figures([METRIC]))

    assert "the next round is the reference" in caplog.text
    assert len(made.turn(db, 1000)) == N


def test_live_results_of_another_model_ask_for_a_round(db: Connection) -> None:
    """Those of a second judge, and those without a model, do not."""
    made = desk(db, Figures([METRIC]))
    play(made, db, 1000)
    sample = Sample("t", 0, "shop", 0)
    made.take(Finished(Job(METRIC, sample, purpose="second"), scored(0.5, "other"), 2000))
    made.take(Finished(Job(METRIC, sample), Result(EvaluationOutcome.SCORED, value=0.5), 2000))
    before = made._watch.state.metrics[METRIC].changed
    made.take(Finished(Job(METRIC, sample), scored(0.5, "other"), 2000))

    assert not before
    assert made._watch.state.metrics[METRIC].changed


def test_anchors_of_a_round_that_has_ended_are_withdrawn(db: Connection) -> None:
    """They would be paid for, and taken for nothing; those of a round that is under way stay, and so does live traffic."""
    made = desk(db, Figures([METRIC]))
    sample = Sample("t", 0, "shop", 0)
    add_jobs(
        db,
        [Job(METRIC, sample), Job(METRIC, replace(sample, trace_id="canary-0-left"), purpose="canary")],
        StoreLimits(),
        0,
    )
    add_jobs(db, made.turn(db, 1000), StoreLimits(), 1000)
    during = queue_state(db, 1000).jobs["waiting"]
    made.turn(db, 1000 + LONGEST_SECONDS + 1)
    made.turn(db, 1000 + LONGEST_SECONDS + 6)

    assert during == 1 + N
    assert queue_state(db, 1000).jobs["waiting"] == 1
    assert db.execute("SELECT count(*) FROM samples").fetchone() == (1,)


def test_the_age_counts_from_the_first_round_where_none_was_whole(db: Connection) -> None:
    """A judge that never could be asked is as old as the watch; the interval stands beside it."""
    figures = Figures([METRIC])
    made = desk(db, figures)
    made.turn(db, 1000)
    made.turn(db, 4000)

    assert value(figures, "lanewatch_judge_canary_age_seconds", METRIC) == 3000
    assert value(figures, "lanewatch_judge_canary_every_seconds") == EVERY


def test_facts_are_kept_replaced_and_taken_once(db: Connection) -> None:
    """By name."""
    write_fact(db, "a", b"1")
    write_fact(db, "a", b"2")

    assert (read_fact(db, "a"), take_fact(db, "a"), take_fact(db, "a")) == (b"2", b"2", None)


def test_the_thread_stores_a_rounds_jobs_and_hands_results_back(tmp_path: Path) -> None:
    """Through a real store; canary jobs are no live ones."""
    from tests.judging.test_thread import PlayedWorker  # noqa: PLC0415

    figures = Figures([METRIC])
    made = CanaryDesk([METRIC], CANARIES, EVERY, figures)
    told: list[Finished] = []

    def deliver(one: Finished) -> None:
        told.append(one)
        made.take(one)

    thread = JudgeThread(
        WorkerSettings(str(tmp_path)), JudgeFigures(figures), deliver, canaries=made, turn_seconds=0.01,
        worker=PlayedWorker,  # type: ignore[arg-type]
    )  # fmt: skip
    thread._is_due = lambda _what, _seconds: True  # type: ignore[method-assign,assignment]
    thread.start()
    until = time.monotonic() + 20
    while value(figures, "lanewatch_judge_canary_rounds", METRIC, "anchor") != 1 and time.monotonic() < until:
        time.sleep(0.01)
    thread.stop(5)

    assert value(figures, "lanewatch_judge_canary_rounds", METRIC, "anchor") == 1
    assert len(told) == N
    assert {one.job.purpose for one in told} == {"canary"}


def test_drift_asks_at_each_tick_which_judges_drift() -> None:
    """And holds back the signals of their scores; told once a change."""
    from lanewatch.drifting.watch import DriftWatch  # noqa: PLC0415
    from lanewatch.monitors.drift.settings import DriftSettings  # noqa: PLC0415

    watch = DriftWatch(DriftSettings())
    held: list[frozenset[str]] = []
    watch.live.hold_back_scores = lambda metrics: held.append(frozenset(metrics))  # type: ignore[method-assign]
    for drifting in (frozenset[str](), frozenset({METRIC}), frozenset({METRIC}), frozenset[str]()):
        watch.judges_that_drift = lambda drifting=drifting: drifting  # type: ignore[misc]
        watch.tick()

    assert held == [frozenset({METRIC}), frozenset()]


def test_the_sidecars_drift_asks_the_canaries_of_its_judge() -> None:
    """The two are put together where all parts are."""
    from lanewatch.config.loading import load_config  # noqa: PLC0415
    from lanewatch.sidecar.app import Sidecar  # noqa: PLC0415

    sidecar = Sidecar(load_config(None, {}))
    assert sidecar.judge is not None
    assert sidecar.drift is not None
    before = sidecar.drift.judges_that_drift()
    sidecar.judge.canaries.drifting = frozenset({METRIC})

    assert not before
    assert sidecar.drift.judges_that_drift() == {METRIC}
