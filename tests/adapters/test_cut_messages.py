"""Outputs whose JSON breaks off: what stands before the cut is read, and nothing is made of what does not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.adapters.cut_messages import cut_output, whole_part
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import Evidence, Outcome, TraceRecord
from lanewatch.monitors.divergence import find_divergences

from tests.adapters.spans import agent, asking, call, chat, record, text, tool

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def is_part_of(part: Any, whole: Any) -> bool:
    """Whether a value is another with elements and members left out at ends."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_part_of(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_part_of, part, whole))
    return type(part) is type(whole) and bool(part == whole)


@given(VALUES.filter(lambda value: isinstance(value, dict | list)), st.data())
def test_what_is_read_of_a_cut_text_stands_in_the_whole_one(value: Any, data: st.DataObject) -> None:
    """No value is a shorter one: 1 of 12, or a text of which the end is lost."""
    written = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    start = whole_part(written[: data.draw(st.integers(1, len(written)))])

    assert start is not None
    assert is_part_of(json.loads(start), value)


@pytest.mark.parametrize("broken", ["", "x", "]", '{"a": ]', "[" * 101, '"a'])
def test_what_is_no_start_of_a_structure_is_nothing(broken: str) -> None:
    """Nor is what is nested deeper than anything that is read."""
    assert whole_part(broken) is None or cut_output(broken) == ()


WHOLE = json.dumps([asking(text("I look."), call("look", {"a": 1}, "c1"), call("look", {"a": 2}, "c2"))])


@pytest.mark.parametrize(
    ("behind", "seen"),
    [
        ('"I lo', []),
        ('"name": "look", ', []),  # the id is behind the cut: this may be any call of the tool
        ('"id": "c1", ', [("look", "c1", None)]),
        ('"a": 1}}', [("look", "c1", None)]),
        ('"a": 1}}, {"type": "tool_call", "name": "look", "i', [("look", "c1", {"a": 1})]),
        ('"id": "c2", "argu', [("look", "c1", {"a": 1}), ("look", "c2", None)]),
        ('"a": 2}}', [("look", "c1", {"a": 1}), ("look", "c2", None)]),
    ],
)
def test_calls_before_the_cut_are_read_and_the_last_without_arguments(behind: str, seen: list[Any]) -> None:
    """Ids and names come early in a part; whether its arguments are whole nobody knows."""
    cut = WHOLE[: WHOLE.index(behind) + len(behind)]
    found = [(c.name, c.call_id, c.arguments.value) for message in cut_output(cut) for c in message.calls]

    assert found == seen


def test_anthropics_calls_without_arguments_are_told_from_those_that_were_cut() -> None:
    """A `tool_use` without input takes none; one that breaks off before its input may take any."""
    cut = '[{"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "pay", "inp'
    (message,) = cut_output(cut)

    assert [(c.name, c.call_id, c.arguments.state) for c in message.calls] == [("pay", "c1", State.TRUNCATED)]


def _cut_trace(*, ran: bool) -> TraceRecord:
    """A trace whose request breaks off in its arguments."""
    cut = {"gen_ai.output.messages": json.dumps([asking(call("look", {"a": 1}, "c1"))])[:-12]}
    runs = [tool("run", "look", {"a": 1}, call_id="c1", under="agent", at=(3, 4))] if ran else []
    say = chat("say", text("ok"), under="agent", at=(5, 6))
    return record(agent(), chat("ask", under="agent", at=(1, 2), extra=cut), *runs, say)


def test_a_run_finds_the_request_that_was_cut() -> None:
    """By its id; with what it was asked for stays unknown."""
    found = _cut_trace(ran=True)

    assert [(r.name, r.call_id, r.arguments, r.outcome) for r in found.requests] == [
        ("look", "c1", None, Outcome.DISPATCHED)
    ]
    assert [d.match_rule for d in found.dispatches] == ["R1"]
    assert found.evidence["requests"] is Evidence.TRUNCATED
    assert find_divergences(found) == ()


def test_a_request_that_was_cut_and_has_no_run_is_not_called_dropped() -> None:
    """That the model's provider was to run it may have stood behind the cut."""
    found = _cut_trace(ran=False)

    assert [r.outcome for r in found.requests] == [Outcome.UNKNOWN]
    assert find_divergences(found) == ()
