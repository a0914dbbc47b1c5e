"""When arguments that a span wrote in a lossy way are those that a model asked for (rule R6).

A bare value has lost the only argument's name, a row of values has lost all names, a text is no JSON object or one that
a length limit cut; an object may have lost, or gained, arguments that are null. `loosely_same` decides. `traits` say the
same for many: a request and a run that share one are loosely the same, but for cut texts, which must also go on alike.
"""

from collections.abc import Hashable
from typing import Any

from lanewatch.adapters.facts import Shape, ToolRun
from lanewatch.adapters.identity import canonical, same
from lanewatch.adapters.json_text import parse_json
from lanewatch.adapters.reading import parse_literal

HEAD = 12  # characters that a cut text must at least have kept to be recognised


def traits_of_request(value: Any, raw: str | None) -> list[Hashable]:
    """What a run of this request may show of it."""
    traits: list[Hashable] = [("raw", raw), ("head", squeezed(raw)[:HEAD])] if raw is not None else []
    if isinstance(value, dict):
        traits += [("whole", canonical(value)), ("row", tuple(canonical(item) for item in value.values()))]
        traits.append(("said", canonical(without_nulls(value))))
        if len(value) == 1:
            traits.append(("one", canonical(*value.values())))
    return traits


def traits_of_run(ran: Any, shape: Shape) -> list[Hashable]:
    """What a request of this run must have one of."""
    if shape is Shape.OBJECT:
        return [("said", canonical(without_nulls(ran)))]
    if shape is Shape.BARE:
        readings: list[Hashable] = [("raw", ran), ("one", canonical(ran))] if isinstance(ran, str) else []
        for value in _readings(ran):
            readings.append(("whole", canonical(value)))
            if not isinstance(value, str):  # a text argument is never read as JSON
                readings.append(("one", canonical(value)))
        return readings
    if shape is Shape.POSITIONAL:
        return [("row", tuple(canonical(item) for item in positional(ran)))]
    if shape is Shape.TEXT and isinstance(ran, str) and len(squeezed(ran)) >= HEAD:
        return [("head", squeezed(ran)[:HEAD])]
    return []


def loosely_same(requested: dict[str, Any] | None, raw: str | None, ran: Any, shape: Shape) -> bool:
    """Whether a bare value equals the only argument's value, a row all values in order, a cut text their start, and an
    object all that is not null.
    """
    if shape is Shape.OBJECT:
        return requested is not None and same(without_nulls(requested), without_nulls(ran))
    if shape is Shape.BARE:
        if requested is None:
            return raw is not None and raw == ran
        only = list(requested.values()) if len(requested) == 1 else []
        return any(bare_equals(value, ran) for value in only) or any(same(requested, value) for value in _readings(ran))
    if shape is Shape.POSITIONAL and requested is not None:
        given = positional(ran)
        return len(given) == len(requested) and same(given, list(requested.values()))
    if shape is Shape.TEXT and isinstance(ran, str) and raw is not None:
        return starts_alike(squeezed(raw), squeezed(ran))
    return False


def starts_alike(a: str, b: str) -> bool:
    """Whether one of two squeezed texts is what a length limit leaves of the other."""
    short, long = (a, b) if len(a) < len(b) else (b, a)
    return len(short) >= min(HEAD, len(long)) and long.startswith(short)


def without_nulls(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments without those that are null: frameworks fill them in, or leave them out, for what is optional."""
    return {key: value for key, value in arguments.items() if value is not None}


def is_part_of(requested: dict[str, Any], ran: dict[str, Any]) -> bool:
    """Whether all that was asked for stands in what ran, as where a framework fills in defaults."""
    return all(key in ran and same(value, ran[key]) for key, value in requested.items() if value is not None)


def written(run: ToolRun) -> Any:
    """A run's arguments as its span wrote them: the text where they are no object."""
    return run.arguments.raw if run.shape is Shape.TEXT else run.arguments.value


def positional(ran: Any) -> list[Any]:
    """The values of `{"args": [...], "kwargs": {...}}` in order."""
    if not isinstance(ran, dict):
        return []
    given, named = ran.get("args"), ran.get("kwargs")
    return [*(given if isinstance(given, list) else []), *(named.values() if isinstance(named, dict) else [])]


def bare_equals(value: Any, text: Any) -> bool:
    """Whether a value, written as text without its name, is this text. A text argument is never read as JSON."""
    if isinstance(value, str) and isinstance(text, str):
        return value == text
    return any(same(value, reading) for reading in _readings(text))


def _readings(text: Any) -> list[Any]:
    """What a bare text may mean besides itself: JSON, or a Python literal (`True`, `None`, `{'a': 1}`)."""
    if not isinstance(text, str):
        return [text]
    for parse in (parse_json, parse_literal):
        try:
            return [parse(text)]
        except ValueError:
            continue
    return []


def squeezed(text: str) -> str:
    """A text without white space, which serialisers set differently."""
    return "".join(text.split())
