"""Several answers to one request of the model (n > 1), of which the application takes one.

The calls of an alternative that it did not take were never to run. Which one it took only the runs tell: where none of them
shows, the calls of all but one alternative may be those of the other, so nothing is said of any. Where calls of more than
one ran, or came back to the model, they are no alternatives: OpenLLMetry ends each item of one answer by itself, too.
"""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.facts import LlmCall
from lanewatch.adapters.messages import Message
from lanewatch.adapters.reading import read_json
from lanewatch.adapters.records import Dispatch, Outcome, ToolRequest

COUNTS = ("gen_ai.request.choice.count", "llm.request.n")
SETTINGS = ("llm.invocation_parameters", "langfuse.observation.model.parameters", "model_request_parameters")
OPEN = (Outcome.NOT_DISPATCHED, Outcome.INVALID, Outcome.PENDING, Outcome.UNKNOWN)


def with_unused(
    requests: list[ToolRequest], calls: list[LlmCall], answers: dict[int, list[Dispatch]]
) -> list[ToolRequest]:
    """Requests with those of other alternatives marked; `answers` are the runs of each request."""
    asked: dict[int, list[int]] = {}
    for index, request in enumerate(requests):
        asked.setdefault(request.turn, []).append(index)
    marked = list(requests)
    for turn, indices in asked.items():
        call = calls[turn]
        if len(call.output) < 2 or not _are_alternatives(call):  # noqa: PLR2004 - one is no choice
            continue
        choices = [place for place, message in enumerate(call.output) for _ in message.calls]
        placed = list(zip(choices, indices, strict=True))
        taken = {choice for choice, index in placed if answers.get(index)}
        if len(taken) > 1 or _are_repeated(placed, requests, calls[turn + 1 :]):
            continue
        for choice, index in placed:
            if choice not in taken and requests[index].outcome in OPEN:
                marked[index] = replace(requests[index], outcome=Outcome.UNUSED if taken else Outcome.UNKNOWN)
    return marked


def _are_repeated(placed: list[tuple[int, int]], requests: list[ToolRequest], later: list[LlmCall]) -> bool:
    """Whether one later input shows the results of calls of more than one message; `placed`: (message, request)."""
    places: dict[str, set[int]] = {}
    for place, index in placed:
        for call_id in (requests[index].call_id, *requests[index].aliases):
            if call_id:
                places.setdefault(call_id, set()).add(place)
    for call in later:
        shown = {result.call_id or "" for message in call.input for result in message.results}
        if len({place for call_id in shown if len(found := places.get(call_id, ())) == 1 for place in found}) > 1:
            return True
    return False


def _are_alternatives(call: LlmCall) -> bool:
    """Whether the messages of an output are choices: more than one was asked for, or each came to an end of its own."""
    attributes = call.span.attributes
    if any(_is_several(attributes.get(key)) for key in COUNTS):
        return True
    if any(_is_several((read_json(attributes.get(key)) or {}).get("n")) for key in SETTINGS if key in attributes):
        return True
    return all(_ended(message) for message in call.output)


def _ended(message: Message) -> bool:
    return message.finish_reason is not None and bool(message.parts)


def _is_several(count: Any) -> bool:
    return isinstance(count, int) and count > 1
