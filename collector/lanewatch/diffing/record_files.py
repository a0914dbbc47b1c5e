"""Files of records for `lanewatch diff`: what ran, and what an evaluator was given, as JSON or JSON lines.

What ran may be a list of dispatch records, or lines of `lanewatch replay --format jsonl`. An artifact may be a list of
Ragas' messages, an object with `messages` or with Ragas' own `user_input`, a list of calls (`name` and `args`), or lines of
a replay. A fault is told with its place, never with a value.

What a record does not say is not known: arguments that are null or not there are not `{}`, and a replay's line whose
evidence is not complete, or which met problems, may lack calls. An object that names a member twice is a fault, and numbers
that no double holds are not exact: readers differ in what either is.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from lanewatch.adapters.artifact import HIDDEN
from lanewatch.adapters.artifact_messages import Artifact, ArtifactFault, call_dicts, message_dicts
from lanewatch.adapters.json_text import is_exact
from lanewatch.adapters.records import Evidence
from lanewatch.diffing.json_files import JsonFile, RecordFault
from lanewatch.diffing.replayed_calls import replayed_calls
from lanewatch.monitors.artifact_divergence import NEEDED
from lanewatch.monitors.expected_calls import ExpectedCall, told_call

REFERENCE = "reference_tool_calls"
PROBLEMS = "replay_problems"  # what a replay could not read may have held anything
INEXACT = "arguments_not_exact"  # NaN equals itself, and two numbers that no double holds are one infinity


class Ran(msgspec.Struct, frozen=True):
    """The calls that ran, the ids of the spans that say so, and what is `weak` of the evidence (`dispatches_partial`)."""

    calls: tuple[ExpectedCall, ...]  # and what was asked for and did not run, which may be told
    spans: frozenset[str]
    count: int
    weak: tuple[str, ...] = ()


def read_dispatches(file: JsonFile) -> Ran:
    """What ran. Raises RecordFault."""
    path = file.path
    calls: list[ExpectedCall] = []
    spans: set[str] = set()
    inexact = False
    for place, record in _records(file, "dispatches"):
        name = record.get("name")
        if not isinstance(name, str) or not name:
            raise RecordFault(f"{path}: {place}: a dispatch needs the text `name`")
        executed = record.get("executed", "yes")
        if executed not in ("yes", "no", "unknown"):
            raise RecordFault(f"{path}: {place}.executed: expected yes, no or unknown")
        if executed == "no":
            continue
        call_id, error, span_id = record.get("call_id"), record.get("error"), record.get("span_id")
        provenance = record.get("provenance")
        more = provenance.get("span_ids") if isinstance(provenance, dict) else None
        spans.update(one for one in (span_id, *(more if isinstance(more, list) else ())) if isinstance(one, str))
        message = error.get("message") if isinstance(error, dict) else None
        inexact = inexact or not is_exact(_arguments(record))
        unasked = "answers" in record and record.get("match_rule", "") is None  # a replay's run that no model asked for
        calls.append(
            told_call(
                name=name,
                arguments=_arguments(record),
                call_id=call_id if isinstance(call_id, str) else None,
                result=record.get("result"),
                error=message if isinstance(message, str) else None,
                span_id=span_id if isinstance(span_id, str) else "",
                place=None if unasked else len(calls),
                ran=executed == "yes" and not unasked,
                doubtful=executed == "unknown",
            )
        )
    traces = (trace for _, outer in _outer(file) for trace in _traces(outer))
    known = replayed_calls(traces) or ()  # none, or not of a replay
    weak = (*_weak(file, NEEDED), *((INEXACT,) if inexact else ()))
    return Ran(known or tuple(calls), frozenset(spans), len(calls), weak)


def _arguments(record: dict[str, Any]) -> Any:
    """A call's arguments under either of their names; None where they are not known."""
    return record["arguments"] if "arguments" in record else record.get("args")


def _weak(file: JsonFile, needed: tuple[str, ...]) -> tuple[str, ...]:
    """The `needed` kinds of records that a replay's traces do not show whole, each with the state of its evidence, and
    whether there was something that the replay could not read. Raises RecordFault.
    """
    found: dict[str, None] = {}
    for place, outer in _outer(file):
        if "traces" in outer and outer.get("problems"):
            found[PROBLEMS] = None
        for trace in _traces(outer):
            evidence = trace.get("evidence")
            if not isinstance(evidence, dict):
                continue
            for kind in needed:
                state = evidence.get(kind)
                if state is not None and not isinstance(state, str):
                    raise RecordFault(f"{file.path}: {place}: evidence.{kind}: expected a text")
                if state != Evidence.COMPLETE:
                    found[f"{kind}_{state if state in frozenset(Evidence) else 'unknown'}"] = None
    return tuple(found)


def _outer(file: JsonFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place of its value, object) of each object that no other holds."""
    return ((place, outer) for place, value in file.values for outer in _objects(value))


def _traces(outer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The traces of a replay's line; any other object itself."""
    return _objects(outer["traces"]) if "traces" in outer else iter((outer,))


def read_artifact(file: JsonFile, *, strict: bool) -> Artifact:
    """The messages that an evaluator was given. Raises RecordFault."""
    path = file.path
    found = list(_records(file, "messages", "user_input"))
    bare = [record for _, record in found if "type" not in record]
    try:
        calls_only = bool(found) and len(bare) == len(found)
        if calls_only:
            messages = message_dicts([{"type": "ai", "content": "", **_call_message(one)} for one in bare])
        else:
            messages = message_dicts([record for _, record in found])
    except ArtifactFault as fault:
        raise RecordFault(f"{path}: {fault}") from None
    return Artifact(str(path), f"the producer of {path.name}", messages, strict=strict, calls_only=calls_only)


def read_reference(file: JsonFile, *, needed: bool) -> tuple[dict[str, Any], ...] | None:
    """The calls that a test expects: `reference_tool_calls` of Ragas' samples or of pushed artifacts, or, where they are
    `needed`, a list of calls or of dispatch records too. None where there are none and none are needed. Raises RecordFault.
    """
    path = file.path
    found = [outer[REFERENCE] for _, outer in _outer(file) if outer.get(REFERENCE) is not None]
    try:
        if found:
            return _exact(path, tuple(call for given in found for call in call_dicts(given, REFERENCE)))
        if not needed:
            return None
        if weak := _weak(file, ("dispatches",)):
            raise RecordFault(
                f"{path}: expected calls may be missing ({', '.join(weak)}): give the calls that are expected"
            )
        calls = []
        for place, record in _records(file, "tool_calls", "dispatches"):
            if record.get("executed") == "no":
                continue
            if record.get("executed") == "unknown":
                raise RecordFault(f"{path}: {place}: whether this call ran is not known, so it can't be expected")
            if _arguments(record) is None:
                raise RecordFault(f"{path}: {place}: an expected call needs its arguments")
            calls.append(_call_message(record)["tool_calls"][0])
        return _exact(path, call_dicts(calls, "$"))
    except ArtifactFault as fault:
        raise RecordFault(f"{path}: {fault}") from None


def _exact(path: Path, calls: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    if not all(is_exact(call["args"]) for call in calls):
        raise RecordFault(f"{path}: an expected call has NaN or a number that no double holds")
    return calls


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """The value itself, or those of its list, which are objects."""
    yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict))


def _call_message(record: dict[str, Any]) -> dict[str, Any]:
    """A bare call as a message of its own; a dispatch record is one too, and keeps where it comes from."""
    arguments = _arguments(record)
    call = {"name": record.get("name"), "args": {HIDDEN: True} if arguments is None else arguments}
    kept = {key: record[key] for key in ("span_id", "provenance") if record.get(key) is not None}
    return {"tool_calls": [call], "metadata": {"tool_call_ids": [record.get("call_id")], **kept}}


def _records(file: JsonFile, *keys: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, record) of each record of a file."""
    for place, value in file.values:
        yield from _within(file.path, value, keys, place)


def _within(path: Path, value: Any, keys: tuple[str, ...], place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, list):
        for index, one in enumerate(value):
            yield from _within(path, one, keys, f"{place}[{index}]")
        return
    if not isinstance(value, dict):
        raise RecordFault(f"{path}: {place}: expected an object or a list, found {type(value).__name__}")
    for key in (*keys, "traces"):
        if isinstance(value.get(key), list):
            yield from _within(path, value[key], keys, f"{place}.{key}")
            return
    yield place, value
