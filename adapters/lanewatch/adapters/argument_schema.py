"""Whether arguments certainly break a tool's JSON Schema; what a lax validator would coerce does not count."""

from typing import Any


def breaks_schema(arguments: Any, schema: dict[str, Any]) -> bool:
    """A required key is missing, there is a key that the schema forbids, or an object or list stands where it wants a
    scalar and the other way round.
    """
    properties = schema.get("properties")
    if not isinstance(arguments, dict) or not isinstance(properties, dict):
        return False
    required = schema.get("required")
    if isinstance(required, list) and any(isinstance(key, str) and key not in arguments for key in required):
        return True
    if schema.get("additionalProperties") is False and any(key not in properties for key in arguments):
        return True
    return any(_wrong_shape(arguments[key], rule) for key, rule in properties.items() if key in arguments)


def _wrong_shape(value: Any, rule: Any) -> bool:
    kind = rule.get("type") if isinstance(rule, dict) else None
    if kind in ("string", "integer", "number", "boolean"):
        return isinstance(value, dict | list)
    if kind == "array":
        return not isinstance(value, list)
    return kind == "object" and not isinstance(value, dict)
