"""Which kind of trace one is, for the draw: how whole its evidence is, what its tools can do, and how it went.

A stratum is a small number, so that the draw looks its rate up in a list. It is worked out once, from what was known when
the trace was first read: what late spans add changes neither its draw nor its weight.
"""

from functools import cache
from typing import Protocol

from lanewatch.adapters.records import Evidence, TraceRecord
from lanewatch.monitors.divergence import Boundary, Divergence
from lanewatch.monitors.tools import Registry, Risk
from lanewatch.monitors.verdicts import Lane, Status, Verdict

# Bits of how it went; one trace may have several.
DIVERGING, FAILING, REFUSING = 1, 2, 4
# Two bits of the riskiest tool that was asked for or ran.
RISKS: dict[Risk | None, int] = {None: 0, Risk.READ: 8, Risk.WRITE: 16, Risk.DESTRUCTIVE: 24}
RISK_BITS, DESTRUCTIVE = 24, RISKS[Risk.DESTRUCTIVE]
WEAK = 32  # the answer, or what was retrieved for it, was not seen whole
STRATA = range(64)

REFUSAL = "refusal"  # the reason of a failed outcome lane
MAX_NAMES = 4096  # tools' names that are remembered with their risk; more are looked up each time


class Seen(Protocol):
    """What was seen of a trace, as far as judging reads it."""

    @property
    def record(self) -> TraceRecord:
        """What happened."""
        ...

    @property
    def divergences(self) -> tuple[Divergence, ...]:
        """Where two views of a call differ."""
        ...

    @property
    def lanes(self) -> dict[Lane, Verdict]:
        """The verdict of each lane."""
        ...

    @property
    def again(self) -> bool:
        """Whether the trace was seen before."""
        ...


class Strata:
    """Tells strata, under one registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._risks: dict[str, int] = {}

    def of(self, seen: Seen) -> int:
        """The stratum of a trace."""
        record, lanes = seen.record, seen.lanes
        risk = 0
        for call in record.requests:
            risk = max(risk, self._risk(call.name))
        for run in record.dispatches:
            risk = max(risk, self._risk(run.name))
        stratum = risk
        for difference in seen.divergences:
            if difference.boundary is Boundary.DISPATCH:  # an artifact's is its adapter's, an echo is advice
                stratum |= DIVERGING
                break
        outcome = lanes[Lane.OUTCOME]
        if outcome.status is Status.FAIL:
            refused = REFUSAL in outcome.reasons
            stratum |= REFUSING * refused | FAILING * (len(outcome.reasons) > refused)
        if lanes[Lane.GENERATION].status is Status.FAIL:
            stratum |= FAILING
        elif lanes[Lane.TOOLS].status is Status.FAIL and not stratum & DIVERGING:
            stratum |= FAILING  # by a policy
        evidence = record.evidence
        whole = evidence["responses"] is Evidence.COMPLETE and (
            not record.retrievals or evidence["retrievals"] is Evidence.COMPLETE
        )
        return stratum if whole else stratum | WEAK

    def _risk(self, name: str) -> int:
        known = self._risks.get(name)
        if known is not None:
            return known
        tool = self._registry.find(name)
        risk = RISKS[None if tool is None else tool.risk]
        if len(self._risks) < MAX_NAMES:
            self._risks[name] = risk
        return risk


@cache
def stratum_name(stratum: int) -> str:
    """A stratum in words: evidence, risk, outcome.

    >>> stratum_name(DESTRUCTIVE | FAILING | REFUSING), stratum_name(WEAK)
    ('complete/destructive/failing+refusing', 'weak/none/ok')
    """
    risk = next(kind for kind, bits in RISKS.items() if bits == stratum & RISK_BITS)
    went = [name for name, bit in (("diverging", 1), ("failing", 2), ("refusing", 4)) if stratum & bit]
    return "/".join(("weak" if stratum & WEAK else "complete", risk or "none", "+".join(went) or "ok"))


@cache
def priority_of(stratum: int) -> int:
    """Who is kept where money or room are short: what can do harm, then what went wrong, then the rest.

    >>> priority_of(DESTRUCTIVE | DIVERGING) > priority_of(DESTRUCTIVE) > priority_of(FAILING) > priority_of(0)
    True
    """
    went = 2 * bool(stratum & DIVERGING) or bool(stratum & (FAILING | REFUSING))
    return 3 * (stratum & RISK_BITS == DESTRUCTIVE) + went
