"""Where pushed outcomes wait for the trace, or for the first trace of the session, that they are of.

Invariants: what waits is bounded in number, bytes and time, the oldest goes first; what goes without its trace is told as
unclaimed. One thread owns it: the reading thread.
"""

from collections import OrderedDict
from collections.abc import Callable

import msgspec

from lanewatch.adapters.records import OutcomeFact
from lanewatch.pushes.outcome_push import PushedOutcome


class BoxLimits(msgspec.Struct, frozen=True):
    """Bounds; bytes are those of the JSON."""

    waiting: int = 1_000
    waiting_bytes: int = 8 * 2**20
    waiting_seconds: float = 300.0


class _Waiting(msgspec.Struct, frozen=True):
    pushed: PushedOutcome
    size: int
    since: float


class OutcomeBox:
    """Outcomes without a trace yet."""

    def __init__(self, limits: BoxLimits, clock: Callable[[], float], unclaimed: Callable[[], None]) -> None:
        """`unclaimed` is called for each outcome that is given up."""
        self._limits = limits
        self._clock = clock
        self._unclaimed = unclaimed
        self._waiting: OrderedDict[int, _Waiting] = OrderedDict()
        self._bytes = 0
        self._next = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, pushed: PushedOutcome, size: int) -> None:
        """Keep an outcome."""
        self.expire()
        self._waiting[self._next] = _Waiting(pushed, size, self._clock())
        self._next += 1
        self._bytes += size
        while self._waiting and (len(self._waiting) > self._limits.waiting or self._bytes > self._limits.waiting_bytes):
            self._give_up(next(iter(self._waiting)))

    def take(self, trace_id: str, session_id: str | None) -> tuple[OutcomeFact, ...]:
        """What waits for a trace that has come, in the order in which it was pushed."""
        self.expire()
        mine = [
            key
            for key, one in self._waiting.items()
            if (one.pushed.trace_id or "").lower() == trace_id
            or (session_id is not None and one.pushed.session_id == session_id)
        ]
        return tuple(self._leave(key).pushed.fact() for key in mine)

    def refuse(self) -> None:
        """Give up one that can't be kept."""
        self._unclaimed()

    def expire(self) -> None:
        """Give up what has waited too long."""
        oldest = self._clock() - self._limits.waiting_seconds
        while self._waiting and next(iter(self._waiting.values())).since < oldest:
            self._give_up(next(iter(self._waiting)))

    def close(self) -> None:
        """The end: what still waits is unclaimed."""
        for key in list(self._waiting):
            self._give_up(key)

    def _give_up(self, key: int) -> None:
        self._leave(key)
        self._unclaimed()

    def _leave(self, key: int) -> _Waiting:
        waiting = self._waiting.pop(key)
        self._bytes -= waiting.size
        return waiting
