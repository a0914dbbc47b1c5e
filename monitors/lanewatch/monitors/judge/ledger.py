"""What became of every evaluation, and the sums of all scores: the counts that must add up.

Invariants, at every moment and for each metric: discovered = the sum of the outcomes + pending. Canaries and comparisons are
in none of it. The reading thread discovers, the judge's thread finishes, scrapers read: one lock guards all but what is left
out by the draw, which is one number that the reading thread alone adds to.
"""

import threading
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from lanewatch.monitors.judge.estimates import Sums
from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result
from lanewatch.monitors.judge.samples import LIVE, Job
from lanewatch.monitors.label_text import label_text

BOUNDS = tuple(n / 10 for n in range(11))  # of a score's histogram, all of whose metrics go from 0 to 1
OTHER = "other"

# It could have been judged, and was not: as `lanewatch:evaluations_coverage:1h` counts.
MISSING = frozenset({EvaluationOutcome.UNSCORED, EvaluationOutcome.THROTTLED, EvaluationOutcome.OVER_BUDGET})

Ended = tuple[EvaluationOutcome, Reason]


class Scores(msgspec.Struct):
    """The live scores of one service by one metric."""

    sums: Sums
    counts: list[int]  # of each bucket by itself, not heaped up
    values: float = 0.0  # their plain sum
    missing: float = 0.0  # sum of weights of what could be judged and has no score
    waiting: float = 0.0  # sum of weights of what is not judged yet
    exemplars: dict[int, tuple[str, float]] = {}  # bucket -> trace id and score of the last one


class Evaluations(msgspec.Struct, frozen=True):
    """The counts of one metric."""

    discovered: int
    pending: int
    ended: dict[Ended, int]


class Ledger:
    """Counts live evaluations. Label values of services are bounded here."""

    def __init__(
        self, metrics: Iterable[str], unsupported: Mapping[str, Reason] | None = None, *, max_services: int = 100
    ) -> None:
        """`metrics` are those that are judged here, `unsupported` those that were asked for and can't be, and why."""
        self._lock = threading.Lock()
        self.metrics = tuple(metrics)
        self.unsupported = dict(unsupported or {})
        self._left_out = 0
        self._drawn = 0
        self._resumed = dict.fromkeys(self.metrics, 0)
        self._pending = dict.fromkeys(self.metrics, 0)
        self._finished = dict.fromkeys(self.metrics, 0)
        self._ended: dict[str, dict[Ended, int]] = {metric: {} for metric in self.metrics}
        self._services: dict[str, str] = {}
        self._labels: dict[str, None] = {}  # in order of their first trace
        self._max_services = max_services
        self._scores: dict[tuple[str, str], Scores] = {}
        self._waiting: dict[tuple[str, str], tuple[int, float]] = {}  # by label and metric: how many, and their weights

    # ---- the reading thread

    def open(self, service: str) -> None:
        """A service was seen: its series are there, at 0, before they count, since a counter's birth is no increase."""
        if service not in self._services:
            with self._lock:
                self._label(service)

    def leave_out(self) -> None:
        """A trace was discovered and not drawn: so it ended for every metric."""
        self._left_out += 1

    def discover(self, service: str, weights: Mapping[str, float], ended: Mapping[str, Ended | None]) -> None:
        """A trace was discovered and drawn: its weight by each metric, and how it ended, None where it is to be judged."""
        with self._lock:
            self._drawn += 1
            for metric in self.metrics:
                how = ended[metric]
                if how is None:
                    self._pending[metric] += 1
                    self._wait(service, metric, 1, weights[metric])
                else:
                    self._end(metric, how)
                    self._miss(service, metric, weights[metric], how)

    def withdraw(self, job: Job, outcome: EvaluationOutcome, reason: Reason) -> None:
        """What was pending ended without having been judged: there was no room for it."""
        with self._lock:
            self._pending[job.metric] -= 1
            self._wait(job.sample.service, job.metric, -1, -job.weight)
            self._end(job.metric, (outcome, reason))
            self._miss(job.sample.service, job.metric, job.weight, (outcome, reason))

    # ---- the judge's thread

    def resume(self, metric: str, service: str, weight: float, jobs: int = 1) -> None:
        """Live jobs of an earlier process, of this weight each, that still wait: they are discovered anew, as counters began anew."""
        with self._lock:
            if metric in self._pending:
                self._resumed[metric] += jobs
                self._pending[metric] += jobs
                self._wait(service, metric, jobs, jobs * weight)

    def finish(self, job: Job, result: Result) -> bool:
        """A job has a result, which must be told once. False where it is none of live traffic's, and counts nowhere."""
        if job.purpose != LIVE or job.metric not in self._pending:
            return False
        with self._lock:
            self._pending[job.metric] -= 1
            self._finished[job.metric] += (
                result.outcome is not EvaluationOutcome.THROTTLED
            )  # thrown out, and not judged
            self._wait(job.sample.service, job.metric, -1, -job.weight)
            how = result.outcome, result.reason
            self._end(job.metric, how)
            self._miss(job.sample.service, job.metric, job.weight, how)
            if result.value is not None:
                self._score(job, result.value)
        return True

    # ---- whoever asks

    def flow(self) -> dict[str, tuple[int, int]]:
        """By metric, how many wait to be judged, and how many of those that waited have ended."""
        with self._lock:
            return {metric: (self._pending[metric], self._finished[metric]) for metric in self.metrics}

    def evaluations(self) -> dict[str, Evaluations]:
        """All counts, of one moment."""
        with self._lock:
            left_out = self._left_out  # once: what is discovered and what was not sampled are of the same traces
            seen = left_out + self._drawn
            counted = {
                metric: Evaluations(
                    seen + self._resumed[metric],
                    self._pending[metric],
                    _with(ended, (EvaluationOutcome.NOT_SAMPLED, Reason.RATE), left_out),
                )
                for metric, ended in self._ended.items()
            }
        for metric, reason in self.unsupported.items():
            counted[metric] = Evaluations(seen, 0, {(EvaluationOutcome.UNSUPPORTED, reason): seen})
        return counted

    def scores(self) -> dict[tuple[str, str], Scores]:
        """By service, as a label, and metric: of every service that was seen, by every metric that is judged."""
        with self._lock:
            return {
                (service, metric): _copy(
                    self._scores.get((service, metric)), self._waiting.get((service, metric), (0, 0.0))[1]
                )
                for service in self._labels
                for metric in self.metrics
            }

    def _end(self, metric: str, how: Ended) -> None:
        ended = self._ended[metric]
        ended[how] = ended.get(how, 0) + 1

    def _miss(self, service: str, metric: str, weight: float, how: Ended) -> None:
        if how[0] in MISSING and how[1] is not Reason.INCOMPLETE_EVIDENCE:
            self._of(service, metric).missing += weight

    def _wait(self, service: str, metric: str, jobs: int, weight: float) -> None:
        key = self._label(service), metric
        had, weighed = self._waiting.get(key, (0, 0.0))
        # Of none the weight is 0, whatever adding and taking away has left behind the decimal point.
        self._waiting[key] = (had + jobs, weighed + weight if had + jobs > 0 else 0.0)

    def _of(self, service: str, metric: str) -> Scores:
        key = self._label(service), metric
        scores = self._scores.get(key)
        if scores is None:
            scores = self._scores[key] = _empty()
        return scores

    def _score(self, job: Job, value: float) -> None:
        scores = self._of(job.sample.service, job.metric)
        bucket = bisect_left(BOUNDS, value)
        scores.sums.add(value, job.weight)
        scores.counts[bucket] += 1
        scores.values += value
        scores.exemplars[bucket] = (job.sample.trace_id, value)

    def _label(self, service: str) -> str:
        known = self._services.get(service)
        if known is not None:
            return known
        label = label_text(service)
        if label not in self._labels and len(self._labels) >= self._max_services:
            label = OTHER  # and not remembered: names without an end would fill the memory
        else:
            self._services[service] = label
        self._labels[label] = None
        return label


def lane_and_evaluator(metric: str) -> tuple[str, str]:
    """The labels that a metric's scores have beside its name."""
    row = BY_NAME[metric]
    return row.lane.value, row.evaluator.value


def heaped(counts: Sequence[int]) -> list[int]:
    """The counts of a histogram's buckets as Prometheus wants them.

    >>> heaped([1, 0, 2])
    [1, 1, 3]
    """
    found, so_far = [], 0
    for count in counts:
        so_far += count
        found.append(so_far)
    return found


def _with(ended: Mapping[Ended, int], how: Ended, more: int) -> dict[Ended, int]:
    return {**ended, how: ended.get(how, 0) + more}


def _empty() -> Scores:
    return Scores(Sums(), [0] * (len(BOUNDS) + 1), exemplars={})


def _copy(scores: Scores | None, waiting: float) -> Scores:
    if scores is None:
        scores = _empty()
    return Scores(
        scores.sums.with_(Sums()), list(scores.counts), scores.values, scores.missing, waiting, dict(scores.exemplars)
    )
