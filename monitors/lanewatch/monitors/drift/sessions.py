"""Which sessions already had an event: only a session's first one counts, because a refused user asks again.

A table that grows from 40 to 650 kB: 65,536 sessions over all rate signals, four places for each session, the oldest gives
way. Sessions are hashes of which 42 bits are kept; none is remembered longer than six hours.
"""

from array import array
from hashlib import blake2b

import msgspec
import numpy as np
from numpy.typing import NDArray

TTL_TICKS = 2160  # six hours
WAYS = 4
LEAST_BITS, MOST_BITS, STEP_BITS = 10, 14, 2  # sets, as a power of two
SETS = 1 << MOST_BITS
MAX_SIGNALS = 16  # one bit each
NAME_BITS = 42  # 32 of them are the tag while the table is smallest
_NAME = (1 << NAME_BITS) - 1


class SessionState(msgspec.Struct):
    """The live entries: hashes, masks of signals, ticks of the last event."""

    names: bytes
    masks: bytes
    ticks: bytes


class SessionEvents:
    """For each session, the signals that had an event in it.

    >>> events = SessionEvents()
    >>> events.mark(7, 0b10, 100)
    >>> events.seen(7, 101), events.seen(8, 101), events.seen(7, 100 + TTL_TICKS)
    (2, 0, 0)
    """

    def __init__(self) -> None:
        """An empty table."""
        self._bits = LEAST_BITS
        self._make()

    def seen(self, session: int, tick: int) -> int:
        """The signals, as bits, that had an event in this session within six hours."""
        name = session & _NAME
        start, tag = (name & self._last) * WAYS, name >> self._bits
        for place in range(start, start + WAYS):
            if self._tags[place] == tag and tick - self._ticks[place] < TTL_TICKS:
                return self._masks[place]
        return 0

    def mark(self, session: int, mask: int, tick: int) -> None:
        """Remember events of these signals."""
        while not self._mark(session & _NAME, mask, tick):
            self._grow(tick)

    def tracked(self, tick: int) -> int:
        """How many sessions are remembered."""
        return len(self._live(tick))

    def state(self, tick: int) -> SessionState:
        """What to write down."""
        names, masks, ticks = self._entries(tick)
        return SessionState(names.tobytes(), masks.tobytes(), ticks.tobytes())

    def restore(self, state: SessionState) -> bool:
        """Go on from a state; False where its parts do not belong together."""
        parts = ((state.names, "Q"), (state.masks, "H"), (state.ticks, "I"))
        if len({len(data) / array(code).itemsize for data, code in parts}) != 1 or len(state.names) % 8:
            return False
        for name, mask, tick in zip(*(array(code, data) for data, code in parts), strict=True):
            self.mark(name, mask, tick)
        return True

    def _make(self) -> None:
        places = WAYS << self._bits
        self._last = (1 << self._bits) - 1
        self._tags, self._masks, self._ticks = (
            array("I", bytes(4 * places)),
            array("H", bytes(2 * places)),
            array("I", bytes(4 * places)),
        )

    def _mark(self, name: int, mask: int, tick: int) -> bool:
        """False, and nothing is changed, where a session would have to give way and the table can grow."""
        start, tag = (name & self._last) * WAYS, name >> self._bits
        places = range(start, start + WAYS)
        place = next((p for p in places if self._tags[p] == tag and self._masks[p]), None)
        if place is None:
            place = min(places, key=self._ticks.__getitem__)
            alive = self._masks[place] and tick - self._ticks[place] < TTL_TICKS
            if alive and self._bits < MOST_BITS:
                return False
            self._tags[place], self._masks[place] = tag, 0
        elif tick - self._ticks[place] >= TTL_TICKS:
            self._masks[place] = 0
        self._masks[place] |= mask
        self._ticks[place] = tick
        return True

    def _grow(self, tick: int) -> None:
        entries = self._entries(tick)
        self._bits += STEP_BITS
        self._make()
        for name, mask, at in zip(*(field.tolist() for field in entries), strict=True):
            self._mark(name, mask, at)

    def _live(self, tick: int) -> NDArray[np.intp]:
        masks, ticks = np.frombuffer(self._masks, np.uint16), np.frombuffer(self._ticks, np.uint32)
        return np.flatnonzero((masks > 0) & (tick - ticks.astype(np.int64) < TTL_TICKS))

    def _entries(self, tick: int) -> tuple[NDArray[np.uint64], NDArray[np.uint16], NDArray[np.uint32]]:
        live = self._live(tick)
        tags = np.frombuffer(self._tags, np.uint32)[live].astype(np.uint64)
        names = (tags << np.uint64(self._bits)) | (live // WAYS).astype(np.uint64)
        return names, np.frombuffer(self._masks, np.uint16)[live], np.frombuffer(self._ticks, np.uint32)[live]


def session_hash(service: str, session_id: str) -> int:
    """A session's 64-bit name, never 0; the id itself is not kept."""
    digest = blake2b(f"{service}\0{session_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1
