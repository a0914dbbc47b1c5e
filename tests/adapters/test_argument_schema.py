"""Arguments that certainly break a tool's schema, and those that a lax validator would take."""

from typing import Any

import pytest
from lanewatch.adapters.argument_schema import Fit, breaks_schema, fit, is_default

SCHEMA = {
    "properties": {"id": {"type": "string"}, "tags": {"type": "array"}, "to": {"type": "object"}},
    "required": ["id"],
}


@pytest.mark.parametrize("arguments", [{}, {"id": ["x"]}, {"id": "x", "tags": "a"}, {"id": "x", "to": "a"}, {"id": {}}])
def test_broken(arguments: dict[str, Any]) -> None:
    """A required key is missing, or an object, list and scalar are exchanged."""
    assert breaks_schema(arguments, SCHEMA)


@pytest.mark.parametrize(
    "arguments", [{"id": "x"}, {"id": 42}, {"id": None}, {"id": "x", "more": 1}, None, "text", [1]]
)
def test_not_certainly_broken(arguments: Any) -> None:
    """A number may be coerced, and keys that are not forbidden are let through."""
    assert not breaks_schema(arguments, SCHEMA)


TYPED = {
    "properties": {
        "limit": {"type": "integer"},
        "share": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
        "loud": {"type": "boolean"},
        "unit": {"enum": ["C", "F"]},
        "note": {"type": "string", "maxLength": 3},
        "stops": {"type": "array", "items": {"$ref": "#/$defs/Stop"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "$defs": {"Stop": {"type": "object", "properties": {"at": {"type": "integer"}}, "required": ["at"]}},
}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"limit": 3, "share": None, "loud": True, "unit": "C", "stops": [{"at": 1}], "labels": {"a": "b"}}, Fit.FITS),
        ({"limit": 3.0, "share": 0.5, "more": object}, Fit.FITS),
        ({"limit": "many"}, Fit.BREAKS),
        ({"share": "much"}, Fit.BREAKS),
        ({"loud": "maybe"}, Fit.BREAKS),
        ({"stops": [{"at": 1}, {"at": "noon"}]}, Fit.BREAKS),
        ({"stops": [{}]}, Fit.BREAKS),
        ({"labels": {"a": ["b"]}}, Fit.BREAKS),
        ({"limit": "3"}, Fit.MAY),
        ({"limit": "1,000 rows"}, Fit.MAY),
        ({"limit": 2.5}, Fit.MAY),
        ({"loud": "Yes"}, Fit.MAY),
        ({"unit": "K"}, Fit.MAY),
        ({"note": "ok"}, Fit.MAY),
        ("text", Fit.MAY),
    ],
)
def test_how_arguments_stand_to_a_schema(arguments: Any, expected: Fit) -> None:
    """What a validator may coerce, or refuse for a bound that is not read here, is neither a fit nor a break."""
    assert fit(arguments, TYPED) is expected


def test_a_schema_that_names_itself_ends() -> None:
    """A tree's node refers to itself; beyond a depth nothing is said."""
    node: dict[str, Any] = {"properties": {"next": {"$ref": "#/$defs/Node"}}, "type": "object"}
    loop = {"properties": {"a": {"$ref": "#/$defs/Loop"}}, "$defs": {"Loop": {"$ref": "#/$defs/Loop"}}}
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"next": deep}

    assert fit(deep, {**node, "$defs": {"Node": node}}) is Fit.MAY
    assert fit({"a": 1}, loop) is Fit.MAY


def test_a_forbidden_key_breaks_it() -> None:
    """`additionalProperties: false` forbids what is not listed."""
    assert breaks_schema({"id": "x", "more": 1}, {**SCHEMA, "additionalProperties": False})


@pytest.mark.parametrize(
    "schema",
    [{}, {"properties": None}, {"properties": {"id": None}, "required": "id"}, {"properties": {}, "required": [1]}],
)
def test_a_strange_schema_forbids_nothing(schema: dict[str, Any]) -> None:
    """Schemas come from spans too."""
    assert not breaks_schema({"id": [1]}, schema)


@pytest.mark.parametrize(
    ("path", "value", "stated"),
    [
        ("$.unit", "C", True),
        ("$.unit", "F", False),
        ("$.session", {"user": 7}, False),
        ("$.where.country", "IT", True),
        ("$.where.street", "x", False),
        ("$.days[1]", 2, False),
        ("$['odd name']", 2, False),
        ("$", {}, False),
    ],
)
def test_defaults_that_a_schema_states(path: str, value: Any, stated: bool) -> None:
    """At any depth of objects; what it does not show to models is nobody's default."""
    where = {"properties": {"country": {"default": "IT"}, "street": {}}}
    schema = {"properties": {"unit": {"default": "C"}, "where": where, "days": {"type": "array"}}}

    assert is_default(path, value, schema) is stated
    assert not is_default(path, value, {})
