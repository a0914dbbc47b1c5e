"""The desk: each trace that was discovered ends once by each metric, or waits; and is drawn once."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanewatch.adapters.records import Evidence
from lanewatch.monitors.judge.desk import MOST_REVISIONS, JudgeDesk
from lanewatch.monitors.judge.ledger import Ledger
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result, unscored
from lanewatch.monitors.judge.samples import Job
from lanewatch.monitors.judge.sampling import Sampler, randomness
from lanewatch.monitors.judge.settings import Rates
from lanewatch.monitors.redaction.redactor import Redactor
from lanewatch.monitors.tools import UNREGISTERED
from msgspec.structs import replace

from tests.monitors.judge.seen import SeenTrace, rag
from tests.monitors.records import answer, generation

METRICS = ("context_relevance", "faithfulness", "number_support")
SCORED = Result(EvaluationOutcome.SCORED, value=0.5)
LEFT_OUT = next(n for n in range(1000) if randomness(f"{n:032x}") > 0.9)


class Bench:
    """A desk, the queue that it offers to, and its clock."""

    def __init__(self, rates: Rates | None = None, room: int = 10**6, **more: Any) -> None:
        self.now = 0.0
        self.room = room
        self.jobs: list[Job] = []
        self.revised: list[Job] = []
        self.ledger = Ledger(METRICS, more.pop("unsupported", None))
        sampler = Sampler(rates or Rates(1.0), lambda: self.now)
        pace = more.pop("pace", None)
        if pace is not None:
            more["slower"] = Sampler(rates or Rates(1.0), lambda: self.now, pace=lambda: pace)
        self.desk = JudgeDesk(
            self.ledger, sampler, Redactor(), UNREGISTERED, self._offer, revise=self.revised.append, **more
        )

    def _offer(self, job: Job, _size: int) -> bool:
        if len(self.jobs) >= self.room:
            return False
        self.jobs.append(job)
        return True

    def ended(self, metric: str = "faithfulness") -> dict[tuple[str, str], int]:
        """Outcomes of a metric, by outcome and reason."""
        found = self.ledger.evaluations()[metric].ended
        return {(outcome.value, reason.value): n for (outcome, reason), n in found.items() if n}

    def adds_up(self) -> bool:
        """Whether nothing was lost or counted twice."""
        counted = self.ledger.evaluations().values()
        return all(one.discovered == sum(one.ended.values()) + one.pending and one.pending >= 0 for one in counted)


def test_a_drawn_trace_is_offered_to_each_metric_that_may_be_asked() -> None:
    """With one sample, one weight and its stratum."""
    bench = Bench(Rates(0.25, failing_rate=0))
    bench.desk.see(rag(next(n for n in range(100) if randomness(f"{n:032x}") < 0.25)))

    assert [job.metric for job in bench.jobs] == list(METRICS)
    assert {job.weight for job in bench.jobs} == {4.0}
    assert {job.stratum for job in bench.jobs} == {"complete/none/ok"}
    assert bench.ledger.evaluations()["faithfulness"].pending == 1


def test_what_is_not_drawn_is_counted_and_not_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything made of it: nine in ten traces cost a hash."""
    bench = Bench(Rates(0.5))
    monkeypatch.setattr("lanewatch.monitors.judge.desk.draft_of", lambda _: pytest.fail("a draft was made"))
    bench.desk.see(rag(LEFT_OUT))

    assert bench.ended() == {("not_sampled", "rate"): 1}
    assert bench.jobs == []


def test_what_no_metric_may_be_asked_is_not_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Redacting takes longest of all."""
    bench = Bench()
    monkeypatch.setattr("lanewatch.monitors.judge.desk.redacted", lambda *_: pytest.fail("it was redacted"))
    bench.desk.see(rag(retrievals=(), responses=()))

    assert bench.ended() == {("not_applicable", "no_answer"): 1}
    assert bench.adds_up()


def test_each_metric_has_its_own_reason() -> None:
    """What one can't be asked, another can."""
    bench = Bench()
    bench.desk.see(rag(responses=(answer(refusal=True),)))

    assert bench.ended("faithfulness") == {("not_applicable", "refused"): 1}
    assert [job.metric for job in bench.jobs] == ["context_relevance"]


def test_what_ends_at_once_is_told_without_content() -> None:
    """Whoever is shown scores is shown why there is none, too; as often as it is counted, and nothing of the draw."""
    told: list[tuple[Job, Result]] = []
    bench = Bench(Rates(0.5), room=1, ended=lambda job, result: told.append((job, result)))
    first, second, *_ = (n for n in range(100) if randomness(f"{n:032x}") < 0.5)
    bench.desk.see(rag(LEFT_OUT))
    bench.desk.see(rag(first, responses=(answer(refusal=True),)))
    bench.desk.see(rag(second))
    counted = {(metric, *how): n for metric in METRICS for how, n in bench.ended(metric).items() if how[1] != "rate"}

    assert ("faithfulness", "not_applicable", "refused") in counted
    assert Counter((job.metric, result.outcome, result.reason) for job, result in told) == counted
    assert ("faithfulness", "throttled", "queue_full") in counted
    refused = [job for job, result in told if result.reason is Reason.REFUSED]
    assert {(job.weight, job.sample.trace_id) for job in refused} == {(1.0, f"{first:032x}")}
    assert all(job.sample.question is job.sample.answer is None and not job.sample.contexts for job in refused)


def test_what_ends_at_once_is_told_with_the_ids_of_the_answer() -> None:
    """Of span and response, so that a backend shows it there; as short and inert as a label, whatever was traced."""
    told: list[Job] = []
    bench = Bench(ended=lambda job, _: told.append(job))
    refused = replace(answer(refusal=True), span_id="s1")
    bench.desk.see(rag(responses=(refused,), generations=(generation(span_id="s1", response_id="resp\n1"),)))

    assert {(job.metric, job.sample.span_id, job.sample.response_id) for job in told} == {
        (name, "s1", "resp\\n1") for name in ("faithfulness", "number_support")
    }


def test_what_a_cap_left_and_what_can_not_be_had_is_told_of_drawn_traces() -> None:
    """Each with its reason, on the judged span; of what the draw left out there is no event, or it would be a flood."""
    told: list[tuple[str, str, str]] = []
    bench = Bench(
        Rates(1.0, per_minute=1),
        unsupported={"answer_relevancy": Reason.NO_ENDPOINT},
        ended=lambda job, result: told.append((job.metric, result.reason, job.sample.trace_id)),
    )
    for number in range(3000):
        bench.desk.see(rag(number))
    capped = [trace for metric, reason, trace in told if (metric, reason) == ("faithfulness", "cap")]
    unsupported = [trace for metric, reason, trace in told if (metric, reason) == ("answer_relevancy", "no_endpoint")]

    assert len(capped) == bench.ended()["throttled", "cap"] > 0
    assert len(unsupported) == len(capped) + len({job.sample.trace_id for job in bench.jobs})
    assert len({*told}) == len(told)


def test_a_full_queue_throttles() -> None:
    """Never silently."""
    bench = Bench(room=1)
    bench.desk.see(rag())

    assert bench.ended("faithfulness") == {("throttled", "queue_full"): 1}
    assert bench.adds_up()


def test_twice_the_cap_throttles() -> None:
    """Each metric counts it."""
    bench = Bench(Rates(1.0, per_minute=1))
    for number in range(3000):
        bench.desk.see(rag(number))

    assert bench.ended()["throttled", "cap"] > 0
    assert len(bench.jobs) <= 2 * len(METRICS)
    assert bench.adds_up()


def test_metrics_that_ask_a_model_are_asked_of_as_many_as_it_can_judge() -> None:
    """Of a part of the same traces, each with the weight of its own draw; the others go on, and nothing is told of the draw."""
    told: list[Job] = []
    bench = Bench(Rates(0.5, per_minute=1000), pace=10.0, ended=lambda job, _: told.append(job))
    for minute in range(3):
        bench.now = minute * 60.0
        for number in range(400):
            bench.desk.see(rag(minute * 400 + number))
    by: dict[str, dict[str, float]] = {}
    for job in bench.jobs:
        by.setdefault(job.metric, {})[job.sample.trace_id] = job.weight
    free, paid = by["number_support"], by["faithfulness"]

    assert set(paid) < set(free)
    assert len(paid) < 100
    assert len(free) > 400
    assert set(free.values()) == {2.0}
    assert 40 in {round(weight) for weight in paid.values()}
    assert bench.ended("faithfulness")["not_sampled", "rate"] == 1200 - len(paid)
    assert bench.adds_up()
    assert told == []


def test_a_later_reading_is_neither_discovered_nor_drawn_again() -> None:
    """Its sample is offered anew to what it was offered to, with the first reading's weight."""
    bench = Bench(Rates(0.5))
    for number in (LEFT_OUT, next(n for n in range(100) if randomness(f"{n:032x}") < 0.5)):
        bench.desk.see(rag(number))
        bench.desk.see(rag(number, again=True, revision=1, responses=(answer("Now 13."), answer("14."))))

    assert bench.ledger.evaluations()["faithfulness"].discovered == 2
    assert len(bench.jobs) == len(METRICS)
    assert [(job.sample.answer, job.sample.revision, job.weight) for job in bench.revised] == [("14.", 1, 2.0)] * 3


def test_a_later_reading_that_shows_less_revises_nothing() -> None:
    """A metric that may no longer be asked keeps what it was given."""
    bench = Bench()
    bench.desk.see(rag())
    bench.desk.see(rag(again=True, evidence={"responses": Evidence.TRUNCATED}))

    assert [job.metric for job in bench.revised] == ["context_relevance"]


def test_a_trace_without_an_end_is_revised_a_few_times() -> None:
    """Each redacts anew on the reading thread."""
    bench = Bench()
    bench.desk.see(rag())
    for revision in range(50):
        bench.desk.see(rag(again=True, revision=revision))

    assert len(bench.revised) == MOST_REVISIONS * len(METRICS)


def test_what_is_remembered_of_drawn_traces_is_bounded() -> None:
    """The oldest are forgotten, and not revised."""
    bench = Bench(remembered=2)
    for number in range(3):
        bench.desk.see(rag(number))
    for number in range(3):
        bench.desk.see(rag(number, again=True))

    assert {job.sample.trace_id for job in bench.revised} == {f"{n:032x}" for n in (1, 2)}


def test_a_fault_is_counted_said_once_and_costs_no_other_trace(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With the place, and nothing of what was traced."""
    told: list[Job] = []
    bench = Bench(ended=lambda job, _: told.append(job))
    with monkeypatch.context() as broken:
        broken.setattr("lanewatch.monitors.judge.desk.draft_of", _fails)
        bench.desk.see(rag(1))
    with monkeypatch.context() as broken:
        broken.setattr("lanewatch.monitors.judge.desk.redacted", _fails)
        bench.desk.see(rag(2))
    bench.desk.see(rag(3))

    assert bench.ended() == {("unscored", "sample_failed"): 2}
    assert bench.adds_up()
    assert [record.getMessage() for record in caplog.records if "content" in record.getMessage()] == []
    assert len(caplog.records) == 1
    assert len(bench.jobs) == len(METRICS)
    assert Counter(job.sample.trace_id for job in told) == {f"{n:032x}": len(METRICS) for n in (1, 2)}


def _fails(*_: object) -> None:
    message = "traced content"
    raise ValueError(message)


def test_what_can_not_be_done_here_is_unsupported_for_every_trace() -> None:
    """It was asked for by name."""
    bench = Bench(Rates(0.5), unsupported={"answer_relevancy": Reason.NO_ENDPOINT})
    for number in range(20):
        bench.desk.see(rag(number))

    assert bench.ended("answer_relevancy") == {("unsupported", "no_endpoint"): 20}
    assert bench.adds_up()


TRACES: list[Callable[[int], SeenTrace]] = [
    rag,
    lambda n: rag(n, again=True),
    lambda n: rag(n, retrievals=()),
    lambda n: rag(n, responses=(answer(refusal=True),)),
    lambda n: rag(n, evidence={"retrievals": Evidence.REDACTED}),
]
ENDS = st.sampled_from([SCORED, unscored(Reason.TIMEOUT), Result(EvaluationOutcome.OVER_BUDGET, Reason.MONEY)])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("see"), st.sampled_from(TRACES), st.integers(0, 30)),
        st.tuples(st.just("finish"), ENDS, st.integers(0, 50)),
        st.tuples(st.just("resume"), st.sampled_from(METRICS), st.integers(0, 3)),
        st.tuples(st.just("wait"), st.none(), st.integers(1, 100)),
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([1, 3, 1000]), st.sampled_from([0, 5, 1000]))
def test_whatever_happens_the_counts_add_up(
    steps: list[tuple[str, Any, int]], rate: float, cap: int, room: int
) -> None:
    """Discovered = the sum of the outcomes + pending, after every step, and pending is what the queue holds."""
    bench = Bench(Rates(rate, per_minute=cap), room)
    waiting = dict.fromkeys(METRICS, 0)
    for kind, what, n in steps:
        if kind == "see":
            before = len(bench.jobs)
            bench.desk.see(what(n))
            for job in bench.jobs[before:]:
                waiting[job.metric] += 1
        elif kind == "finish" and bench.jobs:
            job = bench.jobs.pop(n % len(bench.jobs))
            bench.ledger.finish(job, what)
            waiting[job.metric] -= 1
        elif kind == "resume":
            bench.ledger.resume(what, "shop", 20.0, n)
            waiting[what] += n
        elif kind == "wait":
            bench.now += n

        assert bench.adds_up()
        assert {name: one.pending for name, one in bench.ledger.evaluations().items()} == waiting
