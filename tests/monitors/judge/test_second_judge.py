"""A second judge: its own endpoint and breaker, on the same samples, and in nothing but the agreement."""

import asyncio
import time
from pathlib import Path

import msgspec
from lanewatch.monitors.judge.budget import Budget
from lanewatch.monitors.judge.evaluators import Means, load_evaluators, load_second
from lanewatch.monitors.judge.metrics import Evaluator
from lanewatch.monitors.judge.samples import SECOND, Job
from lanewatch.monitors.judge.settings import Budgets, EndpointSettings, StoreLimits, WorkerSettings
from lanewatch.monitors.judge.states import Finished
from lanewatch.monitors.judge.store_calls import StoredBooks, StoredJournal, store_name
from lanewatch.monitors.judge.store_queue import add_jobs, finished_jobs
from lanewatch.monitors.judge.working import Working

from tests.judge_server.server import JudgeServer
from tests.monitors.judge.judged_samples import SAMPLE
from tests.monitors.judge.stores import a_store

METRICS = ("entailment_support", "number_support")


def judged(folder: Path, first: str, second: str) -> dict[str, Finished]:
    """A sample by both judges, by the purpose of its jobs."""
    db = a_store(folder)
    job = Job(METRICS[0], msgspec.structs.replace(SAMPLE, trace_id="t"))
    add_jobs(db, [job, msgspec.structs.replace(job, purpose=SECOND)], StoreLimits(), time.time())
    budget = Budget(Budgets(), lambda _: None, StoredBooks(db, time.time), time.time)
    settings = WorkerSettings(
        "",
        METRICS,
        endpoint=EndpointSettings(first, "judge-1", "sk-1"),
        second=EndpointSettings(second, "judge-2" if second else ""),
    )
    means = Means(settings, StoredJournal(db, time.time), budget, lambda _: None)
    others, missing = load_second(means)
    assert missing == {}
    working = Working(
        db, store_name(db), settings, load_evaluators(means)[0], budget, now=time.time, poll_seconds=0.01, second=others
    )

    async def work() -> None:
        task = asyncio.create_task(working.run())
        async with asyncio.timeout(20):
            while len(finished_jobs(db)) < 2:  # noqa: ASYNC110 - another loop's store
                await asyncio.sleep(0.01)
        working.stop()
        await task

    asyncio.run(work())
    return {one.job.purpose: one for one in finished_jobs(db)}


def test_each_judge_is_asked_once_of_the_same_sample(tmp_path: Path) -> None:
    """By its own endpoint and model; the first one's result is not taken for the second's."""
    with JudgeServer() as first, JudgeServer() as second:
        found = judged(tmp_path, first.url, second.url)
        asked = len(first.calls), len(second.calls)

    assert asked[0] == asked[1] > 0
    assert found["live"].result.value is not None
    assert found[SECOND].result.value is not None
    assert not found[SECOND].result.cached


def test_a_second_judge_that_fails_does_not_keep_the_first_from_scoring(tmp_path: Path) -> None:
    """It has a breaker of its own."""
    with JudgeServer() as first, JudgeServer("401") as second:
        found = judged(tmp_path, first.url, second.url)

    assert found["live"].result.value is not None
    assert (found[SECOND].result.outcome, found[SECOND].result.reason) == ("unscored", "auth")


def test_what_asks_no_model_is_not_made_twice() -> None:
    """The support signals would only agree with themselves."""
    settings = WorkerSettings(
        "", METRICS, endpoint=EndpointSettings("http://127.0.0.1:9/v1", "a"), second=EndpointSettings()
    )
    means = Means(settings, None, None, lambda _: None)  # type: ignore[arg-type]
    both = msgspec.structs.replace(
        means, settings=msgspec.structs.replace(settings, second=EndpointSettings("http://127.0.0.1:9/v1", "b"))
    )

    assert load_second(means) == ({}, {})
    assert list(load_second(both)[0]) == [Evaluator.ENTAILMENT]
