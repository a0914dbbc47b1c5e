"""The table of settings, made from the models: for the documentation, and as a complete commented file."""

import json
from collections.abc import Iterator

import msgspec
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from lanewatch.config.keys import Config
from lanewatch.config.values import GIB, KIB, MIB, Section
from lanewatch.config.wanted import types_of, wanted

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
    return any(argument is SecretStr for argument in types_of(field.annotation))


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
    yield ""
    yield "# [tools.NAME] says what is known of a tool: docs/registry.md. [[policies]] say what must hold, and"
    yield "# [prices.MODEL] what a million tokens cost in dollars: docs/policies.md."


def _size(size: int) -> str:
    """Bytes as people say them, in parentheses; empty where they are no round figure."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size and size % unit == 0:
            return f" ({size // unit} {name})"
    return ""
