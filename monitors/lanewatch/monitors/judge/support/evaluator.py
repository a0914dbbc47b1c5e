"""The offline judge: each support signal as an evaluator's metric, without a model, a key or a network.

What it returns is a function of the sample alone, so that the same trace has the same value everywhere and always; a change
of any rule here is a change of the metrics' versions.
"""

import asyncio
from collections.abc import Callable, Sequence

from lanewatch.adapters.records import Disposition
from lanewatch.monitors.judge.claims import Claim, claims
from lanewatch.monitors.judge.metrics import Metric
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result
from lanewatch.monitors.judge.samples import Sample
from lanewatch.monitors.judge.support.checked import Item, Unread, checked
from lanewatch.monitors.judge.support.entity import entity_items
from lanewatch.monitors.judge.support.lexical import lexical_items
from lanewatch.monitors.judge.support.negation import negation_items
from lanewatch.monitors.judge.support.number import number_items
from lanewatch.monitors.judge.support.quote import quote_items

MAX_ANSWER = 50_000  # characters; beyond it what can be said is about a part, and no share of the whole
MAX_CONTEXTS = 200_000  # of all contexts together

Finds = Callable[[str, Sequence[str], str | None, Sequence[Claim]], list[Item]]

# (finds what can be checked, why there is no value where nothing was found, whether it is advice)
SIGNALS: dict[str, tuple[Finds, Reason, bool]] = {
    "number_support": (number_items, Reason.NO_CLAIMS, False),
    "entity_support": (entity_items, Reason.NO_CLAIMS, False),
    "quote_support": (quote_items, Reason.NO_QUOTES, False),
    "lexical_support": (lexical_items, Reason.NO_CLAIMS, True),
    "negation_agreement": (negation_items, Reason.NO_CLAIMS, True),
}


class SupportEvaluator:
    """`Evaluates` for the metrics of SIGNALS. Free, and done in milliseconds."""

    async def evaluate(self, metric: Metric, sample: Sample) -> Result:
        """The share of what the signal could check that some context supports; see `support_of`."""
        # The longest sample takes a second or two, which is no time to leave calls under way alone.
        return await asyncio.to_thread(support_of, metric, sample)


def support_of(metric: Metric, sample: Sample) -> Result:
    """One signal of one sample. Raises KeyError for a metric that is none of SIGNALS."""
    find, nothing, advice = SIGNALS[metric.name]
    return signal_of(find, nothing, metric, sample, advice=advice)


def signal_of(find: Finds, nothing: Reason, metric: Metric, sample: Sample, *, advice: bool = False) -> Result:
    """What `find` finds in a sample, as a result: the share that is supported, or why there is none."""
    contexts = [context for context in sample.contexts if context.strip()]
    answer = sample.answer or ""
    why = _not_applicable(metric, sample, answer, contexts)
    if why is not None:
        return Result(EvaluationOutcome.NOT_APPLICABLE, why)
    if len(answer) > MAX_ANSWER or sum(map(len, contexts)) > MAX_CONTEXTS:
        return Result(EvaluationOutcome.UNSUPPORTED, Reason.TOO_LONG)
    told = claims(answer)
    try:
        items = find(answer, contexts, sample.question, told)
    except Unread:
        return Result(EvaluationOutcome.UNSUPPORTED, Reason.LANGUAGE)
    return checked(items, told, nothing, advice=advice)


def _not_applicable(metric: Metric, sample: Sample, answer: str, contexts: Sequence[str]) -> Reason | None:
    if not answer.strip():
        return Reason.NO_ANSWER
    if not contexts:
        return Reason.NO_CONTEXTS
    if metric.ignores_abstentions and sample.disposition is Disposition.ABSTAINED:
        return Reason.ABSTAINED
    if metric.ignores_abstentions and sample.disposition is Disposition.REFUSED:
        return Reason.REFUSED
    return None
