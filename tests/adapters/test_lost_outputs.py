"""Model outputs that were lost, or that hide what they said, told by what later inputs repeat."""

import pytest
from lanewatch.monitors.divergence import find_divergences

from tests.adapters.spans import agent, answered, asking, call, chat, oi, oi_llm, oi_tool, record, text, tool

LOOK = call("look", {"a": 1}, "c1")
OPENING = {"role": "user", "parts": [text("hi")]}


def test_a_call_that_only_a_later_input_shows_makes_requests_partial() -> None:
    """Its output was lost, and its run with it."""
    found = record(
        agent(),
        chat("one", text("Let me see."), inputs=[OPENING], under="agent", at=(1, 2)),
        chat("three", text("ok"), inputs=[OPENING, asking(LOOK), answered("c1", "warm")], under="agent", at=(9, 10)),
    )

    assert found.evidence["requests"] == "partial"


def test_a_run_whose_request_was_lost_is_not_unrequested() -> None:
    """The later input shows that it was asked for."""
    found = record(
        agent(),
        tool("t", "look", {"a": 1}, under="agent", at=(3, 4)),
        chat("two", text("ok"), inputs=[OPENING, asking(LOOK), answered("c1", "warm")], under="agent", at=(9, 10)),
    )

    assert found.evidence["requests"] == "partial"


def test_calls_as_text_in_the_history_count_too() -> None:
    """Smolagents repeats calls as text."""
    said = {
        "llm.input_messages.0.message.role": "tool-call",
        "llm.input_messages.0.message.content": "Calling tools: look(1)",
    }
    found = record(
        oi("root", "AGENT", at=(0, 99)),
        oi_tool("t", "look", {"a": 1}, "warm", under="root", at=(3, 4)),
        oi_llm("two", content="ok", extra=said, under="root", at=(9, 10)),
    )

    assert found.evidence["requests"] == "partial"


def test_examples_that_a_later_input_alone_holds_were_not_lost() -> None:
    """They stand before what the first output asked for."""
    examples = [asking(call("sum", {"q": 1}, "example_1")), answered("example_1", "2")]
    found = record(
        agent(),
        chat("one", LOOK, inputs=[OPENING], under="agent", at=(1, 2)),
        tool("t", "look", {"a": 1}, call_id="c1", under="agent", at=(3, 4)),
        chat(
            "two", text("ok"), inputs=[OPENING, *examples, asking(LOOK), answered("c1", "w")], under="agent", at=(9, 10)
        ),
    )

    assert found.evidence["requests"] == "complete"


@pytest.mark.parametrize("separate", [True, False])
def test_a_call_behind_a_shown_one_or_beside_it_was_lost(separate: bool) -> None:
    """What the first output asked for stands before it, or in the same turn."""
    other = call("look", {"a": 2}, "c2")
    rest = [asking(other), asking(LOOK)] if separate else [asking(LOOK), answered("c1", "w"), asking(other)]
    found = record(
        agent(),
        chat("one", LOOK, inputs=[OPENING], under="agent", at=(1, 2)),
        tool("t", "look", {"a": 1}, call_id="c1", under="agent", at=(3, 4)),
        chat("two", text("ok"), inputs=[OPENING, *rest, answered("c2", "w")], under="agent", at=(9, 10)),
    )

    assert found.evidence["requests"] == "partial"


def test_another_conversation_with_the_same_opening_has_a_history_of_its_own() -> None:
    """Nothing of the first is in the second, whose calls lie before its last question."""
    history = [OPENING, asking(LOOK), answered("c1", "warm"), {"role": "user", "parts": [text("And now?")]}]
    found = record(
        agent(),
        chat("one", text("Hello."), inputs=[OPENING], under="agent", at=(1, 2)),
        chat("two", text("Cold."), inputs=history, under="agent", at=(9, 10)),
    )

    assert found.evidence["requests"] == "complete"


def test_history_of_earlier_traces_is_not_lost() -> None:
    """11: the first input of a conversation repeats other turns."""
    history = [OPENING, asking(LOOK), answered("c1", "warm")]
    found = record(
        agent(),
        chat("one", call("look", {"a": 2}, "c2"), inputs=history, under="agent", at=(1, 2)),
        tool("t", "look", {"a": 2}, call_id="c2", under="agent", at=(3, 4)),
        chat(
            "two",
            text("ok"),
            inputs=[*history, asking(call("look", {"a": 2}, "c2")), answered("c2", "cold")],
            under="agent",
            at=(9, 10),
        ),
    )

    assert found.evidence["requests"] == "complete"


@pytest.mark.parametrize(
    "repeated",
    [LOOK, call("look", {"a": 1}, "other_id"), call("look", None, "other_id"), call("look", {"a": 1}, "fc_1")],
)
def test_a_call_under_another_id_is_the_same_call(repeated: dict[str, object]) -> None:
    """Frameworks give calls ids of their own on the way into the history."""
    found = record(
        agent(),
        chat("one", LOOK, inputs=[OPENING], under="agent", at=(1, 2)),
        tool("t", "look", {"a": 1}, call_id="c1", under="agent", at=(3, 4)),
        chat("two", text("ok"), inputs=[OPENING, asking(repeated)], under="agent", at=(9, 10)),
    )

    assert found.evidence["requests"] == "complete"


@pytest.mark.parametrize(("said", "state"), [(("look", {"a": 2}), "partial"), (("look", {"a": 1}), "complete")])
def test_calls_without_ids_are_known_again_by_name_and_arguments(said: tuple[str, object], state: str) -> None:
    """Gemini's calls have none; a stream's span may show the last chunk's call alone."""
    whole = asking(call("look", {"a": 1}, ""), call(*said, ""))
    found = record(
        agent(),
        chat("one", call("look", {"a": 1}, ""), inputs=[OPENING], under="agent", at=(1, 2)),
        chat("two", text("ok"), inputs=[OPENING, whole], under="agent", at=(9, 10)),
    )

    assert found.evidence["requests"] == state


def test_a_run_inside_a_model_call_was_asked_for_there() -> None:
    """Google's client runs tools by itself: one span holds the loop, and shows the last answer alone."""
    found = record(
        agent(),
        chat("loop", text("It is warm."), inputs=[OPENING], under="agent", at=(1, 9)),
        tool("t", "look", {"a": 1}, under="loop", at=(3, 4)),
    )

    assert found.evidence["requests"] == "partial"
    assert [run.application for run in found.dispatches] == [None]
    assert not find_divergences(found)
