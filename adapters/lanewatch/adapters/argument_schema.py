"""What a tool's JSON Schema says of arguments: whether they fit it, may fit it, or certainly break it, whether a body may
get others in their place, and whether one is the default.

What a lax validator would coerce (`"42"` for an integer) may fit, and so does what a keyword constrains that is not read
here (patterns, bounds, formats): neither that a validator let it pass nor that it refused it can be told.
"""

from enum import IntEnum
from typing import Any

from lanewatch.adapters.identity import same

MAX_DEPTH = 20
MAX_ITEMS = 1000  # of a list or an object; what lies behind them may fit
READ = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref"})
NOTES = frozenset({"title", "description", "default", "examples", "$defs", "definitions", "$schema", "nullable"})
TRUTHS = frozenset({"true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "1", "0", ""})
SCALARS = frozenset({"string", "integer", "number", "boolean"})
KINDS = {"string": str, "array": list, "object": dict, "boolean": bool}


class Fit(IntEnum):
    """How arguments stand to a schema, worst first."""

    BREAKS = 0
    MAY = 1
    FITS = 2


def breaks_schema(arguments: Any, schema: dict[str, Any]) -> bool:
    """A required key is missing, there is a key that the schema forbids, or a value stands where no validator takes one:
    an object, list or scalar for another of the three, a text that spells no number for a number.
    """
    return fit(arguments, schema) is Fit.BREAKS


def fit(arguments: Any, schema: dict[str, Any]) -> Fit:
    """How a call's arguments stand to the schema of its tool. What is no object of arguments may fit."""
    return _object(arguments, schema, schema, 0) if isinstance(arguments, dict) else Fit.MAY


def may_change_on_the_way(arguments: dict[str, Any], schema: dict[str, Any]) -> bool:
    """Whether a body that ran may have got other arguments than these: a lax validator turns a scalar into the one that
    the schema declares (`"2"` into 2), and a framework leaves out what no parameter takes.
    """
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return False
    if schema.get("additionalProperties") in (None, False) and not properties.keys() >= arguments.keys():
        return True
    return any(
        isinstance(value, str | bool | int | float) and _is_another_scalar(value, properties.get(key))
        for key, value in arguments.items()
    )


def _is_another_scalar(value: Any, rule: Any) -> bool:
    kind = rule.get("type") if isinstance(rule, dict) else None
    return isinstance(kind, str) and kind in SCALARS and _of_kind(value, kind) is not Fit.FITS


def is_default(path: str, value: Any, schema: Any) -> bool:
    """Whether the value at a JSON path into the arguments is the default that the schema gives for it."""
    if "[" in path:
        return False  # an item of a list, or an odd name
    rule = schema
    for name in path.split(".")[1:]:
        properties = rule.get("properties") if isinstance(rule, dict) else None
        rule = properties.get(name) if isinstance(properties, dict) else None
    return isinstance(rule, dict) and "default" in rule and same(rule["default"], value)


def _object(value: dict[str, Any], rule: dict[str, Any], schema: dict[str, Any], depth: int) -> Fit:
    if len(value) > MAX_ITEMS:
        return Fit.MAY
    properties, required, others = (rule.get(key) for key in ("properties", "required", "additionalProperties"))
    if isinstance(required, list) and any(isinstance(key, str) and key not in value for key in required):
        # A schema that only lists what it requires is no schema of a function's parameters.
        return Fit.BREAKS if isinstance(properties, dict) else Fit.MAY
    known = properties if isinstance(properties, dict) else {}
    found = [_value(item, known[key], schema, depth + 1) for key, item in value.items() if key in known]
    if not known.keys() >= value.keys():
        if others is False:
            return Fit.BREAKS if isinstance(properties, dict) else Fit.MAY
        if isinstance(others, dict):
            found += [_value(item, others, schema, depth + 1) for key, item in value.items() if key not in known]
    return min(found, default=Fit.FITS)


def _value(value: Any, rule: Any, schema: dict[str, Any], depth: int) -> Fit:
    if rule is True:
        return Fit.FITS
    if not isinstance(rule, dict) or depth > MAX_DEPTH:
        return Fit.MAY
    worst = Fit.FITS if rule.keys() <= READ | NOTES else Fit.MAY
    if isinstance(reference := rule.get("$ref"), str):
        worst = min(worst, _value(value, _named(reference, schema), schema, depth + 1))
    if isinstance(choices := rule.get("anyOf"), list):
        worst = min(worst, max((_value(value, one, schema, depth + 1) for one in choices[:MAX_ITEMS]), default=Fit.MAY))
    allowed = [rule["const"]] if "const" in rule else rule.get("enum")
    if isinstance(allowed, list) and not any(same(value, one) for one in allowed):
        worst = min(worst, Fit.MAY)  # a validator may know it by another name, or take any case
    return min(worst, _typed(value, rule, schema, depth)) if "type" in rule else worst


def _typed(value: Any, rule: dict[str, Any], schema: dict[str, Any], depth: int) -> Fit:
    kinds = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
    found = max((_of_kind(value, kind) for kind in kinds), default=Fit.MAY)
    if found is not Fit.FITS:
        return found
    if isinstance(value, dict):
        return _object(value, rule, schema, depth)
    items = rule.get("items")
    if not isinstance(value, list) or items is None:
        return Fit.FITS
    if len(value) > MAX_ITEMS:
        return Fit.MAY
    return min((_value(item, items, schema, depth + 1) for item in value), default=Fit.FITS)


def _of_kind(value: Any, kind: Any) -> Fit:
    """How a value stands to the name of a type, at its outside."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "null":
        return Fit.FITS if value is None else Fit.BREAKS
    if kind in ("integer", "number"):
        if number:
            return Fit.FITS if kind == "number" or float(value).is_integer() else Fit.MAY
        return Fit.MAY if value is None or isinstance(value, bool) or _spells_number(value) else Fit.BREAKS
    wanted = KINDS.get(kind) if isinstance(kind, str) else None
    if wanted is None:
        return Fit.MAY
    if isinstance(value, wanted):
        return Fit.FITS
    if wanted in (list, dict) or isinstance(value, list | dict):
        return Fit.BREAKS
    if wanted is bool and isinstance(value, str):
        return Fit.MAY if value.strip().lower() in TRUTHS else Fit.BREAKS
    return Fit.MAY


def _spells_number(value: Any) -> bool:
    """Whether a text reads as a number to somebody: digits with separators, units or currency signs may do."""
    return isinstance(value, str) and (not value.strip() or any(map(str.isdigit, value)) or "inf" in value.lower()
                                       or "nan" in value.lower())  # fmt: skip


def _named(reference: str, schema: dict[str, Any]) -> Any:
    """What a local reference names: `#/$defs/Stop`; None for any other."""
    target: Any = schema
    if not reference.startswith("#/"):
        return None
    for step in reference[2:].split("/"):
        target = target.get(step) if isinstance(target, dict) else None
    return target
