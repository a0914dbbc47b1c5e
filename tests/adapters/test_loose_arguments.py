"""Arguments that a span wrote in a lossy way, against those that were asked for (rule R6)."""

from typing import Any

import pytest
from lanewatch.adapters.facts import Shape
from lanewatch.adapters.json_text import dump
from lanewatch.adapters.loose_arguments import loosely_same, traits_of_request, traits_of_run


@pytest.mark.parametrize(
    ("requested", "ran"),
    [
        ({"city": "Lisbon"}, "Lisbon"),
        ({"text": "42"}, "42"),
        ({"text": "true"}, "true"),
        ({"text": '{"a": 1}'}, '{"a": 1}'),
        ({"n": 42}, "42"),
        ({"flag": True}, "True"),
        ({"x": None}, "None"),
        ({"items": [1, "a"]}, "[1, 'a']"),
        ({"payload": {"a": 1}}, "{'a': 1}"),
        ({"ratio": 2.5}, "2.50"),
        ({"city": "Lisbon", "days": 2}, "{'city': 'Lisbon', 'days': 2}"),
    ],
)
def test_a_bare_value_is_that_of_the_only_argument(requested: dict[str, Any], ran: str) -> None:
    """LangChain writes the value of a single argument without its name, and others as Python would."""
    assert loosely_same(requested, dump(requested), ran, Shape.BARE)
    assert set(traits_of_request(requested, None)) & set(traits_of_run(ran, Shape.BARE))


@pytest.mark.parametrize(
    ("requested", "ran"),
    [({"city": "Lisbon"}, "Porto"), ({"text": "42"}, "42.0"), ({"n": 42}, "43"), ({"a": "x", "b": "y"}, "x"), ({}, "x"),
     ({"flag": True}, "1"), ({"x": None}, "")],
)  # fmt: skip
def test_another_bare_value_is_not(requested: dict[str, Any], ran: str) -> None:
    """A value that was changed on the way is a difference, not a loose match."""
    assert not loosely_same(requested, dump(requested), ran, Shape.BARE)


def test_a_row_matches_in_order_alone() -> None:
    """A positional call has lost the names; an exchange of two values would be a real difference."""
    requested = {"order_id": "A-7", "amount": 20.0}

    assert loosely_same(requested, None, {"args": ["A-7"], "kwargs": {"amount": 20}}, Shape.POSITIONAL)
    assert not loosely_same(requested, None, {"args": [20, "A-7"], "kwargs": {}}, Shape.POSITIONAL)
    assert not loosely_same(requested, None, {"args": ["A-7"], "kwargs": {}}, Shape.POSITIONAL)


def test_a_cut_text_is_the_start_of_what_was_asked() -> None:
    """Attribute limits cut JSON text; serialisers set white space differently."""
    raw = '{"subscription_id": "sub_42", "effective": "period_end"}'

    assert loosely_same({"x": 1}, raw, '{"subscription_id":"sub_42","eff', Shape.TEXT)
    assert not loosely_same({"x": 1}, raw, '{"subscription_id":"sub_43","eff', Shape.TEXT)
    assert not loosely_same({"x": 1}, raw, '{"sub', Shape.TEXT)


def test_objects_that_differ_by_nulls_alone_are_loosely_the_same() -> None:
    """Frameworks fill optional arguments in with null, or leave nulls out; no other difference is passed over."""
    full, short = {"a": 1, "b": None}, {"a": 1}

    assert loosely_same(full, None, short, Shape.OBJECT)
    assert set(traits_of_run(short, Shape.OBJECT)) & set(traits_of_request(full, None))
    assert not loosely_same({"a": 1, "b": 0}, None, short, Shape.OBJECT)
