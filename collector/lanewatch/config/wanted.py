"""What may stand in a setting, in words: read off its annotation, so that faults and tables can't differ from it."""

import json
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo


class Wanted(str):
    """In a key's annotation: its allowed values in words, where they are more than a type and a range."""

    __slots__ = ()


def wanted(field: FieldInfo) -> str:
    """Say what may stand there."""
    told = [item for item in _metadata(field) if isinstance(item, Wanted)]
    if told:
        return told[0]
    if get_origin(field.annotation) is Literal:
        return "one of " + ", ".join(json.dumps(choice) for choice in get_args(field.annotation))
    low = next((f"from {m.ge}" if isinstance(m, Ge) else f"above {m.gt}" for m in _metadata(field, Ge, Gt)), "")
    high = next((f"to {m.le}" for m in _metadata(field, Le)), "")
    kinds: dict[object, str] = {int: "an integer", float: "a number", bool: "true or false"}
    return " ".join(filter(None, (kinds[field.annotation], low, high)))


def types_of(annotation: Any) -> Iterator[Any]:
    """Walk an annotation and what it is made of."""
    yield annotation
    for argument in get_args(annotation):
        yield from types_of(argument)


def _metadata(field: FieldInfo, *kinds: type) -> list[Any]:
    """Annotations of the field, also those inside `... | None`."""
    items = [*field.metadata, *(m for t in types_of(field.annotation) for m in getattr(t, "__metadata__", ()))]
    return [item for item in items if not kinds or isinstance(item, kinds)]
