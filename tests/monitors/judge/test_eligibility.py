"""What a metric may be asked: what is not there is not applicable, and what was not seen is unscored."""

from typing import Any

import msgspec
import pytest
from lanewatch.adapters.records import RECORD_KINDS, Disposition, Evidence
from lanewatch.monitors.judge.eligibility import MOST_CHARACTERS, eligible
from lanewatch.monitors.judge.metrics import BY_NAME, METRICS, Metric, Needs
from lanewatch.monitors.judge.sample import draft_of
from lanewatch.monitors.judge.samples import Sample

from tests.monitors.records import record

WHOLE = Sample(
    "t", 0, "shop", 0, question="Which?", answer="This.", contexts=("This one.",), span_id="a",
    messages=({"type": "human", "content": "Which?"}, {"type": "ai", "content": "This.", "tool_calls": None}),
    evidence=dict.fromkeys(RECORD_KINDS, Evidence.COMPLETE),
)  # fmt: skip
FAITHFULNESS, RELEVANCE, GOAL = (BY_NAME[name] for name in ("faithfulness", "context_relevance", "agent_goal_accuracy"))


def verdict(metric: Metric, topics: tuple[str, ...] = ("billing",), **changed: Any) -> tuple[str, str] | None:
    """Outcome and reason of the whole sample with something changed."""
    found = eligible(metric, msgspec.structs.replace(WHOLE, **changed), topics)
    return None if found is None else (found.outcome.value, found.reason.value)


def evidence(**states: Evidence) -> dict[str, Evidence]:
    """Complete evidence but for these."""
    return {**dict.fromkeys(RECORD_KINDS, Evidence.COMPLETE), **states}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_whole_sample_is_eligible_for_every_metric(metric: Metric) -> None:
    """Nothing is missing."""
    assert verdict(metric) is None


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("state", [Evidence.PARTIAL, Evidence.REDACTED, Evidence.TRUNCATED])
def test_what_was_not_seen_whole_is_never_taken_for_absent(metric: Metric, state: Evidence) -> None:
    """A part that is hidden may be what decides: unscored, with its reason."""
    nothing_seen = evidence(**dict.fromkeys(RECORD_KINDS, state))
    found = verdict(metric, evidence=nothing_seen, question=None, answer=None, contexts=())

    assert found == ("unscored", "incomplete_evidence")


def test_an_answer_without_its_question_is_incomplete() -> None:
    """A model that answered was asked something; no input was captured."""
    assert verdict(FAITHFULNESS, question=None) == ("unscored", "incomplete_evidence")
    assert verdict(RELEVANCE, question=None, answer=None) == ("not_applicable", "no_question")


def test_a_trace_that_retrieved_nothing_has_no_contexts() -> None:
    """Most traces: the metric does not ask of them."""
    absent = evidence(retrievals=Evidence.ABSENT)

    assert verdict(FAITHFULNESS, evidence=absent, contexts=()) == ("not_applicable", "no_contexts")
    assert verdict(FAITHFULNESS, contexts=()) == ("not_applicable", "no_contexts")


def test_a_trace_without_a_model_call_has_no_answer() -> None:
    """Nothing to judge, and nothing hidden."""
    absent = evidence(responses=Evidence.ABSENT, requests=Evidence.ABSENT)

    assert verdict(BY_NAME["number_support"], evidence=absent, answer=None) == ("not_applicable", "no_answer")
    assert verdict(GOAL, evidence=absent, messages=()) == ("not_applicable", "no_answer")


@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric.ignores_abstentions], ids=lambda m: m.name)
def test_refusals_and_abstentions_are_set_apart(metric: Metric) -> None:
    """Ragas would score an honest "the documents do not say" 0."""
    assert verdict(metric, disposition=Disposition.REFUSED, answer=None) == ("not_applicable", "refused")
    assert verdict(metric, disposition=Disposition.ABSTAINED) == ("not_applicable", "abstained")
    assert verdict(metric, disposition=Disposition.UNDETERMINED) is None


def test_what_was_retrieved_for_a_refusal_is_judged() -> None:
    """Another lane."""
    assert verdict(RELEVANCE, disposition=Disposition.REFUSED, answer=None) is None


def test_a_transcript_needs_what_came_of_its_calls() -> None:
    """A goal that was reached by a run that nobody saw can't be told from one that was missed."""
    called = (*WHOLE.messages, {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {}}]})
    unseen = evidence(dispatches=Evidence.PARTIAL)

    assert verdict(GOAL, messages=called, evidence=unseen) == ("unscored", "incomplete_evidence")
    assert verdict(GOAL, evidence=unseen) is None
    assert verdict(GOAL, messages=WHOLE.messages[1:]) == ("unscored", "incomplete_evidence")


def test_topics_are_asked_of_only_where_some_are_configured() -> None:
    """There is nothing to adhere to."""
    assert verdict(BY_NAME["topic_adherence"], topics=()) == ("not_applicable", "no_topics")


def test_what_is_too_long_is_not_cut() -> None:
    """A judge of a part would say something of the whole."""
    assert verdict(FAITHFULNESS, contexts=("x" * MOST_CHARACTERS,)) == ("unsupported", "too_long")


@pytest.mark.parametrize("needed", list(Needs))
def test_each_need_is_of_some_metric(needed: Needs) -> None:
    """A need that nobody has is not tested by any of these."""
    assert any(needed in metric.needs for metric in METRICS)


def test_a_record_of_nothing_is_not_scored() -> None:
    """By no metric."""
    empty = draft_of(record(generations=(), responses=(), evidence=dict.fromkeys(RECORD_KINDS, Evidence.ABSENT)))

    assert all(eligible(metric, empty, ("billing",)) is not None for metric in METRICS)
