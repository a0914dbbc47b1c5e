"""One HTTP/1.1 connection: requests in, answers out in the same order, everything within a deadline.

Invariants:

- From its first byte a request has `request_deadline_seconds` to arrive; a deadline for each byte would let a client hold
  the connection for ever (slow loris). A connection without a request, and one whose answers aren't read, have deadlines
  too.
- A refusal that comes before the end of the body is answered at once where the rest is long or of unknown length, and the
  connection is then closed with patience: closing with unread bytes makes the kernel reset it, and the client would
  see that instead of the answer. A short rest is read and forgotten, and the connection stays.
- While an answer is being worked on, or answers aren't read, no more is read.
"""

import asyncio
import math
from collections import deque
from functools import partial
from typing import Protocol

import msgspec

from lanewatch.collector.admission import Lease
from lanewatch.collector.http_reader import Head, Reader
from lanewatch.collector.http_routes import Route, media_of, response_head, route
from lanewatch.collector.intake import Intake, Transport
from lanewatch.collector.outcomes import RETRY_AFTER_SECONDS, RefusalReason, Refused
from lanewatch.collector.responses import Media, Receipt, encode_receipt, encode_status

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class HttpLimits(msgspec.Struct, frozen=True):
    """Limits of a connection."""

    max_connections: int = 1024
    max_header_bytes: int = 32 * 1024
    request_deadline_seconds: float = 10.0
    idle_timeout_seconds: float = 60.0  # exporters send every 5 seconds or so and keep their connection
    linger_seconds: float = 2.0
    drain_bytes: int = 256 * 1024


class Home(Protocol):
    """What a connection asks of its server."""

    intake: Intake
    limits: HttpLimits
    date: bytes  # for the Date header
    stopping: bool

    def now(self) -> float:
        """Monotonic seconds."""

    def made(self, connection: "Connection") -> bool:
        """A connection was opened; False where it is one too many."""

    def lost(self, connection: "Connection") -> None:
        """The connection is gone."""

    @property
    def overrun(self) -> bool:
        """Whether there are so many connections beyond the limit that they can't be told."""


class _Exchange:
    """One request on its way. `short`: its rest can be read and forgotten where it is refused."""

    __slots__ = ("chunks", "close", "lease", "media", "method", "refused", "route", "short")

    def __init__(self, method: bytes, media: Media, *, close: bool, short: bool = False) -> None:
        self.method = method
        self.media = media
        self.close = close
        self.short = short
        self.route: Route | None = None
        self.lease: Lease | None = None
        self.refused: Refused | None = None
        self.chunks: list[bytes] = []

    def release(self) -> None:
        """Give back what it holds of the byte budget."""
        if self.lease is not None:
            self.lease.release()


class Connection(asyncio.Protocol):
    """The protocol object of one connection; `deadline` is when the server calls `expire`."""

    _transport: asyncio.Transport

    def __init__(self, home: Home) -> None:
        self.deadline = math.inf
        self._home = home
        self._limits = home.limits
        self._reader = Reader(self, home.limits.max_header_bytes)
        self._exchange: _Exchange | None = None  # the request whose body is coming
        self._queue: deque[_Exchange] = deque()  # requests that came while another was being worked on
        self._working = False
        self._lingering = False  # the last answer is written, the client is to close
        self._stalled = False  # the client doesn't read its answers

    @property
    def busy(self) -> bool:
        """A request is on its way and not answered."""
        return not self._lingering and (self._reader.is_within or self._working or bool(self._queue))

    # ---- asyncio's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the time for the first request, or turn the client away where there are too many."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.deadline = self._home.now() + self._limits.request_deadline_seconds
        if self._home.stopping:
            transport.abort()  # as the kernel does with those that it hasn't handed over yet
        elif not self._home.made(self):
            self._give_up(Refused(RefusalReason.CONNECTION_LIMIT))
            if self._home.overrun:
                transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read requests."""
        try:
            self._reader.feed(data)
        except Refused as refused:
            self._give_up(refused)
        except Exception as error:  # noqa: BLE001 - the net under the parser's calls
            self._conclude(self._home.intake.fault(error))

    def pause_writing(self) -> None:
        """Read no further while answers aren't read."""
        self._stalled = True
        self._transport.pause_reading()
        self.deadline = self._home.now() + self._limits.request_deadline_seconds

    def resume_writing(self) -> None:
        """Go on."""
        self._stalled = False
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Give everything back; what was not answered is counted as abandoned."""
        unanswered = [*self._queue, *([self._exchange] if self._exchange else [])]
        abandoned = sum(exchange.refused is None for exchange in unanswered)
        if self._reader.is_within and self._exchange is None:
            abandoned += 1  # within its head
        for exchange in unanswered:
            exchange.release()
        for _ in range(abandoned):
            self._home.intake.refuse(Refused(RefusalReason.ABANDONED))
        self._exchange = None
        self._queue.clear()
        self._reader.stop()
        self._home.lost(self)

    # ---- the server's calls

    def expire(self) -> None:
        """The deadline has passed."""
        if self._lingering or self._stalled:
            self._transport.abort()
        elif self._reader.is_within:
            self._give_up(Refused(RefusalReason.REQUEST_TIMEOUT))
        else:
            self._transport.close()

    def close_now(self) -> None:
        """Close, whatever is on its way; an answer that was written is still delivered."""
        if self.busy or self._stalled:
            self._transport.abort()
        else:
            self._transport.close()

    def close_if_idle(self) -> None:
        """Close unless a request is on its way; that one is told to close by its answer."""
        if not self.busy and not self._lingering:
            self._transport.close()

    # ---- the reader's calls

    def begun(self) -> None:
        """The time of a request starts."""
        self.deadline = self._home.now() + self._limits.request_deadline_seconds

    def head(self, head: Head) -> None:
        """Decide on all that can be told from the head."""
        headers = head.headers
        media = media_of(headers.get(b"content-type"))
        declared = int(headers.get(b"content-length", b"0"))
        expects = headers.get(b"expect", b"").lower() == b"100-continue"
        short = declared <= self._limits.drain_bytes and not expects and b"transfer-encoding" not in headers
        exchange = _Exchange(head.method, media or Media.JSON, close=not head.keep_alive, short=short)
        self._exchange = exchange
        try:
            exchange.route = self._route(head, media)
            exchange.lease = self._home.intake.open(headers.get(b"authorization"), declared)
        except Refused as refused:
            self._refuse(exchange, refused)
        else:
            if expects:
                self._transport.write(_CONTINUE)

    def chunk(self, chunk: bytes) -> None:
        """Keep a part of a body, if there is room."""
        exchange = self._exchange
        if exchange is None or exchange.refused is not None:
            return
        assert exchange.lease is not None
        try:
            self._home.intake.grow(exchange.lease, len(chunk))
        except Refused as refused:
            self._refuse(exchange, refused)
        else:
            exchange.chunks.append(chunk)

    def complete(self) -> None:
        """Answer a request."""
        exchange, self._exchange = self._exchange, None
        assert exchange is not None
        self._serve(exchange)

    def _route(self, head: Head, media: Media | None) -> Route:
        try:
            if self._home.stopping:
                raise Refused(RefusalReason.STOPPING)  # noqa: TRY301 - counted in one place, below
            return route(head.method, head.target, media, head.headers.get(b"content-encoding"))
        except Refused as refused:
            raise self._home.intake.refuse(refused) from None

    def _refuse(self, exchange: _Exchange, refused: Refused) -> None:
        """Before the end of its body: forget the rest where it is short, else answer now."""
        exchange.refused = refused
        exchange.chunks.clear()
        if refused.outcome.close or not exchange.short:
            self._conclude(refused)

    def _give_up(self, refused: Refused) -> None:
        self._conclude(self._home.intake.refuse(refused))

    def _conclude(self, refused: Refused) -> None:
        """Answer the request that is coming in with a refusal, counted already, as the last one of the connection."""
        self._reader.stop()
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            media = media_of(self._reader.headers.get(b"content-type"))
            exchange = _Exchange(b"", media or Media.JSON, close=True)
        exchange.release()
        exchange.refused, exchange.close = refused, True
        self._serve(exchange)

    # ---- answering

    def _serve(self, exchange: _Exchange) -> None:
        """Answer a request, or have it worked on, or queue it behind the one that is being worked on."""
        if self._working:
            self._queue.append(exchange)
            return
        try:
            if exchange.refused is not None:
                raise exchange.refused
            assert exchange.route is not None
            assert exchange.lease is not None
            to = exchange.route
            body = exchange.chunks[0] if len(exchange.chunks) == 1 else b"".join(exchange.chunks)
            if to.signal is None:
                result: Receipt | asyncio.Future[Receipt] | asyncio.Future[None] | None = self._home.intake.take_pushed(
                    body, encoding=to.encoding, lease=exchange.lease, outcome=to.outcome
                )
            else:
                result = self._home.intake.submit(
                    body,
                    signal=to.signal,
                    media=to.media,
                    encoding=to.encoding,
                    protocol=Transport.HTTP,
                    lease=exchange.lease,
                )
        except Refused as refused:
            self._write_refusal(exchange, refused)
            return
        exchange.chunks.clear()
        if result is None or isinstance(result, Receipt):
            self._write_taken(exchange, result)
            return
        self._working, self.deadline = True, math.inf
        self._transport.pause_reading()
        result.add_done_callback(partial(self._finish, exchange))

    def _finish(self, exchange: _Exchange, result: asyncio.Future[Receipt] | asyncio.Future[None]) -> None:
        """The work on a request is done: answer it, and those that waited behind it."""
        self._working = False
        try:
            self._write_taken(exchange, result.result())
        except Refused as refused:
            self._write_refusal(exchange, refused)
        while self._queue and not self._working:
            self._serve(self._queue.popleft())
        if not self._working and not self._stalled:
            self._transport.resume_reading()

    def _write_taken(self, exchange: _Exchange, receipt: Receipt | None) -> None:
        """Of what is pushed there is no receipt: it is taken, and waits for its trace."""
        if receipt is None:
            self._write(exchange, 202, b"{}", ())
            return
        assert exchange.route is not None
        assert exchange.route.signal is not None
        self._write(exchange, 200, encode_receipt(receipt, exchange.route.signal, exchange.media), ())

    def _write_refusal(self, exchange: _Exchange, refused: Refused) -> None:
        outcome = refused.outcome
        retry = (("Retry-After", str(RETRY_AFTER_SECONDS)),) if outcome.retry else ()
        exchange.close = exchange.close or outcome.close
        self._write(exchange, outcome.http_status, encode_status(refused, exchange.media), outcome.headers + retry)

    def _write(self, exchange: _Exchange, status: int, body: bytes, extra: tuple[tuple[str, str], ...]) -> None:
        if self._lingering or self._transport.is_closing():
            return
        close = exchange.close or self._home.stopping
        head = response_head(status, self._home.date, exchange.media, len(body), extra, close=close)
        self._transport.write(head if exchange.method == b"HEAD" else head + body)
        if close:
            self._linger()
        elif not self._stalled:
            self._await_request()

    def _await_request(self) -> None:
        if self._working or self._lingering:
            return
        limits, within = self._limits, self._reader.is_within
        self.deadline = self._home.now() + (limits.request_deadline_seconds if within else limits.idle_timeout_seconds)
        self._transport.resume_reading()

    def _linger(self) -> None:
        """Say that nothing more will come, and close when the client has done so, or after a while."""
        self._lingering = True
        self._reader.stop()
        self.deadline = self._home.now() + self._limits.linger_seconds
        if not self._transport.can_write_eof():  # TLS
            self._transport.close()
            return
        try:
            self._transport.write_eof()
        except OSError:  # reset by the client, of which asyncio hasn't heard yet
            self._transport.abort()
        else:
            self._transport.resume_reading()
