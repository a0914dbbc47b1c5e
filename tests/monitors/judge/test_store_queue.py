"""The queue: each job ends once, the oldest of the lowest priority goes first where there is no room, nothing outlives its time."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.results import Cost, EvaluationOutcome, Reason, Result, unscored
from lanewatch.monitors.judge.settings import StoreLimits
from lanewatch.monitors.judge.store_file import used_bytes
from lanewatch.monitors.judge.store_jobs import cache_key, cached, claim, finish, give_back, recover
from lanewatch.monitors.judge.store_queue import (
    LOST,
    add_jobs,
    expire,
    finished_jobs,
    forget_told,
    queue_state,
    revise_jobs,
    waiting_jobs,
)
from msgspec.structs import replace

from tests.monitors.judge.stores import FREE, MIB, PAID, a_job, a_store, closed_stores  # noqa: F401 - a fixture

LIMITS = StoreLimits()
SCORE = Result(EvaluationOutcome.SCORED, value=0.5, explanation="because", cost=Cost(2, 100, 10, 0.01, 1.5))


def test_a_job_comes_back_as_it_went_in(tmp_path: Path) -> None:
    """Sample, weight, stratum, priority and purpose survive the disk, and so does the result."""
    db = a_store(tmp_path)
    job = replace(a_job(priority=3), purpose="canary")
    add_jobs(db, [job], LIMITS, 10.0)
    (claimed,) = claim(db, 5)
    finish(db, claimed.number, SCORE, 12.0)
    (finished,) = finished_jobs(db)

    assert claimed.job == job
    assert (finished.job, finished.result, finished.ended) == (job, SCORE, 12.0)


def test_a_later_reading_takes_the_place_of_what_still_waits(tmp_path: Path) -> None:
    """What late spans added is judged where there was time, and a judgement is never made twice."""
    db = a_store(tmp_path)
    add_jobs(db, [a_job("a"), a_job("b")], LIMITS, 0.0)
    claim(db, 1)
    later = [a_job(trace, answer="later") for trace in ("a", "b", "c")]

    assert revise_jobs(db, later) == [False, True, False]
    assert claim(db, 1)[0].job == later[1]
    assert db.execute("SELECT count(*) FROM samples").fetchone() == (2,)


def test_one_sample_is_stored_once_for_all_metrics(tmp_path: Path) -> None:
    """Ten metrics of a trace hold its content once, and it goes with the last of them."""
    db = a_store(tmp_path)
    jobs = [replace(a_job(), metric=metric) for metric in BY_NAME]
    add_jobs(db, jobs, LIMITS, 0.0)
    claimed = claim(db, 100)

    assert db.execute("SELECT count(*) FROM samples").fetchone() == (1,)
    for one in claimed:
        finish(db, one.number, SCORE, 1.0)
    numbers = [one.number for one in finished_jobs(db)]
    forget_told(db, numbers[:-1])
    assert db.execute("SELECT count(*) FROM samples").fetchone() == (1,)
    forget_told(db, numbers[-1:])
    assert db.execute("SELECT count(*) FROM samples").fetchone() == (0,)


def test_the_oldest_goes_first_whatever_its_risk(tmp_path: Path) -> None:
    """Risky ones taken out of a backlog would be all that a mean is made of, as if they had been all the traffic."""
    db = a_store(tmp_path)
    for at, (trace, priority) in enumerate((("old", 0), ("risky", 2), ("new", 0), ("less", 1))):
        add_jobs(db, [a_job(trace, priority=priority)], LIMITS, float(at))

    assert [one.job.sample.trace_id for one in claim(db, 4)] == ["old", "risky", "new", "less"]


def test_a_claim_sorts_nothing(tmp_path: Path) -> None:
    """Ten thousand that wait are not read for one that is claimed."""
    db = a_store(tmp_path)
    asked: list[str] = []
    add_jobs(db, [a_job()], LIMITS, 0.0)
    db.set_trace_callback(lambda sql: asked.append(sql) if "ORDER BY" in sql else None)
    claim(db, 1, metrics=[FREE])
    db.set_trace_callback(None)
    (plan,) = (" ".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}")) for sql in asked)

    assert "jobs_waiting_since" in plan
    assert "TEMP B-TREE" not in plan


def test_jobs_are_claimed_by_metric_or_besides_some(tmp_path: Path) -> None:
    """What waits for a model never holds up what does not; a metric that this version does not know is claimed too, and ends."""
    db = a_store(tmp_path)
    add_jobs(db, [a_job("a", metric=PAID), a_job("b"), replace(a_job("c"), metric="of_old")], LIMITS, 0.0)

    assert [one.job.metric for one in claim(db, 9, besides=[PAID])] == [FREE, "of_old"]
    assert claim(db, 9, metrics=[FREE]) == []
    assert [one.job.metric for one in claim(db, 9, metrics=[PAID, FREE])] == [PAID]


def test_the_oldest_of_the_lowest_priority_is_thrown_out_first(tmp_path: Path) -> None:
    """What is thrown out ends as throttled, without its content."""
    db = a_store(tmp_path)
    limits = StoreLimits(max_queue=2)
    jobs = [a_job("a", priority=1), a_job("b"), a_job("c"), a_job("d", priority=2)]
    thrown = add_jobs(db, jobs, limits, 5.0)
    told = finished_jobs(db)

    assert thrown == {FREE: 2}
    assert [one.job.sample.trace_id for one in told] == ["b", "c"]
    assert {(one.result.outcome, one.result.reason) for one in told} == {
        (EvaluationOutcome.THROTTLED, Reason.QUEUE_FULL)
    }
    assert all(one.job.sample.answer is None and not one.job.sample.contexts for one in told)
    assert [one.job.sample.trace_id for one in claim(db, 9)] == ["a", "d"]


def test_results_of_old_give_way_before_jobs_do(tmp_path: Path) -> None:
    """A cache is worth less than what nobody has judged yet; both are bounded by bytes."""
    db = a_store(tmp_path, 64 * MIB)
    limits = StoreLimits(max_bytes=MIB)
    add_jobs(db, [a_job(f"old{n}") for n in range(300)], LIMITS, 0.0)
    for one in claim(db, 300):
        finish(db, one.number, replace(SCORE, explanation="x" * 1500), 1.0, one.digest)
    while numbers := [one.number for one in finished_jobs(db)]:
        forget_told(db, numbers)
    thrown = add_jobs(db, [a_job(f"n{n}", answer=f"{n}" * 2000) for n in range(10, 110)], limits, 2.0)

    assert not thrown
    assert db.execute("SELECT count(*) FROM jobs WHERE state = 'told'").fetchone()[0] < 300
    thrown = add_jobs(db, [a_job(f"m{n}", answer=f"{n}" * 2000) for n in range(100, 400)], limits, 3.0)
    assert sum(thrown.values()) > 0
    for number in [one.number for one in finished_jobs(db, 10_000)]:
        forget_told(db, [number])
    assert used_bytes(db) <= limits.max_bytes


def test_more_at_once_than_the_file_may_grow_by_makes_room_for_itself(tmp_path: Path) -> None:
    """Each job ends once, thrown out or with the whole of its sample, which two metrics share; nothing is taken for a full disk."""
    db = a_store(tmp_path, MIB)
    limits = StoreLimits(max_bytes=MIB)
    firsts = [a_job(f"t{n}", answer=f"{n:03} " * 7_500) for n in range(100)]
    jobs = [job for first in firsts for job in (first, replace(first, metric=PAID))]
    thrown = add_jobs(db, jobs, limits, 0.0)
    kept = claim(db, 1_000)

    assert sum(thrown.values()) == len(finished_jobs(db, 1_000)) > 100
    assert len(kept) == len(jobs) - sum(thrown.values()) >= 10
    assert all(one.job.sample in (first.sample for first in firsts) for one in kept)
    assert kept[-1].job.sample == firsts[-1].sample
    assert used_bytes(db) <= limits.max_bytes


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["add", "claim", "finish", "die", "tell", "expire"]), st.integers(0, 3)), max_size=25
    )
)
@settings(max_examples=60, deadline=None)
def test_every_job_ends_exactly_once(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]) -> None:
    """Whatever happens in whatever order: what was added was told, or still waits; none is told twice."""
    db = a_store(tmp_path_factory.mktemp("store"))
    limits = StoreLimits(max_queue=5, retention_seconds=60.0)
    added, now = 0, 0.0
    claimed: list[int] = []
    told: Counter[str] = Counter()

    def tell() -> None:
        finished = finished_jobs(db)
        told.update(one.job.sample.trace_id for one in finished)
        forget_told(db, [one.number for one in finished])

    for step, n in steps:
        now += 25.0
        if step == "add":
            add_jobs(db, [a_job(f"t{added + k}", priority=k) for k in range(n)], limits, now)
            added += n
        elif step == "claim":
            claimed += [one.number for one in (*claim(db, n), *claim(db, n, suspect=True))]
        elif step == "finish":
            for number in claimed[:n]:
                finish(db, number, SCORE, now)
            claimed = claimed[n:]
        elif step == "die":
            recover(db, now)
            claimed = []
        elif step == "expire":
            expire(db, limits, now)
        else:
            tell()
    waiting = sum(waiting_jobs(db).values())

    assert sum(told.values()) + waiting == added
    assert set(told.values()) <= {1}
    recover(db, now)
    for one in (*claim(db, 100), *claim(db, 100, suspect=True)):
        finish(db, one.number, SCORE, now)
    tell()
    assert (sum(told.values()), set(told.values())) == (added, {1} if added else set())


def test_a_job_that_kills_its_worker_ends(tmp_path: Path) -> None:
    """One bad sample must not keep the judge down for good."""
    db = a_store(tmp_path)
    add_jobs(db, [a_job()], LIMITS, 0.0)
    for again in (False, True, True):
        assert claim(db, 1, suspect=not again) == []
        assert len(claim(db, 1, suspect=again)) == 1
        recover(db, 1.0)
    (finished,) = finished_jobs(db)

    assert (finished.result.outcome, finished.result.reason) == ("unscored", "worker_failed")


def test_what_was_not_begun_is_no_try(tmp_path: Path) -> None:
    """A worker that is stopped gives back what it only claimed."""
    db = a_store(tmp_path)
    add_jobs(db, [a_job()], LIMITS, 0.0)
    for _ in range(5):
        give_back(db, [one.number for one in claim(db, 1)])
    recover(db, 1.0)

    assert finished_jobs(db) == []
    assert len(claim(db, 1)) == 1


def test_nothing_outlives_the_retention_where_the_clock_was_set_back(tmp_path: Path) -> None:
    """What was written down by a clock that was days ahead is as old as its first look by the right one."""
    db = a_store(tmp_path)
    limits, ahead = StoreLimits(retention_seconds=100.0), 1e6
    add_jobs(db, [a_job("a"), a_job("b")], limits, ahead)
    (one,) = claim(db, 1)
    finish(db, one.number, SCORE, ahead, one.digest)
    forget_told(db, [one.number])
    expire(db, limits, 0.0)
    expire(db, limits, 101.0)

    assert [found.result.reason for found in finished_jobs(db)] == ["expired"]
    assert db.execute("SELECT count(*) FROM jobs").fetchone() == (1,)


def test_what_waited_too_long_ends_as_expired_and_what_was_told_goes(tmp_path: Path) -> None:
    """Nothing outlives the retention; the content of what was told was gone before."""
    db = a_store(tmp_path)
    limits = StoreLimits(retention_seconds=100.0)
    add_jobs(db, [a_job("a"), a_job("b")], limits, 0.0)
    (one,) = claim(db, 1)
    finish(db, one.number, SCORE, 10.0, one.digest)
    forget_told(db, [one.number])
    expire(db, limits, 90.0)

    assert queue_state(db, 90.0).jobs == {"waiting": 1, "running": 0, "finished": 0}
    expire(db, limits, 150.0)
    (expired,) = finished_jobs(db)
    assert (expired.result.outcome, expired.result.reason) == ("unscored", "expired")
    assert db.execute("SELECT count(*) FROM jobs").fetchone() == (1,)


def test_the_oldest_that_has_no_outcome_is_told(tmp_path: Path) -> None:
    """A queue that stands still shows by its age, not by its length."""
    db = a_store(tmp_path)
    add_jobs(db, [a_job("a")], LIMITS, 100.0)
    add_jobs(db, [a_job("b")], LIMITS, 130.0)
    state = queue_state(db, 160.0)

    assert (state.oldest_seconds, state.jobs["waiting"]) == (60.0, 2)
    for one in claim(db, 2):
        finish(db, one.number, SCORE, 161.0)
    assert queue_state(db, 170.0).oldest_seconds == 0.0


def test_a_result_is_kept_for_the_same_key_and_costs_nothing_then(tmp_path: Path) -> None:
    """The same revision, metric, evaluator, model and prompts were judged already; also after its content is gone."""
    db = a_store(tmp_path)
    metric = BY_NAME[PAID]
    add_jobs(db, [a_job(metric=PAID), a_job(metric=PAID)], LIMITS, 0.0)
    first, second = claim(db, 2)
    key = cache_key(first, metric, "m", "1", ())
    assert key is not None
    finish(db, first.number, SCORE, 1.0, key)
    forget_told(db, [first.number])
    found = cached(db, key)

    assert key == cache_key(second, metric, "m", "1", ())
    assert found is not None
    assert (found.value, found.cached, found.cost.calls, found.cost.dollars) == (0.5, True, 0, 0.0)
    others = [("n", "1", ()), ("m", "2", ())]
    assert all(cache_key(first, metric, *other) != key for other in others)
    assert cache_key(first, replace(metric, version=f"{metric.version}+"), "m", "1", ()) != key


def test_a_failure_is_nobody_s_result(tmp_path: Path) -> None:
    """A timeout says nothing of the same sample tomorrow."""
    db = a_store(tmp_path)
    add_jobs(db, [a_job()], LIMITS, 0.0)
    (one,) = claim(db, 1)
    finish(db, one.number, unscored(Reason.TIMEOUT), 1.0, b"key")

    assert cached(db, b"key") is None


def test_a_canary_is_asked_anew_each_time(tmp_path: Path) -> None:
    """A cached canary would never see that the judge has changed; once told, nothing of it stays."""
    db = a_store(tmp_path)
    add_jobs(db, [replace(a_job(), purpose="canary")], LIMITS, 0.0)
    (one,) = claim(db, 1)

    assert cache_key(one, BY_NAME[FREE], "m", "1", ()) is None
    finish(db, one.number, SCORE, 1.0)
    forget_told(db, [one.number])
    assert db.execute("SELECT count(*) FROM jobs").fetchone() == (0,)


def test_a_row_that_the_disk_lost_keeps_no_other_from_being_told(tmp_path: Path) -> None:
    """It is told with an empty sample, and counted."""
    db = a_store(tmp_path)
    add_jobs(db, [a_job("a"), a_job("b")], LIMITS, 0.0)
    for one in claim(db, 2):
        finish(db, one.number, SCORE, 1.0)
    db.execute("UPDATE jobs SET result = x'7b', sample = NULL WHERE id = 1")
    first, second = finished_jobs(db)

    assert (first.job.sample, first.result.reason) == (LOST, Reason.STORE_FAILED)
    assert second.result == SCORE
