"""Calls: written down before they are sent, answered once, and never asked again where nobody knows what became of them."""

from pathlib import Path

import pytest
from lanewatch.monitors.judge.calls import JOB
from lanewatch.monitors.judge.results import Cost, EvaluationOutcome, Reason, Result
from lanewatch.monitors.judge.settings import StoreLimits
from lanewatch.monitors.judge.store_calls import StoredJournal, store_name
from lanewatch.monitors.judge.store_jobs import claim, finish, recover
from lanewatch.monitors.judge.store_notes import (
    MOST_LINES,
    Status,
    ToldCall,
    beat,
    fetch_calls,
    fetch_said,
    forget_workers,
    last_beat,
    say,
)
from lanewatch.monitors.judge.store_queue import add_jobs, finished_jobs

from tests.monitors.judge.stores import PAID, a_job, a_store, closed_stores  # noqa: F401 - a fixture

COST = Cost(1, 100, 10, 0.25, 1.0)


@pytest.fixture(autouse=True)
def _job() -> None:
    JOB.set("store-1")


def test_an_answered_call_is_answered_again_without_asking(tmp_path: Path) -> None:
    """Also to the next process."""
    db = a_store(tmp_path)
    journal = StoredJournal(db, lambda: 1.0)

    assert journal.answered("k") is None
    assert journal.sent("k")
    journal.store("k", b"\x00answer", COST)
    db.close()
    assert StoredJournal(a_store(tmp_path), lambda: 2.0).answered("k") == b"\x00answer"


def test_a_call_is_sent_once(tmp_path: Path) -> None:
    """Another sending might be paid twice; of another job it is another call."""
    journal = StoredJournal(a_store(tmp_path), lambda: 1.0)

    assert (journal.sent("k"), journal.sent("k")) == (True, False)
    JOB.set("store-2")
    assert journal.sent("k")


def test_a_job_whose_call_was_on_its_way_ends_as_interrupted(tmp_path: Path) -> None:
    """With what its answered calls cost; one whose calls were all answered is begun anew, and keeps the answers."""
    db = a_store(tmp_path)
    add_jobs(db, [a_job("a", metric=PAID), a_job("b", metric=PAID)], StoreLimits(), 0.0)
    claim(db, 2)
    journal = StoredJournal(db, lambda: 1.0)
    for job, key, answered in (("s-1", "k1", True), ("s-1", "k2", False), ("s-2", "k3", True)):
        JOB.set(job)
        journal.sent(key)
        if answered:
            journal.store(key, b"x", COST)
    db.close()
    db = a_store(tmp_path)

    assert recover(db, 9.0) == (1, 1)
    (ended,) = finished_jobs(db)
    assert (ended.result.outcome, ended.result.reason) == (EvaluationOutcome.UNSCORED, Reason.INTERRUPTED)
    assert ended.result.cost == COST
    (again,) = claim(db, 9, suspect=True)
    assert StoredJournal(db, lambda: 1.0).answered("k3") == b"x"
    finish(db, again.number, Result(EvaluationOutcome.SCORED, value=1.0), 10.0)
    assert db.execute("SELECT count(*) FROM calls").fetchone() == (0,)


def test_a_store_has_one_name_for_good(tmp_path: Path) -> None:
    """Calls of two stores have different keys, those of one the same before and after a restart."""
    first = store_name(a_store(tmp_path))

    assert store_name(a_store(tmp_path)) == first
    (tmp_path / "other").mkdir()
    assert store_name(a_store(tmp_path / "other")) != first


def test_a_sign_of_life_grows_and_says_how_it_stands(tmp_path: Path) -> None:
    """And brings the calls since the last one, each of which is fetched once."""
    db = a_store(tmp_path)
    call = ToldCall(PAID, "ragas", "m", "ok", 1.0, 10, 5, None)

    assert last_beat(db, "w") is None
    beat(db, "w", Status("working", memory_bytes=5), [call, call])
    beat(db, "w", Status("working", missing={"ragas": "ImportError"}))
    found = last_beat(db, "w")
    assert found is not None
    assert (found.number, found.status.missing) == (2, {"ragas": "ImportError"})
    assert fetch_calls(db) == [call, call]
    assert fetch_calls(db) == []
    forget_workers(db)
    assert last_beat(db, "w") is None


def test_what_nobody_fetches_is_bounded(tmp_path: Path) -> None:
    """The newest lines are kept."""
    db = a_store(tmp_path)
    for number in range(MOST_LINES + 5):
        say(db, 30, f"line {number}")
    lines = fetch_said(db)

    assert (len(lines), lines[-1]) == (MOST_LINES, (30, f"line {MOST_LINES + 4}"))
    assert fetch_said(db) == []
