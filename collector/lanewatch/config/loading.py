"""The configuration: one TOML file, overridden by LANEWATCH_<SECTION>_<KEY>, over the defaults.

Secrets may be given as the name of a file instead: `bearer_token_file`, LANEWATCH_RECEIVERS_BEARER_TOKEN_FILE. Every
fault is named at once. What can be set stands in `config/keys.py`, `lanewatch check-config --defaults` prints it.
"""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError

from lanewatch.config.faults import ConfigFaults, Fault, did_you_mean, kind_of
from lanewatch.config.judge import judge_faults
from lanewatch.config.keys import Config
from lanewatch.config.policies import PriceEntry, read_policies
from lanewatch.config.reference import Row, describe
from lanewatch.config.sources import File, Values, merge, read_environ, read_file
from lanewatch.config.tables import read_named
from lanewatch.config.tools import read_tools
from lanewatch.config.values import is_loopback

__all__ = ["Config", "ConfigFaults", "Fault", "load_config"]

Key = tuple[str, str]

# The first must not be above the second; where either is 0 (off), nothing is compared.
ORDER: tuple[tuple[Key, Key], ...] = (
    (("limits", "memory_soft_bytes"), ("limits", "memory_hard_bytes")),
    (("limits", "max_request_bytes"), ("limits", "max_in_flight_bytes")),
    (("limits", "max_value_bytes"), ("limits", "max_request_bytes")),
    (("assembler", "max_trace_bytes"), ("assembler", "max_open_bytes")),
    (("assembler", "quiet_after_root_seconds"), ("assembler", "trace_timeout_seconds")),
)
LISTENERS: tuple[tuple[Key, Key], ...] = (
    (("receivers", "grpc_host"), ("receivers", "grpc_port")),
    (("receivers", "http_host"), ("receivers", "http_port")),
    (("metrics", "host"), ("metrics", "port")),
)


def load_config(path: Path | None, environ: Mapping[str, str]) -> Config:
    """Read and check the configuration; ConfigFaults holds every fault found."""
    faults: list[Fault] = []
    file = read_file(path, faults) if path is not None else File({}, {})
    given = merge({} if file is None else file.values, read_environ(environ, faults), faults)
    config, refused = _validated(given, faults)
    if file is not None:  # else nobody knows what the settings are together
        faults += _order_faults(config, given, refused)
        faults += _clash_faults(config, given, refused)
        faults += judge_faults(config.judge, {key: one.where for key, one in given.items()}, refused)
        config = _with_tables(config, given, file, faults)
    if faults:
        raise ConfigFaults(faults, config.log.format)
    return config


def _validated(given: Values, faults: list[Fault]) -> tuple[Config, set[Key]]:
    """Build the configuration without the values that are refused; return it with the keys of these."""
    try:
        return Config.model_validate(_nested(given)), set()
    except ValidationError as error:
        rows = {(row.section, row.key): row for row in describe()}
        refused = {(str(item["loc"][0]), str(item["loc"][1])) for item in error.errors(include_input=False)}
        faults += [_refusal(key, given[key].where, given[key].value, rows) for key in given if key in refused]
        return _validated({key: value for key, value in given.items() if key not in refused}, faults)[0], refused


def _with_tables(config: Config, given: Values, file: File, faults: list[Fault]) -> Config:
    """The configuration with the entries that the user names."""
    named = given.get(("registry", "path"))
    own = named.folder / config.registry.path if named is not None and config.registry.path else None
    tools = read_tools(file.tables.get("tools"), own, faults)
    return config.model_copy(
        update={
            "tools": tools,
            "policies": read_policies(file.tables.get("policies"), tools, faults),
            "prices": read_named(PriceEntry, file.tables.get("prices", {}), "prices", faults),
        }
    )


def _nested(given: Values) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for (section, key), value in given.items():
        nested.setdefault(section, {})[key] = value.value
    return nested


def _refusal(key: Key, where: str, value: object, rows: dict[Key, Row]) -> Fault:
    """Why one value was refused: nobody knows the key, or it takes something else."""
    row = rows.get(key)
    if row is not None:
        kind = "text that is not allowed there" if isinstance(value, SecretStr) else kind_of(value)
        if kind == "an integer" and row.wanted.startswith("a number"):
            kind = "a number"  # its type is fine, and its size is not
        kind += " out of range" if row.wanted.startswith(kind) else ""
        default = f" (the default is {row.default})" if row.default else ""
        return Fault(where, f"the value is {kind}", f"set {row.wanted}{default}")
    elsewhere = [other.name for other in rows.values() if other.key == key[1]]
    if elsewhere:
        return Fault(where, "no such key in this section", f"did you mean {elsewhere[0]}?")
    known = [other.key for other in rows.values() if other.section == key[0]]
    return Fault(where, "no such key", did_you_mean(key[1], known, f"[{key[0]}] takes {', '.join(known)}"))


def _order_faults(config: Config, given: Values, refused: set[Key]) -> list[Fault]:
    faults = []
    for low, high in ORDER:
        low_value, high_value = _value(config, low), _value(config, high)
        if {low, high} & refused or not (low_value and high_value) or low_value <= high_value:
            continue
        high_name = _where(given, high)
        problem = f"{low_value} is above {high_name}, which is {high_value}"
        faults.append(Fault(_where(given, low), problem, f"lower it or raise {high_name}"))
    return faults


def _clash_faults(config: Config, given: Values, refused: set[Key]) -> list[Fault]:
    faults = []
    for (host, port), (other_host, other_port) in combinations(LISTENERS, 2):
        number = _value(config, port)
        clash = number and number == _value(config, other_port)
        if not clash or {host, port, other_host, other_port} & refused:
            continue
        if _overlap(_value(config, host), _value(config, other_host)):
            problem = f"port {number} is also that of {_where(given, other_port)}"
            faults.append(Fault(_where(given, port), problem, "give each listener a port of its own"))
    return faults


def _overlap(host: str, other: str) -> bool:
    """Whether two listeners would want the same address; `localhost` may be either loopback address."""
    if host == other or {"0.0.0.0", "::"} & {host, other}:  # noqa: S104 - compared, not bound
        return True
    return "localhost" in (host, other) and is_loopback(host) and is_loopback(other)


def _value(config: Config, key: Key) -> Any:
    return getattr(getattr(config, key[0]), key[1])


def _where(given: Values, key: Key) -> str:
    return given[key].where if key in given else ".".join(key)
