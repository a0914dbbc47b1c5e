"""Samples, jobs and stores for tests of the judge."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lanewatch.adapters.records import Disposition, Evidence
from lanewatch.monitors.judge.samples import Job, Sample
from lanewatch.monitors.judge.store_file import open_store

MIB = 2**20
COMPLETE = dict.fromkeys(("requests", "dispatches", "retrievals", "responses"), Evidence.COMPLETE)
FREE = "number_support"
PAID = "faithfulness"


def a_sample(
    trace: str = "t1", answer: str = "It takes 3 days.", contexts: tuple[str, ...] = ("Three days.",)
) -> Sample:
    """A sample of a trace that has everything."""
    return Sample(
        trace,
        0,
        "shop",
        1_760_000_000_000_000_000,
        span_id="s1",
        question="How long does it take?",
        answer=answer,
        contexts=contexts,
        messages=({"type": "human", "content": "How long does it take?"}, {"type": "ai", "content": answer}),
        disposition=Disposition.ANSWERED,
        evidence=COMPLETE,
    )


def a_job(trace: str = "t1", metric: str = FREE, priority: int = 0, answer: str = "It takes 3 days.") -> Job:
    """A job on such a sample."""
    return Job(metric, a_sample(trace, answer), 20.0, "complete/none/ok", priority)


def a_store(folder: Path, max_bytes: int = 64 * MIB) -> sqlite3.Connection:
    """An open store of a test."""
    return open_store(folder, max_bytes, mend=True)


@pytest.fixture(autouse=True)
def closed_stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Closes what a test has opened, as Python 3.13 wants it; to be imported by the tests that open stores."""
    connect, opened = sqlite3.connect, list[sqlite3.Connection]()

    def remembered(*given: Any, **more: Any) -> sqlite3.Connection:
        opened.append(connect(*given, **more))
        return opened[-1]

    monkeypatch.setattr("sqlite3.connect", remembered)
    yield
    for db in opened:
        db.close()
