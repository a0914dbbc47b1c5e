"""The signals: what is read of each finished trace, one row each, each of one lane.

A reader gives None where the trace can't tell: what is not applicable or not recorded is no observation, and never 0. A
value that is there but no number (NaN) is an observation of its own. Only its bin is kept.
"""

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from lanewatch.adapters.records import Evidence, Executed, Outcome
from lanewatch.monitors.drift.facts import Facts, Verdict
from lanewatch.monitors.drift.text_features import TEXT_FEATURES
from lanewatch.monitors.lanes import Lane

MAX_PER_TRACE = 32  # tool calls of one trace that are counted
NANOSECONDS = 1e9


class Kind(StrEnum):
    """What a signal's values are, and so how they are binned and watched."""

    NUMERIC = "numeric"
    COUNT = "count"
    CATEGORY = "category"  # a reader gives several at once
    EVENT = "event"
    TEXT = "text"  # a number read off the question, with the reference's text model
    VECTOR = "vector"


class Signal(msgspec.Struct, frozen=True):
    """A row. `read` gives the value, or None for no observation; TEXT and VECTOR are read elsewhere."""

    name: str
    lane: Lane
    kind: Kind
    read: Callable[[Facts], Any]
    meaning: str
    needs: str | None = None  # the kind of record whose completeness it depends on
    sensitive: bool = False  # fitted in many dimensions: its reference counts sessions that were not fitted on


def query_length(facts: Facts) -> float | None:
    """Characters of the question."""
    return None if facts.question is None else len(facts.question)


def response_length(facts: Facts) -> float | None:
    """Characters of the answer."""
    return None if facts.answer is None or "responses" not in facts.complete else len(facts.answer)


def latency(facts: Facts) -> float | None:
    """Seconds from the first span's start to the last one's end."""
    record = facts.record
    return (record.end_ns - record.start_ns) / NANOSECONDS if record.end_ns >= record.start_ns else None


def contexts(facts: Facts) -> int | None:
    """Documents that were retrieved."""
    known = facts.record.retrievals and "retrievals" in facts.complete
    return len(facts.documents) if known else None


def retrieval_score_top1(facts: Facts) -> float | None:
    """The best score of the retrieved documents; the smallest where scores are distances."""
    return _of_scores(facts, lambda scores, distance: min(scores) if distance else max(scores))


def retrieval_score_mean(facts: Facts) -> float | None:
    """The mean score of the retrieved documents."""
    return _of_scores(facts, lambda scores, _: sum(scores) / len(scores))


def tools(facts: Facts) -> tuple[str, ...] | None:
    """The tools that the model asked for."""
    if "requests" not in facts.complete:
        return None
    return tuple(request.name for request in facts.record.requests[:MAX_PER_TRACE]) or None


def refusal(facts: Facts) -> bool | None:
    """Whether the model refused."""
    return None if facts.verdict is None else facts.verdict is Verdict.REFUSED


def abstention(facts: Facts) -> bool | None:
    """Whether the model said that the documents do not tell; observed where there were documents to look in."""
    if facts.verdict is None or not facts.record.retrievals:
        return None
    return facts.verdict is Verdict.ABSTAINED


def schema_violation(facts: Facts) -> bool | None:
    """Whether a call's arguments were refused, or were no JSON object."""
    record = facts.record
    if facts.violation is not None:
        return facts.violation
    if not record.requests or "requests" not in facts.complete:
        return None
    return any(
        request.outcome is Outcome.INVALID or (request.arguments is None and request.arguments_raw is not None)
        for request in record.requests
    )


def tool_error(facts: Facts) -> bool | None:
    """Whether a tool that ran ended with an error."""
    ran = [dispatch for dispatch in facts.record.dispatches if dispatch.executed is not Executed.NO]
    if not ran or "dispatches" not in facts.complete:
        return None
    return any(dispatch.error is not None for dispatch in ran)


def divergence(facts: Facts) -> bool | None:
    """Whether what ran, or what the evaluator was told, differs from what was asked for."""
    record = facts.record
    if not (record.requests or record.dispatches):
        return None
    known = "requests" in facts.complete and "dispatches" in facts.complete
    return bool(facts.divergences) if known else None


def empty_retrieval(facts: Facts) -> bool | None:
    """Whether a retrieval found nothing."""
    record = facts.record
    if not record.retrievals or "retrievals" not in facts.complete:
        return None
    return any(not retrieval.documents for retrieval in record.retrievals)


def tokens_input(facts: Facts) -> float | None:
    """Tokens that the models were given."""
    used = [generation.usage.input for generation in facts.record.generations]
    known = [count for count in used if count is not None]
    return sum(known) if known and len(known) == len(used) else None


def tokens_output(facts: Facts) -> float | None:
    """Tokens that the models wrote."""
    used = [generation.usage.output for generation in facts.record.generations]
    known = [count for count in used if count is not None]
    return sum(known) if known and len(known) == len(used) else None


def incomplete(kind: str) -> Callable[[Facts], bool | None]:
    """A reader of whether the trace hides a part of one kind of record."""

    def read(facts: Facts) -> bool | None:
        state = facts.record.evidence.get(kind)
        if state is None or not facts.record.generations:
            return None
        # Retrievals and runs that were never recorded may never have been.
        expected = kind in {"requests", "responses"} or (kind == "dispatches" and bool(facts.record.requests))
        return None if state is Evidence.ABSENT and not expected else state is not Evidence.COMPLETE

    read.__doc__ = f"Whether {kind} are missing, cut, hidden or in doubt."
    return read


def _row(read: Callable[[Facts], Any], lane: Lane, kind: Kind, needs: str | None = None, name: str = "") -> Signal:
    return Signal(name or read.__name__, lane, kind, read, (read.__doc__ or "").split("\n")[0], needs)


def _no_value(_: Facts) -> None:
    return None


SIGNALS: tuple[Signal, ...] = (
    _row(query_length, Lane.GENERATION, Kind.NUMERIC),
    _row(response_length, Lane.GENERATION, Kind.NUMERIC, "responses"),
    _row(tokens_input, Lane.GENERATION, Kind.NUMERIC),
    _row(tokens_output, Lane.GENERATION, Kind.NUMERIC),
    _row(latency, Lane.OUTCOME, Kind.NUMERIC),
    _row(refusal, Lane.OUTCOME, Kind.EVENT, "responses"),
    _row(contexts, Lane.RETRIEVAL, Kind.COUNT, "retrievals"),
    _row(retrieval_score_top1, Lane.RETRIEVAL, Kind.NUMERIC, "retrievals"),
    _row(retrieval_score_mean, Lane.RETRIEVAL, Kind.NUMERIC, "retrievals"),
    _row(empty_retrieval, Lane.RETRIEVAL, Kind.EVENT, "retrievals"),
    _row(abstention, Lane.RETRIEVAL, Kind.EVENT, "responses"),
    _row(tools, Lane.TOOLS, Kind.CATEGORY, "requests", "tool"),
    _row(schema_violation, Lane.TOOLS, Kind.EVENT, "requests"),
    _row(tool_error, Lane.TOOLS, Kind.EVENT, "dispatches"),
    _row(divergence, Lane.TOOLS, Kind.EVENT, "dispatches"),
    _row(incomplete("requests"), Lane.TOOLS, Kind.EVENT, name="incomplete_requests"),
    _row(incomplete("dispatches"), Lane.TOOLS, Kind.EVENT, name="incomplete_dispatches"),
    _row(incomplete("retrievals"), Lane.RETRIEVAL, Kind.EVENT, name="incomplete_retrievals"),
    _row(incomplete("responses"), Lane.GENERATION, Kind.EVENT, name="incomplete_responses"),
    *(
        Signal(f"query_text_{name}", Lane.GENERATION, Kind.TEXT, _no_value, meaning, None, fitted)
        for name, meaning, fitted in TEXT_FEATURES
    ),
    Signal(
        "query_text_ngrams",
        Lane.GENERATION,
        Kind.VECTOR,
        _no_value,
        "Hashed character n-grams of the question.",
        None,
        sensitive=True,
    ),
    Signal(
        "query_embedding",
        Lane.RETRIEVAL,
        Kind.VECTOR,
        _no_value,
        "The question's embedding, if the trace has one.",
        None,
        sensitive=True,
    ),
)

BY_NAME = {signal.name: signal for signal in SIGNALS}


def _of_scores(facts: Facts, of: Callable[[list[float], bool], float]) -> float | None:
    if "retrievals" not in facts.complete:
        return None
    scores = [float(document.score) for document in facts.documents if document.score is not None]
    if not scores:
        return None
    # A similarity and a distance have no common scale, nor a common best.
    kinds = {document.score_kind for document in facts.documents if document.score is not None}
    if len(kinds) > 1:
        return None
    # The sum of infinities may be NaN as well: only then are all looked at.
    if math.isnan(sum(scores)) and any(map(math.isnan, scores)):
        return math.nan
    return of(scores, kinds == {"distance"})
