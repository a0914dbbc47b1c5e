"""What the judge's thread sees, as the figures that are exported: queue, worker, calls, spending."""

import logging
from collections.abc import Mapping, Sequence

from lanewatch.collector.error_place import place_of
from lanewatch.judging.worker import JudgeWorker
from lanewatch.monitors.judge.breaker import Cause
from lanewatch.monitors.judge.figures import Figures
from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.results import INJECTION_SUSPECTED, Reason
from lanewatch.monitors.judge.samples import LIVE, Job
from lanewatch.monitors.judge.states import QUEUE_STATES, Finished, QueueState, Restart
from lanewatch.monitors.judge.store_file import Trouble
from lanewatch.monitors.judge.store_notes import Beat, ToldCall

logger = logging.getLogger(__name__)

OK = "ok"
CACHED = "cached"


class JudgeFigures:
    """Moves `figures`. Belongs to the judge's thread."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._said: set[str] = set()
        self._judges: frozenset[tuple[str, ...]] = frozenset()
        for reason in Restart:
            figures.add("lanewatch_judge_worker_restarts", (reason,), 0)
        for state in QUEUE_STATES:
            figures.put("lanewatch_judge_queue_jobs", 0, (state,))
        for trouble in Trouble:
            figures.add("lanewatch_judge_store_faults", (trouble,), 0)
        figures.put("lanewatch_judge_queue_oldest_seconds", 0)

    def finished(self, one: Finished) -> None:
        """A job has ended."""
        metric = BY_NAME.get(one.job.metric)
        if one.took is not None and metric is not None:
            self._figures.observe("lanewatch_judge_call_seconds", one.took, (metric.evaluator,))
        if metric is None or one.job.purpose != LIVE:
            return
        if INJECTION_SUSPECTED in one.result.flags:
            self._figures.add("lanewatch_judge_injection_suspected", (metric.name,))
        if one.result.reason is Reason.UNSTABLE:
            self._figures.add("lanewatch_judge_unstable", (metric.name,))

    def evicted(self, metrics: Mapping[str, int]) -> None:
        """Jobs made room for others."""
        for metric, n in metrics.items():
            self._figures.add("lanewatch_judge_queue_evicted", (metric,), n)

    def revised(self, jobs: Sequence[Job], replaced: Sequence[bool]) -> None:
        """Later readings came: whether each took the place of the first."""
        for job, did in zip(jobs, replaced, strict=True):
            self._figures.add("lanewatch_judge_revisions", (job.metric, "replaced" if did else "left"))

    def called(self, call: ToldCall) -> None:
        """An endpoint was asked, or the cache had the result."""
        if call.outcome == CACHED:
            self._figures.add("lanewatch_judge_cache_hits", (call.metric,))
            return
        self._figures.add("lanewatch_judge_calls", (call.metric, call.outcome))
        for direction, n in (("input", call.input_tokens), ("output", call.output_tokens)):
            self._figures.add("lanewatch_judge_tokens", (call.metric, call.model, direction), n)
        if call.dollars is None:
            self._figures.add("lanewatch_judge_unpriced_calls", (call.metric,))
        else:
            self._figures.add("lanewatch_judge_cost_dollars", (call.metric,), call.dollars)

    def queue(self, state: QueueState) -> None:
        """How the queue stands."""
        for name, n in state.jobs.items():
            self._figures.put("lanewatch_judge_queue_jobs", n, (name,))
        self._figures.put("lanewatch_judge_queue_oldest_seconds", state.oldest_seconds)

    def worker(self, worker: JudgeWorker, beat: Beat | None) -> None:
        """How the worker stands. It is neither up nor down before there was anything to judge."""
        if not worker.instance:
            return
        self._figures.put("lanewatch_judge_worker_up", float(worker.running and beat is not None))
        memory = worker.memory_bytes or (beat.status.memory_bytes if worker.running and beat is not None else None)
        self._figures.put("lanewatch_judge_worker_memory_bytes", memory)
        if beat is None:
            return
        spent = {(metric, period): dollars for metric, period, dollars in beat.status.spent}
        for metric, period, tokens in beat.status.unpriced_tokens:
            self._figures.put("lanewatch_judge_budget_unpriced_tokens", tokens, (metric, period))
            if (metric, period) not in spent:  # what is not known is absent, and not 0
                self._figures.drop("lanewatch_judge_budget_spent_dollars", (metric, period))
        for of, dollars in spent.items():
            self._figures.put("lanewatch_judge_budget_spent_dollars", dollars, of)
        for metric, period, dollars in beat.status.limits:
            self._figures.put("lanewatch_judge_budget_limit_dollars", dollars, (metric, period))
        judges = frozenset[tuple[str, ...]](beat.status.judges)
        for labels in self._judges - judges:
            self._figures.drop("lanewatch_judge_info", labels)
        for labels in judges - self._judges:
            self._figures.put("lanewatch_judge_info", 1, labels)
        self._judges = judges
        for cause in Cause if beat.status.circuits else ():
            self._figures.put("lanewatch_judge_circuit_open", float(beat.status.circuits.get(cause, False)), (cause,))

    def restarted(self, why: Restart) -> None:
        """The worker failed."""
        self._figures.add("lanewatch_judge_worker_restarts", (why,))

    def trouble(self, trouble: Trouble) -> None:
        """The store could not be used."""
        self._figures.add("lanewatch_judge_store_faults", (trouble,))

    def failed(self, error: Exception) -> None:
        """A bug of ours: said once a place, without a message, which may hold content."""
        place = place_of(error)
        if place not in self._said:
            self._said.add(place)
            logger.error("judging failed: %s (further ones are not told)", place, extra={"fault": place})
