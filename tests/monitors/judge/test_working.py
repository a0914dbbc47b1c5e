"""The work: a result found before is not paid for again, the end of the money is for what risks most, a broken store ends the process."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from lanewatch.monitors.efficiency import Price
from lanewatch.monitors.judge.budget import Budget
from lanewatch.monitors.judge.calls import Estimate, Reservation, Usage
from lanewatch.monitors.judge.canaries.watch import PRIORITY
from lanewatch.monitors.judge.evaluators import Loaded
from lanewatch.monitors.judge.metrics import BY_NAME, Evaluator, Metric
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result
from lanewatch.monitors.judge.samples import Job, Sample
from lanewatch.monitors.judge.settings import AskingSettings, Budgets, EndpointSettings, StoreLimits, WorkerSettings
from lanewatch.monitors.judge.states import Finished
from lanewatch.monitors.judge.store_calls import StoredBooks
from lanewatch.monitors.judge.store_file import NAME, StoreFault, Trouble
from lanewatch.monitors.judge.store_jobs import cached
from lanewatch.monitors.judge.store_queue import add_jobs, finished_jobs, queue_state
from lanewatch.monitors.judge.working import Working
from msgspec.structs import replace

from tests.monitors.judge.stores import FREE, PAID, a_job, a_store, closed_stores  # noqa: F401 - a fixture

SCORE = Result(EvaluationOutcome.SCORED, value=0.5)


class Told:
    """`Evaluates` as the test says; `asked` are the traces, `at_once` the most that were judged at a time."""

    def __init__(self, answer: Callable[[Sample], Result]) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.now = self.at_once = 0

    async def evaluate(self, metric: Metric, sample: Sample) -> Result:
        """After a turn of the loop."""
        self.asked.append(sample.trace_id)
        self.now += 1
        self.at_once = max(self.at_once, self.now)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.now -= 1
        return self.answer(sample)


class Bench:
    """A store with jobs, and the work on it."""

    def __init__(self, folder: Path, jobs: list[Job], answer: Callable[[Sample], Result] = lambda _: SCORE,
                 *, budgets: Budgets | None = None, wait: float = 0.0, is_open: bool = False) -> None:  # fmt: skip
        self.db = a_store(folder)
        add_jobs(self.db, jobs, StoreLimits(), 0.0)
        self.judge = Told(answer)
        self.budget = Budget(
            budgets or Budgets(), {"m": Price(1.0, 1.0)}.get, StoredBooks(self.db, lambda: 0.0), lambda: 0.0
        )
        self.hits: list[str] = []
        settings = WorkerSettings(
            str(folder), endpoint=EndpointSettings("http://h/v1", "m"), asking=AskingSettings(max_in_flight=2)
        )
        loaded = Loaded(self.judge, "m", circuits=lambda: {"timeout": is_open}, wait=lambda: wait)
        self.work = Working(
            self.db,
            "store",
            settings,
            {Evaluator.RAGAS: loaded, Evaluator.SUPPORT: Loaded(self.judge)},
            self.budget,
            now=lambda: 1.0,
            cache_hit=lambda metric: self.hits.append(metric.name),
            poll_seconds=0.0,
        )

    def run(self, ended: int) -> list[Finished]:
        """Work until so many have ended."""

        async def life() -> None:
            running = asyncio.create_task(self.work.run())
            while not running.done() and len(finished_jobs(self.db)) < ended:  # noqa: ASYNC110 - some turns
                await asyncio.sleep(0)
            self.work.stop()
            await running

        asyncio.run(life())
        return finished_jobs(self.db)


def test_the_same_revision_is_judged_once_for_all_who_ask(tmp_path: Path) -> None:
    """Also where both are claimed at once; the second costs nothing and says so."""
    bench = Bench(tmp_path, [a_job("t", metric=PAID), a_job("t", metric=PAID), a_job("u", metric=PAID)])
    results = [one.result for one in bench.run(3)]

    assert sorted(bench.judge.asked) == ["t", "u"]
    assert sorted(result.cached for result in results) == [False, False, True]
    assert bench.hits == [PAID]


def test_a_result_tells_who_made_it(tmp_path: Path) -> None:
    """Version of metric, evaluator and prompts, and the embedding model of a metric that embeds; out of the cache, as it was made."""
    bench = Bench(tmp_path, [a_job("t", metric=PAID), a_job("t", metric=PAID), a_job("u", metric="answer_relevancy")])
    version = Loaded(bench.judge, "m", "ragas-9/fence-1", embedding_model="e-3", embeds=frozenset({"answer_relevancy"}))
    bench.work._loaded = {Evaluator.RAGAS: version}
    found = {(one.job.metric, one.result.version, one.result.embedding_model) for one in bench.run(3)}

    assert found == {
        (PAID, f"{BY_NAME[PAID].version}/ragas-9/fence-1", None),
        ("answer_relevancy", f"{BY_NAME['answer_relevancy'].version}/ragas-9/fence-1", "e-3"),
    }


def test_a_failure_is_asked_again_by_the_next(tmp_path: Path) -> None:
    """It is nobody's result."""
    failed = Result(EvaluationOutcome.UNSCORED, Reason.TIMEOUT)
    bench = Bench(tmp_path, [a_job("t", metric=PAID), a_job("t", metric=PAID)], lambda _: failed)
    bench.run(2)

    assert bench.judge.asked == ["t", "t"]


def test_no_more_are_judged_at_once_than_may_be(tmp_path: Path) -> None:
    """By a model; the others wait in the store."""
    bench = Bench(tmp_path, [a_job(f"t{n}", metric=PAID) for n in range(9)])
    bench.run(9)

    assert bench.judge.at_once == 2


def test_one_job_tries_an_endpoint_that_failed(tmp_path: Path) -> None:
    """Begun beside it, others would wait for what becomes of it, and end unscored with it: in the store they lose nothing."""
    bench = Bench(tmp_path, [a_job(f"t{n}", metric=PAID) for n in range(4)], is_open=True)
    bench.run(4)

    assert bench.judge.at_once == 1


def test_what_is_free_does_not_wait_for_a_model_that_is_left_alone(tmp_path: Path) -> None:
    """The queue of an open breaker is kept for when it closes."""
    bench = Bench(tmp_path, [a_job("paid", metric=PAID, priority=9), a_job("free", metric=FREE)], wait=30.0)
    ended = bench.run(1)

    assert [one.job.sample.trace_id for one in ended] == ["free"]
    assert queue_state(bench.db, 0.0).jobs["waiting"] == 1


def test_near_the_end_of_the_money_higher_risk_alone_is_judged(tmp_path: Path) -> None:
    """From 80 % of a limit; what is free goes on."""
    jobs = [a_job("usual", metric=PAID), a_job("risky", metric=PAID, priority=3), a_job("free", metric=FREE)]
    bench = Bench(tmp_path, jobs, budgets=Budgets(0, 0, 1.0, 0))
    held = bench.budget.reserve(PAID, Estimate("m", 900_000, 0))
    assert isinstance(held, Reservation)
    bench.budget.settle(held, Usage(900_000, 0))
    results = {one.job.sample.trace_id: one.result for one in bench.run(3)}

    assert (results["usual"].outcome, results["usual"].reason) == ("over_budget", "money")
    assert results["risky"].value == results["free"].value == SCORE.value


def canary(name: str) -> Job:
    """An anchor's job."""
    return replace(a_job(name, metric=PAID, priority=PRIORITY), purpose="canary")


def test_near_the_end_of_the_money_anchors_are_judged_too(tmp_path: Path) -> None:
    """Whether the judge can be trusted is not known less for being poor."""
    bench = Bench(tmp_path, [a_job("usual", metric=PAID), canary("c")], budgets=Budgets(0, 0, 1.0, 0))
    held = bench.budget.reserve(PAID, Estimate("m", 900_000, 0))
    assert isinstance(held, Reservation)
    bench.budget.settle(held, Usage(900_000, 0))
    results = {one.job.sample.trace_id: one.result for one in bench.run(2)}

    assert results["usual"].outcome == "over_budget"
    assert results["c"].value == SCORE.value


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_round_goes_on_behind_a_backlog_and_the_backlog_behind_a_round(tmp_path: Path, at_once: int) -> None:
    """One anchor at a time before its turn; two in a row never keep traffic waiting."""
    jobs = [a_job(f"t{n}", metric=PAID) for n in range(20)] + [canary(f"c{n}") for n in range(5)]
    bench = Bench(tmp_path, jobs)
    bench.work._settings = replace(bench.work._settings, asking=AskingSettings(max_in_flight=at_once))
    bench.run(25)
    first = bench.judge.asked[:10]

    assert 4 <= sum(name.startswith("c") for name in first) <= 6
    assert len(bench.judge.asked) == 25


@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_a_value_out_of_the_metric_s_range_is_no_score(tmp_path: Path, value: float) -> None:
    """Whatever evaluator gave it."""
    bench = Bench(tmp_path, [a_job()], lambda _: replace(SCORE, value=value))
    (ended,) = bench.run(1)

    assert (ended.result.outcome, ended.result.reason, ended.result.value) == ("unscored", "judge_invalid", None)


def test_what_this_version_can_t_judge_ends_as_unsupported(tmp_path: Path) -> None:
    """A metric of another version, and one whose evaluator could not be made."""
    jobs = [replace(a_job("old"), metric="of_old"), a_job("none", metric="entailment_support")]
    bench = Bench(tmp_path, jobs)
    results = [one.result for one in bench.run(2)]

    assert {(result.outcome, result.reason) for result in results} == {("unsupported", "not_installed")}


def test_a_store_that_is_damaged_ends_the_process(tmp_path: Path) -> None:
    """The sidecar then sets it aside; a worker that only tried again would wait for ever."""
    bench = Bench(tmp_path, [a_job()])
    bench.db.execute("PRAGMA writable_schema = ON")
    bench.db.execute("UPDATE sqlite_master SET rootpage = 99999 WHERE name = 'jobs'")
    bench.db.close()
    bench.work._db = a_store_as_it_is(tmp_path)

    with pytest.raises(StoreFault, match="damaged"):
        asyncio.run(bench.work.run())


def test_a_store_that_is_busy_costs_one_score_and_leaves_no_job_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several that were claimed at once: what was found before can't be read, so that nothing is asked, which may be paid for."""
    troubles = [Trouble.BUSY, None, Trouble.BUSY, None]

    def read(db: sqlite3.Connection, key: bytes) -> Result | None:
        if (trouble := troubles.pop()) is not None:
            raise StoreFault(trouble)
        return cached(db, key)

    monkeypatch.setattr("lanewatch.monitors.judge.working.cached", read)
    bench = Bench(tmp_path, [a_job("a"), a_job("b"), a_job("c", metric=PAID), a_job("d", metric=PAID)])
    results = [one.result.reason for one in bench.run(4)]

    assert sorted(results) == ["", "", "store_failed", "store_failed"]
    assert len(bench.judge.asked) == 2


def ends_with(bench: Bench, fault: type[Exception]) -> None:
    """Whether the work ends with this, and that within some turns of its loop: one that waits for ever has none."""

    async def life() -> None:
        running = asyncio.create_task(bench.work.run())
        for _ in range(1_000):
            await asyncio.sleep(0)
            if running.done():
                break
        else:
            running.cancel()
            pytest.fail("the work never ends")
        with pytest.raises(fault):
            running.result()

    asyncio.run(life())


def test_what_waits_for_a_result_that_can_t_be_stored_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two jobs of one key in flight: the second neither waits for ever nor pays again for what the first has found."""

    def damaged(*_: object) -> None:
        raise StoreFault(Trouble.DAMAGED)

    bench = Bench(tmp_path, [a_job("t", metric=PAID), a_job("t", metric=PAID)])
    monkeypatch.setattr("lanewatch.monitors.judge.working.finish", damaged)
    ends_with(bench, StoreFault)

    assert bench.judge.asked == ["t"]
    assert not bench.work._asked


def test_what_waits_for_a_job_that_meets_a_bug_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is raised between the promise of a result and the result."""

    def bug(_: str) -> None:
        raise ValueError

    bench = Bench(tmp_path, [a_job("t", metric=PAID), a_job("t", metric=PAID)])
    monkeypatch.setattr(bench.work._budget, "near", bug)
    ends_with(bench, ValueError)

    assert not bench.judge.asked
    assert not bench.work._asked


def a_store_as_it_is(folder: Path) -> sqlite3.Connection:
    """A connection without the look that opening has."""
    return sqlite3.connect(folder / NAME, isolation_level=None)
