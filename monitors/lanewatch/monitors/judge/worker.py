"""The judging process: `python -m lanewatch.monitors.judge.worker INSTANCE`, with its settings as one JSON line on standard input.

Invariants: it has the store's lock or does nothing; it ends by itself when standard input does, which is when its sidecar stops it
or dies: at once while it only gets ready, else after what is in flight has been answered and stored, and at the latest when a call
would have timed out; it is nice to the sidecar, and bounded in memory. What it has to say goes by way of the store, and holds no
content.
"""

import asyncio
import contextlib
import logging
import os
import resource
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from math import ceil
from pathlib import Path

import msgspec

from lanewatch.collector.error_place import place_of
from lanewatch.collector.resident_memory import resident_of
from lanewatch.monitors.efficiency import Price
from lanewatch.monitors.judge.active import active_metrics
from lanewatch.monitors.judge.budget import Budget
from lanewatch.monitors.judge.calls import CallEnd
from lanewatch.monitors.judge.canary_part import kept_for_canaries
from lanewatch.monitors.judge.early_end import ends_at_once
from lanewatch.monitors.judge.evaluators import FACTORIES, Factory, Loaded, Means, load_evaluators, load_second
from lanewatch.monitors.judge.forecast import forecast, told
from lanewatch.monitors.judge.metrics import BY_NAME, Evaluator, Metric
from lanewatch.monitors.judge.prices import price_finder
from lanewatch.monitors.judge.settings import WorkerSettings
from lanewatch.monitors.judge.store_calls import (
    DAY_MINUTES,
    MINUTE,
    StoredBooks,
    StoredJournal,
    charge_held,
    spend_now,
    spent_since,
    store_name,
)
from lanewatch.monitors.judge.store_file import Lock, StoreFault, open_store
from lanewatch.monitors.judge.store_jobs import recover
from lanewatch.monitors.judge.store_notes import Status, ToldCall, beat, say
from lanewatch.monitors.judge.working import Working

logger = logging.getLogger("lanewatch.monitors.judge.worker")  # its own name is __main__, whose lines nobody takes

LOCK = "worker.lock"
NICENESS = 10
MAX_SETTINGS_BYTES = 2**20
BEAT_SECONDS = 1.0
LOCK_SECONDS = 0.2  # between two tries
GRACE_SECONDS = 5.0  # beyond a call's time, to store what it brought
ADDRESS_SPACE = 4 * 2**30  # above the limit of resident memory: libraries map far more than they use
EXIT_OK, EXIT_FAILED, EXIT_STORE, EXIT_USAGE = 0, 1, 3, 2
CACHE_HIT = "cached"

# Read when their libraries are imported: https://docs.ragas.io/en/stable/ sends telemetry, and waits for it, unless told `true`.
QUIET = {
    "RAGAS_DO_NOT_TRACK": "true",
    "HF_HUB_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


class Worker:
    """One life of the process, on one event loop."""

    def __init__(
        self,
        settings: WorkerSettings,
        instance: str,
        factories: dict[Evaluator, Factory] | None = None,
        getting_ready: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        """`factories` are those of `evaluators` unless a test brings its own; they are loaded within `getting_ready`. Raises StoreFault."""
        self._settings = settings
        self._instance = instance
        self._factories = FACTORIES if factories is None else factories
        self._getting_ready = getting_ready
        self._folder = Path(settings.store)
        self._db = open_store(self._folder, settings.limits.max_bytes, mend=False)
        self._lock = Lock(self._folder / LOCK)
        self._phase = "starting"
        self._calls: list[ToldCall] = []
        self._stopping = asyncio.Event()
        self._working: Working | None = None
        self._budget: Budget | None = None
        self._loaded: dict[Evaluator, Loaded] = {}
        self._missing: dict[str, str] = {}
        self._unpriced: tuple[str, ...] = ()
        self._judges: tuple[tuple[str, str, str, str, str], ...] = ()
        asked = active_metrics(settings)
        self._paid = [metric.name for metric, why in asked.items() if metric.paid and why is None]

    def stop(self) -> None:
        """Begin nothing more, and end once what is in flight is stored; a clock that nothing can stop sees to that."""
        signal.alarm(ceil(self._settings.asking.timeout_seconds + GRACE_SECONDS))
        self._phase = "stopping"
        self._stopping.set()
        if self._working is not None:
            self._working.stop()

    async def run(self) -> None:
        """Wait for the lock, take up what was left behind, work until stopped. Raises StoreFault."""
        handler = _Saying(self._db)
        logging.getLogger("lanewatch").addHandler(handler)
        logging.getLogger("lanewatch").setLevel(logging.INFO)
        beating = asyncio.create_task(self._beat())
        try:
            if await self._locked():
                self._prepare()
                if self._working is not None:
                    self._phase = "working"
                    self._say_alive()  # whoever watches grants less time now
                    if self._stopping.is_set():
                        self._working.stop()
                    await self._working.run()
        finally:
            beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await beating
            with contextlib.suppress(StoreFault):
                self._say_alive()
            logging.getLogger("lanewatch").removeHandler(handler)
            self._lock.release()
            self._db.close()

    async def _locked(self) -> bool:
        while not self._lock.take():  # one whose sidecar died still ends what it had in flight
            self._phase = "waiting"
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), LOCK_SECONDS)
            if self._stopping.is_set():
                return False
        self._phase = "starting"
        return True

    def _prepare(self) -> None:
        settings, db = self._settings, self._db
        again, ended = recover(db, time.time())
        if again or ended:
            logger.warning(
                "the judge was interrupted: %d jobs are begun anew, %d have ended without a score", again, ended
            )
        charge_held(db)
        endpoints = {one.model: one.base_url for one in (settings.second, settings.endpoint) if one}
        endpoints |= {settings.endpoint.embeddings_model: settings.endpoint.base_url}
        price_of = price_finder(settings.prices, endpoints)
        minute = int(time.time() // MINUTE)
        spend_now(db, minute)
        before = spent_since(db, minute - DAY_MINUTES)
        kept = kept_for_canaries(price_of(settings.endpoint.model), settings.canary_every_seconds, len(self._paid))
        self._budget = Budget(settings.budgets, price_of, StoredBooks(db, time.time), time.time, before, kept)
        means = Means(settings, StoredJournal(db, time.time), self._budget, self._told)
        with self._getting_ready():
            self._loaded, self._missing = load_evaluators(means, self._factories)
            second, missing = load_second(means, self._factories)
        self._judges = tuple(
            (metric.name, metric.evaluator.value, *self._loaded[metric.evaluator].signature(metric))
            for metric, why in active_metrics(settings).items()
            if why is None and metric.evaluator in self._loaded
        )
        for evaluator, why in self._missing.items():
            logger.error("the evaluator %s can't be used (%s): its metrics are unsupported", evaluator, why)
        for evaluator, why in missing.items():
            logger.error(
                "the second judge has no evaluator %s (%s): there is no agreement on its metrics", evaluator, why
            )
        self._unpriced = tuple(model for model in filter(None, endpoints) if price_of(model) is None)
        for model in self._unpriced:
            logger.warning(
                "the price of %s is not known: tokens alone bound what it may cost (budget.unpriced_tokens_per_hour and _per_day, of each "
                "metric). Set [prices.%s], or install genai-prices",
                model,
                f'"{model}"',
            )
        self._say_forecast(price_of(settings.endpoint.model))
        self._working = Working(
            db,
            store_name(db),
            settings,
            self._loaded,
            self._budget,
            now=time.time,
            cache_hit=self._hit,
            second=second,
        )

    def _say_forecast(self, price: Price | None) -> None:
        paid, model = self._paid, self._settings.endpoint.model
        if paid:
            settings = self._settings
            of = forecast(paid, price, settings.budgets, settings.asking.max_tokens, settings.canary_every_seconds)
            level = logging.WARNING if of.samples_a_day == 0 else logging.INFO
            logger.log(level, "%s", told(of, len(paid), model))

    async def _beat(self) -> None:
        while True:
            with contextlib.suppress(StoreFault):  # it is said where it matters: at a result that can't be stored
                self._say_alive()
            await asyncio.sleep(BEAT_SECONDS)

    def _say_alive(self) -> None:
        calls, budget = self._calls[:], self._budget
        circuits: dict[str, bool] = {}
        for loaded in self._loaded.values():
            for cause, is_open in loaded.circuits().items():
                circuits[cause] = circuits.get(cause, False) or is_open
        status = Status(
            self._phase,
            resident_of(),
            self._missing,
            self._unpriced,
            () if budget is None else tuple((*key, dollars) for key, dollars in budget.spent().items()),
            () if budget is None else tuple((*key, dollars) for key, dollars in budget.limits(self._paid).items()),
            circuits,
            () if budget is None else tuple((*key, tokens) for key, tokens in budget.unpriced().items()),
            self._judges,
        )
        beat(self._db, self._instance, status, calls)
        del self._calls[: len(calls)]

    def _told(self, end: CallEnd) -> None:
        evaluator = BY_NAME[end.metric].evaluator if end.metric in BY_NAME else ""
        usage = end.usage
        self._calls.append(
            ToldCall(end.metric, evaluator, end.model, end.outcome, end.seconds, usage.input_tokens, usage.output_tokens,
                     end.dollars)
        )  # fmt: skip

    def _hit(self, metric: Metric) -> None:
        self._calls.append(ToldCall(metric.name, metric.evaluator, "", CACHE_HIT, 0.0, 0, 0, 0.0))


class _Saying(logging.Handler):
    """Log lines by way of the store, to the sidecar, which writes them in its own form."""

    def __init__(self, db: sqlite3.Connection) -> None:
        super().__init__(logging.INFO)
        self._db = db

    def emit(self, record: logging.LogRecord) -> None:
        """Store a line. One that can't be stored is lost: a log must not stop what it tells of."""
        with contextlib.suppress(StoreFault):
            say(self._db, record.levelno, record.getMessage())


def main(arguments: list[str], factories: dict[Evaluator, Factory] | None = None) -> int:
    """The process. Status 0 stopped, 1 a bug, 2 wrong usage, 3 the store can't be used."""
    os.environ.update(QUIET)
    line = sys.stdin.buffer.readline(MAX_SETTINGS_BYTES)
    try:
        (instance,) = arguments
        settings = msgspec.json.decode(line, type=WorkerSettings)
    except (ValueError, msgspec.DecodeError):
        return EXIT_USAGE
    os.nice(NICENESS)
    if settings.memory_bytes:
        with contextlib.suppress(OSError, ValueError):
            limit = settings.memory_bytes + ADDRESS_SPACE
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the sidecar gets it too, and stops us
    try:
        asyncio.run(_life(settings, instance, factories))
    except StoreFault:
        return EXIT_STORE
    except BaseException as error:  # noqa: BLE001 - a traceback's text may hold content: the place alone is told
        with contextlib.suppress(StoreFault):
            db = open_store(Path(settings.store), settings.limits.max_bytes, mend=False)
            say(db, logging.ERROR, f"the judging process failed: {place_of(error)}")
            db.close()
        return EXIT_FAILED
    return EXIT_OK


async def _life(settings: WorkerSettings, instance: str, factories: dict[Evaluator, Factory] | None) -> None:
    worker = Worker(settings, instance, factories, ends_at_once)
    loop = asyncio.get_running_loop()

    def read() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            worker.stop()

    loop.add_reader(0, read)
    loop.add_signal_handler(signal.SIGTERM, worker.stop)
    await worker.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
