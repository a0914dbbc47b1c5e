"""Where two JSON values differ: paths and both values, typed as the identity rules type them."""

from collections.abc import Iterator
from typing import Any

from lanewatch.adapters.identity import composed, same


class _Missing:
    """Stands for a value that one side does not have; JSON's null is a value."""

    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()


def differences(a: Any, b: Any, path: str = "$") -> Iterator[tuple[str, Any, Any]]:
    """(JSON path, value in `a`, value in `b`) of each difference, outermost first; MISSING where a side has none.

    >>> list(differences({"x": [1, 2], "y": None}, {"x": [1, 3]}))
    [('$.x[1]', 2, 3), ('$.y', None, missing)]
    """
    if isinstance(a, dict) and isinstance(b, dict):
        a, b = _composed(a), _composed(b)
        for key in [*a, *(key for key in b if key not in a)]:
            yield from differences(a.get(key, MISSING), b.get(key, MISSING), f"{path}{step(key)}")
    elif isinstance(a, list) and isinstance(b, list):
        for index in range(max(len(a), len(b))):
            left = a[index] if index < len(a) else MISSING
            right = b[index] if index < len(b) else MISSING
            yield from differences(left, right, f"{path}[{index}]")
    elif a is MISSING or b is MISSING:
        if a is not b:
            yield path, a, b
    elif not same(a, b):
        yield path, a, b


def _composed(value: dict[str, Any]) -> dict[str, Any]:
    """An object with its keys in composed form, as the identity rules hold them equal."""
    return value if all(map(str.isascii, value)) else {composed(key): item for key, item in value.items()}


def shown(value: Any) -> Any:
    """A value as a record holds it, None in place of one that is not there."""
    return None if value is MISSING else value


def missing(**sides: Any) -> tuple[str, ...]:
    """Names of the sides that have no value, which their None would not tell from JSON's null."""
    return tuple(side for side, value in sides.items() if value is MISSING)


def step(key: object) -> str:
    """One step of a JSON path: `.name`, or `['odd name']`."""
    text = str(key)
    return f".{text}" if text.isidentifier() else f"[{text!r}]"
