"""Arguments that certainly break a tool's schema, and those that a lax validator would take."""

from typing import Any

import pytest
from lanewatch.adapters.argument_schema import breaks_schema

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
