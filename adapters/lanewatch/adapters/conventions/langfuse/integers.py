"""Integers beyond 2^53 in a call's arguments, which Langfuse's encoder writes as text for JavaScript's sake.

The tool's JSON Schema tells the number from a text that looks like it. Where it does not, nobody can, and the arguments'
state says that they are not what they were.
"""

import re
from typing import Any

from lanewatch.adapters.reading import Content, State, dictionaries

LARGE = re.compile(r'"-?[1-9]\d{15,}"')  # a text that may be an integer beyond 2^53
INTEGER = re.compile(r"-?[1-9]\d{15,4000}")  # Python's limit on digits is 4,300
SAFE = 2**53 - 1


def with_integers(arguments: Content, schema: Any) -> Content:
    """Arguments with the integers that the encoder wrote as texts made numbers again, as the schema says; where it says
    nothing, their state tells that they are not as they were.
    """
    if not isinstance(arguments.value, dict):
        return arguments
    value, is_sure = _integers(arguments.value, schema)
    return Content(value, None, State.CAPTURED if is_sure else State.TRUNCATED, structured=True)


def _integers(value: Any, schema: Any) -> tuple[Any, bool]:
    rule = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict):
        rules = rule.get("properties")
        rules = rules if isinstance(rules, dict) else {}
        read_items = {key: _integers(item, rules.get(key)) for key, item in value.items()}
        return {key: item for key, (item, _) in read_items.items()}, all(sure for _, sure in read_items.values())
    if isinstance(value, list):
        items = [_integers(item, rule.get("items")) for item in value]
        return [item for item, _ in items], all(sure for _, sure in items)
    if not isinstance(value, str) or not INTEGER.fullmatch(value) or abs(int(value)) <= SAFE:
        return value, True
    options = [rule, *(option for key in ("anyOf", "oneOf") for option in dictionaries(rule.get(key)))]
    kinds = {kind for option in options for kind in _kinds(option.get("type"))}
    if kinds & {"integer", "number"} and "string" not in kinds:
        return int(value), True
    return value, "string" in kinds and not kinds & {"integer", "number"}


def _kinds(kind: Any) -> list[str]:
    return (
        [kind]
        if isinstance(kind, str)
        else [one for one in kind if isinstance(one, str)]
        if isinstance(kind, list)
        else []
    )
