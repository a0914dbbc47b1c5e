"""The table of settings, made from the models: for the documentation, and as a complete commented file."""

import json
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import msgspec
from annotated_types import Ge, Gt, Le
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from lanewatch.config_keys import GIB, KIB, MIB, Config, Section, Wanted

PREFIX = "LANEWATCH_"


class Row(msgspec.Struct, frozen=True):
    """One setting. `default` is as TOML writes it, empty where there is none; `unit` is empty for counts and texts."""

    section: str
    key: str
    default: str
    unit: str
    wanted: str
    meaning: str
    secret: bool

    @property
    def name(self) -> str:
        """The key as faults and warnings name it."""
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
        """The environment variable that overrides the key."""
        return f"{PREFIX}{self.section}_{self.key}".upper()


def sections() -> dict[str, type[Section]]:
    """Every section's name and model, in the order of the file."""
    found = {name: field.annotation for name, field in Config.model_fields.items()}
    return {name: model for name, model in found.items() if isinstance(model, type) and issubclass(model, Section)}


def describe() -> list[Row]:
    """Every setting, in the order of the file."""
    return [
        Row(
            section=section,
            key=key,
            default="" if field.default is None else json.dumps(field.default),
            unit=next((unit for unit in ("bytes", "seconds") if key.endswith(f"_{unit}")), ""),
            wanted=wanted(field),
            meaning=field.description or "",
            secret=is_secret(field),
        )
        for section, model in sections().items()
        for key, field in model.model_fields.items()
    ]


def is_secret(field: FieldInfo) -> bool:
    """Whether the setting may also be given as the name of a file, KEY_file."""
    return any(argument is SecretStr for argument in _types(field.annotation))


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


def defaults_toml() -> str:
    """Write a complete file that says what every setting means and sets each to its default."""
    return "\n".join(_toml_lines()) + "\n"


def _toml_lines() -> Iterator[str]:
    """Section by section; a setting without a default stands in a comment."""
    rows = describe()
    yield "# Every setting of Lanewatch with its default. A variable LANEWATCH_SECTION_KEY overrides the key."
    for section, model in sections().items():
        yield ""
        yield f"# {model.__doc__}"
        yield f"[{section}]"
        for row in (row for row in rows if row.section == section):
            size = _size(int(row.default)) if row.unit == "bytes" else ""
            yield f"# {row.meaning}{size} Takes {row.wanted}."
            if row.secret:
                yield f'# {row.key}_file = "/run/secrets/{row.key}"  # or {row.variable}_FILE'
            else:
                yield f"{row.key} = {row.default}"


def _size(size: int) -> str:
    """Bytes as people say them, in parentheses; empty where they are no round figure."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size and size % unit == 0:
            return f" ({size // unit} {name})"
    return ""


def _types(annotation: Any) -> Iterator[Any]:
    """Walk an annotation and what it is made of."""
    yield annotation
    for argument in get_args(annotation):
        yield from _types(argument)


def _metadata(field: FieldInfo, *kinds: type) -> list[Any]:
    """Annotations of the field, also those inside `... | None`."""
    items = [*field.metadata, *(m for t in _types(field.annotation) for m in getattr(t, "__metadata__", ()))]
    return [item for item in items if not kinds or isinstance(item, kinds)]
