"""Where two JSON values differ."""

import doctest
from typing import Any

import pytest
from lanewatch.monitors import differences as module
from lanewatch.monitors.differences import MISSING, differences, missing, shown


def test_the_examples_hold() -> None:
    """The docstrings' examples are part of the interface."""
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({"a": 1}, {"a": True}, [("$.a", 1, True)]),
        ({"a": None}, {}, [("$.a", None, MISSING)]),
        ({}, {"a": None}, [("$.a", MISSING, None)]),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 3}]}}, [("$.a.b[1].c", 2, 3)]),
        ({"odd key": 1}, {"odd key": 2}, [("$['odd key']", 1, 2)]),
        ([1, 2], [1], [("$[1]", 2, MISSING)]),
        ({"a": 1}, "text", [("$", {"a": 1}, "text")]),
        ({"a": [1]}, {"a": {"0": 1}}, [("$.a", [1], {"0": 1})]),
        ("x", "x", []),
        (float("nan"), float("nan"), []),
    ],
)
def test_differences(a: Any, b: Any, found: list[tuple[str, Any, Any]]) -> None:
    """Each with its path and both values; key order and the spelling of numbers never count."""
    assert list(differences(a, b)) == found


def test_keys_are_the_same_however_an_accent_is_composed() -> None:
    """As the identity rules have it."""
    assert list(differences({"caf\u00e9": 1}, {"cafe\u0301": 1})) == []


def test_what_is_not_there_is_named_beside_the_values() -> None:
    """A record has None for it, which JSON can't tell from null."""
    assert [shown(value) for value in (1, MISSING, None)] == [1, None, None]
    assert missing(requested=1, dispatched=MISSING, artifact=None) == ("dispatched",)
