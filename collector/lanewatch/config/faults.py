"""What can be wrong with a configuration, told so that it can be mended: where, what kind of value, what to do.

A fault never holds a value that somebody wrote: a secret may stand in the wrong place. Names of keys and variables are
shown, with unprintable characters escaped.
"""

import datetime as dt
import difflib
from collections.abc import Iterable
from typing import Literal

import msgspec

KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "a boolean"),  # before int, of which it is a subclass
    (int, "an integer"),
    (float, "a number"),
    (str, "text"),
    (list, "an array"),
    (dict, "a table"),
    ((dt.date, dt.time), "a date or time"),
)


class Fault(msgspec.Struct, frozen=True):
    """One fault: `where` is section.key, a variable's name, or a place in a file."""

    where: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        """One line, safe to print."""
        return f"{printable(self.where)}: {self.problem}; {self.remedy}"


class ConfigFaults(Exception):  # noqa: N818 - it carries faults, and is no fault of the program
    """Raised with every fault of a configuration at once, and the log's format, as far as it is known in spite of them."""

    def __init__(self, faults: list[Fault], log_format: Literal["json", "text"] = "json") -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = faults
        self.log_format = log_format


def kind_of(value: object) -> str:
    """Say the value's kind, without its content."""
    if value == "":
        return "empty"
    return next((words for types, words in KINDS if isinstance(value, types)), "nothing that a setting can be")


def printable(name: str) -> str:
    """Keep a name on one line: control characters, which could rewrite a terminal's line, are escaped."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)


def did_you_mean(name: str, known: Iterable[str], otherwise: str, *, prefix: str = "") -> str:
    """Suggest the known name that is nearest to an unknown one, or `otherwise`; a shared prefix makes nothing near."""
    candidates = [candidate.removeprefix(prefix) for candidate in known]
    nearest = difflib.get_close_matches(name.removeprefix(prefix), candidates, n=1, cutoff=0.6)
    return f"did you mean {prefix}{nearest[0]}?" if nearest else otherwise
