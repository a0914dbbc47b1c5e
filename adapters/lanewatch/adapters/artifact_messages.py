"""What a producer handed over, as plain message dictionaries: Ragas' own objects, dictionaries, or JSON.

Invariants:

- Nothing is guessed: what is no list of Ragas messages is refused with the place of the fault, and never with its value.
  Ragas itself takes `{"role": "assistant", ...}` for a HumanMessage without a word.
- The result shares nothing with the producer's objects, which Ragas leaves aliased to the caller's.
"""

import copy
from collections.abc import Iterable
from typing import Any

import msgspec

from lanewatch.adapters.json_text import is_too_deep

OWN = "lanewatch"  # the producer that is Lanewatch itself
TYPES = ("human", "ai", "tool")
MAX_MESSAGES = 10_000


class ArtifactFault(ValueError):  # noqa: N818 - a finding about a producer, counted as an outcome
    """What was handed over is no list of messages. `str()` says what and where, with no value of it."""


class Artifact(msgspec.Struct, frozen=True):
    """The messages that one producer would give an evaluator for one trace or session.

    `owner` is who answers for the producer. `strict`: its consumer tells 1 from 1.0, as Ragas' ToolCallAccuracy does.
    `calls_only`: it was given as bare calls, so that it can't tell results.
    """

    producer: str
    owner: str
    messages: tuple[dict[str, Any], ...]
    version: str | None = None
    strict: bool = False
    calls_only: bool = False


def message_dicts(given: Any) -> tuple[dict[str, Any], ...]:
    """Message dictionaries out of an iterable of Ragas' message objects or dictionaries. Raises ArtifactFault."""
    if isinstance(given, dict | str | bytes) or not isinstance(given, Iterable):
        raise ArtifactFault(f"expected a list of messages, found {_kind(given)}")
    messages: list[dict[str, Any]] = []
    for index, one in enumerate(given):
        if index >= MAX_MESSAGES:
            raise ArtifactFault(f"more than {MAX_MESSAGES} messages")
        messages.append(_message(_dumped(one), f"messages[{index}]"))
    return tuple(messages)


def call_dicts(given: Any, place: str = "reference_tool_calls") -> tuple[dict[str, Any], ...]:
    """Call dictionaries (`name` and `args`) out of a list of Ragas' ToolCall objects or dictionaries. Raises ArtifactFault."""
    if not isinstance(given, list | tuple):
        raise ArtifactFault(f"{place}: expected a list, found {_kind(given)}")
    if len(given) > MAX_MESSAGES:
        raise ArtifactFault(f"{place}: more than {MAX_MESSAGES} calls")
    return tuple(_call(one, f"{place}[{index}]") for index, one in enumerate(given))


def _dumped(one: Any) -> Any:
    dump = getattr(one, "model_dump", None)
    return dump() if callable(dump) else one


def _message(one: Any, place: str) -> dict[str, Any]:
    if not isinstance(one, dict):
        raise ArtifactFault(f"{place}: expected a message, found {_kind(one)}")
    kind = one.get("type")
    if kind not in TYPES:
        raise ArtifactFault(f"{place}.type: expected one of {', '.join(TYPES)}, as Ragas writes them")
    content = one.get("content")
    if not isinstance(content, str):
        raise ArtifactFault(f"{place}.content: expected text, found {_kind(content)}")
    metadata = one.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise ArtifactFault(f"{place}.metadata: expected an object or null, found {_kind(metadata)}")
    if metadata is not None and is_too_deep(metadata):
        raise ArtifactFault(f"{place}.metadata: nested too deeply")
    made: dict[str, Any] = {"content": content, "metadata": copy.deepcopy(metadata), "type": kind}
    if kind == "ai":
        made["tool_calls"] = _calls(one.get("tool_calls"), place)
    return made


def _calls(given: Any, place: str) -> list[dict[str, Any]] | None:
    if given is None:
        return None
    if not isinstance(given, list | tuple):
        raise ArtifactFault(f"{place}.tool_calls: expected a list or null, found {_kind(given)}")
    return [_call(one, f"{place}.tool_calls[{index}]") for index, one in enumerate(given)] or None


def _call(one: Any, at: str) -> dict[str, Any]:
    call = _dumped(one)
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        raise ArtifactFault(f"{at}: expected an object with the text `name` and the object `args`")
    arguments = call.get("args")
    if not isinstance(arguments, dict) or not all(isinstance(key, str) for key in arguments):
        raise ArtifactFault(f"{at}.args: expected an object, found {_kind(arguments)}")
    if is_too_deep(arguments):
        raise ArtifactFault(f"{at}.args: nested too deeply")
    return {"name": call["name"], "args": copy.deepcopy(arguments)}


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__
