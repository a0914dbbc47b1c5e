"""Traffic made of recorded traces, judged through the sidecar's own desk, with scores whose truth is known.

Recorded conversations come again and again under new trace ids, in the shares, at the times and of the services of a day with a
rhythm and an incident; what a judge would say of each is drawn beforehand, so that the mean over all traffic is known.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from lanewatch.adapters.records import TraceRecord
from lanewatch.config.keys import Config
from lanewatch.monitors.divergence import Divergence
from lanewatch.monitors.judge.desk import JudgeDesk
from lanewatch.monitors.judge.eligibility import eligible
from lanewatch.monitors.judge.estimates import Sums
from lanewatch.monitors.judge.ledger import Ledger
from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.results import EvaluationOutcome, Result
from lanewatch.monitors.judge.sample import draft_of
from lanewatch.monitors.judge.samples import Job
from lanewatch.monitors.judge.sampling import Sampler
from lanewatch.monitors.judge.settings import Rates
from lanewatch.monitors.lanes import Lane, Verdict
from lanewatch.monitors.redaction.redactor import Redactor, Search
from lanewatch.monitors.tools import Registry, Risk, Tool
from lanewatch.replaying.playback import replay

T = TypeVar("T")

CORPUS = Path(__file__).parents[1] / "corpus" / "langchain_oi"
METRICS = ("context_relevance", "faithfulness", "number_support", "agent_goal_accuracy")
SERVICES = ("shop", "support")
REGISTRY = Registry([Tool("close_account", risk=Risk.DESTRUCTIVE), Tool("issue_refund", risk=Risk.WRITE)])
# Recorded conversations: share of usual traffic, and the mean score that each gets. Those that go wrong score lower, and are
# judged more often: that is what makes the plain mean of what was judged wrong.
KINDS: dict[str, tuple[float, float]] = {
    "01_right_tool": (0.30, 0.90),
    "10_rag_only": (0.28, 0.85),
    "13_streaming": (0.16, 0.88),
    "03_parallel": (0.08, 0.90),
    "12_hard_args": (0.05, 0.80),
    "02_wrong_tool": (0.03, 0.30),
    "05_tool_error": (0.03, 0.40),
    "07_runtime_rewrite": (0.02, 0.35),
    "08_dropped": (0.01, 0.25),
    "09_refusal": (0.03, 0.50),
    "15b_hide_outputs": (0.01, 0.60),
}
INCIDENT = (
    "09_refusal"  # for a quarter of an hour a guard refuses most of what comes, and the day's traffic has a tenth more
)
DAY = 86_400.0
POOR = 0.7  # a score below counts as poor: a rate


class SeenTrace(msgspec.Struct):
    """A recorded observation, as another trace."""

    record: TraceRecord
    divergences: tuple[Divergence, ...]
    lanes: dict[Lane, Verdict]
    again: bool = False


class NothingHidden(Redactor):
    """Lets everything through: recordings hold nothing, and redacting would take nine tenths of the time."""

    def redact(self, value: T, record: TraceRecord, search: Search | None = None) -> T:
        """As it is."""
        return value

    def messages(self, record: TraceRecord, search: Search) -> tuple[dict[str, Any], ...]:
        """As they are."""
        return record.messages


class Traffic(msgspec.Struct):
    """A day of it, in order of time; `scores` has a row a trace and a column a metric, and `asked` whether it may be asked."""

    kinds: np.ndarray
    services: np.ndarray
    seconds: np.ndarray
    scores: np.ndarray
    asked: np.ndarray
    seed: int

    def trace_id(self, number: int) -> str:
        """Ids are no random numbers here: the draw has to make do with them."""
        return f"{self.seed:016x}{number:016x}"


class Estimated(msgspec.Struct):
    """What was judged: the ledger's sums and those of poor scores, by service and metric, and the plain scores."""

    ledger: Ledger
    poor: dict[tuple[str, str], Sums]
    plain: dict[tuple[str, str], list[float]]


def recorded() -> list[SeenTrace]:
    """One recorded trace of each kind."""
    found = []
    for kind in KINDS:
        one = replay(CORPUS / kind, Config()).observations[0]
        found.append(SeenTrace(one.record, one.divergences, one.lanes))
    return found


def traffic(n: int, seed: int, pool: list[SeenTrace]) -> Traffic:
    """So many traces of a day."""
    source = np.random.default_rng(seed)
    shares = np.array([share for share, _ in KINDS.values()])
    kinds = source.choice(len(KINDS), n, p=shares / shares.sum())
    hours = source.choice(24, n, p=_rhythm())
    seconds = (hours + source.random(n)) * 3600
    struck = source.random(n) < 0.1
    kinds[struck] = list(KINDS).index(INCIDENT)
    seconds[struck] = 50_000 + source.random(int(struck.sum())) * 900
    order = np.argsort(seconds)
    kinds, seconds = kinds[order], seconds[order]
    means = np.array([mean for _, mean in KINDS.values()])[kinds]
    # Each metric has its own noise, and the second service is worse at all of them.
    services = (source.random(n) < 0.3).astype(int)
    scores = np.clip(means[:, None] - 0.1 * services[:, None] + source.normal(0, 0.15, (n, len(METRICS))), 0, 1)
    may = np.array([[eligible(BY_NAME[m], draft_of(seen.record)) is None for m in METRICS] for seen in pool])
    return Traffic(kinds, services, seconds, scores, may[kinds], seed)


def judged(
    given: Traffic, pool: list[SeenTrace], rates: Rates, on_offer: Callable[[Job], None] = lambda _: None
) -> Estimated:
    """The day through the desk; each drawn trace gets the score that was drawn for it."""
    now = 0.0
    ledger = Ledger(METRICS)
    poor: dict[tuple[str, str], Sums] = {}
    plain: dict[tuple[str, str], list[float]] = {}

    def offer(job: Job, _size: int) -> bool:
        on_offer(job)
        value = float(given.scores[int(job.sample.trace_id[16:], 16), METRICS.index(job.metric)])
        ledger.finish(job, Result(EvaluationOutcome.SCORED, value=value))
        key = job.sample.service, job.metric
        poor.setdefault(key, Sums()).add(float(value < POOR), job.weight)
        plain.setdefault(key, []).append(value)
        return True

    desk = JudgeDesk(ledger, Sampler(rates, lambda: now), NothingHidden(), REGISTRY, offer)
    replaced = msgspec.structs.replace
    for number, (kind, service, second) in enumerate(
        zip(given.kinds.tolist(), given.services.tolist(), given.seconds.tolist(), strict=True)
    ):
        now = second
        one = pool[kind]
        record = replaced(one.record, trace_id=given.trace_id(number), service=SERVICES[service])
        desk.see(SeenTrace(record, one.divergences, one.lanes))
    return Estimated(ledger, poor, plain)


def _rhythm() -> np.ndarray:
    shape = 1 + 0.8 * np.sin(np.arange(24) / 24 * 2 * np.pi)
    return np.asarray(shape / shape.sum())
