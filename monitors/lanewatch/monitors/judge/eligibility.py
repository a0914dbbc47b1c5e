"""Whether a metric can say anything of a sample: what it asks for must be there, and must have been seen whole.

What is proved not to be there is not applicable; what may be there and was not seen is incomplete evidence, which is
unscored. An answer that abstains is set apart where a metric would score it 0 by construction.
"""

from collections.abc import Sequence

from lanewatch.adapters.records import Disposition, Evidence
from lanewatch.monitors.judge.metrics import Metric, Needs
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result, unscored
from lanewatch.monitors.judge.sample import characters
from lanewatch.monitors.judge.samples import Sample

# About 32,000 tokens: a judge's attention and a usual window; redacting it takes 30 ms on the reading thread.
MOST_CHARACTERS = 128 * 1024

_APART = {Disposition.REFUSED: Reason.REFUSED, Disposition.ABSTAINED: Reason.ABSTAINED}
_INCOMPLETE = unscored(Reason.INCOMPLETE_EVIDENCE)


def eligible(metric: Metric, sample: Sample, topics: Sequence[str] = ()) -> Result | None:
    """None where the metric may be asked of this sample; else how its evaluation ends. `topics` are the configured
    ones, which a sample's own come before.
    """
    if metric.ignores_abstentions and sample.disposition in _APART:
        return _not_applicable(_APART[sample.disposition])
    for needed in metric.needs:
        found = _CHECKS[needed](sample) if needed is not Needs.TOPICS else _topics((*sample.topics, *topics))
        if found is not None:
            return found
    if characters(sample) > MOST_CHARACTERS:
        return Result(EvaluationOutcome.UNSUPPORTED, Reason.TOO_LONG)
    return None


def _answer(sample: Sample) -> Result | None:
    evidence = sample.evidence["responses"]
    if evidence is Evidence.ABSENT:
        return _not_applicable(Reason.NO_ANSWER)
    if evidence is not Evidence.COMPLETE:
        return _INCOMPLETE
    return _not_applicable(Reason.NO_ANSWER) if sample.answer is None else None


def _contexts(sample: Sample) -> Result | None:
    evidence = sample.evidence["retrievals"]
    if evidence is Evidence.ABSENT:
        return _not_applicable(Reason.NO_CONTEXTS)
    if evidence is not Evidence.COMPLETE:
        return _INCOMPLETE
    return None if sample.contexts else _not_applicable(Reason.NO_CONTEXTS)


def _question(sample: Sample) -> Result | None:
    """No evidence tells of questions by themselves. A model that has answered was asked something, seen or not."""
    if sample.question is not None:
        return None
    answered = sample.answer is not None or sample.evidence["responses"] not in (Evidence.COMPLETE, Evidence.ABSENT)
    return _INCOMPLETE if answered else _not_applicable(Reason.NO_QUESTION)


def _messages(sample: Sample) -> Result | None:
    """A transcript: what was asked, each call and what came of it, and the answer."""
    evidence = sample.evidence
    if evidence["requests"] is Evidence.ABSENT and evidence["responses"] is Evidence.ABSENT:
        return _not_applicable(Reason.NO_ANSWER)
    calls = any(message.get("tool_calls") for message in sample.messages)
    kinds = ("requests", "responses", "dispatches") if calls else ("requests", "responses")
    if any(evidence[kind] is not Evidence.COMPLETE for kind in kinds):
        return _INCOMPLETE
    said = {message.get("type") for message in sample.messages}
    if "ai" not in said:
        return _not_applicable(Reason.NO_ANSWER)
    return None if "human" in said else _INCOMPLETE


def _topics(topics: Sequence[str]) -> Result | None:
    return None if topics else _not_applicable(Reason.NO_TOPICS)


def _not_applicable(reason: Reason) -> Result:
    return Result(EvaluationOutcome.NOT_APPLICABLE, reason)


_CHECKS = {
    Needs.QUESTION: _question,
    Needs.ANSWER: _answer,
    Needs.CONTEXTS: _contexts,
    Needs.MESSAGES: _messages,
}
