"""Which sessions already had an event: only a session's first one counts, because a refused user asks again.

A table of fixed size, 650 kB for 65,536 sessions over all rate signals: four places for each session, the oldest gives
way. Sessions are hashes of which 46 bits are kept; none is remembered longer than six hours.
"""

from array import array
from hashlib import blake2b

import msgspec

TTL_TICKS = 2160  # six hours
WAYS = 4
SETS = 16_384
MAX_SIGNALS = 16  # one bit each
_TAG = 0xFFFFFFFF


class SessionState(msgspec.Struct):
    """The live entries: where they stand, hashes, masks of signals, ticks of the last event."""

    sets: bytes
    tags: bytes
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
        self._tags = array("I", bytes(4 * SETS * WAYS))
        self._masks = array("H", bytes(2 * SETS * WAYS))
        self._ticks = array("I", bytes(4 * SETS * WAYS))

    def seen(self, session: int, tick: int) -> int:
        """The signals, as bits, that had an event in this session within six hours."""
        start, tag = session % SETS * WAYS, session // SETS & _TAG
        for place in range(start, start + WAYS):
            if self._tags[place] == tag and tick - self._ticks[place] < TTL_TICKS:
                return self._masks[place]
        return 0

    def mark(self, session: int, mask: int, tick: int) -> None:
        """Remember events of these signals."""
        self._mark(session % SETS, session // SETS & _TAG, mask, tick)

    def tracked(self, tick: int) -> int:
        """How many sessions are remembered."""
        return sum(1 for mask, at in zip(self._masks, self._ticks, strict=True) if mask and tick - at < TTL_TICKS)

    def state(self, tick: int) -> SessionState:
        """What to write down."""
        live = [p for p, mask in enumerate(self._masks) if mask and tick - self._ticks[p] < TTL_TICKS]
        fields = (self._tags, self._masks, self._ticks)
        tags, masks, ticks = (array(field.typecode, [field[p] for p in live]).tobytes() for field in fields)
        return SessionState(array("I", [p // WAYS for p in live]).tobytes(), tags, masks, ticks)

    def restore(self, state: SessionState) -> bool:
        """Go on from a state; False where its parts do not belong together."""
        parts = ((state.sets, "I"), (state.tags, "I"), (state.masks, "H"), (state.ticks, "I"))
        if len({len(data) / array(code).itemsize for data, code in parts}) != 1 or len(state.sets) % 4:
            return False
        for set_, tag, mask, tick in zip(*(array(code, data) for data, code in parts), strict=True):
            if set_ < SETS:
                self._mark(set_, tag, mask, tick)
        return True

    def _mark(self, set_: int, tag: int, mask: int, tick: int) -> None:
        places = range(set_ * WAYS, (set_ + 1) * WAYS)
        place = next((p for p in places if self._tags[p] == tag and self._masks[p]), None)
        if place is None:
            place = min(places, key=self._ticks.__getitem__)
            self._tags[place], self._masks[place] = tag, 0
        elif tick - self._ticks[place] >= TTL_TICKS:
            self._masks[place] = 0
        self._masks[place] |= mask
        self._ticks[place] = tick


def session_hash(service: str, session_id: str) -> int:
    """A session's 64-bit name, never 0; the id itself is not kept."""
    digest = blake2b(f"{service}\0{session_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1
