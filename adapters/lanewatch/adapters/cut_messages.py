"""What an output whose JSON breaks off still shows: calls that stand whole before the cut, and the id and name of the last.

Invariants: only members and elements that are followed by another or by their end are taken, so that no value is a shorter
one; the last call of all has no arguments, since more of it may have followed, and without an id it is left out; a call
without a name is none.
"""

import re

from msgspec.structs import replace

from lanewatch.adapters.json_text import DEPTH_LIMIT, parse_json
from lanewatch.adapters.message_shapes import read_messages
from lanewatch.adapters.messages import Message
from lanewatch.adapters.reading import Content, State

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{},]', re.DOTALL)  # a text that breaks off reaches to the end
CLOSERS = {"[": "]", "{": "}"}


def whole_part(text: str) -> str | None:
    """The longest start of JSON text that ends between two values, with what it left open closed; None without one."""
    closers, longest = "", None
    for token in TOKEN.finditer(text):
        mark = token[0]
        if mark in CLOSERS:
            closers = CLOSERS[mark] + closers
            if len(closers) > DEPTH_LIMIT:
                return None
            longest = (token.end(), closers)
        elif mark == ",":
            longest = (token.start(), closers)
        elif mark in ("]", "}"):
            if closers[:1] != mark:
                return None
            closers = closers[1:]
            longest = (token.end(), closers)
    return None if longest is None else text[: longest[0]] + longest[1]


def cut_output(text: str) -> tuple[Message, ...]:
    """The messages of an output that was cut: of each only its calls, the last without arguments."""
    start = whole_part(text)
    if start is None:
        return ()
    try:
        messages = read_messages(parse_json(start), "assistant")
    except ValueError:
        return ()
    calls = [part for message in messages for part in message.calls if part.name]
    if calls:
        last = replace(calls[-1], arguments=Content(None, None, State.TRUNCATED))
        calls[-1:] = [last] if last.call_id is not None else []
    return (Message("assistant", tuple(calls)),) if calls else ()
