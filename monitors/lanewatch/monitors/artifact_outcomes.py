"""How the comparison of an artifact ended: equal, divergent, or not to be told, and why.

Invariant: what is not known is never equal.
"""

from enum import StrEnum

import msgspec

from lanewatch.monitors.divergence import Divergence


class ArtifactOutcome(StrEnum):
    """How a comparison, or the attempt at one, ended."""

    EQUAL = "equal"
    DIVERGENT = "divergent"
    INCOMPLETE = "incomplete"  # the trace's evidence does not allow a comparison
    UNSUPPORTED = "unsupported"  # values are hidden that do not compare, and what is seen is equal
    FAILED = "failed"  # the producer raised, or handed over what is no list of messages
    TIMED_OUT = "timed_out"
    SKIPPED = "skipped"  # not made: more was waiting than may
    UNCLAIMED = "unclaimed"  # pushed, and its trace did not come


# What keeps a comparison from being equal though nothing differs.
UNKNOWN_ARGUMENTS, UNKNOWN_RUN = "arguments_not_recorded", "executed_unknown"
HIDDEN_ARGUMENTS, HIDDEN_RESULTS = "hidden_arguments", "hidden_results"
UNSEEN = frozenset((UNKNOWN_ARGUMENTS, UNKNOWN_RUN))


class Compared(msgspec.Struct, frozen=True):
    """One producer's artifact of one trace, compared. `reason` is a name and a place, never content. `doubts` are what
    could not be compared, also where something else differs.
    """

    producer: str
    verdict: ArtifactOutcome
    divergences: tuple[Divergence, ...] = ()
    reason: str | None = None
    owner: str = ""
    doubts: tuple[str, ...] = ()


def verdict_of(divergences: tuple[Divergence, ...], doubts: tuple[str, ...]) -> ArtifactOutcome:
    """What is found outweighs what is not known, and that outweighs that all the rest is equal."""
    if divergences:
        return ArtifactOutcome.DIVERGENT
    if UNSEEN.isdisjoint(doubts):
        return ArtifactOutcome.UNSUPPORTED if doubts else ArtifactOutcome.EQUAL
    return ArtifactOutcome.INCOMPLETE
