"""The tool calls that an artifact tells of, each with its id, its result and where it stands.

Ragas' `ToolCall` has a name and arguments and nothing else, so an id is known only where the metadata of the message
names one for every call of it (`tool_call_ids`, or LangChain's own `tool_calls`). A result belongs to the call that its
metadata names; without ids, to the call in its place, as a reader of the messages would take it.
"""

from typing import Any

import msgspec

ID_KEYS = ("tool_call_id", "call_id")
PROVENANCE_KEYS = ("span_id", "span_ids", "dispatch_span_id", "provenance")


class ToldCall(msgspec.Struct):
    """One call in an artifact. `message` and `position` count from 0; `has_result` tells "" from no result at all.

    `labelled`: the result names its call. `short`: this message's unlabelled results are fewer or more than its calls.
    """

    name: str
    arguments: dict[str, Any]
    call_id: str | None
    message: int
    position: int
    provenance: frozenset[str]
    result: str | None = None
    has_result: bool = False


class Round(msgspec.Struct):
    """One AI message that asks for tools, and the results behind it that name no call and do not fit by count."""

    calls: list[ToldCall]
    loose: list[str] = []


class Told(msgspec.Struct):
    """An artifact's calls in order, by rounds. `orphans` are results that belong to no call: (call id, content)."""

    calls: list[ToldCall] = []
    rounds: list[Round] = []
    orphans: list[tuple[str | None, str]] = []


def told_calls(messages: tuple[dict[str, Any], ...]) -> Told:
    """Read the calls and results out of message dictionaries (`artifact_messages.message_dicts`)."""
    told = Told()
    by_id: dict[str, list[ToldCall]] = {}
    unlabelled: list[str] = []
    for index, message in enumerate(messages):
        metadata = message["metadata"] or {}
        if message["type"] == "tool":
            call_id = next((metadata[key] for key in ID_KEYS if isinstance(metadata.get(key), str)), None)
            waiting = [call for call in by_id.get(call_id or "", ()) if not call.has_result]
            if waiting:
                waiting[0].result, waiting[0].has_result = message["content"], True
                waiting[0].provenance |= _provenance(metadata)
            elif call_id is not None and by_id:
                told.orphans.append((call_id, message["content"]))
            else:
                unlabelled.append(message["content"])
            continue
        _settle(told, unlabelled)
        unlabelled = []
        asked = message.get("tool_calls") if message["type"] == "ai" else None
        if asked:
            ids = _ids(metadata, len(asked))
            calls = [
                ToldCall(call["name"], call["args"], call_id, index, position, _provenance(metadata))
                for position, (call, call_id) in enumerate(zip(asked, ids, strict=True))
            ]
            told.calls.extend(calls)
            told.rounds.append(Round(calls))
            for call in calls:
                if call.call_id is not None:
                    by_id.setdefault(call.call_id, []).append(call)
    _settle(told, unlabelled)
    return told


def _settle(told: Told, unlabelled: list[str]) -> None:
    """Give results without ids to the calls of the last round that have none, in order, where both are as many."""
    if not unlabelled:
        return
    if not told.rounds:
        told.orphans.extend((None, content) for content in unlabelled)
        return
    last = told.rounds[-1]
    waiting = [call for call in last.calls if not call.has_result]
    if len(waiting) == len(unlabelled):
        for call, content in zip(waiting, unlabelled, strict=True):
            call.result, call.has_result = content, True
    else:
        last.loose.extend(unlabelled)


def _ids(metadata: dict[str, Any], count: int) -> list[str | None]:
    """One id for each call; none where they are not as many as the calls, since nothing says which is whose."""
    ids = metadata.get("tool_call_ids")
    if not isinstance(ids, list):
        calls = metadata.get("tool_calls")  # LangChain's message as it is
        ids = [call.get("id") if isinstance(call, dict) else None for call in calls] if isinstance(calls, list) else []
    if len(ids) != count:
        return [None] * count
    return [one if isinstance(one, str) and one else None for one in ids]


def _provenance(metadata: dict[str, Any]) -> frozenset[str]:
    """Every id under the keys by which records name their spans, at any depth of those."""
    found: set[str] = set()
    level = [metadata[key] for key in PROVENANCE_KEYS if key in metadata]
    while level:
        value = level.pop()
        if isinstance(value, str):
            found.add(value)
        elif isinstance(value, dict):
            level.extend(value.values())
        elif isinstance(value, list | tuple):
            level.extend(value)
    return frozenset(found)
