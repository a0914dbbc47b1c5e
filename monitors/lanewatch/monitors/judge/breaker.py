"""Stops asking an endpoint that fails, says why, and finds out by one call at a time when it works again.

Invariants: a refused key opens at once, since every further call would be refused too; a rate limit pauses for as long as the endpoint
asks, or twice as long each time; anything else opens after `failures` in a row, whatever mixture they are of. While it is
open nothing is asked. After the pause one call goes out as a probe (after a rate limit: all may), and what becomes of it
closes the breaker or doubles the pause.
"""

from collections.abc import Callable
from enum import StrEnum

from lanewatch.monitors.judge.results import Reason


class Cause(StrEnum):
    """The label `cause` of `lanewatch_judge_circuit_open`."""

    AUTH = "auth"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    SERVER_ERROR = "server_error"
    BAD_REQUEST = "bad_request"
    INVALID = "invalid"


PROBE_LOOK_SECONDS = 1.0  # between two looks at what became of a probe: most answer within seconds, and then all may go
AT_ONCE = frozenset({Cause.AUTH, Cause.RATE_LIMITED})  # one failure says it all

CAUSES = {
    Reason.AUTH: Cause.AUTH,
    Reason.RATE_LIMITED: Cause.RATE_LIMITED,
    Reason.TIMEOUT: Cause.TIMEOUT,
    Reason.UNREACHABLE: Cause.UNREACHABLE,
    Reason.SERVER_ERROR: Cause.SERVER_ERROR,
    Reason.BAD_REQUEST: Cause.BAD_REQUEST,
    Reason.JUDGE_INVALID: Cause.INVALID,
}

REMEDIES = {
    Cause.AUTH: "the endpoint refuses the key, or has no credit for it: set [judge] api_key or api_key_file to one that it takes",
    Cause.RATE_LIMITED: "the endpoint's rate limit is reached: lower [sampling] per_minute or [judge] max_in_flight",
    Cause.TIMEOUT: "the endpoint answers too slowly: raise [judge] timeout_seconds or lower max_in_flight",
    Cause.UNREACHABLE: "the endpoint can't be reached: look at [judge] base_url, the network and the certificate",
    Cause.SERVER_ERROR: "the endpoint reports errors of its own: look at its status and logs",
    Cause.BAD_REQUEST: "the endpoint refuses what is asked: look at [judge] base_url and model",
    Cause.INVALID: "the model's answers can't be read: take one that follows a JSON schema",
}


class Breaker:
    """One endpoint's. `clock` gives seconds that only grow; `opened` is told the cause and for how many seconds."""

    def __init__(
        self,
        clock: Callable[[], float],
        failures: int = 5,
        pause: float = 30.0,
        longest_pause: float = 900.0,
        auth_pause: float = 300.0,
        opened: Callable[[Cause, float], None] = lambda _cause, _seconds: None,
    ) -> None:
        self._clock = clock
        self._failures = failures
        self._pause = pause
        self._longest = longest_pause
        self._auth_pause = auth_pause
        self._opened = opened
        self._in_row = 0
        self._times_opened = 0  # in a row, for the doubling
        self._probing = False
        self._until = 0.0
        self.cause: Cause | None = None  # None: closed

    def circuits(self) -> dict[str, bool]:
        """Each cause, and whether it is the one that keeps calls back."""
        return {cause: cause is self.cause for cause in Cause}

    def wait(self) -> float:
        """Seconds until a call may go; 0 where one may now. While a probe is under way, until it is worth to look again."""
        if self.cause is None:
            return 0.0
        left = self._until - self._clock()
        if left <= 0 and self._probing and self.cause is not Cause.RATE_LIMITED:
            return min(PROBE_LOOK_SECONDS, self._pause)
        return max(0.0, left)

    def entered(self) -> bool:
        """A call goes out, only after `wait` said 0; whether it is the probe, to be given back with what became of it."""
        self._probing = probe = self.cause is not None
        return probe

    def left(self, *, probe: bool) -> None:
        """A call ended without telling anything of the endpoint: it was cancelled."""
        self._probing = self._probing and not probe

    def succeeded(self, *, probe: bool = False) -> None:
        """The endpoint works; as long as it has asked for a pause, or refuses the key, what was under way before tells nothing of now."""
        if not probe and self.cause in AT_ONCE and self._until > self._clock():
            return
        self._in_row = self._times_opened = 0
        self._probing = False
        self.cause = None

    def failed(self, cause: Cause, retry_after: float | None = None, *, probe: bool = False) -> None:
        """A call failed. `retry_after`: seconds that the endpoint itself asks for."""
        self._in_row += 1
        self.left(probe=probe)
        if self.cause is not None and not probe and self._until > self._clock():
            return  # one of those that were under way when it opened
        if cause in AT_ONCE or probe or self._in_row >= self._failures:
            self._open(cause, retry_after)

    def _open(self, cause: Cause, retry_after: float | None) -> None:
        first = {Cause.AUTH: self._auth_pause, Cause.RATE_LIMITED: 1.0}.get(cause, self._pause)
        doubled = first * 2.0 ** min(self._times_opened, 20)
        seconds = min(self._longest, max(doubled, retry_after or 0.0))
        self._times_opened += 1
        self.cause = cause
        self._until = self._clock() + seconds
        self._opened(cause, seconds)
