"""Messages in an `events` attribute: a JSON list of GenAI events (1.28 to 1.36), as Logfire and Pydantic AI write it.

Where no event is a choice, the assistant's messages at the end of the list are the answer.
"""

from typing import Any

from lanewatch.adapters.genai_content import CHOICE, MESSAGE_EVENTS
from lanewatch.adapters.message_shapes import read_message
from lanewatch.adapters.messages import Message
from lanewatch.adapters.reading import dictionaries


def read_events(events: Any) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Input and output messages of a list of events."""
    inputs: list[Message] = []
    outputs: list[Message] = []
    for event in dictionaries(events):
        name = str(event.get("event.name"))
        if name == CHOICE:
            message = event.get("message")
            outputs.append(read_message(message if isinstance(message, dict) else event, "assistant"))
        elif name in MESSAGE_EVENTS:
            inputs.append(read_message(event, MESSAGE_EVENTS[name]))
    return (tuple(inputs), tuple(outputs)) if outputs else split_answer(tuple(inputs))


def split_answer(messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """A history, and the assistant's messages at its end joined into one."""
    place = len(messages)
    while place and messages[place - 1].role == "assistant":
        place -= 1
    answer = tuple(part for message in messages[place:] for part in message.parts)
    return messages[:place], (Message("assistant", answer),) if place < len(messages) else ()
