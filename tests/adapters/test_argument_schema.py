"""Arguments that certainly break a tool's schema, and those that a lax validator would take."""

from typing import Any

import pytest
from lanewatch.adapters.argument_schema import breaks_schema, is_default

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
