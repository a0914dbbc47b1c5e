"""Calls that later inputs repeat and that no output of the trace shows: a model's span was lost, or hides what it said.

What the first input of a conversation holds is history of earlier traces. Frameworks may give a call another id on its
way into the history, so a call of the same name and arguments is the same call. Gemini's calls have no ids: there the
name and the arguments alone tell.

Two conversations may open with the same text, and examples may be put into a later input alone. So only what stands behind
something that an output of the conversation shows was made in this trace; where nothing of it is repeated, what stands in
the last turn.
"""

from collections import defaultdict

from lanewatch.adapters.facts import LlmCall
from lanewatch.adapters.identity import id_quality, same
from lanewatch.adapters.messages import Message, ToolCall, describe
from lanewatch.adapters.name_index import NameIndex
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import IdQuality, ToolRequest

LIMIT = 100  # calls that are looked into; one that no output shows is enough


def repeats_lost_output(calls: list[LlmCall], requests: list[ToolRequest]) -> bool:
    """Whether some input repeats a call that was made in this trace and that no output shows."""
    if len(calls) < 2:  # noqa: PLR2004 - one input repeats nothing of its own trace
        return False
    known = {call_id for request in requests for call_id in (request.call_id, *request.aliases)}
    history: dict[str, set[str]] = {}
    said: dict[str, set[str]] = defaultdict(set)  # texts of the outputs, by opening
    asked_for: NameIndex[ToolRequest] | None = None
    looked = 0
    missed: set[str] = set()
    for call in calls:
        opening = next((describe(message) for message in call.input if message.role != "system"), "")
        earlier = history.get(opening)
        if earlier is None:
            history[opening] = {_key(part) for message in call.input for part in message.calls}
            said[opening].update(message.text.strip() for message in call.output)
            continue
        texts = said[opening] - {""}
        shown: int | None = None  # the first message that repeats what an output shows
        unshown: list[int] = []
        for place, message in enumerate(call.input):
            if shown is None and texts and message.role == "assistant" and message.text.strip() in texts:
                shown = place
            for part in message.calls:
                key = _key(part)
                if key in earlier or key in missed:
                    continue
                if key not in known:
                    if asked_for is None:
                        asked_for = NameIndex()
                        for request in requests:
                            asked_for.add(request.name, request)
                    looked += 1
                    if looked > LIMIT or not any(_is_same(part, request) for request in asked_for.find(part.name)):
                        missed.add(key)
                        unshown += [place] if looked <= LIMIT else []
                        continue
                    known.add(key)
                shown = place if shown is None else shown
        if unshown and unshown[-1] >= _made_here(call.input, shown):
            return True
        said[opening].update(message.text.strip() for message in call.output)
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
