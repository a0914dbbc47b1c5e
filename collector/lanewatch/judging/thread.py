"""The sidecar's side of judging: a thread that writes drawn jobs into the store, and tells of each that has ended once.

Invariants: `offer` never waits and never raises; what was taken ends as one outcome, also where the store can't be written: then as
`store_failed`, which is counted and said; a finished job is told before it is marked as told, so that a kill between the two tells
it again to the next process, whose counters begin at 0. Nothing here touches receiving.
"""

import contextlib
import logging
import queue
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lanewatch.judging.canaries import CanaryDesk
from lanewatch.judging.figures import JudgeFigures
from lanewatch.judging.private_folder import LOCK, make_private_folder
from lanewatch.judging.worker import JudgeWorker
from lanewatch.monitors.judge.results import Reason, unscored
from lanewatch.monitors.judge.sample import characters
from lanewatch.monitors.judge.samples import LIVE, Job
from lanewatch.monitors.judge.settings import WorkerSettings
from lanewatch.monitors.judge.states import Finished
from lanewatch.monitors.judge.store_calls import store_name
from lanewatch.monitors.judge.store_file import (
    LASTING,
    Lock,
    StoreFault,
    Trouble,
    make_folder,
    open_store,
    sweep_set_aside,
)
from lanewatch.monitors.judge.store_notes import fetch_calls, fetch_said, forget_workers, last_beat
from lanewatch.monitors.judge.store_queue import (
    LOST,
    TOLD_AT_ONCE,
    Waiting,
    add_jobs,
    expire,
    finished_jobs,
    forget_told,
    queue_state,
    revise_jobs,
    waiting_jobs,
)

if TYPE_CHECKING:
    import sqlite3

logger = logging.getLogger(__name__)

TURN_SECONDS = 1.0
LOOK_SECONDS = 2.0  # between two looks at the worker
STATE_SECONDS = 5.0
EXPIRE_SECONDS = 60.0
CANARY_SECONDS = 5.0
REOPEN_SECONDS = 10.0
MAX_WAITING, MAX_CHARACTERS = 2_000, 16 * 2**20  # of jobs that are not in the store yet: a second's
NO_REFERENCE = ", and the canaries' reference begins anew with each start: a judge that has changed since the last one is taken for the usual one"


class JudgeThread:
    """`offer` and `revise` on one thread, `deliver` and `carried` on this one's own."""

    def __init__(
        self,
        settings: WorkerSettings,
        figures: JudgeFigures,
        deliver: Callable[[Finished], None],
        carried: Callable[[str, str, float, int], None] = lambda _metric, _service, _weight, _n: None,
        *,
        canaries: CanaryDesk | None = None,
        eager: bool = False,
        turn_seconds: float = TURN_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        worker: Callable[[WorkerSettings], JudgeWorker] | None = None,
    ) -> None:
        """Without a folder in the settings a private one is made. `deliver` is given each finished job, `carried` how many of a
        metric, service and weight an earlier process left behind. With `eager` a worker is started before the first job.
        """
        self._settings = settings
        self._figures = figures
        self._deliver, self._carried, self._canaries = deliver, carried, canaries
        self._turn_seconds, self._clock, self._now = turn_seconds, clock, now
        self._make_worker = worker or (lambda settings: JudgeWorker(settings, figures.restarted))
        self._private = not settings.store
        self._wanted = eager
        self._queue: queue.SimpleQueue[tuple[Job, bool, int]] = queue.SimpleQueue()
        self._characters = 0
        self._lock = threading.Lock()
        self._easing, self._stopping = threading.Event(), threading.Event()
        self._deadline = inf
        self._thread = threading.Thread(target=self._run, name="lanewatch-judge", daemon=True)
        self._db: sqlite3.Connection | None = None
        self._folder_lock: Lock | None = None
        self._worker: JudgeWorker | None = None
        self._due = dict.fromkeys(("open", "look", "state", "expire", "canaries"), -inf)
        self._trouble: Trouble | None = None
        self._in_store: Counter[Waiting] = Counter()  # live jobs that were not told yet
        self._told_of: set[int] = set()  # jobs that were told, and that the store has to forget yet
        self._store = ""  # its own name, by which a file that was begun anew is known

    # ---- any thread

    def offer(self, job: Job, size: int | None = None) -> bool:
        """Take a job, whose sample has `size` characters (counted here where they are not known); False where too many wait to be
        stored.
        """
        return not self._stopping.is_set() and self._take(job, size, again=False)

    def revise(self, job: Job) -> None:
        """Take a later sample of a job; where too many wait, the first one stands."""
        self._take(job, None, again=True)

    def _take(self, job: Job, known: int | None, *, again: bool) -> bool:
        size = characters(job.sample) if known is None else known
        with self._lock:
            if self._queue.qsize() >= MAX_WAITING or self._characters + size > MAX_CHARACTERS:
                return False
            self._characters += size
        self._queue.put((job, again, size))
        return True

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def ease(self) -> None:
        """The sidecar is about to stop: the worker begins nothing more."""
        self._easing.set()

    def stop(self, timeout_seconds: float) -> None:
        """Store what was taken, tell what has ended, end the worker; what has not ended waits in the store, if that stays."""
        self._deadline = self._clock() + timeout_seconds
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout_seconds + 1.0)  # a disk that hangs must not hold up the end

    # ---- this thread

    def _run(self) -> None:
        while not self._stopping.wait(self._turn_seconds):
            self._safely(self._turn)
        self._safely(self._finish)

    def _safely(self, work: Callable[[], None]) -> None:
        """A bug here costs no more than a turn."""
        try:
            work()
        except Exception as error:  # noqa: BLE001
            self._figures.failed(error)

    def _turn(self) -> None:
        # Where nothing stays, there is nothing to open before the first job.
        idle = self._private and not self._wanted and self._queue.empty()
        if self._db is None and not idle and self._is_due("open", REOPEN_SECONDS):
            self._open()
        if self._db is not None:
            with self._troubled():
                self._tell_finished()
        self._store_taken()
        if self._db is None:
            return
        with self._troubled():
            if self._easing.is_set() or self._is_due("look", LOOK_SECONDS):
                self._look()
            if self._db is not None and self._is_due("expire", EXPIRE_SECONDS):
                expire(self._db, self._settings.limits, self._now())
                oldest = self._now() - self._settings.limits.retention_seconds
                for name in sweep_set_aside(Path(self._settings.store), oldest):
                    logger.info("%s in judge.store is older than judge.retention_seconds, and was deleted", name)
            if self._db is not None and self._is_due("state", STATE_SECONDS):
                self._tell_state()
            if self._db is not None and self._is_due("canaries", CANARY_SECONDS):
                self._begin_rounds()

    def _finish(self) -> None:
        self._store_taken()
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.ease()
            while not worker.ended() and self._clock() < self._deadline:
                time.sleep(0.02)
            worker.stop(0.0)
        if self._db is not None:
            with self._troubled():
                self._tell_finished()
                self._forget_told()
                self._tell_state()
        self._close()
        if self._private and self._settings.store:
            shutil.rmtree(self._settings.store, ignore_errors=True)

    def _open(self) -> None:
        with self._troubled():
            if not self._settings.store:
                self._settings = replace(self._settings, store=make_private_folder())
                logger.info(
                    "judging keeps its queue in %s, which is deleted at the end: what still waits then is not judged%s. "
                    "Set judge.store to keep it",
                    self._settings.store,
                    NO_REFERENCE if self._settings.canary_every_seconds and self._settings.endpoint else "",
                )
            folder = Path(self._settings.store)
            make_folder(folder)
            lock = Lock(folder / LOCK)
            if not lock.take():
                raise StoreFault(Trouble.IN_USE)
            self._folder_lock = lock
            self._db = open_store(folder, self._settings.limits.max_bytes, mend=True, say=_say)
            forget_workers(self._db)
            if self._canaries is not None:
                self._canaries.open(self._db)
            before, self._store = self._store, store_name(self._db)
            if self._store == before:
                self._forget_told()
            self._told_of.clear()  # another file gives the same numbers to others
            self._count_left(waiting_jobs(self._db))
            self._well()

    def _count_left(self, left: Counter[Waiting]) -> None:
        """What an earlier process left behind is carried on; what was in a file that is gone has ended with it."""
        before, self._in_store = self._in_store, Counter(left)
        self._wanted = self._wanted or bool(left)
        for (metric, service, weight), n in (left - before).items():
            self._carried(metric, service, weight, n)
        for (metric, service, weight), n in (before - left).items():
            job = Job(metric, replace(LOST, service=service), weight)
            for _ in range(n):
                self._told(Finished(job, unscored(Reason.STORE_FAILED), self._now()))

    def _store_taken(self) -> None:
        taken: list[tuple[Job, bool, int]] = []
        while len(taken) < MAX_WAITING:
            try:
                taken.append(self._queue.get_nowait())
            except queue.Empty:
                break
        if not taken:
            if self._db is not None:
                with self._troubled():
                    self._forget_told()
            return
        with self._lock:
            self._characters -= sum(size for _, _, size in taken)
        new = [job for job, again, _ in taken if not again]
        if self._db is not None:
            with self._troubled():
                evicted = add_jobs(self._db, new, self._settings.limits, self._now(), self._told_of)
                self._told_of.clear()
                self._in_store.update(_waiting(job) for job in new if job.purpose == LIVE)
                new = []
                self._figures.evicted(evicted)
                if not self._wanted:
                    self._wanted, self._due["look"] = True, -inf
                self._well()
                later = [job for job, again, _ in taken if again]
                if later:
                    self._figures.revised(later, revise_jobs(self._db, later))
        for job in new:
            self._told(Finished(job, unscored(Reason.STORE_FAILED), self._now()))

    def _tell_finished(self) -> None:
        """They are forgotten with what is stored next, in one transaction, which costs more than all that is in it."""
        assert self._db is not None
        while finished := finished_jobs(self._db):
            for one in finished:
                if one.number not in self._told_of:
                    self._told_of.add(one.number)
                    self._told(self._taken_out(one) if one.job.purpose == LIVE else one)
            if len(finished) < TOLD_AT_ONCE:
                return
            self._forget_told()

    def _taken_out(self, one: Finished) -> Finished:
        """It waits no longer. Where a disk has lost its sample, its service is that of some job of that metric and weight."""
        waiting = _waiting(one.job)
        if one.job.sample == LOST:
            alike = (key for key, n in self._in_store.items() if n > 0 and (key[0], key[2]) == (waiting[0], waiting[2]))
            waiting = next(alike, waiting)
            one = replace(one, job=replace(one.job, sample=replace(LOST, service=waiting[1])))
        self._in_store[waiting] -= 1
        if not self._in_store[waiting]:
            del self._in_store[waiting]  # weights are many
        return one

    def _forget_told(self) -> None:
        assert self._db is not None
        if self._told_of:
            forget_told(self._db, self._told_of)
            self._told_of.clear()

    def _told(self, one: Finished) -> None:
        def tell() -> None:
            self._figures.finished(one)
            self._deliver(one)

        self._safely(tell)

    def _look(self) -> None:
        assert self._db is not None
        if self._worker is None:
            self._worker = self._make_worker(self._settings)
        beat = last_beat(self._db, self._worker.instance)
        self._worker.look(beat, excused=self._trouble is not None)
        if self._worker.store_failed:
            self._close()  # its folder may be gone: it is opened anew, and made anew
            self._due["open"] = -inf
            return
        if self._easing.is_set():
            self._worker.ease()
        elif self._wanted and self._worker.start():
            forget_workers(self._db)
        self._figures.worker(self._worker, beat)
        for call in fetch_calls(self._db):
            self._figures.called(call)
        for level, text in fetch_said(self._db):
            logger.log(level, "judge: %s", text)

    def _begin_rounds(self) -> None:
        assert self._db is not None
        if self._canaries is None or self._easing.is_set():
            return
        jobs = self._canaries.turn(self._db, self._now())
        if jobs:
            self._figures.evicted(add_jobs(self._db, jobs, self._settings.limits, self._now()))
            self._wanted = True

    def _tell_state(self) -> None:
        assert self._db is not None
        self._figures.queue(queue_state(self._db, self._now()))

    def _is_due(self, what: str, seconds: float) -> bool:
        now = self._clock()
        if now < self._due[what]:
            return False
        self._due[what] = now + seconds
        return True

    @contextlib.contextmanager
    def _troubled(self) -> Iterator[None]:
        """What the store raises is said when it begins; a file that is damaged, or was never opened, is opened anew."""
        try:
            yield
        except StoreFault as fault:
            self._figures.trouble(fault.trouble)
            if self._trouble is not fault.trouble:
                logger.log(
                    logging.ERROR, "the judge's store can't be used (%s): %s. What is drawn meanwhile is counted as store_failed",
                    fault.trouble, fault, extra={"fault": f"judge_store_{fault.trouble}"},
                )  # fmt: skip
            self._trouble = fault.trouble
            if fault.trouble in LASTING or self._db is None:
                if self._worker is not None:
                    self._worker.stop(0.0)
                self._close()

    def _well(self) -> None:
        if self._trouble is not None:
            logger.info("the judge's store can be used again")
            self._trouble = None

    def _close(self) -> None:
        if self._db is not None:
            with contextlib.suppress(Exception):
                self._db.close()
            self._db = None
        if self._folder_lock is not None:
            self._folder_lock.release()
            self._folder_lock = None


def _waiting(job: Job) -> Waiting:
    return job.metric, job.sample.service, job.weight


def _say(text: str) -> None:
    logger.warning("judge: %s", text)
