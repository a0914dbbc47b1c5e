"""The judge's thread in the sidecar: what is taken ends once, whatever the store and the worker do; receiving is none of its affair."""

import logging
import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lanewatch.judging.figures import JudgeFigures
from lanewatch.judging.private_folder import LOCK, PREFIX, sweep_private_folders
from lanewatch.judging.thread import MAX_WAITING, JudgeThread
from lanewatch.monitors.judge.figures import Figures
from lanewatch.monitors.judge.ledger import Ledger
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result
from lanewatch.monitors.judge.settings import EndpointSettings, StoreLimits, WorkerSettings
from lanewatch.monitors.judge.states import Finished
from lanewatch.monitors.judge.store_file import NAME, Lock, open_store
from lanewatch.monitors.judge.store_jobs import claim, finish
from lanewatch.monitors.judge.store_notes import Beat, Status, ToldCall, beat, say
from lanewatch.monitors.judge.store_queue import TOLD_AT_ONCE, Waiting

from tests.monitors.judge.stores import FREE, MIB, PAID, a_job, a_store, closed_stores  # noqa: F401 - a fixture

SCORE = Result(EvaluationOutcome.SCORED, value=0.5)
PATIENCE = 20.0


class PlayedWorker:
    """A worker that is no process: it judges when it is looked at."""

    def __init__(self, settings: WorkerSettings, *, idle: bool = False) -> None:
        self.settings, self.idle = settings, idle
        self.instance, self.running, self.store_failed, self.eased = "", False, False, False
        self.memory_bytes = 5 * MIB
        self.starts = 0

    def start(self) -> bool:
        """Start, unless it runs."""
        if self.running:
            return False
        self.running, self.store_failed, self.instance, self.starts = True, False, "w", self.starts + 1
        return True

    def look(self, found: Beat | None, *, excused: bool = False) -> None:
        """Judge all there is."""
        if not self.running or self.idle:
            return
        db = open_store(Path(self.settings.store), 64 * MIB, mend=False)
        beat(db, self.instance, Status("working", spent=(("all", "day", 0.25),), limits=(("all", "day", 20.0),)))
        for one in claim(db, 100):
            finish(db, one.number, SCORE, time.time(), took=0.2)
        db.close()

    def ease(self) -> None:
        """Begin nothing more."""
        self.eased = True

    def ended(self) -> bool:
        """At once."""
        return True

    def stop(self, timeout_seconds: float) -> None:
        """End."""
        self.running = False


class Bench:
    """A thread that runs, and all that it told."""

    def __init__(self, folder: str, limits: StoreLimits | None = None, *, idle: bool = False) -> None:
        self.told: list[Finished] = []
        self.carried: Counter[Waiting] = Counter()
        self.figures = Figures([FREE, PAID])
        self.workers: list[PlayedWorker] = []

        def worker(settings: WorkerSettings) -> Any:
            self.workers.append(PlayedWorker(settings, idle=idle))
            return self.workers[-1]

        self.thread = JudgeThread(
            WorkerSettings(folder, limits=limits or StoreLimits()),
            JudgeFigures(self.figures),
            self.told.append,
            lambda metric, service, weight, n: self.carried.update({(metric, service, weight): n}),
            turn_seconds=0.01,
            worker=worker,
        )
        # What is due every some seconds is due at each turn.
        self.thread._is_due = lambda _what, _seconds: True  # type: ignore[method-assign,assignment]
        self.thread.start()

    def value(self, name: str, *labels: str) -> float | None:
        """A figure."""
        return {metric.name: values for metric, values in self.figures.values()}[name].get(labels)

    def until(self, condition: Callable[[], object]) -> None:
        """Wait for the thread."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.005)

    def outcomes(self) -> Counter[str]:
        """What was told."""
        return Counter(f"{one.result.outcome} {one.result.reason}".strip() for one in self.told)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Makes benches, on one folder unless told otherwise, and stops them."""
    made: list[Bench] = []

    def new(folder: str | None = None, *given: Any, **more: Any) -> Bench:
        made.append(Bench(str(tmp_path / "judge") if folder is None else folder, *given, **more))
        return made[-1]

    yield new
    for one in made:
        one.thread.stop(PATIENCE)


def test_what_is_taken_is_judged_and_told_once(make: Callable[..., Bench]) -> None:
    """With its job, so that whoever is told knows sample and weight; the figures move."""
    bench = make()
    jobs = [a_job(f"t{n}") for n in range(20)]
    assert all(bench.thread.offer(job) for job in jobs)
    bench.until(lambda: len(bench.told) == 20)
    bench.until(lambda: bench.value("lanewatch_judge_worker_up") == 1.0)
    bench.thread.stop(PATIENCE)

    assert [one.job for one in bench.told] == jobs
    assert bench.outcomes() == {"scored": 20}
    assert bench.value("lanewatch_judge_budget_spent_dollars", "all", "day") == 0.25
    assert bench.value("lanewatch_judge_budget_limit_dollars", "all", "day") == 20.0
    assert bench.value("lanewatch_judge_worker_memory_bytes") == 5 * MIB
    assert bench.value("lanewatch_judge_queue_jobs", "waiting") == 0.0


def test_no_worker_is_started_before_there_is_a_job(make: Callable[..., Bench]) -> None:
    """Whose traffic needs no judge has no second process; its worker is neither up nor down."""
    bench = make()
    bench.until(lambda: bench.workers)
    started = bench.workers[0].starts

    assert started == 0
    assert bench.value("lanewatch_judge_worker_up") is None
    bench.thread.offer(a_job())
    bench.until(lambda: bench.told)


def test_jobs_of_an_earlier_process_are_carried_on(make: Callable[..., Bench], tmp_path: Path) -> None:
    """They are discovered anew, and judged without a further trace."""
    first = make(idle=True)
    for n in range(3):
        first.thread.offer(a_job(f"t{n}"))
    first.until(lambda: first.value("lanewatch_judge_queue_jobs", "waiting") == 3)
    first.thread.stop(PATIENCE)
    second = make()
    second.until(lambda: len(second.told) == 3)

    assert first.told == []
    assert second.carried == {(FREE, "shop", 20.0): 3}
    assert {one.job.sample.trace_id for one in second.told} == {"t0", "t1", "t2"}


def test_what_stops_stores_what_it_has_taken(make: Callable[..., Bench], tmp_path: Path) -> None:
    """An offer that was taken a moment before the end is in the store."""
    bench = make(idle=True)
    bench.until(lambda: bench.workers)
    bench.thread.offer(a_job("last"))
    bench.thread.stop(PATIENCE)
    db = a_store(tmp_path / "judge")

    assert [one.job.sample.trace_id for one in claim(db, 9)] == ["last"]
    assert not bench.thread.offer(a_job())


def test_a_store_that_can_t_be_opened_costs_scores_and_nothing_else(
    make: Callable[..., Bench], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each job ends as `store_failed`; it is said once, with the remedy, and tried again: then judging goes on."""
    (tmp_path / "judge").touch()
    bench = make()
    for n in range(5):
        assert bench.thread.offer(a_job(f"t{n}"))
    bench.until(lambda: len(bench.told) == 5)

    assert bench.outcomes() == {"unscored store_failed": 5}
    assert (bench.value("lanewatch_judge_store_faults", "unreadable") or 0) >= 1
    assert sum("can't be used" in record.getMessage() for record in caplog.records) == 1
    assert "judge.store" in caplog.text
    (tmp_path / "judge").unlink()
    bench.until(lambda: bench.workers)
    bench.thread.offer(a_job("later"))
    bench.until(lambda: len(bench.told) == 6)
    assert bench.told[-1].result == SCORE


def test_a_full_disk_ends_what_comes_and_keeps_what_was_stored(
    make: Callable[..., Bench], caplog: pytest.LogCaptureFixture
) -> None:
    """SQLite's own limit of pages stands in for the disk's end; once there is room judging goes on."""
    caplog.set_level("INFO")
    bench = make(idle=True)
    bench.thread.offer(a_job("first"))
    bench.until(lambda: bench.value("lanewatch_judge_queue_jobs", "waiting") == 1)
    db = bench.thread._db
    assert db is not None
    db.execute("PRAGMA max_page_count = 1")
    bench.thread.offer(a_job("large", answer="x" * 100_000))
    bench.until(lambda: bench.told)

    assert bench.outcomes() == {"unscored store_failed": 1}
    assert bench.value("lanewatch_judge_store_faults", "full") == 1.0
    db.execute("PRAGMA max_page_count = 100000")
    bench.thread.offer(a_job("later", answer="x" * 100_000))
    bench.until(lambda: bench.value("lanewatch_judge_queue_jobs", "waiting") == 2)
    assert "can be used again" in caplog.text


def test_two_sidecars_do_not_share_a_folder(make: Callable[..., Bench], caplog: pytest.LogCaptureFixture) -> None:
    """The second says so, and goes on without judging."""
    first = make(idle=True)
    first.until(lambda: first.workers)
    second = make()
    second.thread.offer(a_job())
    second.until(lambda: second.told)

    assert second.outcomes() == {"unscored store_failed": 1}
    assert second.value("lanewatch_judge_store_faults", "in_use")
    assert "judge.store of its own" in caplog.text


def test_what_was_in_a_file_that_is_gone_has_ended(make: Callable[..., Bench], tmp_path: Path) -> None:
    """A folder that somebody cleaned: the worker can't open it, the thread makes it anew, no job stays pending for ever."""
    bench = make(idle=True)
    for n in range(4):
        bench.thread.offer(a_job(f"t{n}"))
    bench.until(lambda: bench.value("lanewatch_judge_queue_jobs", "waiting") == 4)
    for path in (tmp_path / "judge").glob(f"{NAME}*"):
        path.unlink()
    bench.workers[0].store_failed = True
    bench.until(lambda: len(bench.told) == 4)

    assert bench.outcomes() == {"unscored store_failed": 4}
    assert {(one.job.sample.service, one.job.weight) for one in bench.told} == {("shop", 20.0)}
    bench.workers[0].idle = False
    bench.thread.offer(a_job("later"))
    bench.until(lambda: len(bench.told) == 5)
    assert bench.told[-1].result == SCORE


def test_a_private_folder_goes_with_its_sidecar(make: Callable[..., Bench], caplog: pytest.LogCaptureFixture) -> None:
    """It is said where it is; it is nobody else's to read, made with the first job alone, and deleted at the end."""
    caplog.set_level("INFO")
    bench = make("")
    assert "judging keeps" not in caplog.text
    bench.thread.offer(a_job())
    bench.until(lambda: bench.told)
    folder = Path(bench.workers[0].settings.store)

    assert str(folder) in caplog.text
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    bench.thread.stop(PATIENCE)
    assert not folder.exists()


def test_without_any_temporary_folder_scores_are_missing_and_nothing_else(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container whose root can't be written: typed, said, and tried again."""

    def refuse(**_: object) -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    bench = make("")
    bench.thread.offer(a_job())
    bench.until(lambda: bench.told)

    assert bench.outcomes() == {"unscored store_failed": 1}
    assert bench.value("lanewatch_judge_store_faults", "unreadable")


def test_a_file_that_was_set_aside_is_kept_as_long_as_the_retention(
    make: Callable[..., Bench], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It holds content as the store does; that it is gone is said."""
    caplog.set_level(logging.INFO)
    (tmp_path / "judge").mkdir()
    a_store(tmp_path / "judge").close()
    aside = tmp_path / "judge" / f"{NAME}.set-aside-1"
    aside.write_bytes((tmp_path / "judge" / NAME).read_bytes())
    os.utime(aside, (0, 0))
    bench = make()
    bench.until(lambda: not aside.exists())

    assert f"{aside.name} in judge.store is older than judge.retention_seconds" in caplog.text


@pytest.mark.parametrize("every", [0.0, 3600.0])
def test_without_a_store_it_is_said_that_the_canaries_reference_begins_anew(
    every: float, caplog: pytest.LogCaptureFixture
) -> None:
    """A restart adopts whatever judge there is then; where no rounds are made there is nothing to say."""
    settings = WorkerSettings("", endpoint=EndpointSettings("http://h/v1", "m"), canary_every_seconds=every)
    thread = JudgeThread(settings, JudgeFigures(Figures([])), lambda _: None, eager=True)
    with caplog.at_level(logging.INFO):
        thread._open()
    thread._finish()

    assert "Set judge.store to keep it" in caplog.text
    assert ("the canaries' reference begins anew with each start" in caplog.text) is bool(every)


def test_private_folders_of_killed_sidecars_are_swept(tmp_path: Path) -> None:
    """They hold content; those whose sidecar lives are left alone."""
    for name in ("dead", "alive", "new"):
        (tmp_path / f"{PREFIX}{name}").mkdir()
    for name in ("dead", "alive"):
        (tmp_path / f"{PREFIX}{name}" / LOCK).touch()
    (tmp_path / "elsewhere").mkdir()
    lock = Lock(tmp_path / f"{PREFIX}alive" / LOCK)
    assert lock.take()

    assert sweep_private_folders(tmp_path) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", f"{PREFIX}alive", f"{PREFIX}new"]
    lock.release()


def test_a_flood_is_refused_at_the_door(tmp_path: Path) -> None:
    """What can't be stored as fast as it comes is bounded in number; the desk counts it as throttled."""
    thread = JudgeThread(WorkerSettings(str(tmp_path)), JudgeFigures(Figures([FREE])), lambda _: None)
    taken = sum(thread.offer(a_job()) for _ in range(MAX_WAITING + 10))

    assert taken == MAX_WAITING
    thread = JudgeThread(WorkerSettings(str(tmp_path)), JudgeFigures(Figures([FREE])), lambda _: None)
    large = a_job(answer="x" * 2**21)  # which its messages say, too
    assert sum(thread.offer(large) for _ in range(10)) == 3


def test_a_fault_of_who_is_told_costs_one_telling(make: Callable[..., Bench]) -> None:
    """The others are told, and none again."""
    bench = make()
    told: list[str] = []

    def deliver(one: Finished) -> None:
        told.append(one.job.sample.trace_id)
        if one.job.sample.trace_id == "bad":
            raise LookupError("a message with content")

    bench.thread._deliver = deliver
    for name in ("good", "bad", "fine"):
        bench.thread.offer(a_job(name))
    bench.until(lambda: len(told) == 3)
    bench.thread.stop(PATIENCE)

    assert told == ["good", "bad", "fine"]


def test_what_the_store_can_t_forget_yet_is_told_once(make: Callable[..., Bench]) -> None:
    """A disk that takes no writes for a while keeps jobs finished that were told; nobody counts them again for that."""
    bench = make(idle=True)
    bench.thread.offer(a_job("first"))
    bench.until(lambda: bench.value("lanewatch_judge_queue_jobs", "waiting") == 1)
    db = bench.thread._db
    assert db is not None
    db.execute("PRAGMA query_only = ON")
    bench.workers[0].idle = False
    bench.until(lambda: (bench.value("lanewatch_judge_store_faults", "read_only") or 0) >= 3)
    told = len(bench.told)
    db.execute("PRAGMA query_only = OFF")
    bench.thread.offer(a_job("second"))
    bench.until(lambda: len(bench.told) == 2)
    bench.until(lambda: bench.value("lanewatch_judge_queue_jobs", "finished") == 0)

    assert told == 1
    assert [one.job.sample.trace_id for one in bench.told] == ["first", "second"]


@pytest.mark.parametrize("waiting", [1, TOLD_AT_ONCE + 50])
def test_a_result_counts_once_while_the_store_is_locked_or_full(tmp_path: Path, waiting: int) -> None:
    """Another process holds the lock, then no page is left: the ledger counts each result once, also more than are told at a time."""
    ledger = Ledger([FREE])
    ledger.discover("shop", {FREE: 20.0}, {FREE: None})
    ledger.resume(FREE, "shop", 20.0, waiting - 1)
    settings = WorkerSettings(str(tmp_path))
    worker: Any = PlayedWorker(settings, idle=True)

    def counted(one: Finished) -> None:
        ledger.finish(one.job, one.result)

    thread = JudgeThread(
        settings,
        JudgeFigures(Figures([FREE])),
        counted,
        clock=lambda: 0.0,
        worker=lambda _: worker,
    )
    for number in range(waiting):
        thread.offer(a_job(f"t{number}"))
    thread._turn()
    assert thread._db is not None
    thread._db.execute("PRAGMA busy_timeout = 0")
    other = a_store(tmp_path)
    for one in claim(other, waiting):
        finish(other, one.number, SCORE, time.time())
    other.execute("BEGIN IMMEDIATE")
    for _ in range(5):
        thread._turn()
    locked = ledger.evaluations()[FREE]
    other.execute("ROLLBACK")
    thread._db.execute("PRAGMA max_page_count = 1")
    for _ in range(5):
        thread.offer(a_job("large", answer="x" * 100_000))
        ledger.resume(FREE, "shop", 20.0)
        thread._turn()
    full = ledger.evaluations()[FREE]
    thread._db.execute("PRAGMA max_page_count = 100000")
    for _ in range(3):
        thread._turn()
    after = ledger.evaluations()[FREE]

    scored = EvaluationOutcome.SCORED, Reason.NONE
    told = min(waiting, TOLD_AT_ONCE)  # before they are forgotten no further ones are read
    assert (locked.pending, locked.ended) == (
        waiting - told,
        {scored: told, (EvaluationOutcome.NOT_SAMPLED, Reason.RATE): 0},
    )
    assert full.ended[scored] <= waiting
    assert (after.pending, after.ended[scored]) == (0, waiting)
    assert ledger.scores()["shop", FREE].sums.weight == 20.0 * waiting
    assert not thread._told_of


def test_a_turn_costs_the_store_one_transaction(tmp_path: Path) -> None:
    """However much is stored and forgotten in it: a transaction costs more than all that is in it."""
    settings = WorkerSettings(str(tmp_path))
    told: list[Finished] = []
    worker: Any = PlayedWorker(settings)
    thread = JudgeThread(
        settings, JudgeFigures(Figures([FREE])), told.append, eager=True, clock=lambda: 0.0, worker=lambda _: worker
    )
    thread._turn()
    assert thread._db is not None
    begun: list[str] = []
    thread._db.set_trace_callback(lambda sql: begun.append(sql) if sql.startswith("BEGIN") else None)
    counts = []
    for number in range(3):
        for job in (a_job(f"t{number}", answer=str(n)) for n in range(6)):
            assert thread.offer(job)
        thread._turn()
        worker.look(None)
        counts.append((len(begun), len(told)))
    thread._turn()

    assert counts == [(1, 0), (2, 6), (3, 12)]
    assert (len(begun), len(told)) == (4, 18)


def test_calls_and_lines_of_the_worker_come_out(
    make: Callable[..., Bench], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Tokens, dollars, calls without a price, hits of the cache; each is fetched once."""
    bench = make(idle=True)
    bench.until(lambda: bench.workers)
    db = a_store(tmp_path / "judge")
    say(db, 30, "the price of m is not known")
    beat(
        db,
        "w",
        Status("working"),
        [
            ToldCall(PAID, "ragas", "m", "ok", 1.5, 100, 10, 0.25),
            ToldCall(PAID, "ragas", "m", "timeout", 30.0, 100, 0, None),
            ToldCall(PAID, "ragas", "", "cached", 0.0, 0, 0, 0.0),
        ],
    )
    bench.until(lambda: bench.value("lanewatch_judge_cache_hits", PAID) == 1.0)
    bench.until(lambda: "is not known" in caplog.text)

    assert bench.value("lanewatch_judge_tokens", PAID, "m", "input") == 200.0
    assert bench.value("lanewatch_judge_cost_dollars", PAID) == 0.25
    assert bench.value("lanewatch_judge_unpriced_calls", PAID) == 1.0
    assert bench.value("lanewatch_judge_calls", PAID, "timeout") == 1.0
