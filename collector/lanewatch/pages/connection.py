"""Connections to the pages: a scraper always gets through, whoever else holds connections open.

Invariants:

- A connection has `ANSWER_SECONDS` from its opening, and from each answer on, until its next answer is delivered: without a
  request, within a head that trickles, or not reading what it asked for, it is closed.
- At most `MAX_CONNECTIONS` are open. A further one takes the place of the one that has been idle the longest, or where all
  are at work of the oldest; nobody is told to come back.

uvicorn's own limit answers 503 to everybody once so many connections are open, idle or not, and sets no deadline before
the first request.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_CONNECTIONS = 64
ANSWER_SECONDS = 30.0


class PageConnection(HttpToolsProtocol):
    """uvicorn's connection with a deadline and a place among the others."""

    _deadline: asyncio.TimerHandle | None = None
    waiting_since = 0.0

    @property
    def idle(self) -> bool:
        """No request of it is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time; make room where there is none."""
        super().connection_made(transport)
        self._start_time()
        if len(self.connections) > MAX_CONNECTIONS:
            others = [other for other in self.connections if isinstance(other, PageConnection) and other is not self]
            min(others, key=lambda other: (not other.idle, other.waiting_since)).expire()

    def on_response_complete(self) -> None:
        """Start the time anew."""
        super().on_response_complete()
        self._start_time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time."""
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()

    def expire(self) -> None:
        """End it now, whatever it waits for."""
        self.connections.discard(self)  # at once: the place is another's
        self.transport.abort()

    def _start_time(self) -> None:
        self.waiting_since = self.loop.time()
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if self.transport.is_closing() else self.loop.call_later(ANSWER_SECONDS, self.expire)
