"""Hand-made conversations for `lanewatch adapters test`: shapes that adapters are known to stumble over, each alone.

Every call that an assistant's message asks for ran, with the result that the tool's message tells, unless it says
otherwise. Messages are chat messages as adapters are given them (`lanewatch.adapters.chat`).
"""

from typing import Any

import msgspec

Message = dict[str, Any]


class Shape(msgspec.Struct, frozen=True):
    """A conversation and what its shape is called."""

    name: str
    messages: tuple[Message, ...]


def user(text: str) -> Message:
    """What a person says."""
    return {"role": "user", "content": text}


def asks(*calls: tuple[str, str, str], text: str = "", **more: Any) -> Message:
    """An answer that asks for calls: (id, tool, arguments as the model wrote them)."""
    made = [{"id": i, "type": "function", "function": {"name": name, "arguments": given}} for i, name, given in calls]
    return {"role": "assistant", "content": text, "tool_calls": made, **more}


def says(text: str, **more: Any) -> Message:
    """An answer in words."""
    return {"role": "assistant", "content": text, **more}


def result(call_id: str, tool: str, content: str, **more: Any) -> Message:
    """What a tool returned."""
    return {"role": "tool", "tool_call_id": call_id, "name": tool, "content": content, "status": "success", **more}


WEATHER, UV = '{"city": "Lisbon"}', '{"city": "Lisbon", "day": 2}'
ASKED = user("What about Lisbon?")
DONE = says("21 degrees.")

SHAPES = (
    Shape("one call", (ASKED, asks(("c1", "weather", WEATHER)), result("c1", "weather", "21"), DONE)),
    Shape(
        "parallel calls",
        (
            ASKED,
            asks(("c1", "weather", WEATHER), ("c2", "uv", UV)),
            result("c1", "weather", "21"),
            result("c2", "uv", "6"),
            DONE,
        ),
    ),
    Shape(
        "equal calls at once",
        (
            ASKED,
            asks(("c1", "roll", "{}"), ("c2", "roll", "{}")),
            result("c1", "roll", "3"),
            result("c2", "roll", "5"),
            DONE,
        ),
    ),
    Shape(
        "two rounds",
        (
            ASKED,
            asks(("c1", "weather", WEATHER)),
            result("c1", "weather", "21"),
            asks(("c2", "uv", UV)),
            result("c2", "uv", "6"),
            DONE,
        ),
    ),
    Shape(
        "a retry",
        (
            ASKED,
            asks(("c1", "weather", WEATHER)),
            result("c1", "weather", "timed out", status="error"),
            asks(("c2", "weather", WEATHER)),
            result("c2", "weather", "21"),
            DONE,
        ),
    ),
    Shape(
        "list content",
        (ASKED, asks(("c1", "weather", WEATHER), text="Let me see.", blocks=True), result("c1", "weather", "21"), DONE),
    ),
    Shape(
        "list content of a result",
        (ASKED, asks(("c1", "weather", WEATHER)), result("c1", "weather", "21", blocks=True), DONE),
    ),
    Shape("empty arguments", (ASKED, asks(("c1", "plans", "")), result("c1", "plans", "none"), DONE)),
    Shape("null arguments", (ASKED, asks(("c1", "plans", "null")), result("c1", "plans", "none"), DONE)),
    Shape("cut JSON", (ASKED, asks(("c1", "weather", '{"city": "Lis')), result("c1", "weather", "which city?"), DONE)),
    Shape(
        "unusual arguments",
        (
            ASKED,
            asks(("c1", "save", '{"n": 9007199254740993, "x": [1, 1.5, true, null, {"é": []}], "no. 1": ""}')),
            result("c1", "save", "saved"),
            DONE,
        ),
    ),
    Shape(
        "no ids",
        (
            ASKED,
            asks(("", "weather", WEATHER), ("", "uv", UV)),
            result("", "weather", "21"),
            result("", "uv", "6"),
            DONE,
        ),
    ),
    Shape(
        "ids used again",
        (
            ASKED,
            asks(("call_0", "weather", WEATHER)),
            result("call_0", "weather", "21"),
            DONE,
            user("And the sun?"),
            asks(("call_0", "uv", UV)),
            result("call_0", "uv", "6"),
            says("6."),
        ),
    ),
    Shape(
        "multi-turn",
        (
            ASKED,
            asks(("c1", "weather", WEATHER)),
            result("c1", "weather", "21"),
            DONE,
            user("And the sun?"),
            asks(("c2", "uv", UV)),
            result("c2", "uv", "6"),
            says("6."),
        ),
    ),
    Shape(
        "a question right behind a result",
        (
            ASKED,
            asks(("c1", "weather", WEATHER)),
            result("c1", "weather", "21"),
            user("In Fahrenheit, please."),
            says("70 degrees."),
        ),
    ),
    Shape(
        "results in one message",
        (
            ASKED,
            asks(("c1", "weather", WEATHER), ("c2", "uv", UV)),
            result("c1", "weather", "21", together=True),
            result("c2", "uv", "6", together=True),
            DONE,
        ),
    ),
    Shape(
        "the result is the answer",
        (ASKED, asks(("c1", "weather", WEATHER)), result("c1", "weather", "21", return_direct=True)),
    ),
    Shape("ends in a call", (ASKED, says("Let me see."), asks(("c1", "weather", WEATHER)))),
    Shape("a result without its call", (ASKED, says("Let me see."), result("c0", "weather", "21"), DONE)),
    Shape(
        "a system message",
        ({"role": "system", "content": "Be brief."}, ASKED, asks(("c1", "uv", UV)), result("c1", "uv", "6"), DONE),
    ),
    Shape(
        "an answer written by hand",
        (
            user("Hello."),
            says("Hello!", by_hand=True),
            ASKED,
            asks(("c1", "uv", UV)),
            result("c1", "uv", "6"),
            DONE,
        ),
    ),
)
