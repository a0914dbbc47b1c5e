"""Whether there is room for a request, asked before its body is read: bytes in flight, and the process's memory.

Invariants:

- A body counts from before it is read until its decoding has ended, whatever ended it.
- Above the soft limit every request is refused; above the hard one memory is also asked back, at each reading.
- Each transition is logged once. Overload never makes the process unready: a sidecar's readiness is its pod's.
- The clock and the reading are passed in.
"""

import ctypes
import ctypes.util
import logging
import resource
import sys
from collections.abc import Callable
from enum import StrEnum

import msgspec

from lanewatch.collector.outcomes import RefusalReason, Refused
from lanewatch.collector.resident_memory import resident_of

logger = logging.getLogger(__name__)

MiB = 1 << 20


class AdmissionLimits(msgspec.Struct, frozen=True):
    """A memory limit of 0 is off."""

    max_in_flight_bytes: int = 96 * MiB
    memory_soft_bytes: int = 0
    memory_hard_bytes: int = 0
    memory_check_seconds: float = 0.25
    reopen_ratio: float = 0.95  # of the soft limit: a reading that hovers at the limit must not flood the log


class Pressure(StrEnum):
    """Where the memory reading stands; also what is logged when it changes."""

    NONE = "none"
    SOFT = "soft"
    HARD = "hard"


class Admission:
    """The byte budget and the memory gate. Belongs to the event loop's thread."""

    def __init__(
        self,
        limits: AdmissionLimits,
        *,
        clock: Callable[[], float],
        read_memory: Callable[[], int],
        relieve: Callable[[Pressure], None] = lambda _: None,
    ) -> None:
        """`relieve` is called at each reading above a limit: it gives free memory back, and evicts when it is HARD."""
        self._limits = limits
        self._clock = clock
        self._read_memory = read_memory
        self._relieve = relieve
        self._next_check = clock()
        self.in_flight_bytes = 0
        self.pressure = Pressure.NONE

    def reserve(self, n_bytes: int) -> None:
        """Take bytes from the budget; raises `Refused`. Nothing is taken when it raises."""
        if self._clock() >= self._next_check:
            self.check_memory()
        if self.pressure is not Pressure.NONE:
            raise Refused(RefusalReason.MEMORY_LIMIT)
        if self.in_flight_bytes + n_bytes > self._limits.max_in_flight_bytes:
            raise Refused(RefusalReason.IN_FLIGHT_LIMIT)
        self.in_flight_bytes += n_bytes

    def release(self, n_bytes: int) -> None:
        """Give reserved bytes back."""
        self.in_flight_bytes -= n_bytes

    def check_memory(self) -> Pressure:
        """Read the memory and act on it. Requests do so themselves when a reading is old; a ticker may do so as well."""
        self._next_check = self._clock() + self._limits.memory_check_seconds
        if not self._limits.memory_soft_bytes and not self._limits.memory_hard_bytes:
            return self.pressure
        used = self._read_memory()
        before, self.pressure = self.pressure, self._pressure_of(used)
        if self.pressure is not before:
            level = logging.INFO if self.pressure is Pressure.NONE else logging.WARNING
            fields = {"pressure": self.pressure.value, "used_bytes": used}
            logger.log(level, "memory pressure is now %s (was %s)", self.pressure, before, extra=fields)
        if self.pressure is not Pressure.NONE:
            self._relieve(self.pressure)
        return self.pressure

    def _pressure_of(self, used: int) -> Pressure:
        soft, hard = self._limits.memory_soft_bytes, self._limits.memory_hard_bytes
        if hard and used > hard:
            return Pressure.HARD
        reopen = soft or hard
        if (soft and used > soft) or (self.pressure is not Pressure.NONE and used > reopen * self._limits.reopen_ratio):
            return Pressure.SOFT
        return Pressure.NONE


class Lease:
    """The bytes that one request holds of the budget. Releasing twice is harmless."""

    __slots__ = ("_admission", "held_bytes")

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self.held_bytes = 0

    def grow(self, n_bytes: int) -> None:
        """Hold more; raises `Refused`, and holds what it held then."""
        self._admission.reserve(n_bytes)
        self.held_bytes += n_bytes

    def release(self) -> None:
        """Give all of it back."""
        self._admission.release(self.held_bytes)
        self.held_bytes = 0


def resident_bytes() -> int:
    """The process's resident memory. Outside Linux it is the peak, which never falls: switch the limits off there."""
    told = resident_of()
    if told is not None:
        return told
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def give_back_free_memory() -> None:
    """Have glibc return what it holds free to the kernel; elsewhere nothing.

    Without it the resident size stays at the peak after a burst of large requests, and a soft limit would refuse for ever.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
