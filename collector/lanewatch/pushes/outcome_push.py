"""The body of `POST /v1/outcomes`: what state was expected and found after a trace or session, and when that was seen.

Invariants: the shape is checked before anything is kept, and a fault is told by its place alone.
"""

from typing import Annotated, Any, Literal

import msgspec

from lanewatch.adapters.outcome_facts import fact_of
from lanewatch.adapters.records import OutcomeFact
from lanewatch.collector.content import value_bytes
from lanewatch.collector.outcomes import RefusalReason, Refused
from lanewatch.pushes.body import Id, Name, read_push

NANOSECONDS = 10**9
FACT_BYTES = 500  # of a fact beside its states, as it is kept
Time = Annotated[float, msgspec.Meta(ge=0, le=10**11)]


class PushedOutcome(msgspec.Struct, frozen=True):
    """One fact. One of `trace_id` (32 hexadecimal digits) and `session_id` says what it is of; of `status` and both states
    at least one is there. `time` is in seconds since 1970; of facts with one name the latest counts.
    """

    name: Name
    trace_id: Id | None = None
    session_id: Id | None = None
    status: Literal["pass", "fail"] | None = None
    expected: Any = msgspec.UNSET
    observed: Any = msgspec.UNSET
    time: Time | None = None

    def memory(self) -> int:
        """Bytes in memory of what is in it at any depth: three bytes of JSON can become a hundred."""
        return FACT_BYTES + value_bytes([self.name, self.session_id, self.expected, self.observed])

    def fact(self) -> OutcomeFact:
        """The fact as it stands beside those that spans tell."""
        values = {"name": self.name, "status": self.status, "expected": self.expected, "observed": self.observed}
        told = {key: value for key, value in values.items() if value is not msgspec.UNSET}
        time_ns = None if self.time is None else int(self.time * NANOSECONDS)
        return fact_of(told, session_id=self.session_id, time_ns=time_ns, told_by="push")


_decoder = msgspec.json.Decoder(PushedOutcome)


def parse_outcome(body: bytes) -> PushedOutcome:
    """Read a body. Raises Refused with the place of the fault."""
    pushed = read_push(_decoder, body, RefusalReason.NO_OUTCOME)
    if pushed.status is None and msgspec.UNSET in (pushed.expected, pushed.observed):
        raise Refused(RefusalReason.NO_OUTCOME, "status is needed, or both expected and observed")
    return pushed
