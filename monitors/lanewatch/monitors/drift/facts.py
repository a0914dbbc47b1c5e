"""What the signals read of one trace, worked out once: the question, the answer, the documents, and what is missing."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from lanewatch.adapters.records import Disposition, Document, Evidence, TraceRecord
from lanewatch.monitors.divergence import Divergence


class Verdict(StrEnum):
    """What was told of an answer. Where no answer was seen, there is none."""

    ANSWERED = "answered"  # neither a refusal nor an abstention was told
    REFUSED = "refused"
    ABSTAINED = "abstained"  # "I can't find that in the documents": an answer of the retrieval lane


class Facts(msgspec.Struct, frozen=True):
    """A trace as the signals see it. Text is read and let go; vectors likewise."""

    record: TraceRecord
    divergences: tuple[Divergence, ...] = ()
    question: str | None = None
    answer: str | None = None
    documents: tuple[Document, ...] = ()
    verdict: Verdict | None = None
    embedding: Sequence[float] | None = None  # of the question, where the trace carries one
    violation: bool | None = None  # whether a call broke its tool's schema; None: as the record's outcomes tell
    complete: frozenset[str] = frozenset()  # kinds of record that the trace shows all of


def facts(
    record: TraceRecord,
    divergences: tuple[Divergence, ...] = (),
    *,
    verdict: Verdict | None = None,
    embedding: Sequence[float] | None = None,
    violation: bool | None = None,
) -> Facts:
    """The facts of a record. `verdict` is what a finer judge of refusals says; without it, the record's own flag."""
    documents = tuple(document for retrieval in record.retrievals for document in retrieval.documents)
    answer = next((response.text for response in reversed(record.responses) if response.text), None)
    return Facts(
        record,
        divergences,
        _question(record),
        answer,
        documents,
        verdict or _verdict(record),
        embedding,
        violation,
        frozenset(kind for kind, state in record.evidence.items() if state is Evidence.COMPLETE),
    )


def _question(record: TraceRecord) -> str | None:
    """The last thing a person said; else what was searched for."""
    for message in reversed(record.messages):
        if message.get("type") == "human":
            content = message.get("content")
            return content if isinstance(content, str) and content else None
    return next((retrieval.query for retrieval in record.retrievals if retrieval.query), None)


def _verdict(record: TraceRecord) -> Verdict | None:
    """What was told of the answers. An undetermined one counts as an answer that tells neither: the share of refusals
    among the determined ones alone would be near 1 wherever refusals are told and plain answers are not.
    """
    if record.told(Disposition.REFUSED):
        return Verdict.REFUSED
    abstained = record.told(Disposition.ABSTAINED)
    if abstained is None:
        return None
    return Verdict.ABSTAINED if abstained else Verdict.ANSWERED
