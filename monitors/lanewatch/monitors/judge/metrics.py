"""The metrics that can be asked for: what each is of, what it needs, and who computes it.

One row a metric. A name is one evaluator's: an offline support signal is never in the series of a judge's score.
"""

from enum import StrEnum

import msgspec

from lanewatch.monitors.verdicts import Lane


class Needs(StrEnum):
    """A part of a sample without which the metric says nothing."""

    QUESTION = "question"
    ANSWER = "answer"
    CONTEXTS = "contexts"
    MESSAGES = "messages"
    TOPICS = "topics"  # configured ones


class Evaluator(StrEnum):
    """Who computes a metric; the label `evaluator` of `lanewatch_score`."""

    RAGAS = "ragas"
    SUPPORT = "support"  # deterministic, offline: named signals, no faithfulness
    EMBEDDING = "embedding"  # offline, by `lanewatch[local]`
    ENTAILMENT = "entailment"  # claims split, each held against the contexts by a model


class Metric(msgspec.Struct, frozen=True):
    """A row. `version` changes whenever the same input might score otherwise; so does a cached score's key.

    `ignores_abstentions`: an honest abstention or a refusal would score 0 by construction, and is set apart instead.
    """

    name: str
    lane: Lane
    evaluator: Evaluator
    needs: tuple[Needs, ...]
    version: str = "1"
    low: float = 0.0
    high: float = 1.0
    ignores_abstentions: bool = False
    paid: bool = True


_Q, _A, _C, _M, _T = Needs.QUESTION, Needs.ANSWER, Needs.CONTEXTS, Needs.MESSAGES, Needs.TOPICS
_RAGAS = Evaluator.RAGAS

METRICS: tuple[Metric, ...] = (
    Metric("context_relevance", Lane.RETRIEVAL, _RAGAS, (_Q, _C)),
    Metric("context_utilization", Lane.RETRIEVAL, _RAGAS, (_Q, _A, _C), ignores_abstentions=True),
    Metric("faithfulness", Lane.GENERATION, _RAGAS, (_Q, _A, _C), version="2", ignores_abstentions=True),
    Metric("response_groundedness", Lane.GENERATION, _RAGAS, (_A, _C), ignores_abstentions=True),
    Metric("answer_relevancy", Lane.GENERATION, _RAGAS, (_Q, _A), version="2", ignores_abstentions=True),
    Metric("quoted_spans_alignment", Lane.GENERATION, _RAGAS, (_A, _C), paid=False),
    Metric("topic_adherence", Lane.GENERATION, _RAGAS, (_M, _T), version="2"),
    Metric("agent_goal_accuracy", Lane.OUTCOME, _RAGAS, (_M,)),
    Metric("entailment_support", Lane.GENERATION, Evaluator.ENTAILMENT, (_A, _C), ignores_abstentions=True),
    Metric("number_support", Lane.GENERATION, Evaluator.SUPPORT, (_A, _C), ignores_abstentions=True, paid=False),
    Metric("entity_support", Lane.GENERATION, Evaluator.SUPPORT, (_A, _C), ignores_abstentions=True, paid=False),
    Metric("quote_support", Lane.GENERATION, Evaluator.SUPPORT, (_A, _C), ignores_abstentions=True, paid=False),
    Metric("lexical_support", Lane.GENERATION, Evaluator.SUPPORT, (_A, _C), ignores_abstentions=True, paid=False),
    Metric("negation_agreement", Lane.GENERATION, Evaluator.SUPPORT, (_A, _C), ignores_abstentions=True, paid=False),
    Metric("embedding_support", Lane.GENERATION, Evaluator.EMBEDDING, (_A, _C), ignores_abstentions=True, paid=False),
)

BY_NAME = {metric.name: metric for metric in METRICS}
