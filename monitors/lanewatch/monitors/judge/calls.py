"""What a judge's call is to those who pay for it and write it down: its use, and the two things a worker gives to an endpoint.

Invariants that the two Protocols promise together: a call is reserved before it is sent, written down as sent before its first byte
leaves, and settled whatever became of it. A key names one question of one job; asking it again after a failure of the network has
the same key.
"""

from contextvars import ContextVar
from typing import Protocol

import msgspec

from lanewatch.monitors.judge.results import Cost, Reason


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one call; `estimated` where the endpoint did not say and characters / 4 stand in."""

    input_tokens: int
    output_tokens: int
    estimated: bool = False


NOTHING_USED = Usage(0, 0)


class Estimate(msgspec.Struct, frozen=True):
    """What a call may use at most: its prompt by characters / 4, and all the output that it is allowed."""

    model: str
    input_tokens: int
    output_tokens: int


class Reservation(msgspec.Struct, frozen=True):
    """A part of the budget that is held until it is settled. `number` is the purse's own."""

    metric: str
    estimate: Estimate
    number: int = 0


class Purse(Protocol):
    """The budget, as a call sees it."""

    def reserve(self, metric: str, estimate: Estimate) -> Reservation | Reason:
        """Hold what the call may cost; `Reason.MONEY` or `Reason.TOKENS` where the budget has no room for it."""
        ...

    def settle(self, reservation: Reservation, usage: Usage) -> float | None:
        """Give back what was not used; the dollars that were, None where the model's price is not known."""
        ...


class Journal(Protocol):
    """What was asked and answered, so that a restart asks nothing twice."""

    def answered(self, key: str) -> bytes | None:
        """What `store` was given for this key, by this process or one before it."""
        ...

    def sent(self, key: str) -> bool:
        """Write down, durably, that the call is about to be sent. False where it was sent before and has no answer."""
        ...

    def store(self, key: str, response: bytes, cost: Cost) -> None:
        """Write down what came back, and what it cost: an answer, or how the call failed in the end."""
        ...


class CallEnd(msgspec.Struct, frozen=True):
    """One request to the endpoint, as metrics count it. `outcome` is "ok" or a Reason."""

    metric: str
    model: str
    outcome: str
    seconds: float
    usage: Usage
    dollars: float | None
    sent_bytes: int = 0
    received_bytes: int = 0


class UnlimitedPurse:
    """No budget and no prices: for `judge check` against a local model, and for tests."""

    def reserve(self, metric: str, estimate: Estimate) -> Reservation | Reason:
        """Always room."""
        return Reservation(metric, estimate)

    def settle(self, reservation: Reservation, usage: Usage) -> float | None:  # noqa: ARG002
        """No price is known."""
        return None


class MemoryJournal:
    """Kept as long as the object: for what runs once and by hand."""

    def __init__(self) -> None:
        self.responses: dict[str, bytes] = {}
        self.under_way: set[str] = set()

    def answered(self, key: str) -> bytes | None:
        """The stored response."""
        return self.responses.get(key)

    def sent(self, key: str) -> bool:
        """True the first time."""
        fresh = key not in self.under_way
        self.under_way.add(key)
        return fresh

    def store(self, key: str, response: bytes, cost: Cost) -> None:  # noqa: ARG002
        """Keep the response."""
        self.responses[key] = response


# The identity of the job under way, a part of each call's key: set by the worker around `evaluate`. Two jobs may ask the same of the
# same sample (a canary does, every round) and each is to be answered anew; the same job after a crash is not.
JOB: ContextVar[str] = ContextVar("lanewatch_judge_job", default="")

# Whether that job is a canary's, whose part of the budget is kept back from all others.
ANCHOR: ContextVar[bool] = ContextVar("lanewatch_judge_anchor", default=False)
