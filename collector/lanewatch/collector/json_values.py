"""OTLP's attributes and AnyValues as plain Python, from their JSON form (protobuf's JSON mapping, as OTLP restricts it).

Takes what `json.loads` made of one item and gives exactly what `values` gives for the same content in protobuf, with the
same limits and counts. A member of the wrong type raises `MalformedError`; unknown members are ignored, and null is an
absent member (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
"""

import base64
import binascii
import json
import math
import re
from typing import Any, NoReturn

from lanewatch.collector.content import inner_bytes
from lanewatch.collector.harvest import TOO_DEEP, Harvest
from lanewatch.collector.spans import Attributes, AttributeValue

Members = dict[str, Any]

_INTEGER = re.compile(r"-?[0-9]{1,20}")
_ID = re.compile(r"[0-9a-fA-F]{16}|[0-9a-fA-F]{32}")
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_MALFORMED_ID = b"?"  # of no valid length, so that whoever checks ids treats it as protobuf's malformed ones
_VALUES = frozenset({"stringValue", "boolValue", "intValue", "doubleValue", "arrayValue", "kvlistValue", "bytesValue"})


class MalformedError(Exception):
    """An item is no OTLP/JSON. Says nothing of its content."""


def parse(raw: Any, max_values: int) -> Members:
    """The JSON object in a bytes-like object. Raises `MalformedError`, also for what json.loads lets pass.

    That is: a member twice, NaN and Infinity, and more than `max_values` objects and arrays in more than twice that many
    bytes (an empty one takes two bytes of JSON and up to 64 in memory).
    """
    try:
        document = str(raw, "utf-8")
        if len(document) > 2 * max_values and document.count("{") + document.count("[") > max_values:
            raise MalformedError
        members = json.loads(document, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError):  # ValueError also of an integer of more than 4300 digits
        raise MalformedError from None
    return expect_object(members)


def find_duplicates(body: bytes) -> None:
    """Raises `MalformedError` where any object of the document has a member twice; holds no more than one object."""
    try:
        json.loads(str(body, "utf-8"), object_pairs_hook=_forget_object)
    except (ValueError, RecursionError):
        raise MalformedError from None


def _forget_object(pairs: list[tuple[str, Any]]) -> None:
    _object(pairs)


def _object(pairs: list[tuple[str, Any]]) -> Members:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise MalformedError
    return members


def _constant(_: str) -> NoReturn:
    raise MalformedError


def expect_object(value: Any) -> Members:
    """Raises `MalformedError` for anything but an object."""
    if not isinstance(value, dict):
        raise MalformedError
    return value


def text(members: Members, name: str, harvest: Harvest) -> str:
    """A string member; "" where it is absent."""
    value = members.get(name)
    return "" if value is None else _text(value, harvest)


def _text(value: Any, harvest: Harvest) -> str:
    if not isinstance(value, str):
        raise MalformedError
    return harvest.text(value)


def identifier(value: Any) -> bytes:
    """16 or 8 bytes of hex digits in either case; b"" where absent. Others come back as bytes of no valid length.

    Not bytes.fromhex alone: it accepts blanks.
    """
    if value is None or value == "":
        return b""
    return bytes.fromhex(value) if isinstance(value, str) and _ID.fullmatch(value) else _MALFORMED_ID


def integer(value: Any, low: int = 0, high: int = 2**64 - 1) -> int:
    """A 64-bit integer as a number or a string; 0 where absent. The default range is that of fixed64 and uint64."""
    if value is None:
        return 0
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or not low <= value <= high:
        raise MalformedError
    return value


def enum(value: Any) -> int:
    """An enum's number: OTLP/JSON forbids its name."""
    if isinstance(value, str):
        raise MalformedError
    return integer(value, -(2**31), 2**31 - 1)


def elements(members: Members, name: str) -> list[Any]:
    """A repeated field; empty where it is absent."""
    value = members.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise MalformedError
    return value


def nested(members: Members, name: str) -> Members:
    """An embedded message; empty where it is absent."""
    value = members.get(name)
    return {} if value is None else expect_object(value)


def attributes(members: Members, harvest: Harvest, name: str = "attributes", depth: int = 0) -> Attributes:
    """A list of KeyValues as a dict; `values.read_attributes` for JSON."""
    result: Attributes = {}
    pairs = elements(members, name)
    limit = None if depth else harvest.limits.max_attributes
    for pair in pairs[: harvest.spend(len(pairs), limit)]:
        value = any_value(expect_object(pair).get("value"), harvest, depth)
        first = result.setdefault(text(pair, "key", harvest), value)
        if first is not value and first != value:
            harvest.lost += 1
    return result


def any_value(value: Any, harvest: Harvest, depth: int = 0) -> AttributeValue:
    """An AnyValue; `values.read_value` for JSON."""
    if value is None:
        return None
    present = [(name, item) for name, item in expect_object(value).items() if item is not None and name in _VALUES]
    if not present:
        return None
    if len(present) > 1:
        raise MalformedError
    name, content = present[0]
    if name == "stringValue":
        return _text(content, harvest)
    if name == "boolValue":
        return _boolean(content)
    if name == "intValue":
        return integer(content, -(2**63), 2**63 - 1)
    if name == "doubleValue":
        return _double(content)
    if name == "bytesValue":
        return harvest.cut_bytes(_base64(content))
    return _list_or_map(name, expect_object(content), harvest, depth + 1)


def _list_or_map(name: str, content: Members, harvest: Harvest, depth: int) -> AttributeValue:
    if depth > harvest.limits.max_depth:
        harvest.lost += 1
        return TOO_DEEP
    if name == "kvlistValue":
        pairs = attributes(content, harvest, "values", depth)
        harvest.inner_bytes += inner_bytes(pairs, depth)
        return pairs
    items = elements(content, "values")
    values = [any_value(value, harvest, depth) for value in items[: harvest.spend(len(items))]]
    harvest.inner_bytes += inner_bytes(values, depth)
    return values


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise MalformedError
    return value


def _double(value: Any) -> float:
    if isinstance(value, str):
        if value in _NOT_FINITE:
            return _NOT_FINITE[value]
        try:
            value = json.loads(value, parse_constant=_constant)
        except (ValueError, RecursionError):
            raise MalformedError from None
    if type(value) is not int and type(value) is not float:
        raise MalformedError
    try:
        number = float(value)
    except OverflowError:
        raise MalformedError from None
    if not math.isfinite(number):  # 1e999
        raise MalformedError
    return number


def _base64(value: Any) -> bytes:
    """The standard or the URL-safe alphabet, with or without padding."""
    if not isinstance(value, str):
        raise MalformedError
    encoded = value.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError from None
