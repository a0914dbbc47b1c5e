"""Whether calls whose values are hidden can still be compared.

Invariants: a hidden value is compared by its token or not at all; where it can't be, the call counts neither as the same nor
as another one, whatever the rest of it says.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from lanewatch.adapters.reading import PLACEHOLDERS, SCRUBBED, State, is_placeholder
from lanewatch.adapters.records import ToolRequest, TraceRecord
from lanewatch.monitors.differences import MISSING
from lanewatch.monitors.redaction.tokens import START, TOKEN, Key, same_hidden

Place: TypeAlias = tuple[str | None, ...]
Excuse: TypeAlias = Callable[[Place], bool]
Difference: TypeAlias = tuple[str, Any, Any]  # path, and what is there on either side

# Words that stand in a text for what was taken out of it, and hardly for anything else, by how they begin: most texts have
# none of these beginnings.
_WORDS = (*PLACEHOLDERS, SCRUBBED, START)
IN_TEXTS = {start: tuple(word for word in _WORDS if word.startswith(start)) for start in ("[", "<", "__")}


def conceals(value: Any) -> bool:
    """Whether a value stands for one that is hidden, or is a text that something was taken out of: our tokens and marks, and
    the placeholders of instrumentations.
    """
    return isinstance(value, str) and has_hole(value)


def alike(a: Any, b: Any, key: Key | None) -> bool | None:
    """Whether two values, one of which conceals, are the same; None where nobody here can tell."""
    # What is hidden beside a token does not compare, whatever the token says.
    if any(isinstance(value, str) and has_hole(TOKEN.sub("", value)) for value in (a, b)):
        return None
    return same_hidden(a, b, key)


def behind(found: Iterable[Difference], a: Any, b: Any, key: Key | None) -> Iterator[tuple[Difference, bool | None]]:
    """Each difference of `a` and `b` as they stand, and whether they are the same there behind what hides them; None where
    nobody here can tell, as of what a side lacks where names are hidden.
    """
    unnamed: bool | None = None
    for one in found:
        _, left, right = one
        if left is MISSING or right is MISSING:
            if unnamed is None:  # found out at the first of them: most have none
                unnamed = conceals_names_within(a) or conceals_names_within(b)
            yield one, None if unnamed else False
            continue
        lists = isinstance(left, list) and isinstance(right, list)  # as a contract's rule of a set tells them
        hides = conceals_within if lists else conceals
        yield one, alike(left, right, key) if hides(left) or hides(right) else False


def conceals_within(value: Any) -> bool:
    """Whether any value within this one conceals, or any member's name."""
    if isinstance(value, dict):
        return conceals_names(value) or any(map(conceals_within, value.values()))
    if isinstance(value, list):
        return any(map(conceals_within, value))
    return conceals(value)


def conceals_names(value: dict[str, Any]) -> bool:
    """Whether a member's name is hidden: which members an object lacks nobody can tell then."""
    return has_hole("\n".join(map(str, value)))


def conceals_names_within(value: Any) -> bool:
    """Whether any object within this value has a hidden name."""
    if isinstance(value, dict):
        return conceals_names(value) or any(map(conceals_names_within, value.values()))
    return isinstance(value, list) and any(map(conceals_names_within, value))


def has_hole(text: str) -> bool:
    """Whether a text, as a tool or a message writes it, may have something taken out of it."""
    for start, words in IN_TEXTS.items():
        if start in text:
            for word in words:
                if word in text:
                    return True
    return is_placeholder(text)


def uncomparable(record: TraceRecord, key: Key | None) -> bool:
    """Whether a run can't be held against its request, since arguments are hidden in a way that does not compare."""
    return any(
        undecided(_asked(record.requests[run.request]), run.arguments, key)
        for run in record.dispatches
        if run.request is not None
    )


def _asked(request: ToolRequest) -> Any:
    """A request's arguments as they are held against a run's: a text where they are no object."""
    raw = request.arguments is None and request.arguments_state == State.CAPTURED
    return request.arguments_raw if raw else request.arguments


def undecided(a: Any, b: Any, key: Key | None, excused: Excuse | None = None, place: Place = ()) -> bool:
    """Whether what the two values have in common hides a value in a way that does not compare, at any place that is not
    `excused`: what a tool's contract does not compare need not be known.
    """
    if excused is not None and excused(place):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        if conceals_names(a) or (a.keys() != b.keys() and conceals_names(b)):  # mostly they have the same names
            return True
        return any(undecided(value, b[name], key, excused, (*place, name)) for name, value in a.items() if name in b)
    if isinstance(a, list) and isinstance(b, list):
        pairs = zip(a, b, strict=False)
        return any(undecided(one, other, key, excused, (*place, None)) for one, other in pairs)
    return (conceals(a) or conceals(b)) and alike(a, b, key) is None
