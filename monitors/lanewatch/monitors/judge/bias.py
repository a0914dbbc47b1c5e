"""What may be wrong with a judge, as far as its scores tell: whether length, its own family, or the other judge decides.

Of each metric the last scores are looked at as they were judged, without weights: it is the judge that is in question, not the
traffic. Nothing here changes a score; what can't be told is absent.
"""

from collections import OrderedDict, deque

import msgspec

from lanewatch.monitors.judge.agreement import kappa, rank_correlation
from lanewatch.monitors.judge.estimates import Interval
from lanewatch.monitors.judge.families import same_family
from lanewatch.monitors.judge.figures import Figures
from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.results import Result
from lanewatch.monitors.judge.samples import LIVE, SECOND, Job
from lanewatch.monitors.judge.sampling import randomness

WINDOW = 500  # scores of one metric: an interval of a correlation of about 0.18 in all
EVERY = 10  # scores between two reckonings; one takes a millisecond
UNPAIRED = 2_000  # first judge's scores that wait for the second's
SECOND_SHARE = 0.2  # of what the first judge scored: 100 pairs tell kappa to within about 0.2
LAST = -1  # the second judge's priority: below all live traffic where room or money is short

BOUNDS = ("value", "low", "high")


class _Window:
    """The last scores of one metric."""

    def __init__(self) -> None:
        self.lengths: deque[tuple[float, float]] = deque(maxlen=WINDOW)
        self.families: deque[bool] = deque(maxlen=WINDOW)
        self.pairs: deque[tuple[float, float]] = deque(maxlen=WINDOW)
        self.seen = 0


class BiasWatch:
    """Belongs to the judge's thread; moves figures."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._windows: dict[str, _Window] = {}
        self._first: OrderedDict[tuple[str, str], float] = OrderedDict()

    def see(self, job: Job, result: Result) -> None:
        """A job has ended. Only scores count, of live traffic and of the second judge."""
        if result.value is None or job.purpose not in {LIVE, SECOND}:
            return
        window = self._windows.setdefault(job.metric, _Window())
        key = job.metric, job.sample.trace_id
        if job.purpose == SECOND:
            first = self._first.pop(key, None)
            if first is not None:
                window.pairs.append((first, result.value))
                self._tell_agreement(job.metric, window)
            return
        self._first[key] = result.value
        if len(self._first) > UNPAIRED:
            self._first.popitem(last=False)
        if job.sample.answer is not None:
            window.lengths.append((result.value, float(len(job.sample.answer))))
        known = same_family(result.judge_model, job.sample.model)
        if known is not None:
            window.families.append(known)
            self._figures.put("lanewatch_judge_same_family", float(any(window.families)), (job.metric,))
        window.seen += 1
        if window.seen % EVERY == 0:
            self._put("lanewatch_judge_length_correlation", (job.metric,), rank_correlation(window.lengths))

    def _tell_agreement(self, metric: str, window: _Window) -> None:
        pairs = window.pairs
        self._put("lanewatch_judge_agreement", (metric, "kappa"), kappa(pairs))
        self._put("lanewatch_judge_agreement", (metric, "correlation"), rank_correlation(pairs))

    def _put(self, name: str, labels: tuple[str, ...], interval: Interval | None) -> None:
        for bound in BOUNDS:
            self._figures.put(name, None if interval is None else getattr(interval, bound), (*labels, bound))


def for_second_judge(job: Job, result: Result, share: float = SECOND_SHARE) -> Job | None:
    """The same sample for the second judge: of a `share` of what the first one scored, by the trace's id, which tells nothing of
    the score; None of the rest. What no model judged has no second opinion.
    """
    metric = BY_NAME.get(job.metric)
    if metric is None or not metric.paid or job.purpose != LIVE or result.value is None:
        return None
    if randomness(f"second {job.sample.trace_id}") >= share:
        return None
    return msgspec.structs.replace(job, purpose=SECOND, priority=LAST)
