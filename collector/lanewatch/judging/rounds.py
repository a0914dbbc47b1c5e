"""One round of anchors by hand, in this process: the evaluators of a worker without its queue, within the same budget of money and tokens.

For `lanewatch judge check` and `lanewatch judge compare`. Results are not kept: a call is made once, and a round that is broken off is
lost. What it spends is booked in judge.store, where there is one, and what was spent there counts: a running judge takes it in at its
next start.
"""

import asyncio
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from lanewatch.monitors.judge.budget import Budget
from lanewatch.monitors.judge.calls import JOB, CallEnd, MemoryJournal
from lanewatch.monitors.judge.canaries.items import Canary, canaries_of, sample_of
from lanewatch.monitors.judge.canaries.rounds import Round
from lanewatch.monitors.judge.evaluators import FACTORIES, Loaded, Means, load_evaluators
from lanewatch.monitors.judge.metrics import BY_NAME, Evaluator, Metric
from lanewatch.monitors.judge.prices import price_finder
from lanewatch.monitors.judge.results import Reason, unscored
from lanewatch.monitors.judge.settings import WorkerSettings
from lanewatch.monitors.judge.store_calls import DAY_MINUTES, MINUTE, Spent, StoredBooks, spent_since
from lanewatch.monitors.judge.store_file import NAME, StoreFault, open_store
from lanewatch.monitors.judge.worker import QUIET
from lanewatch.monitors.judge.working import evaluated

PACE_SECONDS = 0.2  # between two looks at whether tokens_per_minute has room again


class Sent(msgspec.Struct):
    """What went to the endpoint and came back, over all calls."""

    calls: int = 0
    failed: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0

    def add(self, call: CallEnd) -> None:
        """One call."""
        self.calls += 1
        self.failed += call.outcome != "ok"
        self.sent_bytes += call.sent_bytes
        self.received_bytes += call.received_bytes
        self.input_tokens += call.usage.input_tokens
        self.output_tokens += call.usage.output_tokens
        self.dollars += call.dollars or 0.0
        self.unpriced += call.dollars is None
        self.seconds += call.seconds


class Rounds(msgspec.Struct, frozen=True):
    """What came of it: a round of each metric, what was sent, evaluators that could not be loaded, with why, and whether what it cost
    is booked in judge.store.
    """

    rounds: dict[str, Round]
    sent: Sent
    unloaded: dict[str, str] = {}
    is_booked: bool = False


def judge_round(
    settings: WorkerSettings,
    metrics: Iterable[str],
    canaries: Sequence[Canary],
    advance: Callable[[str], None] = lambda _metric: None,
    factories: Mapping[Evaluator, Callable[[Means], Loaded]] = FACTORIES,
) -> Rounds:
    """Judge every anchor of these metrics once. `advance` is told of the metric of each that is done."""
    os.environ.update(QUIET)  # before anything imports Ragas
    return asyncio.run(_judge(settings, [BY_NAME[name] for name in metrics], canaries, advance, factories))


async def _judge(
    settings: WorkerSettings,
    metrics: Sequence[Metric],
    canaries: Sequence[Canary],
    advance: Callable[[str], None],
    factories: Mapping[Evaluator, Callable[[Means], Loaded]],
) -> Rounds:
    sent = Sent()
    db, before = _store(settings)
    budget = Budget(
        settings.budgets,
        price_finder(settings.prices, {settings.endpoint.model: settings.endpoint.base_url}),
        _NoBooks() if db is None else StoredBooks(db, time.time),
        time.time,
        before,
    )
    means = Means(
        msgspec.structs.replace(settings, metrics=tuple(m.name for m in metrics)), MemoryJournal(), budget, sent.add
    )
    loaded, unloaded = load_evaluators(means, factories)
    name, slots = secrets.token_hex(4), asyncio.Semaphore(settings.asking.max_in_flight)
    rounds = {metric.name: Round(name, time.time()) for metric in metrics}

    async def one(metric: Metric, canary: Canary) -> None:
        async with slots:
            while metric.paid and not budget.may_begin():  # noqa: ASYNC110 - room comes with time alone
                await asyncio.sleep(PACE_SECONDS)
            JOB.set(f"check-{name}-{metric.name}-{canary.id}")
            judge = loaded.get(metric.evaluator)
            failed = unscored(Reason.WORKER_FAILED)
            result = failed if judge is None else await evaluated(judge, metric, sample_of(canary, name))
        rounds[metric.name] = rounds[metric.name].with_result(canary.id, result, time.time())
        advance(metric.name)

    try:
        async with asyncio.TaskGroup() as group:
            for metric in metrics:
                for canary in canaries_of(metric.name, canaries):
                    group.create_task(one(metric, canary))
    finally:
        if (endpoint := means.made.get("endpoint")) is not None:
            await endpoint.close()
        if db is not None:
            db.close()
    return Rounds(rounds, sent, unloaded, is_booked=db is not None)


def _store(settings: WorkerSettings) -> tuple[sqlite3.Connection | None, list[Spent]]:
    """The sidecar's store and what it has of the last day; none where there is none, or it can't be used."""
    if not settings.store or not (Path(settings.store) / NAME).is_file():
        return None, []
    db: sqlite3.Connection | None = None
    try:
        db = open_store(Path(settings.store), settings.limits.max_bytes, mend=False)
        return db, spent_since(db, int(time.time() // MINUTE) - DAY_MINUTES)
    except StoreFault:
        if db is not None:
            db.close()
        return None, []


class _NoBooks:
    """What is spent by hand is counted for this round alone."""

    def __init__(self) -> None:
        self._last = 0

    def hold(self, metric: str, dollars: float | None, tokens: int) -> int:
        """A number that was not given before."""
        del metric, dollars, tokens
        self._last += 1
        return self._last

    def settle(self, number: int, spent: Spent) -> None:
        """Nothing is kept."""
