"""Calls that later inputs repeat and that no output of the trace shows: a model's span was lost, or hides what it said.

What the first input of a conversation holds is history of earlier traces. Frameworks may give a call another id on its
way into the history, so a call of the same name and arguments is the same call. Gemini's calls have no ids: there the
name and the arguments alone tell.
"""

from lanewatch.adapters.facts import LlmCall
from lanewatch.adapters.identity import id_quality, same
from lanewatch.adapters.messages import ToolCall, describe
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
    asked_for: NameIndex[ToolRequest] | None = None
    looked = 0
    for call in calls:
        asked = [(_key(part), part) for message in call.input for part in message.calls]
        opening = next((describe(message) for message in call.input if message.role != "system"), "")
        earlier = history.get(opening)
        if earlier is None:
            history[opening] = {key for key, _ in asked}
            continue
        for key, part in asked:
            if key in known or key in earlier:
                continue
            known.add(key)
            looked += 1
            if asked_for is None:
                asked_for = NameIndex()
                for request in requests:
                    asked_for.add(request.name, request)
            if looked <= LIMIT and not any(_is_same(part, request) for request in asked_for.find(part.name)):
                return True
    return False


def _key(part: ToolCall) -> str:
    """What a repeated call is known again by: its id, where that names one call."""
    if part.call_id is not None and id_quality(part.call_id, part.name) is IdQuality.REAL:
        return part.call_id
    return f"{part.name} {part.arguments.text}"


def _is_same(part: ToolCall, request: ToolRequest) -> bool:
    """Whether a repeated call may be this request of the same name."""
    hidden = part.arguments.state != State.CAPTURED or request.arguments_state != State.CAPTURED
    return hidden or same(part.arguments.value, request.arguments)
