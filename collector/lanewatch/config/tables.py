"""Tables of the configuration that have entries of the user's own naming: `[tools.NAME]`, `[[policies]]`, `[prices.NAME]`.

Invariants: every fault of every entry is told, each with its place and what may stand there; no value is repeated.
"""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from lanewatch.config.faults import Fault, did_you_mean, kind_of
from lanewatch.config.wanted import wanted


class Entry(BaseModel):
    """One entry. Every field says in its annotation (`Wanted`, a type and range) what may stand there."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


E = TypeVar("E", bound=Entry)


def read_entry(model: type[E], given: object, where: str, faults: list[Fault]) -> E | None:
    """Make an entry of a table; None, with a fault for each thing that is wrong with it, where that can't be."""
    if not isinstance(given, dict):
        faults.append(Fault(where, f"the value is {kind_of(given)}, not a table", "write it as a table"))
        return None
    try:
        return model.model_validate(_tuples(given))
    except ValidationError as error:
        items = error.errors(include_input=False, include_url=False, include_context=False)
        first = {item["loc"][0]: item for item in reversed(items)}  # a union tells of each of its branches
        faults += [_fault(model, given, item["loc"], where) for item in reversed(first.values())]
        return None
    except RecursionError:
        faults.append(Fault(where, "the table is nested too deeply", "write it as the documentation has it"))
        return None


def read_named(model: type[E], given: object, section: str, faults: list[Fault]) -> dict[str, E]:
    """Every entry of a table of tables, by name."""
    if not isinstance(given, dict):
        faults.append(Fault(section, f"the value is {kind_of(given)}, not a table", f"write [{section}.NAME]"))
        return {}
    entries = {name: read_entry(model, table, f"{section}.{name}", faults) for name, table in given.items()}
    return {name: entry for name, entry in entries.items() if entry is not None}


def _fault(model: type[Entry], given: dict[str, Any], loc: tuple[int | str, ...], where: str) -> Fault:
    key, inner = str(loc[0]), ".".join(map(str, loc[1:]))
    place = f"{where}.{key}"
    field = model.model_fields.get(key)
    if field is None:
        known = list(model.model_fields)
        return Fault(place, "no such key", did_you_mean(key, known, f"it takes {', '.join(known)}"))
    remedy = f"set {wanted(field)}"
    if key not in given:
        return Fault(place, "it is not set", remedy)
    value = given[key]
    within = inner and isinstance(value, dict | list)
    told = f"{kind_of(value)} with something wrong at {inner}" if within else _kind(value)
    return Fault(place, f"the value is {told}", remedy)


def _kind(value: object) -> str:
    kind = kind_of(value)
    return kind if kind == "empty" else f"{kind} that is not allowed there"


def _tuples(value: Any) -> Any:
    """Arrays as tuples, which strict models want; arrays within a JSON Schema are made lists again by its own field."""
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
