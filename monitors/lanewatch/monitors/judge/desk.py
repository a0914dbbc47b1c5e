"""The judge's desk in the sidecar: of each trace that was read, what is to be judged, and what became of the rest.

Invariants: a trace is discovered and drawn once, when it is first read; a later reading of a drawn one (late spans, a trace
that it belongs to) only offers its sample anew, which the queue takes where the old one was not judged yet. What is not
drawn costs a stratum and a hash; a sample is redacted only where some metric asks for it.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from lanewatch.adapters.records import TraceRecord
from lanewatch.collector.error_place import place_of
from lanewatch.monitors.judge.eligibility import eligible
from lanewatch.monitors.judge.ledger import Ended, Ledger
from lanewatch.monitors.judge.metrics import BY_NAME, Metric
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result
from lanewatch.monitors.judge.sample import UNKNOWN_SERVICE, characters, draft_of, redacted
from lanewatch.monitors.judge.samples import Job, Sample
from lanewatch.monitors.judge.sampling import Draw, Sampler
from lanewatch.monitors.judge.strata import Seen, Strata, priority_of, stratum_name
from lanewatch.monitors.label_text import label_text
from lanewatch.monitors.redaction.redactor import Redactor
from lanewatch.monitors.tools import Registry

logger = logging.getLogger(__name__)

REMEMBERED = 10_000  # drawn traces that a later reading may revise; some hundred bytes each
MOST_REVISIONS = 3  # of one trace: each is redacted anew, which takes a millisecond and more

_LEFT_OUT: Ended = (EvaluationOutcome.NOT_SAMPLED, Reason.RATE)
_CAP: Ended = (EvaluationOutcome.THROTTLED, Reason.CAP)
_FAILED: Ended = (EvaluationOutcome.UNSCORED, Reason.SAMPLE_FAILED)


class _Drawn:
    """A drawn trace, its weight by each metric that it was drawn for, and the metrics that it was offered for."""

    __slots__ = ("metrics", "revisions", "stratum", "weights")

    def __init__(self, stratum: int, weights: dict[str, float]) -> None:
        self.stratum, self.weights, self.revisions = stratum, weights, 0
        self.metrics: tuple[str, ...] = ()


class JudgeDesk:
    """Belongs to the reading thread."""

    def __init__(
        self,
        ledger: Ledger,
        sampler: Sampler,
        redactor: Redactor,
        registry: Registry,
        offer: Callable[[Job, int], bool],
        *,
        revise: Callable[[Job], None] = lambda _: None,
        ended: Callable[[Job, Result], None] | None = None,
        topics: Sequence[str] = (),
        remembered: int = REMEMBERED,
        slower: Sampler | None = None,
    ) -> None:
        """`offer` takes a job, with the characters of its sample, or says that there is no room. `revise` is given a later reading of a job that was taken: where
        that is not judged yet, its sample is replaced, and else left. `ended` is told of each metric that a drawn trace ended for
        at once, with a sample that is redacted or has ids alone. None of them raises or waits. `slower` draws for the metrics that ask
        a model, which may be fewer than `sampler` draws for all others; without it all are drawn alike.
        """
        self._ledger = ledger
        self._alike = _alike(BY_NAME[name] for name in ledger.metrics)
        paid = tuple(name for name in ledger.metrics if slower is not None and BY_NAME[name].paid)
        free = tuple(name for name in ledger.metrics if name not in paid)
        self._draws = [(names, by) for names, by in ((free, sampler), (paid, slower)) if names and by is not None]
        self._strata = Strata(registry)
        self._redactor = redactor
        self._offer, self._revise, self._ended_at_once = offer, revise, ended
        self._topics = tuple(topics)
        self._drawn: OrderedDict[str, _Drawn] = OrderedDict()
        self._remembered = remembered
        self._said: set[str] = set()

    def see(self, seen: Seen) -> None:
        """A trace was read. Never raises: a fault is counted and said once a place."""
        record = seen.record
        if seen.again:
            if record.trace_id in self._drawn:
                self._see_again(record)
            return
        service = record.service or UNKNOWN_SERVICE
        self._ledger.open(service)
        stratum = self._strata.of(seen)
        draws = [(names, by.draw(record.trace_id, stratum)) for names, by in self._draws]
        if any(draw is not None for _, draw in draws):
            self._see_drawn(record, stratum, draws)
        else:
            self._ledger.leave_out()

    def _see_drawn(self, record: TraceRecord, stratum: int, draws: list[tuple[tuple[str, ...], Draw | None]]) -> None:
        drawn = _Drawn(stratum, {})
        left: dict[str, Ended | None] = {}
        for names, draw in draws:
            drawn.weights.update(dict.fromkeys(names, 1.0 if draw is None else 1 / draw.probability))
            if draw is None or draw.throttled:
                left.update(dict.fromkeys(names, _LEFT_OUT if draw is None else _CAP))
        ended: dict[str, Ended | None] = {**dict.fromkeys(self._ledger.metrics, _FAILED), **left}
        sample = draft = None
        try:
            draft = draft_of(record)
            ended = {**self._ends(draft), **left}
            asked = [name for name, how in ended.items() if how is None]
            sample = redacted(draft, record, self._redactor) if asked else None
        except Exception as error:  # noqa: BLE001 - the trace's record is counted all the same
            self._failed(error)
            ended = {name: how or _FAILED for name, how in ended.items()}
        service = label_text(record.service or UNKNOWN_SERVICE)  # as each job's sample has it
        # Before they are offered: a job may be finished before the next line.
        self._ledger.discover(service, drawn.weights, ended)
        if self._ended_at_once is not None:
            self._tell_ended(record, service, draft, drawn, ended)
        if sample is None:
            return
        size, taken = characters(sample), []
        for name, how in ended.items():
            if how is not None:
                continue
            job = _job(name, sample, drawn)
            if self._offer(job, size):
                taken.append(name)
            else:
                self._ledger.withdraw(job, EvaluationOutcome.THROTTLED, Reason.QUEUE_FULL)
                if self._ended_at_once is not None:
                    self._ended_at_once(job, Result(EvaluationOutcome.THROTTLED, Reason.QUEUE_FULL))
        if taken:
            drawn.metrics = tuple(taken)
            self._drawn[record.trace_id] = drawn
            if len(self._drawn) > self._remembered:
                self._drawn.popitem(last=False)

    def _tell_ended(
        self, record: TraceRecord, service: str, draft: Sample | None, drawn: _Drawn, ended: Mapping[str, Ended | None]
    ) -> None:
        """With ids alone; without a draft the judged span is not known. What this installation can't do is told of drawn traces, as
        all else is: of every trace it would be a flood.
        """
        assert self._ended_at_once is not None
        bare = Sample(record.trace_id, record.revision, service, record.end_ns)
        if draft is not None:
            response = draft.response_id and label_text(draft.response_id)  # as short and inert as a label
            bare = msgspec.structs.replace(
                bare, time_ns=draft.time_ns, span_id=draft.span_id, response_id=response or None
            )
        drawn.weights.update(dict.fromkeys(self._ledger.unsupported, min(drawn.weights.values(), default=1.0)))
        unsupported = {name: (EvaluationOutcome.UNSUPPORTED, why) for name, why in self._ledger.unsupported.items()}
        for name, how in {**ended, **unsupported}.items():
            if how is not None and how != _LEFT_OUT:
                self._ended_at_once(_job(name, bare, drawn), Result(*how))

    def _see_again(self, record: TraceRecord) -> None:
        """Offers what it is now to each metric that was asked and can still be."""
        drawn = self._drawn[record.trace_id]
        drawn.revisions += 1
        if drawn.revisions > MOST_REVISIONS:
            return
        try:
            draft = draft_of(record)
            ended = self._ends(draft)
            asked = [name for name in drawn.metrics if ended[name] is None]
            sample = redacted(draft, record, self._redactor)
        except Exception as error:  # noqa: BLE001 - as above; the first reading's sample stands
            self._failed(error)
            return
        for name in asked:
            self._revise(_job(name, sample, drawn))

    def _ends(self, draft: Sample) -> dict[str, Ended | None]:
        """How it ends at once by each metric, in the ledger's order; None where it is to be judged."""
        ends: dict[str, Ended | None] = dict.fromkeys(self._ledger.metrics)
        for metrics in self._alike:
            found = eligible(metrics[0], draft, self._topics)
            if found is not None:
                ends.update(dict.fromkeys((metric.name for metric in metrics), (found.outcome, found.reason)))
        return ends

    def _failed(self, error: Exception) -> None:
        place = place_of(error)
        if place not in self._said:
            self._said.add(place)
            logger.error(
                "a sample could not be made: %s (further ones are only counted)", place, extra={"fault": place}
            )


def _alike(metrics: Iterable[Metric]) -> list[list[Metric]]:
    """Metrics by what decides whether they can be asked: offline ones all need the same."""
    found: dict[object, list[Metric]] = {}
    for metric in metrics:
        found.setdefault((metric.needs, metric.ignores_abstentions), []).append(metric)
    return list(found.values())


def _job(metric: str, sample: Sample, drawn: _Drawn) -> Job:
    return Job(metric, sample, drawn.weights[metric], stratum_name(drawn.stratum), priority_of(drawn.stratum))
