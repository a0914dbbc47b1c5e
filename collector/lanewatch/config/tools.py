"""The tool registry as it is written: `[tools.NAME]` in the configuration, or the same in a file of its own.

A file of its own (`[registry] path`) is TOML, or JSON where its name ends with .json. What an entry means is
`docs/registry.md`'s to tell; what contracts make of it is in the monitors.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from lanewatch.adapters.json_schema import (
    MAX_SCHEMA_BYTES,
    MAX_SCHEMA_DEPTH,
    UnusableSchemaError,
    compile_schema,
)
from lanewatch.config.faults import Fault, did_you_mean, kind_of
from lanewatch.config.files import read_bounded
from lanewatch.config.tables import Entry, read_named
from lanewatch.config.wanted import Wanted

MAX_REGISTRY_BYTES = 8 * 2**20
PATH = re.compile(r"\$(\.[A-Za-z_]\w*|\['[^'\\]{1,200}'\]|\[\*\]){0,50}")
KEYS = re.compile(r"[A-Za-z_][\w-]{0,119}(\.[A-Za-z_][\w-]{0,119}){0,9}")


def _path(path: str) -> str:
    if not PATH.fullmatch(path):
        raise ValueError("not a path")
    return path


def _keys(keys: str) -> str:
    if not KEYS.fullmatch(keys):
        raise ValueError("not keys")
    return keys


def _schema(value: object) -> object:
    """A schema of plain JSON, bounded in bytes and depth; text is parsed."""
    schema = json.loads(value) if isinstance(value, str) else _lists(value, MAX_SCHEMA_DEPTH)
    if not isinstance(schema, dict):
        raise ValueError("not an object")  # noqa: TRY004 - pydantic wants a ValueError
    if len(json.dumps(_lists(schema, MAX_SCHEMA_DEPTH))) > MAX_SCHEMA_BYTES:
        raise ValueError("too large")
    return schema


def _lists(value: Any, depth: int) -> Any:
    if depth < 0:
        raise ValueError("too deep")
    if isinstance(value, dict):
        return {key: _lists(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_lists(item, depth - 1) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ValueError("not JSON")  # TOML's dates


Name = Annotated[str, Field(min_length=1, max_length=200)]
JsonPath = Annotated[str, AfterValidator(_path)]
Paths = Annotated[
    tuple[JsonPath, ...],
    Field(max_length=200),
    Wanted('an array of paths such as "$.dates[*].from" or "$[\'odd name\']"'),
]
Schema = Annotated[
    dict[str, Any],
    BeforeValidator(_schema),
    Wanted(f"a JSON Schema as a table or JSON text, of at most {MAX_SCHEMA_BYTES} bytes and {MAX_SCHEMA_DEPTH} levels"),
]
Scalar = str | int | float | bool
Keys = Annotated[str, AfterValidator(_keys)]


class RetrieverEntry(Entry):
    """Where a retriever tool has its query and documents, as keys from the outside in: `payload.hits`."""

    query: Keys | None = None
    documents: Keys | None = None


class ErrorEntry(Entry):
    """What in a result means failure."""

    path: JsonPath
    values: Annotated[tuple[Scalar, ...], Field(max_length=100)] = ()


class ToolEntry(Entry):
    """One tool of the registry."""

    aliases: Annotated[
        tuple[Name, ...], Field(max_length=50), Wanted("an array of names, each of 1 to 200 characters")
    ] = ()
    arguments: Schema | None = None
    result: Schema | None = None
    risk: Annotated[Literal["read", "write", "destructive"] | None, Wanted('one of "read", "write", "destructive"')] = (
        None
    )
    owner: Annotated[Name, Wanted("text of 1 to 200 characters")] | None = None
    volatile: Paths = ()
    sensitive: Paths = ()
    normalise: Annotated[
        dict[JsonPath, Literal["iso_date", "case", "number", "set"]],
        Wanted('a table from paths to "iso_date", "case", "number" or "set"'),
    ] = Field(default_factory=dict, max_length=200)
    retriever: (
        Annotated[
            Literal[True] | RetrieverEntry,
            Wanted('true, or a table with `query` and `documents`, keys such as "payload.hits"'),
        ]
        | None
    ) = None
    errors: Annotated[
        tuple[ErrorEntry, ...], Field(max_length=50), Wanted("an array of tables with `path` and, if needed, `values`")
    ] = ()


def _check_schemas(tools: dict[str, ToolEntry], faults: list[Fault]) -> None:
    for name, entry in tools.items():
        for key in ("arguments", "result"):
            schema = getattr(entry, key)
            try:
                if schema is not None:
                    compile_schema(schema)
            except UnusableSchemaError as error:
                remedy = (
                    "write JSON Schema (2020-12 unless $schema says otherwise) that refers to nothing outside of it"
                )
                faults.append(Fault(f"tools.{name}.{key}", f"the schema can't be used: {error}", remedy))


def read_tools(given: object, file: Path | None, faults: list[Fault]) -> dict[str, ToolEntry]:
    """Every tool of the configuration and of the registry's own file; faults where one is wrong or named twice."""
    tools = {} if given is None else read_named(ToolEntry, given, "tools", faults)
    if file is not None:
        elsewhere = read_named(ToolEntry, _read_file(file, faults), "registry.path: tools", faults)
        both = tools.keys() & elsewhere.keys()
        faults += [Fault(f"tools.{name}", "the registry's own file has it too", "keep one of the two") for name in both]
        tools = elsewhere | tools
    _names_of_two(tools, faults)
    _check_schemas(tools, faults)
    return tools


def _names_of_two(tools: dict[str, ToolEntry], faults: list[Fault]) -> None:
    """Names are compared without case and punctuation: two tools that share one could not be told apart."""
    owners: dict[str, str] = {}
    for tool, entry in tools.items():
        for name in dict.fromkeys((tool, *entry.aliases)):
            key = re.sub(r"[\W_]+", "", name.casefold()) or name
            other = owners.setdefault(key, tool)
            if other != tool:
                what = "name" if name == tool else "alias"
                problem = (
                    f"its {what} {json.dumps(name)} is one of tools.{other} too (case and punctuation don't count)"
                )
                faults.append(Fault(f"tools.{tool}", problem, "give each tool names of its own"))


def _json(raw: bytes, twice: list[str]) -> object:
    """JSON with the keys that an object has `twice`, of which the first would go without a word. Raises ValueError."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found and key not in twice:
                twice.append(key)
            found[key] = value
        return found

    return json.loads(raw, object_pairs_hook=members)


def _read_file(path: Path, faults: list[Fault]) -> object:
    """The tools of the registry's own file; an empty table, with a fault, where there are none to be read."""
    where = "registry.path"
    try:
        raw = read_bounded(path, MAX_REGISTRY_BYTES)
        if len(raw) > MAX_REGISTRY_BYTES:
            faults.append(Fault(where, f"the file is longer than {MAX_REGISTRY_BYTES} bytes", "name the right file"))
            return {}
        twice: list[str] = []
        document = _json(raw, twice) if path.suffix == ".json" else tomllib.loads(raw.decode())
        faults += [Fault(f"{where}: {key}", "the key stands there twice", "keep one of the two") for key in twice]
    except OSError as error:
        reason = error.strerror or type(error).__name__
        faults.append(Fault(where, f"the file can't be read ({reason})", "name a file that this user may read"))
        return {}
    except (ValueError, RecursionError):
        faults.append(Fault(where, "the file is malformed", "write [tools.NAME] tables in TOML, or the same in JSON"))
        return {}
    if not isinstance(document, dict):
        faults.append(Fault(where, f"the file holds {kind_of(document)}", "write [tools.NAME] tables"))
        return {}
    for key in document.keys() - {"tools"}:
        remedy = did_you_mean(key, ["tools"], "it takes [tools.NAME] alone")
        faults.append(Fault(f"{where}: {key}", "no such section", remedy))
    return document.get("tools", {})
