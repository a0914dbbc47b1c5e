"""What goes wrong in the event loop itself, said once a while with a count: it may go wrong a thousand times a second.

Invariants: one line a kind and minute at most, kinds are bounded, and neither an exception's message nor the peer is told.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import msgspec

logger = logging.getLogger(__name__)

EVERY_SECONDS = 60.0
KINDS = 50


class _Kind(msgspec.Struct):
    said_at: float
    unsaid: int = 0


class LoopFaults:
    """An event loop's exception handler (`loop.set_exception_handler`)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kinds: dict[str, _Kind] = {}

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:  # noqa: ARG002 - asyncio's
        """Log it, or count it for the next line of its kind."""
        error = context.get("exception")
        what = str(context.get("message", "a fault")).partition("\n")[0][:120]
        key = f"{what} ({type(error).__name__})" if error is not None else what
        if key not in self._kinds and len(self._kinds) >= KINDS:
            key = "other faults"
        now = self._clock()
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = _Kind(now)
        elif now - kind.said_at < EVERY_SECONDS:
            kind.unsaid += 1
            return
        since = f", {kind.unsaid} more since the last line of this kind" if kind.unsaid else ""
        kind.said_at, kind.unsaid = now, 0
        logger.error("event loop: %s%s", key, since)
