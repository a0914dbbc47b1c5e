"""OTLP over HTTP: one port for traces and logs, protobuf and JSON.

Invariants:

- Connections are bounded in number, and none of them is without a deadline; one sweep a second, or oftener where the
  deadlines are shorter, finds those that have passed. A timer for each request would cost more than the request.
- `stop` first stops accepting, then lets the requests that are open finish, and after the grace none of them is left.
- It binds 127.0.0.1 unless told otherwise.

Why this is not uvicorn: docs/decisions/0003-otlp-http-without-a-framework.md.
"""

import asyncio
import ssl
import time
from collections.abc import Callable
from email.utils import formatdate

import msgspec

from lanewatch.collector.http_connection import Connection, HttpLimits
from lanewatch.collector.intake import Intake

# asyncio accepts up to so many in one turn, before any of them can be turned away; the kernel may hold more back.
_ACCEPTED_AT_ONCE, _BACKLOG = 64, 1024
_LINGERING = 64  # connections beyond the limit that are told so; still further ones are closed without a word
_STOP_POLL_SECONDS = 0.02


class HttpSettings(msgspec.Struct, frozen=True):
    """Where to listen; port 0 takes any free one."""

    host: str = "127.0.0.1"
    port: int = 4318
    limits: HttpLimits = HttpLimits()
    tls: ssl.SSLContext | None = None


class HttpReceiver:
    """The OTLP/HTTP server. Belongs to the event loop that `start` runs on."""

    def __init__(self, intake: Intake, settings: HttpSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.intake = intake
        self.limits = settings.limits
        self.date = b""
        self.stopping = False
        self.now = clock
        self._settings = settings
        self._connections: set[Connection] = set()
        self._port: int | None = None
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        limits = settings.limits
        shortest = min(limits.request_deadline_seconds, limits.idle_timeout_seconds, limits.linger_seconds)
        self._sweep_seconds = min(1.0, shortest / 4)

    @property
    def port(self) -> int:
        """The port that is bound; raises RuntimeError before `start`."""
        if self._port is None:
            raise RuntimeError("the HTTP receiver is not started")
        return self._port

    @property
    def connections(self) -> int:
        """Connections that are open now."""
        return len(self._connections)

    async def start(self) -> None:
        """Bind and serve; raises OSError where the port is taken."""
        settings = self._settings
        self._sweep()
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self),
            settings.host,
            settings.port,
            ssl=settings.tls,
            ssl_handshake_timeout=self.limits.request_deadline_seconds if settings.tls else None,
            backlog=_ACCEPTED_AT_ONCE,
        )
        for sock in self._server.sockets:
            with sock.dup() as listening:
                listening.listen(_BACKLOG)
        self._port = int(self._server.sockets[0].getsockname()[1])

    async def stop(self, grace_seconds: float) -> None:
        """Accept nothing more, let open requests finish for so long, close the rest."""
        self.stopping = True
        if self._server is not None:
            await self._close_listeners(self._server)
        for connection in list(self._connections):
            connection.close_if_idle()
        deadline = self.now() + grace_seconds
        while any(connection.busy for connection in self._connections) and self.now() < deadline:  # noqa: ASYNC110 - once
            await asyncio.sleep(_STOP_POLL_SECONDS)
        for connection in list(self._connections):
            connection.close_now()
        if self._sweeper is not None:
            self._sweeper.cancel()
        # Closed connections are told so in the loop's next turn.
        await asyncio.sleep(0)

    async def _close_listeners(self, server: asyncio.Server) -> None:
        loop = asyncio.get_running_loop()
        for sock in server.sockets:
            loop.remove_reader(sock.fileno())
        # A connection that asyncio has accepted gets its transport a turn later, and is left open without one, and the
        # client waiting, where the server is closed in between (Server._attach asserts).
        for _ in range(2):
            await asyncio.sleep(0)
        server.close()

    def made(self, connection: Connection) -> bool:
        """A connection was opened; False where it is one too many."""
        self._connections.add(connection)
        return len(self._connections) <= self.limits.max_connections

    @property
    def overrun(self) -> bool:
        """Whether there are so many connections beyond the limit that they can't be told."""
        return len(self._connections) > self.limits.max_connections + _LINGERING

    def lost(self, connection: Connection) -> None:
        """A connection is gone."""
        self._connections.discard(connection)

    def _sweep(self) -> None:
        # First, so that no error below can end the sweeping.
        self._sweeper = asyncio.get_running_loop().call_later(self._sweep_seconds, self._sweep)
        now = self.now()
        self.date = formatdate(usegmt=True).encode()
        for connection in [connection for connection in self._connections if connection.deadline < now]:
            connection.expire()
