"""What a tool's JSON Schema says of arguments: that they certainly break it, or that one is the default.

What a lax validator would coerce does not break it.
"""

from typing import Any

from lanewatch.adapters.identity import same


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


def is_default(path: str, value: Any, schema: Any) -> bool:
    """Whether the value at a JSON path into the arguments is the default that the schema gives for it."""
    if "[" in path:
        return False  # an item of a list, or an odd name
    rule = schema
    for name in path.split(".")[1:]:
        properties = rule.get("properties") if isinstance(rule, dict) else None
        rule = properties.get(name) if isinstance(properties, dict) else None
    return isinstance(rule, dict) and "default" in rule and same(rule["default"], value)


def _wrong_shape(value: Any, rule: Any) -> bool:
    kind = rule.get("type") if isinstance(rule, dict) else None
    if kind in ("string", "integer", "number", "boolean"):
        return isinstance(value, dict | list)
    if kind == "array":
        return not isinstance(value, list)
    return kind == "object" and not isinstance(value, dict)
