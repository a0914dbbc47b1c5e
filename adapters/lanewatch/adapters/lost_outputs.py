"""Calls that later inputs repeat and that no output of the trace shows: a model's span was lost, or hides what it said.

What the first input of a conversation holds is history of earlier traces. Frameworks may give a call another id on its
way into the history, so a call of the same name and arguments is the same call. Gemini's calls have no ids: there the
name and the arguments alone tell.

Two conversations may open with the same text, and examples may be put into a later input alone. So only what stands behind
something that an output of the conversation shows was made in this trace; where nothing of it is repeated, what stands in
the last turn.
"""

from collections import defaultdict
from functools import cached_property

from lanewatch.adapters.facts import LlmCall
from lanewatch.adapters.identity import id_quality, same
from lanewatch.adapters.messages import Message, ToolCall, opening
from lanewatch.adapters.name_index import NameIndex
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import IdQuality, ToolRequest

LIMIT = 100  # calls that are looked into; one that no output shows is enough


class _Outputs:
    """What a trace's outputs asked for, and which repeated calls were looked for among it."""

    def __init__(self, requests: list[ToolRequest]) -> None:
        self._requests = requests
        self._known = {call_id for request in requests for call_id in (request.call_id, *request.aliases)}
        self._missed: set[str] = set()
        self._looked = 0

    @cached_property
    def _by_name(self) -> NameIndex[ToolRequest]:
        index = NameIndex[ToolRequest]()
        for request in self._requests:
            index.add(request.name, request)
        return index

    def shows(self, part: ToolCall, key: str) -> bool | None:
        """Whether an output shows a repeated call; None where it is not looked for, beyond LIMIT or once more."""
        if key in self._missed:
            return None
        if key in self._known:
            return True
        self._looked += 1
        if self._looked <= LIMIT and any(_is_same(part, request) for request in self._by_name.find(part.name)):
            self._known.add(key)
            return True
        self._missed.add(key)
        return False if self._looked <= LIMIT else None


def repeats_lost_output(calls: list[LlmCall], requests: list[ToolRequest]) -> bool:
    """Whether some input repeats a call that was made in this trace and that no output shows."""
    if len(calls) < 2:  # noqa: PLR2004 - one input repeats nothing of its own trace
        return False
    outputs = _Outputs(requests)
    history: dict[str, set[str]] = {}
    said: dict[str, set[str]] = defaultdict(set)  # texts of the outputs, by opening
    for call in calls:
        begun = opening(call.input)
        earlier = history.get(begun)
        if earlier is None:
            history[begun] = {_key(part) for message in call.input for part in message.calls}
            said[begun].update(message.text.strip() for message in call.output)
            continue
        texts = said[begun] - {""}
        shown: int | None = None  # the first message that repeats what an output shows
        unshown: int | None = None  # the last one with a call that no output shows
        for place, message in enumerate(call.input):
            if shown is None and texts and message.role == "assistant" and message.text.strip() in texts:
                shown = place
            for part in message.calls:
                key = _key(part)
                told = None if key in earlier else outputs.shows(part, key)
                if told is False:
                    unshown = place
                elif told and shown is None:
                    shown = place
        if unshown is not None and unshown >= _made_here(call.input, shown):
            return True
        said[begun].update(message.text.strip() for message in call.output)
    return False


def _made_here(messages: tuple[Message, ...], shown: int | None) -> int:
    """The place from which on calls of an input were made in this trace."""
    if shown is None:
        return max((i for i, one in enumerate(messages) if one.role == "user" and not one.results), default=0)
    while shown and messages[shown - 1].role == "assistant" and messages[shown - 1].calls:
        shown -= 1  # parallel calls may stand in messages of their own
    return shown


def _key(part: ToolCall) -> str:
    """What a repeated call is known again by: its id, where that names one call."""
    if part.call_id is not None and id_quality(part.call_id, part.name) is IdQuality.REAL:
        return part.call_id
    return f"{part.name} {part.arguments.text}"


def _is_same(part: ToolCall, request: ToolRequest) -> bool:
    """Whether a repeated call may be this request of the same name."""
    hidden = part.arguments.state != State.CAPTURED or request.arguments_state != State.CAPTURED
    return hidden or same(part.arguments.value, request.arguments)
