"""Arguments that a tool's own result contradicts: advice that what ran may not be what the span says.

Some runtimes change arguments behind the span that shows them (a guard around the body); then the result alone betrays
it, by repeating a key with another value. Tools also answer with news under the same key, so only a plain contradiction
counts: another number that is neither rounded nor in other units, the opposite truth value, or another id of the same
form. Normalised text, dates and states never count.
"""

import re
from typing import Any

from lanewatch.adapters.records import Dispatch, Executed

# Under these keys a result tells of the state that it finds or leaves, not of what it was given.
STATE_KEYS = frozenset(
    {
        "status", "state", "result", "error", "message", "ok", "success", "count", "total", "updated_at", "created_at",
        "id", "version", "revision", "page", "offset", "limit", "size", "quantity", "stock", "available", "balance",
        "progress", "percent", "score", "price", "temperature", "duration", "timeout", "active", "enabled", "found",
        "exists", "valid",
    },
)  # fmt: skip
IDENTIFIER = re.compile(r"([A-Za-z]{1,16}[-_#]?)(\d{1,30})")
UNITS = (10, 100, 1000, 1024, 1_000_000, 60, 3600, 24, 7)  # a price in cents, a time in minutes
TOLERANCE = 1e-9


def echoes(dispatch: Dispatch) -> list[tuple[str, Any, Any]]:
    """(key, argument, what the result says) of each argument that the result of a run repeats with another value."""
    given, result = dispatch.arguments, dispatch.result
    if dispatch.executed is Executed.NO or dispatch.error is not None:
        return []
    if not isinstance(given, dict) or not isinstance(result, dict):
        return []
    return [
        (key, value, result[key])
        for key, value in given.items()
        if key in result and key.lower() not in STATE_KEYS and _contradicts(value, result[key])
    ]


def _contradicts(given: Any, told: Any) -> bool:
    if isinstance(given, bool) or isinstance(told, bool):
        return isinstance(given, bool) and isinstance(told, bool) and given is not told
    if isinstance(given, int | float) and isinstance(told, int | float):
        return _other_number(given, told)
    if isinstance(given, str) and isinstance(told, str):
        asked, answered = IDENTIFIER.fullmatch(given.strip()), IDENTIFIER.fullmatch(told.strip())
        if asked is None or answered is None:
            return False
        return asked[1].casefold() == answered[1].casefold() and asked[2].lstrip("0") != answered[2].lstrip("0")
    return False


def _other_number(given: float, told: float) -> bool:
    """Whether two numbers differ by more than rounding or units would explain."""
    if given != given or told != told or _near(given, told):  # noqa: PLR0124 - not a number contradicts nothing
        return False
    if any(_near(given * unit, told) or _near(given, told * unit) for unit in UNITS):
        return False
    if any(_near(round(given, digits), told) for digits in range(7)):
        return False
    return given != 0  # a default such as 0 stands for "whatever there is"


def _near(a: float, b: float) -> bool:
    try:
        return abs(a - b) <= TOLERANCE * max(abs(a), abs(b))
    except OverflowError:  # an integer too great for a float
        return a == b
