"""How each of Ragas' metrics is run: with which inputs, in which orders of the contexts, and when its number is none.

Ragas' metrics give a number for whatever they are given. Where that number is no judgement (nothing to judge was found, the answer
evades, every topic off the list was refused) the recipe says so by `JudgeFailure`.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from lanewatch.adapters.ragas_messages import to_ragas
from lanewatch.monitors.judge.judged import not_applicable
from lanewatch.monitors.judge.ragas_llm import (
    Embeds,
    RagasJudge,
    embeddings_of,
    llm_of,
    ragas_collections,
)
from lanewatch.monitors.judge.results import Reason
from lanewatch.monitors.judge.samples import Sample

# One question for each answer. Ragas' default of 3 sends the same prompt three times, and at a temperature of 0.01 gets one
# question three times: thrice the price of the same number.
STRICTNESS = 1
_SWALLOWED_AT_ONCE = 1  # the dual judges' tries: 0 would ask nothing, more would ask again what has failed for good
# Ragas takes the apostrophes of "it's" and "don't" for the quotes around what is between them.
_APOSTROPHE = re.compile(r"(?<=\w)['\u2019](?=\w)")
_LETTER_APOSTROPHE = "\u02bc"


class Given(msgspec.Struct, frozen=True):
    """What a recipe is given: a sample with one order of its contexts that are not blank."""

    sample: Sample
    contexts: tuple[str, ...]
    topics: tuple[str, ...] = ()
    embeds: Embeds | None = None


class Recipe(msgspec.Struct, frozen=True):
    """How a metric is run. `balanced`: its contexts stand in one prompt, so that their order may decide."""

    run: Callable[[RagasJudge, Given], Awaitable[float]]
    balanced: bool = False
    embeds: bool = False
    one_call_a_context: bool = False


async def _value(result: Awaitable[Any]) -> float:
    return float((await result).value)


async def _faithfulness(judge: RagasJudge, given: Given) -> float:
    metric = ragas_collections().Faithfulness(llm=llm_of(judge))
    sample = given.sample
    value = await _value(
        metric.ascore(user_input=sample.question, response=sample.answer, retrieved_contexts=list(given.contexts))
    )
    if not judge.answers[0].statements:
        raise not_applicable(Reason.NO_CLAIMS)
    return value


async def _groundedness(judge: RagasJudge, given: Given) -> float:
    metric = ragas_collections().ResponseGroundedness(llm=llm_of(judge), max_retries=_SWALLOWED_AT_ONCE)
    return await _value(metric.ascore(response=given.sample.answer, retrieved_contexts=list(given.contexts)))


async def _context_relevance(judge: RagasJudge, given: Given) -> float:
    """Ragas gives 0 unasked where the contexts are a part of the question. That is no judge's, and so is no score."""
    joined, question = "\n".join(given.contexts).strip(), (given.sample.question or "").strip()
    if joined in question:
        raise not_applicable(Reason.NO_CONTEXTS)
    metric = ragas_collections().ContextRelevance(llm=llm_of(judge), max_retries=_SWALLOWED_AT_ONCE)
    return await _value(metric.ascore(user_input=given.sample.question, retrieved_contexts=list(given.contexts)))


async def _context_utilization(judge: RagasJudge, given: Given) -> float:
    metric = ragas_collections().ContextUtilization(llm=llm_of(judge))
    sample = given.sample
    return await _value(
        metric.ascore(user_input=sample.question, response=sample.answer, retrieved_contexts=list(given.contexts))
    )


async def _answer_relevancy(judge: RagasJudge, given: Given) -> float:
    """A mean of cosines, of which a negative one is as little relevant as 0. Ragas' 0 for an evasion is none."""
    assert given.embeds is not None
    metric = ragas_collections().AnswerRelevancy(
        llm=llm_of(judge), embeddings=embeddings_of(judge, given.embeds), strictness=STRICTNESS
    )
    value = await _value(metric.ascore(user_input=given.sample.question, response=given.sample.answer))
    if all(answer.noncommittal for answer in judge.answers):
        raise not_applicable(Reason.ABSTAINED)
    return max(0.0, value) if value == value else value  # noqa: PLR0124 - NaN


async def _goal_accuracy(judge: RagasJudge, given: Given) -> float:
    metric = ragas_collections().AgentGoalAccuracyWithoutReference(llm=llm_of(judge))
    return await _value(metric.ascore(user_input=to_ragas(given.sample.messages)))


async def _topic_adherence(judge: RagasJudge, given: Given) -> float:
    """F1 of answering what is on the list. With every topic off the list and refused it is 0 / 0, which Ragas gives as 0."""
    metric = ragas_collections().TopicAdherence(llm=llm_of(judge), mode="f1")
    value = await _value(metric.ascore(user_input=to_ragas(given.sample.messages), reference_topics=list(given.topics)))
    if not judge.answers[0].topics:
        raise not_applicable(Reason.NO_TOPICS)
    refusals, listed = judge.answers[1:-1], judge.answers[-1].classifications
    if not any(listed) and all(one.refused_to_answer for one in refusals):
        raise not_applicable(Reason.REFUSED)
    return value


async def _quoted_spans(_: RagasJudge, given: Given) -> float:
    from ragas.metrics.collections.quoted_spans.util import extract_quoted_spans  # noqa: PLC0415

    metric = ragas_collections().QuotedSpansAlignment()
    answer = _APOSTROPHE.sub(_LETTER_APOSTROPHE, given.sample.answer or "")
    if not extract_quoted_spans(answer, min_len=metric.min_span_words):
        raise not_applicable(Reason.NO_QUOTES)
    contexts = [_APOSTROPHE.sub(_LETTER_APOSTROPHE, context) for context in given.contexts]
    return await _value(metric.ascore(response=answer, retrieved_contexts=contexts))


RECIPES: dict[str, Recipe] = {
    "faithfulness": Recipe(_faithfulness, balanced=True),
    "response_groundedness": Recipe(_groundedness, balanced=True),
    "context_relevance": Recipe(_context_relevance, balanced=True),
    "context_utilization": Recipe(_context_utilization, one_call_a_context=True),
    "answer_relevancy": Recipe(_answer_relevancy, embeds=True),
    "agent_goal_accuracy": Recipe(_goal_accuracy),
    "topic_adherence": Recipe(_topic_adherence),
    "quoted_spans_alignment": Recipe(_quoted_spans),
}
