"""The words of a verdict: the lanes, and what can be said of one."""

from enum import StrEnum

import msgspec


class Lane(StrEnum):
    """What is judged apart."""

    RETRIEVAL = "retrieval"
    GENERATION = "generation"
    TOOLS = "tools"
    OUTCOME = "outcome"


class Status(StrEnum):
    """A lane's verdict."""

    PASS = "pass"  # noqa: S105 - a verdict, no secret
    FAIL = "fail"
    INCOMPLETE = "incomplete"
    UNSUPPORTED = "unsupported"
    NOT_APPLICABLE = "not_applicable"


class Verdict(msgspec.Struct, frozen=True):
    """A status and why. Reasons are names, never content."""

    status: Status
    reasons: tuple[str, ...] = ()
