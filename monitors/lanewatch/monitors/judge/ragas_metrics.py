"""The evaluator of Ragas' metrics: one sample by one metric, to a result. Nothing that Ragas swallows leaves as a number.

Invariants: a value is what Ragas computed from answers that were each validated; where any call of the sample failed, the sample
is unscored with that call's reason, though Ragas may have gone on without it; a score that depends on the order of the contexts is
`unstable`. `evaluate` raises for nothing that a sample or an endpoint can be.
"""

import logging
from typing import Any

from lanewatch.monitors.judge.asking import Asking, identity
from lanewatch.monitors.judge.endpoint import Endpoint
from lanewatch.monitors.judge.failures import JudgeFailure
from lanewatch.monitors.judge.fencing import VERSION
from lanewatch.monitors.judge.injection import flags_of
from lanewatch.monitors.judge.judged import failed, scored, unsupported
from lanewatch.monitors.judge.metrics import Metric, Needs
from lanewatch.monitors.judge.orders import agreed, orders_of
from lanewatch.monitors.judge.ragas_llm import Embeds, RagasJudge, ragas_collections, ragas_installed
from lanewatch.monitors.judge.ragas_recipes import RECIPES, STRICTNESS, Given, Recipe
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result
from lanewatch.monitors.judge.samples import Sample

_LOG = logging.getLogger("lanewatch.judge")
RAGAS_VERSION = "ragas-0.4.3"  # whose prompts these are; pinned by the extra
MOST_RATING = 2  # of the dual judges
MAX_CONTEXTS = 32  # of a metric that asks once for each
_MISSING = {
    Needs.QUESTION: Reason.NO_QUESTION,
    Needs.ANSWER: Reason.NO_ANSWER,
    Needs.CONTEXTS: Reason.NO_CONTEXTS,
    Needs.MESSAGES: Reason.NO_ANSWER,
    Needs.TOPICS: Reason.NO_TOPICS,
}


class RagasEvaluator:
    """An `Evaluates` for every row of `metrics` whose evaluator is Ragas.

    `endpoint` None: only what asks nobody. `embeds` None: no answer relevancy. `orders` 1 asks each sample in the recorded order only,
    at about two thirds of the price.
    """

    def __init__(
        self,
        endpoint: Endpoint | None,
        *,
        embeds: Embeds | None = None,
        topics: tuple[str, ...] = (),
        orders: int = 2,
    ) -> None:
        self._endpoint = endpoint
        self._embeds = embeds
        self._topics = topics
        self._orders = orders

    def unable(self, metric: Metric) -> Reason | None:
        """Why this installation can't compute a metric at all; None where it can. Imports nothing."""
        if not ragas_installed():
            return Reason.NOT_INSTALLED
        if metric.paid and self._endpoint is None:
            return Reason.NO_ENDPOINT
        if RECIPES[metric.name].embeds and self._embeds is None:
            return Reason.NOT_INSTALLED
        return None

    @property
    def prompt_version(self) -> str:
        """Changes whenever a prompt may: a part of the key under which scores are kept, as each metric's own version is."""
        return f"fence-{VERSION}/orders-{self._orders}/strictness-{STRICTNESS}"

    async def evaluate(self, metric: Metric, sample: Sample) -> Result:
        """The result of one sample by one metric."""
        reason = self.unable(metric)
        if reason is not None:
            return unsupported(reason)
        recipe = RECIPES[metric.name]
        contexts = tuple(context for context in sample.contexts if context.strip())
        missing = self._missing(metric, sample, contexts)
        if missing is not None:
            return Result(EvaluationOutcome.NOT_APPLICABLE, missing)
        if recipe.one_call_a_context and len(contexts) > MAX_CONTEXTS:
            return unsupported(Reason.TOO_LONG)
        ragas_collections()
        asking = None
        if metric.paid and self._endpoint is not None:
            asking = Asking(self._endpoint, metric.name, identity(sample))
        return await self._judged(recipe, metric, sample, contexts, asking)

    def _missing(self, metric: Metric, sample: Sample, contexts: tuple[str, ...]) -> Reason | None:
        """What a metric can't do without; eligibility has looked before, and others may call."""
        there = {
            Needs.QUESTION: (sample.question or "").strip(),
            Needs.ANSWER: (sample.answer or "").strip(),
            Needs.CONTEXTS: contexts,
            Needs.MESSAGES: sample.messages,
            Needs.TOPICS: sample.topics or self._topics,
        }
        return next((_MISSING[needed] for needed in metric.needs if not there[needed]), None)

    async def _judged(
        self, recipe: Recipe, metric: Metric, sample: Sample, contexts: tuple[str, ...], asking: Asking | None
    ) -> Result:
        flags, judge, values = flags_of(sample), RagasJudge(asking), []
        orders = orders_of(contexts, sample.trace_id, self._orders if recipe.balanced else 1)
        try:
            for order in orders:
                judge.new_pass()
                values.append(
                    await recipe.run(judge, Given(sample, order, sample.topics or self._topics, self._embeds))
                )
                if judge.error is not None:
                    raise judge.error  # noqa: TRY301 - swallowed on its way here
        except JudgeFailure as failure:
            return failed(asking, flags, failure)
        except Exception as error:
            if judge.error is not None and not isinstance(judge.error, JudgeFailure):
                raise  # of the journal or the purse: the worker's own
            _LOG.warning("%s could not be computed: %s", metric.name, type(error).__name__)
            return failed(asking, flags, JudgeFailure(Reason.WORKER_FAILED))
        value = agreed(values)
        if value is None:
            return failed(asking, flags, JudgeFailure(Reason.UNSTABLE))
        return scored(asking, flags, metric, value, explanation(judge.answers))


def explanation(answers: list[Any]) -> str:
    """What the judge gave as reasons, a line each; made of traced content."""
    lines = []
    for answer in answers:
        for one in [answer, *(getattr(answer, "statements", None) or ())]:
            reason, statement = getattr(one, "reason", None), getattr(one, "statement", "")
            if reason:
                lines.append(f"{getattr(one, 'verdict', '')} {statement}: {reason}" if statement else str(reason))
        if getattr(answer, "question", None):  # of answer relevancy, which is how near it is to the one that was asked
            lines.append(f"answers: {answer.question}")
        if getattr(answer, "rating", None) is not None:
            lines.append(f"rating: {answer.rating} of {MOST_RATING}")
        if getattr(answer, "topics", None):
            lines.append(f"topics: {', '.join(map(str, answer.topics))}")
        if getattr(answer, "user_goal", None):
            lines.append(f"goal: {answer.user_goal}; reached: {answer.end_state}")
    return "\n".join(lines)
