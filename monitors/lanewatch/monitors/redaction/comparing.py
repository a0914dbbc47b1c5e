"""Whether calls whose values are hidden can still be compared.

Invariants: a hidden value is compared by its token or not at all; where it can't be, the call counts neither as the same nor
as another one, whatever the rest of it says.
"""

from typing import Any

from lanewatch.adapters.reading import is_placeholder
from lanewatch.adapters.records import TraceRecord
from lanewatch.monitors.redaction.tokens import Key, is_hidden, same_hidden


def conceals(value: Any) -> bool:
    """Whether a value stands for one that is hidden: our tokens and marks, and the placeholders of instrumentations."""
    return isinstance(value, str) and (is_hidden(value) or is_placeholder(value))


def alike(a: Any, b: Any, key: Key | None) -> bool | None:
    """Whether two values, one of which conceals, are the same; None where nobody here can tell."""
    if is_placeholder(a) or is_placeholder(b):
        return None
    return same_hidden(a, b, key)


def uncomparable(record: TraceRecord, key: Key | None) -> bool:
    """Whether a run can't be held against its request, since arguments are hidden in a way that does not compare."""
    return any(
        _concealed(record.requests[run.request].arguments, run.arguments, key)
        for run in record.dispatches
        if run.request is not None
    )


def _concealed(a: Any, b: Any, key: Key | None) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return any(_concealed(value, b[name], key) for name, value in a.items() if name in b)
    if isinstance(a, list) and isinstance(b, list):
        return any(_concealed(one, other, key) for one, other in zip(a, b, strict=False))
    return (conceals(a) or conceals(b)) and alike(a, b, key) is None
