"""The anchors: what a judge is shown, what kind of answer it is, and in which band each metric's score of it is sound.

Shipped ones are data files beside this module; a user's own file has the same form, one JSON object a line. A file with any fault is refused
whole, with every fault named by its line: an anchor that is left out in silence would change what a round means.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from lanewatch.adapters.records import Evidence
from lanewatch.monitors.judge.metrics import BY_NAME, Metric, Needs
from lanewatch.monitors.judge.results import REASONS, EvaluationOutcome
from lanewatch.monitors.judge.samples import Sample

SHIPPED = ("answers.jsonl", "contexts.jsonl", "quotes.jsonl", "conversations.jsonl")
MAX_BYTES = 8 * 2**20
MAX_ITEMS = 1000
MAX_LINE = 256 * 2**10
SERVICE = "canary"
MESSAGE_TYPES = frozenset({"human", "ai", "tool"})
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
_MISSING = {
    reason.value
    for outcome in (EvaluationOutcome.NOT_APPLICABLE, EvaluationOutcome.UNSUPPORTED)
    for reason in REASONS[outcome]
}


class Kind(StrEnum):
    """What an anchor is an example of; the label `kind` of `lanewatch_judge_canary_score`."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"
    EVASIVE = "evasive"


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a sound judge finds: a score from `low` to `high`, or (also, or instead) one of the reasons for having none."""

    low: float | None = None
    high: float | None = None
    missing: tuple[str, ...] = ()

    def holds(self, value: float | None, reason: str) -> bool:
        """Whether a score, or its absence by a reason, is what is expected. 0.005 beyond a band are rounding."""
        if value is None:
            return reason in self.missing
        return self.low is not None and self.high is not None and self.low - 0.005 <= value <= self.high + 0.005


class Canary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An anchor. `expect` has a row for each metric that it is shown to."""

    id: str
    kind: Kind
    expect: dict[str, Expected]
    question: str | None = None
    answer: str | None = None
    contexts: tuple[str, ...] = ()
    messages: tuple[dict[str, Any], ...] = ()
    topics: tuple[str, ...] = ()
    language: str = ""
    domain: str = ""


class CanaryFaults(Exception):  # noqa: N818 - findings about a file
    """Everything that is wrong with a file of canaries, a line each; no text of the file is in them."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


def shipped() -> tuple[Canary, ...]:
    """Those that come with Lanewatch: at least 40 for each metric."""
    folder = files(__package__)
    found: list[Canary] = []
    for name in SHIPPED:
        found += read_canaries((folder / name).read_bytes(), name, known={canary.id for canary in found})
    return tuple(found)


def load_canaries(path: Path | None) -> tuple[Canary, ...]:
    """The shipped ones, and those of the user's file after them. Raises CanaryFaults."""
    own = shipped()
    if path is None:
        return own
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CanaryFaults([f"{path.name}: {error.strerror or 'it can not be read'}"]) from None
    return own + read_canaries(content, path.name, known={canary.id for canary in own})


def read_canaries(content: bytes, name: str, known: Iterable[str] = ()) -> tuple[Canary, ...]:
    """The canaries of a file's content, in its order. `known` are ids that are taken. Raises CanaryFaults."""
    if len(content) > MAX_BYTES:
        raise CanaryFaults([f"{name}: larger than {MAX_BYTES} bytes"])
    taken = set(known)
    found: list[Canary] = []
    faults: list[str] = []
    decoder = msgspec.json.Decoder(Canary)
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            canary = decoder.decode(line) if len(line) <= MAX_LINE else None
        except msgspec.ValidationError as error:
            faults.append(f"{name}:{number}: {error}")
            continue
        except (msgspec.DecodeError, UnicodeDecodeError):
            faults.append(f"{name}:{number}: not a JSON object")
            continue
        if canary is None:
            faults.append(f"{name}:{number}: longer than {MAX_LINE} bytes")
            continue
        faults += [f"{name}:{number}: {fault}" for fault in _faults(canary, taken)]
        taken.add(canary.id)
        found.append(canary)
    if not found and not faults:
        faults.append(f"{name}: no canary in it")
    if len(found) > MAX_ITEMS:
        faults.append(f"{name}: more than {MAX_ITEMS} canaries")
    if faults:
        raise CanaryFaults(faults)
    return tuple(found)


def canaries_of(metric: str, canaries: Iterable[Canary]) -> tuple[Canary, ...]:
    """Those that a metric is shown."""
    return tuple(canary for canary in canaries if metric in canary.expect)


def bands_of(metric: str, canaries: Iterable[Canary]) -> dict[str, tuple[float, float]]:
    """The band of each anchor that must have a score."""
    expected = ((canary.id, canary.expect[metric]) for canary in canaries_of(metric, canaries))
    return {item: (one.low, one.high) for item, one in expected if one.low is not None and one.high is not None}


def prefix_of(round_name: str) -> str:
    """What the trace ids of a round's samples begin with."""
    return f"canary-{round_name}-"


def sample_of(canary: Canary, round_name: str) -> Sample:
    """What a judge is shown. The trace id names anchor and round, so that no two rounds are one job."""
    return Sample(
        trace_id=f"{prefix_of(round_name)}{canary.id}",
        revision=0,
        service=SERVICE,
        time_ns=0,
        question=canary.question,
        answer=canary.answer,
        contexts=canary.contexts,
        messages=tuple(_whole(message) for message in canary.messages),
        evidence=dict.fromkeys(("requests", "dispatches", "retrievals", "responses"), Evidence.COMPLETE),
        topics=canary.topics,
    )


def _whole(message: dict[str, Any]) -> dict[str, Any]:
    """With the fields that Ragas' own message dicts have, and a file may leave out."""
    whole = {"content": message["content"], "metadata": message.get("metadata"), "type": message["type"]}
    return {**whole, "tool_calls": message.get("tool_calls")} if whole["type"] == "ai" else whole


def _calls_well(message: dict[str, Any]) -> bool:
    calls = message.get("tool_calls") or []
    return isinstance(calls, list) and all(
        isinstance(call, dict) and isinstance(call.get("name"), str) and isinstance(call.get("args"), dict)
        for call in calls
    )


def _faults(canary: Canary, taken: set[str]) -> Iterator[str]:
    if not _ID.fullmatch(canary.id):
        yield "`id` must be 1 to 80 letters, digits, dots, dashes or underscores"
    elif canary.id in taken:
        yield "its `id` is taken"
    if not canary.expect:
        yield "`expect` names no metric"
    for name, expected in canary.expect.items():
        metric = BY_NAME.get(name)
        if metric is None:
            yield "`expect` names a metric that nobody has"
            continue
        yield from (f"expect.{name}: {fault}" for fault in _band_faults(metric, expected))
        yield from (f"expect.{name}: needs `{part}`" for part in metric.needs if not _has(canary, part))
    if any(
        message.get("type") not in MESSAGE_TYPES or not isinstance(message.get("content"), str)
        for message in canary.messages
    ):
        yield "each of `messages` must have a `type` human, ai or tool, and a text as `content`"
    elif not all(map(_calls_well, canary.messages)):
        yield "`tool_calls` of `messages` must be a list of objects with a text `name` and an object `args`"


def _band_faults(metric: Metric, expected: Expected) -> Iterator[str]:
    if (expected.low is None) is not (expected.high is None):
        yield "`low` and `high` go together"
    elif expected.low is None or expected.high is None:
        if not expected.missing:
            yield "needs `low` and `high`, or `missing`"
    elif not metric.low <= expected.low <= expected.high <= metric.high:
        yield f"needs {metric.low:g} <= low <= high <= {metric.high:g}"
    if not _MISSING.issuperset(expected.missing):
        yield f"`missing` takes {', '.join(sorted(_MISSING))}"


def _has(canary: Canary, part: Needs) -> bool:
    value = getattr(canary, part.value)
    return bool(value.strip() if isinstance(value, str) else value)
