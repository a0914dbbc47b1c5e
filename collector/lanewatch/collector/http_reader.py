"""From the bytes of one HTTP/1.1 connection to requests, in order: heads, bodies, ends.

The parsing is llhttp's (httptools), which is strict about what smuggles requests: a Content-Length beside a
Transfer-Encoding, two lengths, a length that isn't one.

Invariants:

- What isn't body (heads, chunk borders, extensions, trailers) is bounded: each of them can be endless.
- A trailer never counts as a header.
- An offer to go on in HTTP/2 is declined, and its request is read like any other (RFC 9110, 7.8): Java's HTTP client
  makes it with its first request, and llhttp takes the body behind it for another protocol's.
"""

from typing import Protocol

import httptools
import msgspec

from lanewatch.collector.outcomes import RefusalReason, Refused

_WANTED = frozenset(
    {
        b"content-type",
        b"content-encoding",
        b"content-length",
        b"authorization",
        b"expect",
        b"transfer-encoding",
        b"host",
    }
)
# A body in chunks of one byte takes five more bytes for each of it.
_OVERHEAD_PER_BODY_BYTE = 8

Headers = dict[bytes, bytes]


class Head(msgspec.Struct):
    """A request's head; of the headers, lower-case, only those that matter here."""

    method: bytes
    target: bytes
    headers: Headers
    keep_alive: bool


class Listener(Protocol):
    """Who is told. Nothing more is told after `Reader.stop`, also not of bytes that were read already."""

    def begun(self) -> None:
        """The first byte of a request has come."""

    def head(self, head: Head) -> None:
        """A head is complete."""

    def chunk(self, chunk: bytes) -> None:
        """A part of its body."""

    def complete(self) -> None:
        """The request has come to its end."""


class Reader:
    """Reads what a connection receives. `is_within` a request: something of it has come, and not its end."""

    def __init__(self, listener: Listener, max_header_bytes: int) -> None:
        self.is_within = False
        self.headers: Headers = {}  # of the request that is read, as far as they have come
        self._listener = listener
        self._max_header_bytes = max_header_bytes
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        self._target = b""
        self._has_head = False
        self._is_upgrade = False
        self._overhead_bytes = 0

    def feed(self, data: bytes) -> None:
        """Read on. Raises `Refused`, not counted yet, for what is no HTTP, is too much of it, or asks for a tunnel."""
        parser = self._parser
        if parser is None:
            return
        self._overhead_bytes += len(data)
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._decline(parser, data[upgrade.args[0] :])
        except httptools.HttpParserCallbackError as error:
            raise error.__context__ or error from None
        except httptools.HttpParserError:
            if self._parser is not None:
                raise Refused(RefusalReason.MALFORMED_HTTP) from None
        if self._overhead_bytes > self._max_header_bytes and self._parser is not None:
            raise Refused(RefusalReason.HEADERS_TOO_LARGE)

    def stop(self) -> None:
        """Read no further."""
        self._parser = None
        self.is_within = False

    def _decline(self, parser: httptools.HttpRequestParser, rest: bytes) -> None:
        method = parser.get_method()
        if method == b"CONNECT":
            raise Refused(RefusalReason.METHOD)
        again = b"%b %b HTTP/1.1\r\n" % (method, self._target)
        again += b"".join(b"%b: %b\r\n" % header for header in self.headers.items())
        self._parser = httptools.HttpRequestParser(self)
        self.feed(again + b"\r\n" + rest)

    # ---- llhttp's calls

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        if self._parser is not None:
            self._target, self.headers, self._has_head, self._is_upgrade = b"", {}, False, False
            self.is_within = True
            self._listener.begun()

    def on_url(self, part: bytes) -> None:
        """A part of the request target."""
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or behind the body a trailer."""
        if not self._has_head and (name := name.lower()) in _WANTED:
            before = self.headers.get(name)
            self.headers[name] = value if before is None else before + b", " + value

    def on_headers_complete(self) -> None:
        """The end of a head."""
        parser = self._parser
        if parser is None:
            return
        if parser.should_upgrade():
            self._is_upgrade = True
            return
        self._has_head = True
        self._listener.head(Head(parser.get_method(), self._target, self.headers, parser.should_keep_alive()))

    def on_body(self, chunk: bytes) -> None:
        """A part of a body."""
        if self._parser is not None:
            self._overhead_bytes = max(0, self._overhead_bytes - (1 + _OVERHEAD_PER_BODY_BYTE) * len(chunk))
            self._listener.chunk(chunk)

    def on_message_complete(self) -> None:
        """The end of a request."""
        if self._parser is not None and not self._is_upgrade:
            self.is_within, self._overhead_bytes = False, 0
            self._listener.complete()
