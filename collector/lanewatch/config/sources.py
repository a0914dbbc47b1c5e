"""Where settings are written: one TOML file, and variables of the environment. Read here, judged elsewhere.

A source gives values by (section, key), each with the place it came from. Whatever can't be a value at all - a file that
can't be read, broken TOML, a variable that nobody declared - is a fault at once.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from pydantic import SecretStr

from lanewatch.config.faults import Fault, did_you_mean, kind_of
from lanewatch.config.files import read_bounded
from lanewatch.config.reference import PREFIX, Row, describe

MAX_FILE_BYTES = 2**20
MAX_SECRET_BYTES = 2**13
CONFIG_VARIABLE = "LANEWATCH_CONFIG"  # names the file itself; read by the command line

# Kubernetes puts the address of every Service of the namespace into each container: one that is called `lanewatch`
# yields LANEWATCH_SERVICE_HOST, LANEWATCH_PORT=tcp://10.0.0.7:9464, and LANEWATCH_PORT_9464_TCP_ADDR. One called
# `lanewatch-metrics` even yields LANEWATCH_METRICS_PORT, which is told from the setting by its value.
# https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
SERVICE_LINK_NAME = re.compile(r".*_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)")
SERVICE_LINK_VALUE = re.compile(r"(tcp|udp|sctp)://")


class Given(msgspec.Struct, frozen=True):
    """A value as it was written, the place, and the folder that a relative file name in it starts from."""

    where: str
    value: Any
    folder: Path = Path()


Values = dict[tuple[str, str], Given]
TABLES = ("tools", "policies", "prices")  # of entries that the user names


class File(msgspec.Struct, frozen=True):
    """What stands in the file: settings, and the tables of entries as they are written."""

    values: Values
    tables: dict[str, Any]


def read_file(path: Path, faults: list[Fault]) -> File | None:
    """Read a TOML file, unknown keys included; None, with a fault, where it can't be read."""
    text = _read_text(path, MAX_FILE_BYTES, str(path), faults)
    if text is None:
        return None
    try:
        document = tomllib.loads(text)
    except RecursionError:
        faults.append(Fault(str(path), "the TOML is nested too deeply", "settings need one level of tables"))
        return None
    except ValueError as error:  # TOMLDecodeError names line and column; int() refuses thousands of digits without
        faults.append(Fault(str(path), f"the TOML is malformed: {error}", "see https://toml.io for the syntax"))
        return None
    values: Values = {}
    sections = list(dict.fromkeys(row.section for row in describe()))
    for section, table in document.items():
        if section in TABLES:
            continue
        if section not in sections:
            known = [*sections, *TABLES]
            remedy = did_you_mean(section, known, f"sections are {', '.join(known)}")
            faults.append(Fault(section, "no such section", remedy))
        elif not isinstance(table, dict):
            faults.append(Fault(section, f"the value is {kind_of(table)}, not a table", f"write [{section}]"))
        else:
            values |= {(section, key): Given(f"{section}.{key}", value, path.parent) for key, value in table.items()}
    return File(values, {name: document[name] for name in TABLES if name in document})


def read_environ(environ: Mapping[str, str], faults: list[Fault]) -> Values:
    """Read the settings among the variables that start with LANEWATCH_; any other such variable is a fault."""
    rows = {row.variable: row for row in describe()}
    files = {f"{row.variable}_FILE": row for row in rows.values() if row.secret}
    values: Values = {}
    for name, text in environ.items():
        if not name.startswith(PREFIX) or name == CONFIG_VARIABLE or _is_service_link(name, text):
            continue
        if name in rows:
            values[rows[name].section, rows[name].key] = Given(name, _typed(text, rows[name]))
        elif name in files:
            values[files[name].section, f"{files[name].key}_file"] = Given(name, text)
        else:
            otherwise = "`lanewatch check-config --defaults` lists what can be set"
            remedy = did_you_mean(name, [*rows, *files], otherwise, prefix=PREFIX)
            faults.append(Fault(name, "no such variable", remedy))
    return values


def merge(file: Values, environ: Values, faults: list[Fault]) -> Values:
    """Let the environment override the file, and put the content of the file that KEY_file names in KEY's place."""
    values = file | environ
    for row in (row for row in describe() if row.secret):
        plain_key, file_key = (row.section, row.key), (row.section, f"{row.key}_file")
        source = environ if environ.keys() & {plain_key, file_key} else file
        plain, named = source.get(plain_key), source.get(file_key)
        values.pop(plain_key, None)
        values.pop(file_key, None)
        if plain is not None:
            hidden = SecretStr(plain.value) if isinstance(plain.value, str) else plain.value
            values[plain_key] = Given(plain.where, hidden)
        if plain is not None and named is not None:
            faults.append(Fault(named.where, f"{plain.where} is set too", "set one of the two"))
        elif named is not None and not isinstance(named.value, str):
            faults.append(Fault(named.where, f"the value is {kind_of(named.value)}", "set the name of a file"))
        elif named is not None:
            secret = _read_text(named.folder / named.value, MAX_SECRET_BYTES, named.where, faults)
            if secret is not None:
                values[plain_key] = Given(named.where, SecretStr(secret.rstrip("\r\n")))
    return values


def _is_service_link(name: str, text: str) -> bool:
    return bool(SERVICE_LINK_NAME.fullmatch(name) or SERVICE_LINK_VALUE.match(text))


def _typed(text: str, row: Row) -> str | int | float | bool:
    """Make a number or a truth of a variable's text where the setting is one; what can't be one is left to be refused."""
    number = text.strip()
    if row.wanted == "true or false" and number.lower() in {"true", "false"}:
        return number.lower() == "true"
    if row.wanted.startswith(("an integer", "a number")) and re.fullmatch(r"[+-]?[0-9]{1,30}", number):
        return int(number)
    if row.wanted.startswith("a number") and re.fullmatch(r"[+-]?[0-9]{1,30}\.[0-9]{1,30}", number):
        return float(number)
    return text


def _read_text(path: Path, limit: int, where: str, faults: list[Fault]) -> str | None:
    """Read a file's text. `where` names the setting, not the path: somebody may have put the secret itself there."""
    try:
        raw = read_bounded(path, limit)
        text = raw.decode()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        faults.append(Fault(where, f"the file can't be read ({reason})", "name a file that this user may read"))
    except ValueError:  # not UTF-8, or a path with a NUL in it
        faults.append(Fault(where, "the file or its name is not UTF-8 text", "write it as UTF-8"))
    else:
        if len(raw) <= limit:
            return text
        faults.append(Fault(where, f"the file is longer than {limit} bytes", "name the right file"))
    return None
