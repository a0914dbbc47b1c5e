"""An evaluator's artifact of a whole conversation, compared with the traces of its turns.

A turn is known by the person's messages that it answers. An artifact that tells of questions that no known trace has can't be
judged yet; a trace whose questions it does not tell came after it was made. Neither is a difference.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.artifact_messages import Artifact
from lanewatch.adapters.records import TraceRecord
from lanewatch.monitors.artifact_divergence import NEEDED, compare_calls
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome, Compared, verdict_of
from lanewatch.monitors.divergence import Divergence
from lanewatch.monitors.expected_calls import ExpectedCall, expected_calls
from lanewatch.monitors.tools import UNREGISTERED, Registry


def compare_session(
    records: Iterable[TraceRecord], artifact: Artifact, registry: Registry = UNREGISTERED
) -> dict[str, Compared] | None:
    """What is found, by trace id; None where the artifact tells of questions that no record has."""
    turns = _told_turns(records, artifact)
    if turns is None:
        return None
    weak = [f"{kind}_{record.evidence[kind]}" for record in turns for kind in NEEDED if not record.shows(kind)]
    if weak:
        reason = ", ".join(dict.fromkeys(weak))
        one = Compared(artifact.producer, ArtifactOutcome.INCOMPLETE, (), reason, artifact.owner)
        return {record.trace_id: one for record in turns}
    expected = _joined(turns)
    spans = frozenset(span for record in turns for d in record.dispatches for span in (d.span_id, *d.span_ids))
    found = compare_calls(expected, artifact, spans, registry)
    return {
        record.trace_id: _part(found, [one for one in found.divergences if _home(one, turns) is record])
        for record in turns
    }


def _told_turns(records: Iterable[TraceRecord], artifact: Artifact) -> list[TraceRecord] | None:
    """The records whose questions the artifact tells, in order; None unless they are all its questions."""
    asked = [message["content"] for message in artifact.messages if message["type"] == "human"]
    turns: list[TraceRecord] = []
    place = 0
    for record in sorted(records, key=lambda one: (one.start_ns, one.trace_id)):
        own = _questions(record.messages)
        if own and asked[place : place + len(own)] == own:
            turns.append(record)
            place += len(own)
    return turns if turns and place == len(asked) else None


def _questions(messages: Iterable[dict[str, Any]]) -> list[str]:
    return [message["content"] for message in messages if message["type"] == "human"]


def _joined(turns: list[TraceRecord]) -> tuple[ExpectedCall, ...]:
    """The calls of several traces as one conversation's: places and rounds go on from turn to turn."""
    joined: list[ExpectedCall] = []
    places = rounds = 0
    for record in turns:
        for call in expected_calls(record.requests, record.dispatches):
            place = None if call.place is None else call.place + places
            joined.append(replace(call, place=place, round=None if call.round is None else call.round + rounds))
        places += len(record.requests)
        rounds += len(record.generations)
    return tuple(joined)


def _home(one: Divergence, turns: list[TraceRecord]) -> TraceRecord:
    """The trace where a difference belongs: the last one where it is of no span of theirs."""
    for record in turns:
        spans = {request.span_id for request in record.requests} | {d.span_id for d in record.dispatches}
        if one.span_id in spans:
            return record
    return turns[-1]


def _part(whole: Compared, divergences: list[Divergence]) -> Compared:
    return Compared(
        whole.producer,
        verdict_of(tuple(divergences), whole.doubts),
        tuple(divergences),
        whole.reason,
        whole.owner,
        whole.doubts,
    )
