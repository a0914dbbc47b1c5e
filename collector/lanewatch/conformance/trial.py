"""Any producer over the bundled recordings and the hand-made shapes: what it loses, and what it invents.

Recordings are OTLP of real stacks and go through the readers that live traffic goes through; each is compared where its
evidence is complete. Beyond the calls, a person's messages and the last answer are looked for as well: an evaluator
that is not given the question judges another conversation.
"""

import gzip
import io
import json
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec.structs import replace

from lanewatch.adapters.artifact_messages import OWN, Artifact
from lanewatch.adapters.chat import chat_messages
from lanewatch.adapters.producer_process import ProducerFailed, ProducerUnavailable
from lanewatch.adapters.producers import own_artifact
from lanewatch.adapters.records import TraceRecord
from lanewatch.config.keys import Config
from lanewatch.conformance.shape_spans import shape_spans
from lanewatch.conformance.shapes import SHAPES, Shape
from lanewatch.monitors.artifact_divergence import compare_artifact, compare_calls
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome, Compared
from lanewatch.monitors.divergence import Divergence, Kind
from lanewatch.monitors.expected_calls import ANY, ExpectedCall, expected_calls, told_call
from lanewatch.monitors.reference_calls import RagasToolScores
from lanewatch.replaying.playback import replay

RECORDINGS = "recordings.tar.gz"
MAX_BYTES = 64 * 2**20
HAND_MADE = "hand-made"
NOBODY = "(no call)"
OUT_OF_TIME = "the time for the whole trial was over"


class Producer(Protocol):
    """What makes artifacts; `ProducerProcess` is one."""

    def artifact(self, record: TraceRecord) -> Artifact:
        """The artifact of a recorded trace. Raises ProducerFailed."""

    def produce(self, chat: tuple[dict[str, Any], ...], record: dict[str, Any]) -> Artifact:
        """The artifact of chat messages. Raises ProducerFailed."""


class OwnProducer:
    """Lanewatch itself, which is given spans in place of messages, and reads them as it reads live traffic."""

    def __init__(self, config: Config) -> None:
        """`config` has the tools' rules."""
        self._config = config

    def artifact(self, record: TraceRecord) -> Artifact:
        """The artifact of a recorded trace."""
        return own_artifact(record)

    def produce(self, chat: tuple[dict[str, Any], ...], _record: dict[str, Any]) -> Artifact:
        """The artifact of the spans of an agent that said this."""
        with tempfile.TemporaryDirectory(prefix="lanewatch-") as folder:
            path = Path(folder) / "spans.json"
            path.write_text(json.dumps(shape_spans(chat)))
            (seen,) = replay(path, self._config).observations
        return own_artifact(seen.record)


class Ending(StrEnum):
    """How a producer did on one trace."""

    TRUE = "true"
    UNTRUE = "untrue"
    FAILED = "failed"
    INCOMPLETE = "incomplete"  # the recording does not show enough to judge by
    NOT_TRIED = "not_tried"  # time was over, or its process could not be started any more: nothing is known of it


class Finding(msgspec.Struct, frozen=True):
    """One trace of one recording. `details` are what was lost or invented, in words.

    `calls_differ`: the artifact's calls are others than ran; `scores` are then Ragas' tool metrics with what ran as the
    reference, None where that is not known whole.
    """

    convention: str
    shape: str
    ending: Ending
    details: tuple[str, ...] = ()
    scores: RagasToolScores | None = None
    calls_differ: bool = False


class Recording(msgspec.Struct, frozen=True):
    """One trace of a bundled recording."""

    convention: str
    shape: str
    record: TraceRecord


# Ragas' tool metrics of an artifact, with these calls (`name` and `args`) as the reference.
Score: TypeAlias = Callable[[Artifact, tuple[dict[str, Any], ...]], RagasToolScores | None]


def recordings(config: Config) -> Iterator[Recording]:
    """The records of all bundled recordings."""
    with tempfile.TemporaryDirectory(prefix="lanewatch-") as folder:
        for path in unpacked(Path(folder)):
            for seen in replay(path, config).observations:
                yield Recording(path.parent.name, path.name, seen.record)


def conformance(
    name: str,
    producer: Producer,
    recorded: Iterable[Recording],
    score: Score = lambda _told, _ran: None,
    *,
    in_time: Callable[[], bool] = lambda: True,
) -> Iterator[Finding]:
    """Try a producer on everything.

    What is left once `in_time` says no, or whose process can't be started, is NOT_TRIED: its own ending, no failure.
    """
    for one in recorded:
        yield _tried(one.convention, one.shape, in_time, partial(_recorded, one, producer, score))
    for shape in SHAPES:
        yield _tried(HAND_MADE, shape.name, in_time, partial(_hand_made, shape, producer, score, as_asked=name == OWN))


def _tried(convention: str, shape: str, in_time: Callable[[], bool], attempt: Callable[[], Finding]) -> Finding:
    if not in_time():
        return Finding(convention, shape, Ending.NOT_TRIED, (OUT_OF_TIME,))
    try:
        return attempt()
    except ProducerUnavailable as unavailable:
        return Finding(convention, shape, Ending.NOT_TRIED, (str(unavailable),))
    except ProducerFailed as failure:
        return Finding(convention, shape, Ending.FAILED, (str(failure),))


def unpacked(folder: Path) -> list[Path]:
    """The bundled recordings as folders CONVENTION/SHAPE below `folder`."""
    packed = (files("lanewatch.conformance") / RECORDINGS).read_bytes()
    found: dict[Path, None] = {}
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed)[:MAX_BYTES])) as archive:
        for member in archive:
            convention, shape, name = member.name.split("/")
            body = archive.extractfile(member)
            assert body is not None
            place = folder / convention / shape
            place.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(body.read())
            found[place] = None
    return list(found)


def _recorded(one: Recording, producer: Producer, score: Score) -> Finding:
    artifact = producer.artifact(one.record)
    compared = compare_artifact(one.record, artifact)
    found = _finding(one.convention, one.shape, compared, artifact, chat_messages(one.record))
    return _scored(found, artifact, expected_calls(one.record.requests, one.record.dispatches), score)


def _scored(found: Finding, artifact: Artifact, calls: Iterable[ExpectedCall], score: Score) -> Finding:
    """With Ragas' metrics, where calls differ and the names and arguments of all that ran are known."""
    forms = [call.forms[0] for call in calls if call.ran]
    if not found.calls_differ or any(form.arguments is ANY for form in forms):
        return found
    return replace(found, scores=score(artifact, tuple({"name": f.name, "args": f.arguments} for f in forms)))


def _hand_made(shape: Shape, producer: Producer, score: Score, *, as_asked: bool) -> Finding:
    """`as_asked`: spans show a call as the model asked for it beside how it ran, and the artifact tells the first; where
    the two differ is at the dispatch, and told there. Messages show one of them, which has to be what ran.
    """
    calls = tuple(_ran(shape, as_asked=as_asked))
    record = {
        "trace_id": "0" * 32,
        "requests": [{"call_id": call.call_ids[0] if call.call_ids else None, "name": call.tool} for call in calls],
        "dispatches": [],
    }
    artifact = producer.produce(shape.messages, record)
    compared = compare_calls(calls, artifact, frozenset())
    return _scored(_finding(HAND_MADE, shape.name, compared, artifact, shape.messages), artifact, calls, score)


def _ran(shape: Shape, *, as_asked: bool = False) -> Iterator[ExpectedCall]:
    """The calls of a shape, each with the next result of its id."""
    results = [message for message in shape.messages if message["role"] == "tool"]
    place = 0
    for turn, message in enumerate(shape.messages):
        asked = message.get("raw_tool_calls") if as_asked else None
        for call in asked or message.get("tool_calls") or ():
            text = call["function"]["arguments"]
            answer = next((one for one in results if one["tool_call_id"] == call["id"]), None)
            if answer is not None:
                results.remove(answer)
            yield told_call(
                name=call["function"]["name"],
                arguments=_value(text),
                call_id=call["id"] or None,
                result=None if answer is None else answer["content"],
                error=None,
                span_id="",
                place=place,
                round_=turn,
            )
            place += 1
    for left in results:  # of calls that no message here asks for: true to tell, and true to leave out
        yield told_call(
            name=NOBODY,
            arguments={},
            call_id=None,
            result=left["content"],
            error=None,
            span_id="",
            place=None,
            ran=False,
        )


def _value(text: str) -> Any:
    """Arguments as a runtime takes them: none at all, and null, are no arguments; what is no JSON stays text."""
    try:
        value = json.loads(text) if text else {}
    except ValueError:
        return text
    return {} if value is None else value


def _finding(
    convention: str, shape: str, compared: Compared, artifact: Artifact, chat: tuple[dict[str, Any], ...]
) -> Finding:
    if compared.verdict in (ArtifactOutcome.INCOMPLETE, ArtifactOutcome.UNSUPPORTED):
        return Finding(convention, shape, Ending.INCOMPLETE, (compared.reason or "",))
    details = [*map(told, compared.divergences), *_words(artifact, chat)]
    differ = any(one.kind is not Kind.RESULT for one in compared.divergences)
    return Finding(convention, shape, Ending.UNTRUE if details else Ending.TRUE, tuple(details), calls_differ=differ)


def _words(artifact: Artifact, chat: tuple[dict[str, Any], ...]) -> Iterator[str]:
    """What is lost or invented of what people and the model said."""
    for role, kind, name in (("user", "human", "a person's message"), ("assistant", "ai", "an answer")):
        said = Counter(one["content"].strip() for one in chat if one["role"] == role and one["content"].strip())
        heard = Counter(m["content"].strip() for m in artifact.messages if m["type"] == kind and m["content"].strip())
        for what, texts in (("loses", said - heard), ("invents", heard - said)):
            if texts:
                count = texts.total()
                yield f"{what} {name}" if count == 1 else f"{what} {name} {count} times"


def told(one: Divergence) -> str:
    """A difference in a few words."""
    match one.kind:
        case Kind.MISSING:
            return f"loses {one.tool}"
        case Kind.UNEXPECTED:
            return f"invents {one.tool}"
        case Kind.ATTEMPTS:
            return f"{'loses a repeated' if one.reason == 'dropped' else 'doubles'} {one.tool}"
        case Kind.RESULT if one.artifact is None and one.path == "$":
            return f"loses the result of {one.tool}"
        case Kind.RESULT:
            return f"tells another result of {one.tool}"
        case Kind.ORDER:
            return f"{one.reason}"
    return f"tells other {one.kind} of {one.tool}{f' at {one.path}' if one.path else ''}"
