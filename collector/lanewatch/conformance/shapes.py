"""Hand-made conversations for `lanewatch adapters test`: shapes that adapters are known to stumble over, each alone.

Every call that an assistant's message asks for ran, with the result that the tool's message tells, unless it says
otherwise. Messages are chat messages as adapters are given them (`lanewatch.adapters.chat`). Where a framework would hold
one in a form of its own, a key that chat messages don't have says so to what rebuilds it (`ragas_converters`):

| key | of | the framework holds |
|---|---|---|
| `blocks` | any | content as a list of blocks |
| `raw_tool_calls` | an answer | beside `tool_calls`, which somebody edited and which ran, the provider's own as the model wrote them |
| `function` | a call, a result | OpenAI's functions of before there were tools |
| `chunks` | an answer, a result | it as it was streamed, in pieces |
| `repeats` | a question | all that was said before it once more, with the same ids |
| `unasked` | an answer | no message before it |
| `none` | a result | no content at all |
| `together`, `return_direct`, `by_hand` | | results in one message, a result that is the answer, a dictionary of a caller's |
"""

from typing import Any

import msgspec

Message = dict[str, Any]


class Shape(msgspec.Struct, frozen=True):
    """A conversation and what its shape is called."""

    name: str
    messages: tuple[Message, ...]


def user(text: str, **more: Any) -> Message:
    """What a person says."""
    return {"role": "user", "content": text, **more}


def asks(*calls: tuple[str, str, str], text: str = "", **more: Any) -> Message:
    """An answer that asks for calls: (id, tool, arguments as the model wrote them)."""
    return {"role": "assistant", "content": text, "tool_calls": written(*calls), **more}


def written(*calls: tuple[str, str, str]) -> list[dict[str, Any]]:
    """Calls as OpenAI writes them."""
    return [{"id": i, "type": "function", "function": {"name": name, "arguments": given}} for i, name, given in calls]


def says(text: str, **more: Any) -> Message:
    """An answer in words."""
    return {"role": "assistant", "content": text, **more}


def result(call_id: str, tool: str, content: str, **more: Any) -> Message:
    """What a tool returned."""
    return {"role": "tool", "tool_call_id": call_id, "name": tool, "content": content, "status": "success", **more}


WEATHER, UV = '{"city": "Lisbon"}', '{"city": "Lisbon", "day": 2}'
EDITED = '{"city": "Porto"}'
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
        "a call edited before it ran",
        (
            ASKED,
            asks(("c1", "weather", EDITED), raw_tool_calls=written(("c1", "weather", WEATHER))),
            result("c1", "weather", "17"),
            says("17 degrees, in Porto."),
        ),
    ),
    Shape("a legacy function call", (ASKED, asks(("", "weather", WEATHER), function=True), DONE)),
    Shape(
        "a legacy function result",
        (ASKED, asks(("", "weather", WEATHER), function=True), result("", "weather", "21", function=True), DONE),
    ),
    Shape(
        "streamed calls",
        (
            ASKED,
            asks(("c1", "weather", WEATHER), ("c2", "uv", UV), chunks=True),
            result("c1", "weather", "21"),
            result("c2", "uv", "6"),
            DONE,
        ),
    ),
    Shape("streamed text", (ASKED, says("21 degrees.", chunks=True))),
    Shape(
        "a streamed result",
        (ASKED, asks(("c1", "weather", WEATHER)), result("c1", "weather", "21", chunks=True), DONE),
    ),
    Shape(
        "history told again",
        (
            ASKED,
            asks(("c1", "weather", WEATHER)),
            result("c1", "weather", "21"),
            DONE,
            user("And the sun?", repeats=True),
            asks(("c2", "uv", UV)),
            result("c2", "uv", "6"),
            says("6."),
        ),
    ),
    Shape(
        "an answer before any question",
        (says("Hello!", unasked=True), ASKED, asks(("c1", "uv", UV)), result("c1", "uv", "6"), DONE),
    ),
    Shape("a result without content", (ASKED, asks(("c1", "save", "{}")), result("c1", "save", "", none=True), DONE)),
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
