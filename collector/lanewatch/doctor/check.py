"""What a look at a running sidecar comes to: checks, each with what was found and what to do."""

from enum import StrEnum

import msgspec


class Status(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOTE = "note"  # works, and there is something to know
    WRONG = "wrong"  # does not work as set
    UNKNOWN = "unknown"  # could not be asked


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at: what was found, and what to do where something is to be done."""

    name: str
    status: Status
    found: str
    remedy: str = ""
