"""A sample of an answer and its contexts, held against a support signal."""

from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.results import Result
from lanewatch.monitors.judge.samples import Sample
from lanewatch.monitors.judge.support.evaluator import support_of


def ask(metric: str, answer: str | None, *contexts: str, question: str | None = None) -> Result:
    """What the signal says of an answer."""
    return support_of(
        BY_NAME[metric], Sample("trace", 0, "shop", 0, question=question, answer=answer, contexts=contexts)
    )


def value(metric: str, answer: str, *contexts: str, question: str | None = None) -> float | None:
    """Its value; None where it has none."""
    return ask(metric, answer, *contexts, question=question).value
