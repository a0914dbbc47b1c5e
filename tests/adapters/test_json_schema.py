"""Schemas out of spans: what is checked, and that neither a schema nor a value can cost more than a bound."""

import socket
from typing import Any

import pytest
from lanewatch.adapters import json_schema
from lanewatch.adapters.json_schema import UnusableSchemaError, compile_schema

TREE = {"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}}}


def nested(levels: int, key: str) -> dict[str, Any]:
    """Objects in objects."""
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {key: value}
    return value


def test_errors_name_keyword_and_place() -> None:
    """What a violation is told by; the value itself is not among it."""
    schema = {"type": "object", "required": ["a"], "properties": {"b": {"items": {"type": "integer"}}}}

    assert compile_schema(schema).errors({"b": [1, "x"]}) in [
        (("type", ("b", 1)), ("required", ())),
        (("required", ()), ("type", ("b", 1))),
    ]
    assert compile_schema(schema).errors({"a": None, "b": [1.0, 2**70]}) == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "text"},
        {"properties": 3},
        {"pattern": "("},
        {"pattern": "(?=a)b"},  # no linear-time engine can match what looks ahead
        {"pattern": "(a{1000}){1000}"},
        {"$ref": "#/nowhere"},
        {"properties": {"x": {"$ref": "https://127.0.0.1:9/x.json"}}},
        {"$ref": "file:///etc/hostname"},
        "no schema",
        {"x": b"bytes"},
        {"title": "x" * 300_000},
        nested(120, "not"),
    ],
)
def test_a_schema_that_can_t_be_used_is_told_and_not_repeated(schema: Any) -> None:
    """The error says what kind of fault it is, and holds nothing of the schema."""
    with pytest.raises(UnusableSchemaError) as raised:
        compile_schema(schema)

    assert not any(word in str(raised.value) for word in ("text", "a{1000}", "127.0.0.1", "hostname", "nowhere"))


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener that a remote reference names sees no connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        with pytest.raises(UnusableSchemaError):
            compile_schema({"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/s.json"})
        with pytest.raises(TimeoutError):
            server.accept()


def test_references_that_double_at_each_step_are_refused() -> None:
    """Twenty-five definitions of two references each are 33 million parts, written out."""
    either = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(25)}

    with pytest.raises(UnusableSchemaError, match="20000 parts"):
        compile_schema({"$ref": "#/$defs/d0", "$defs": {**either, "d25": {"type": "string"}}})


def test_a_recursion_with_one_way_down_is_checked_and_one_with_many_is_bounded() -> None:
    """A list costs its length; a schema that tries each level twice costs a power of the value's depth."""
    twice = {"properties": {"next": {"$ref": "#/$defs/n"}}}
    doubling = {"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [twice, {**twice, "required": ["x"]}]}}}

    through = {"a": {"properties": {"next": {"$ref": "#/$defs/n"}}}, "n": {"anyOf": [{"$ref": "#/$defs/a"}] * 2}}

    assert compile_schema({"$ref": "#/$defs/n", "$defs": through}).errors(nested(40, "next")) is None
    assert compile_schema(TREE).errors(nested(90, "next")) == ()
    assert compile_schema(doubling).errors(nested(4, "next")) == ()
    assert compile_schema(doubling).errors(nested(40, "next")) is None


def test_a_value_that_is_too_large_for_its_schema_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts times parts, and long texts by their length."""
    compiled = compile_schema({"properties": {"a": {"items": {"pattern": "^(a+)+$"}}}})
    monkeypatch.setattr(json_schema, "MAX_STEPS", 10_000)

    assert compiled.errors({"a": ["a" * 50]}) == ()
    assert compiled.errors({"a": ["a" * 1_000_000 + "b"]}) is None
    assert compiled.errors({"a": ["a"] * 10_000}) is None


def test_a_pattern_that_backtracks_elsewhere_costs_its_text_s_length_here() -> None:
    """Python's own engine would be at this for longer than the universe is old."""
    errors = compile_schema({"properties": {"a": {"pattern": "^(a+)+$"}}}).errors({"a": "a" * 5_000 + "b"})

    assert errors == (("pattern", ("a",)),)


def test_a_pattern_of_many_states_is_weighed_by_them() -> None:
    """Linear in the text is still a second for each ten kilobytes where a thousand states are alive at once."""
    small = compile_schema({"pattern": "^[0-9]{4}-[0-9]{2}$"})
    large = compile_schema({"properties": {"a": {"pattern": "[ab]*a[ab]{1000}c"}}})

    assert large.weight.character_steps > 50 * small.weight.character_steps
    assert small.errors("ab" * 50_000) == (("pattern", ()),)
    assert large.errors({"a": "ab" * 50}) == (("pattern", ("a",)),)
    assert large.errors({"a": "ab" * 50_000}) is None


def test_names_that_patterns_read_are_text_too() -> None:
    """Names of properties come from outside as values do."""
    named = {"propertyNames": {"pattern": "[ab]*a[ab]{1000}c"}}
    matched = {"patternProperties": {"[ab]*a[ab]{1000}c": False}}

    assert compile_schema(named).errors({"ab" * 50_000: 1}) is None
    assert compile_schema(matched).errors({"ab" * 50_000: 1}) is None


def test_patterns_that_take_too_much_memory_together_are_refused() -> None:
    """Each remembers what it has read: a thousand of them took 1.2 GB."""
    many = {"allOf": [{"pattern": f"a[ab]{{100}}{i}"} for i in range(1000)]}
    again = {"$defs": {"a": {"pattern": "a[ab]{100}"}}, "allOf": [{"$ref": "#/$defs/a"}] * 1000}

    for schema in (many, again):
        with pytest.raises(UnusableSchemaError, match="patterns"):
            compile_schema(schema)


def test_of_a_value_that_may_have_very_many_errors_the_first_is_told() -> None:
    """A hundred thousand took two seconds to tell."""
    compiled = compile_schema({"items": {"type": "string"}})

    assert compiled.errors([0] * 100_000) == (("type", (0,)),)
    assert compiled.errors([0] * 100) == tuple(("type", (i,)) for i in range(100))


@pytest.mark.parametrize("value", [{1: 2}, {"a": b"x"}, {"a": {"b": {1}}}])
def test_what_is_no_json_raises_and_is_not_valid(value: Any) -> None:
    """The caller says that nothing was checked."""
    with pytest.raises(ValueError):
        compile_schema({"properties": {"a": {"type": "string"}}}).errors(value)


def test_an_older_draft_is_read_as_itself() -> None:
    """In draft 4, exclusiveMinimum is a boolean."""
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}

    assert compile_schema(schema).errors(1) == (("minimum", ()),) or compile_schema(schema).errors(1) == (
        ("exclusiveMinimum", ()),
    )
