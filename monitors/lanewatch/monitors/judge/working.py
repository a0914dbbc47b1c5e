"""The worker's work: claim jobs, judge them within the budget, store what came of each.

Invariants: every job that is claimed is finished, with a score or with the reason why there is none, whatever its evaluator does;
what costs nothing never waits behind what waits for a model; a job is begun only if there is money for it, and near the end of
the money only those of higher risk; a result that was found before is not paid for again; while anchors of a round wait one of
them is under way, however many others have waited longer, and no more than one is before its turn.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from lanewatch.collector.error_place import place_of
from lanewatch.monitors.judge.active import missing
from lanewatch.monitors.judge.budget import Budget
from lanewatch.monitors.judge.calls import ANCHOR, JOB
from lanewatch.monitors.judge.evaluators import Loaded
from lanewatch.monitors.judge.metrics import BY_NAME, Evaluator, Metric
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result, unscored
from lanewatch.monitors.judge.samples import CANARY, SECOND, Sample
from lanewatch.monitors.judge.settings import WorkerSettings
from lanewatch.monitors.judge.store_file import LASTING, StoreFault
from lanewatch.monitors.judge.store_jobs import Claimed, cache_key, cached, claim, finish, give_back

if TYPE_CHECKING:
    import sqlite3

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.5
RETRY_SECONDS = 2.0  # until a store that can't be written is tried again
LONGEST_SECONDS = 900.0  # one job, with all its calls, retries and pauses
FREE_AT_ONCE = 16
ORDINARY = 0  # a job's priority that is above it is of higher risk

CANARIES_SECONDS = 5.0  # between two looks for anchors, where there were none


class Working:
    """Belongs to one event loop. `run` until `stop`, then what is in flight is finished."""

    def __init__(
        self,
        db: "sqlite3.Connection",
        store: str,
        settings: WorkerSettings,
        loaded: Mapping[Evaluator, Loaded],
        budget: Budget,
        *,
        now: Callable[[], float],
        cache_hit: Callable[[Metric], None] = lambda _: None,
        poll_seconds: float = POLL_SECONDS,
        second: Mapping[Evaluator, Loaded] = MappingProxyType({}),
    ) -> None:
        """`store` is the store's own name, so that jobs of two stores are told apart; `now` in Unix seconds; `second` are the
        second judge's evaluators.
        """
        self._second = second
        self._db, self._store, self._settings, self._loaded, self._budget = db, store, settings, loaded, budget
        self._now, self._cache_hit, self._poll_seconds = now, cache_hit, poll_seconds
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._canaries: set[asyncio.Task[None]] = set()  # those of them that judge anchors
        self._was_canary = False  # whether the last one that was begun is one
        self._looked = -CANARIES_SECONDS  # when there was none
        self._asked: dict[
            bytes, tuple[int, asyncio.Future[None]]
        ] = {}  # keys that are being judged, with the job that asks
        self._said: set[str] = set()
        self._fault: BaseException | None = None
        self._paid = [metric.name for metric in BY_NAME.values() if metric.paid]

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until stopped, then finish what is in flight."""
        suspects = True
        while not self._stopping.is_set():
            try:
                suspects = suspects and await self._one_suspect()
                busy = suspects or await self._turn()
            except StoreFault as fault:
                self._bear(fault, "the store can't be used")
                await self._pause(RETRY_SECONDS)
                continue
            if not busy:
                await self._pause(self._poll_seconds)
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._fault is not None:
            raise self._fault

    async def _one_suspect(self) -> bool:
        """What a worker died of, or with: each by itself, before anything else; whether there was one."""
        found = claim(self._db, 1, suspect=True)
        for one in found:
            await asyncio.wait({self._begin(one)})
        return bool(found)

    async def _turn(self) -> bool:
        """Begin what there is room for; whether there was anything."""
        room = self._settings.asking.max_in_flight - len(self._tasks)
        begun: list[Claimed] = []
        askable = [name for name in self._paid if not self._must_wait(name)]
        if any(self._is_tried(name) for name in askable):
            room = min(room, 1 - len(self._tasks))
        if room > 0 and askable and self._budget.may_begin():
            begun = self._canary(askable)
            begun += claim(self._db, room - len(begun), metrics=askable) if room > len(begun) else []
            for one in begun:
                self._begin(one)
        free = claim(self._db, FREE_AT_ONCE, besides=self._paid)  # also what another version asked for
        for place, one in enumerate(free):
            if self._stopping.is_set():
                give_back(self._db, [left.number for left in free[place:]])
                break
            await self._judge(one)
            await asyncio.sleep(0)  # a sign of life, and answers that came, get their turn
        return bool(begun or free)

    def _canary(self, askable: list[str]) -> list[Claimed]:
        """The next anchor of a round, where none is under way: a backlog would keep rounds from ending. Never twice in a row where one
        is judged at a time, so that the traffic is not kept waiting either.
        """
        alone = self._settings.asking.max_in_flight == 1
        now = self._now()
        if self._canaries or (alone and self._was_canary) or 0 <= now - self._looked < CANARIES_SECONDS:
            self._was_canary = False
            return []
        found = claim(self._db, 1, metrics=askable, purpose=CANARY)
        self._was_canary = bool(found)
        if not found:
            self._looked = now
        return found

    def _must_wait(self, name: str) -> bool:
        """Whether its endpoint is left alone now: the queue is kept for when it works again."""
        loaded = self._loaded.get(BY_NAME[name].evaluator)
        return loaded is not None and loaded.wait() > 0

    def _is_tried(self, name: str) -> bool:
        """Whether one call is to find out if its endpoint works again: others that were begun would end as `circuit_open` with it."""
        loaded = self._loaded.get(BY_NAME[name].evaluator)
        return loaded is not None and any(loaded.circuits().values())

    def _begin(self, claimed: Claimed) -> asyncio.Task[None]:
        task = asyncio.create_task(self._judge(claimed))
        self._tasks.add(task)
        task.add_done_callback(self._done)
        if claimed.job.purpose == CANARY:
            self._canaries.add(task)
            task.add_done_callback(self._canaries.discard)
        return task

    async def _pause(self, seconds: float) -> None:
        """Until something has ended, is to end, or so long has passed."""
        stop = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({stop, *self._tasks}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._fault = task.exception()
            self.stop()  # a bug of this process: it ends, and the next one takes up what it had begun

    async def _judge(self, claimed: Claimed) -> None:
        metric = BY_NAME.get(claimed.job.metric)
        judges = self._second if claimed.job.purpose == SECOND else self._loaded
        loaded = None if metric is None else judges.get(metric.evaluator)
        if metric is None or loaded is None:
            why = None if metric is None else missing(metric, self._settings)
            unsupported = Result(EvaluationOutcome.UNSUPPORTED, why or Reason.NOT_INSTALLED)
            await self._finish(claimed, unsupported, None, None)
            return
        key = cache_key(claimed, metric, loaded.model, loaded.version, self._settings.topics)
        failed: Exception | None = None
        try:
            began = time.monotonic()
            result = signed(await self._result(claimed, metric, loaded, key), metric, loaded)
            took = time.monotonic() - began
            await self._finish(claimed, result, key, None if result.cached else took)
        except Exception as error:
            failed = error
            raise
        finally:
            self._let_go(key, claimed, failed)

    def _let_go(self, key: bytes | None, claimed: Claimed, failed: Exception | None) -> None:
        """Tell those that wait for what came of a key, where this job is the one that asked. What it failed of they fail of too: the process
        ends, and what was found and could not be stored may have been paid for.
        """
        if key is None or (asked := self._asked.get(key)) is None or asked[0] != claimed.number:
            return
        waiting = self._asked.pop(key)[1]
        if failed is None:
            waiting.set_result(None)
        else:
            waiting.set_exception(failed)
            waiting.exception()  # else asyncio logs that nobody took it, where nobody waits

    async def _result(self, claimed: Claimed, metric: Metric, loaded: Loaded, key: bytes | None) -> Result:
        if key is not None:
            while (other := self._asked.get(key)) is not None:
                await other[1]
            try:
                known = cached(self._db, key)
            except StoreFault as fault:
                self._bear(fault, "the store can't be used")
                return unscored(Reason.STORE_FAILED)  # unread, it may have been paid for
            if known is not None:
                self._cache_hit(metric)
                return known
            self._asked[key] = claimed.number, asyncio.get_running_loop().create_future()
        near = self._budget.near(metric.name) if metric.paid and claimed.job.priority <= ORDINARY else None
        if near is not None:
            return Result(EvaluationOutcome.OVER_BUDGET, near)
        ANCHOR.set(claimed.job.purpose == CANARY)
        JOB.set(f"{self._store}-{claimed.number}")
        return await evaluated(loaded, metric, claimed.job.sample, self._tell)

    async def _finish(self, claimed: Claimed, result: Result, key: bytes | None, took: float | None) -> None:
        """Store the result, however long the disk takes to get room: it may have been paid for."""
        while True:
            try:
                finish(self._db, claimed.number, result, self._now(), key, took)
            except StoreFault as fault:
                self._bear(fault, "a result can't be stored yet")
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    def _bear(self, fault: StoreFault, what: str) -> None:
        """Say it, where it may pass. What does not is the sidecar's to mend, once this process has ended. Raises StoreFault."""
        if fault.trouble in LASTING:
            raise fault
        self._tell(logging.ERROR, f"{what} ({fault.trouble}): {fault}")

    def _tell(self, level: int, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            logger.log(level, "%s", text)


async def evaluated(
    loaded: Loaded, metric: Metric, sample: Sample, tell: Callable[[int, str], None] = lambda _level, _text: None
) -> Result:
    """What comes of asking, whatever an evaluator does and however long it takes. `tell` is given what went wrong, and no content."""
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            result = await loaded.evaluates.evaluate(metric, sample)
    except TimeoutError:
        return unscored(Reason.TIMEOUT)
    except StoreFault as fault:
        tell(logging.ERROR, f"the store can't be used ({fault.trouble}): {fault}")
        return unscored(Reason.STORE_FAILED)
    except Exception as error:  # noqa: BLE001 - whatever an evaluator does, its sample has an outcome
        tell(logging.ERROR, f"{metric.name} failed: {place_of(error)} (further ones are only counted)")
        return unscored(Reason.WORKER_FAILED)
    return within_range(metric, result)


def signed(result: Result, metric: Metric, loaded: Loaded) -> Result:
    """The result with who made it; one of the cache has been signed, by the same."""
    if result.cached:
        return result
    version, _, embedding = loaded.signature(metric)
    return msgspec.structs.replace(result, version=version, embedding_model=embedding or None)


def within_range(metric: Metric, result: Result) -> Result:
    """The result, or that the judge's value is none of the metric's."""
    if result.value is None or metric.low <= result.value <= metric.high:
        return result
    return msgspec.structs.replace(
        result, outcome=EvaluationOutcome.UNSCORED, reason=Reason.JUDGE_INVALID, value=None, label=None
    )
