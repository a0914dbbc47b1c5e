"""What a tool's contract lets two spellings of one argument differ in; without a contract every difference counts.

Invariants: a rule stands at one path and holds for that path alone; a value that its normaliser can't read is compared
exactly; nothing is ever normalised where no rule says so.
"""

import datetime as dt
import re
from collections.abc import Iterator
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from lanewatch.adapters.identity import canonical
from lanewatch.monitors.differences import MISSING, differences, step

Place: TypeAlias = tuple[str | None, ...]  # keys from the outside in; None is any item of an array

STEP = re.compile(r"\.([A-Za-z_]\w*)|\['([^'\\]{1,200})'\]|\[\*\]")
NUMBER = re.compile(r"[+-]?[0-9]{1,100}(\.[0-9]{1,100})?")
LONGEST_DATE = 64  # characters


class Rule(StrEnum):
    """How two values at a path may differ and still be the same."""

    ISO_DATE = "iso_date"  # one date or instant in two ISO 8601 spellings
    CASE = "case"  # upper and lower case
    NUMBER = "number"  # "100" and 100
    SET = "set"  # an array's order and repetitions
    VOLATILE = "volatile"  # anything: the value is not compared


class Contract(msgspec.Struct, frozen=True):
    """The rules of one tool's arguments, by place."""

    rules: dict[Place, Rule] = {}

    def excuses(self, place: Place, a: Any, b: Any) -> bool | None:
        """Whether the values at a place are the same by its rule; None where it has no rule."""
        rule = self.rules.get(place)
        if rule is None:
            return None
        if rule is Rule.VOLATILE:
            return True
        return a is not MISSING and b is not MISSING and bool(normal_form(rule, a) == normal_form(rule, b))

    def ignores(self, place: Place) -> bool:
        """Whether the value at a place is not compared at all."""
        return self.rules.get(place) is Rule.VOLATILE


EXACT = Contract()


def place_of(path: str) -> Place:
    """The place that a path names: `$.dates[*].from`, `$['odd name']`. Raises ValueError for anything else.

    >>> place_of("$.dates[*].from")
    ('dates', None, 'from')
    """
    place: list[str | None] = []
    at = 1
    while at < len(path):
        found = STEP.match(path, at)
        if found is None:
            break
        place.append(found[1] or found[2])
        at = found.end()
    if not path.startswith("$") or at != len(path):
        raise ValueError("not a path")
    return tuple(place)


def values_at(value: Any, place: Place) -> Iterator[Any]:
    """The values at a place; none where there is no such place."""
    if not place:
        yield value
    elif place[0] is None:
        if isinstance(value, list):
            for item in value:
                yield from values_at(item, place[1:])
    elif isinstance(value, dict) and place[0] in value:
        yield from values_at(value[place[0]], place[1:])


def contract_differences(contract: Contract, a: Any, b: Any) -> Iterator[tuple[str, Any, Any]]:
    """As `differences`, without those that the contract excuses. Values are told as they were, not as normalised."""
    return _differences(contract, a, b, "$", ()) if contract.rules else differences(a, b)


def _differences(contract: Contract, a: Any, b: Any, path: str, place: Place) -> Iterator[tuple[str, Any, Any]]:
    excused = contract.excuses(place, a, b)
    if excused is not None:
        if not excused:
            yield path, a, b
    elif isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            inner = (*place, str(key))
            yield from _differences(contract, a.get(key, MISSING), b.get(key, MISSING), f"{path}{step(key)}", inner)
    elif isinstance(a, list) and isinstance(b, list):
        for index in range(max(len(a), len(b))):
            left = a[index] if index < len(a) else MISSING
            right = b[index] if index < len(b) else MISSING
            yield from _differences(contract, left, right, f"{path}[{index}]", (*place, None))
    else:
        yield from differences(a, b, path)


def normal_form(rule: Rule, value: Any) -> Any:
    """A hashable form in which values that the rule takes for the same are equal."""
    match rule:
        case Rule.ISO_DATE if isinstance(value, str) and len(value) <= LONGEST_DATE:
            return _instant(value.strip()) or canonical(value)
        case Rule.CASE if isinstance(value, str):
            return ("text", value.casefold())
        case Rule.NUMBER if isinstance(value, str) and NUMBER.fullmatch(value.strip()):
            number = Decimal(value.strip())
            return ("number", int(number) if number == number.to_integral_value() else number)
        case Rule.SET if isinstance(value, list):
            return ("set", frozenset(canonical(item) for item in value))
    return canonical(value)


def _instant(text: str) -> tuple[str, str] | None:
    """A date, or a time as UTC where it says its offset; midnight without an offset is the date alone."""
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return ("date", moment.date().isoformat()) if moment.time() == dt.time() else ("local", moment.isoformat())
    try:
        return "instant", moment.astimezone(dt.UTC).isoformat()
    except OverflowError:  # at either end of the calendar
        return None
