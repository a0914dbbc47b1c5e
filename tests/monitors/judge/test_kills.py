"""A kill at any statement, and while any call is under way: every job ends in an outcome, and no call is paid twice.

A process is played on a connection that dies: from one statement on nothing is executed any more and nothing is sent, as after a kill,
and what was not committed is gone. The next one opens the same file. That a commit is whole is SQLite's own promise, which its
makers test (https://sqlite.org/testing.html, 4); what is between the commits is ours, and tried here at seeded places.
"""

import asyncio
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from lanewatch.monitors.efficiency import Price
from lanewatch.monitors.judge import store_file
from lanewatch.monitors.judge.breaker import Breaker
from lanewatch.monitors.judge.budget import Budget
from lanewatch.monitors.judge.endpoint import Endpoint
from lanewatch.monitors.judge.evaluators import Loaded, Means
from lanewatch.monitors.judge.exchange import Exchange
from lanewatch.monitors.judge.metrics import Evaluator
from lanewatch.monitors.judge.results import Result
from lanewatch.monitors.judge.settings import AskingSettings, Budgets, EndpointSettings, StoreLimits, WorkerSettings
from lanewatch.monitors.judge.store_calls import StoredBooks, StoredJournal, charge_held, spent_since, store_name
from lanewatch.monitors.judge.store_jobs import recover
from lanewatch.monitors.judge.store_queue import add_jobs, finished_jobs, forget_told
from lanewatch.monitors.judge.working import Working

from tests.judge_server.faults import completion
from tests.monitors.judge.played_worker import Played
from tests.monitors.judge.stores import FREE, MIB, PAID, a_job

CONNECT = sqlite3.connect
KILLS = 50
MOST_TURNS = 20_000  # of the loop, in one life; some hundred are usual
JOBS = [*(a_job(f"paid{n}", metric=PAID, priority=n % 2, answer="ask") for n in range(3)), a_job("free", metric=FREE)]
LIMITS = StoreLimits()


class Killed(BaseException):
    """The process is gone."""


class Life:
    """One process: it dies at a statement, or in the middle of a call; never where both are None."""

    def __init__(self, statement: int | None = None, call: int | None = None) -> None:
        self.statement, self.call = statement, call
        self.statements = self.calls = 0
        self.dead = False

    def step(self) -> None:
        """A statement is to be executed."""
        self.statements += 1
        self.dead = self.dead or self.statements == self.statement
        if self.dead:
            raise Killed


class Mortal(sqlite3.Connection):
    """A connection of such a process."""

    life: Life

    def execute(self, *given: object) -> sqlite3.Cursor:
        """Execute, or die."""
        self.life.step()
        return super().execute(*given)  # type: ignore[arg-type]

    def executemany(self, *given: object) -> sqlite3.Cursor:
        """Execute, or die."""
        self.life.step()
        return super().executemany(*given)  # type: ignore[arg-type]


class Provider:
    """The endpoint as `Sends`: counts what it is asked and would be paid for, and kills who asks in the middle of a call."""

    def __init__(self) -> None:
        self.paid: Counter[str] = Counter()
        self.life = Life()

    async def post(self, path: str, body: bytes, key: str) -> Exchange:
        """Answer, after having been paid."""
        self.life.calls += 1
        if not self.life.dead:
            self.paid[key] += 1
        await asyncio.sleep(0)
        self.life.dead = self.life.dead or self.life.calls == self.life.call
        if self.life.dead:
            raise Killed
        return Exchange(200, msgspec.json.encode(completion('{"ok": true}')), seconds=0.1)

    async def close(self) -> None:
        """Nothing to close."""


class World:
    """The folder, the provider, and what was told of jobs by all processes together."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.provider = Provider()
        self.told: dict[str, set[Result]] = {}
        self.added = False
        self.life = Life()

        def mortal(*given: object, **more: object) -> sqlite3.Connection:
            made = CONNECT(*given, factory=Mortal, **more)  # type: ignore[call-overload]
            made.life = self.life
            return made  # type: ignore[no-any-return]

        monkeypatch.setattr("sqlite3.connect", mortal)

    def live(self, life: Life) -> bool:
        """One process, sidecar and worker in one: store the jobs, judge, tell. Whether it lived to its end."""
        self.life = self.provider.life = life
        db = None
        try:
            db = store_file.open_store(self.folder, 64 * MIB, mend=True)
            self._work(db)
        except Killed:
            return False
        finally:
            if db is not None:
                sqlite3.Connection.close(db)
        return True

    def _work(self, db: sqlite3.Connection) -> None:
        if not self.added:
            add_jobs(db, JOBS, LIMITS, 0.0)
            self.added = True
        recover(db, 1.0)
        charge_held(db)
        settings = WorkerSettings(
            str(self.folder),
            endpoint=EndpointSettings("http://127.0.0.1:1/v1", "m"),
            asking=AskingSettings(max_in_flight=2),
        )
        budget = Budget(Budgets(), {"m": Price(1.0, 1.0)}.get, StoredBooks(db, lambda: 1.0), lambda: 1.0)
        journal = StoredJournal(db, lambda: 1.0)
        means = Means(settings, journal, budget, lambda _: None)
        means.made["endpoint"] = Endpoint(self.provider, "m", journal, budget, Breaker(lambda: 0.0))
        played = Loaded(Played(means), "m")
        work = Working(
            db,
            store_name(db),
            settings,
            {Evaluator.RAGAS: played, Evaluator.SUPPORT: played},
            budget,
            now=lambda: 1.0,
            poll_seconds=0.0,
        )
        asyncio.run(until_done(work, lambda: not any(waiting_unfinished(db))))
        now: Counter[str] = Counter()
        while finished := finished_jobs(db):
            for one in finished:
                now[one.job.sample.trace_id] += 1
                self.told.setdefault(one.job.sample.trace_id, set()).add(one.result)
            forget_told(db, [one.number for one in finished])
        assert set(now.values()) <= {1}

    @property
    def outcomes(self) -> Counter[str]:
        """How jobs ended: one result each, also of those that two processes were told of."""
        results = [result for (result,) in self.told.values()]
        return Counter(f"{one.outcome} {one.reason}".strip() for one in results)


def waiting_unfinished(db: sqlite3.Connection) -> list[int]:
    """Jobs that have no outcome yet, counted outside of the process."""
    return [
        row[0] for row in sqlite3.Connection.execute(db, "SELECT id FROM jobs WHERE state IN ('waiting', 'running')")
    ]


async def until_done(work: Working, done: Callable[[], bool]) -> None:
    """Work until all has ended, or the process has."""
    running = asyncio.create_task(work.run())
    turns = 0
    while not running.done() and not done():
        turns += 1
        if turns > MOST_TURNS:
            running.cancel()
            raise AssertionError("a job is lost: nobody judges it")
        await asyncio.sleep(0)
    work.stop()
    await running


def test_fifty_kills_lose_no_job_and_pay_no_call_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of fifty rounds is killed at a seeded place, and again, until one lives; all kinds of places come up."""
    whole = Life()
    (tmp_path / "whole").mkdir()
    world = World(tmp_path / "whole", monkeypatch)
    assert world.live(whole)
    assert world.outcomes == {"scored": len(JOBS)}
    rng = random.Random(20261201)
    kills, outcomes = 0, Counter[str]()
    for number in range(KILLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        world = World(folder, monkeypatch)
        for _ in range(3):
            inside_a_call = rng.random() < 0.4
            life = Life(call=rng.randint(1, 6)) if inside_a_call else Life(statement=rng.randint(1, whole.statements))
            kills += not world.live(life)
        assert world.live(Life())

        assert set(world.provider.paid.values()) <= {1}, number
        assert set(world.told) == {job.sample.trace_id for job in JOBS}, number
        assert set(world.outcomes) <= {"scored", "unscored interrupted", "unscored worker_failed"}
        outcomes += world.outcomes
    assert kills >= KILLS
    assert outcomes["unscored interrupted"] >= 20
    assert outcomes["scored"] >= 2 * KILLS


def test_what_was_spent_is_known_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least what was really paid, and no more than what was reserved for it: a crash can't make the budget forget."""
    for call in range(1, 7):
        folder = tmp_path / str(call)
        folder.mkdir()
        world = World(folder, monkeypatch)
        world.live(Life(call=call))
        world.live(Life())
        db = store_file.open_store(folder, 64 * MIB, mend=False)
        tokens = sum(one.tokens for one in spent_since(db, 0))
        db.close()
        used = completion("")["usage"]["total_tokens"]

        assert tokens >= used * sum(world.provider.paid.values())
