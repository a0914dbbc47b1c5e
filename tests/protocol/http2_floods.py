"""Floods of HTTP/2 frames that no client of good will sends, written byte by byte, and what the server does about them (L6)."""

import select
import socket
import struct
from collections.abc import Callable, Iterator
from itertools import chain, repeat

import hpack
import msgspec

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9  # RFC 9113, 6
END_HEADERS = 4
CANCEL = struct.pack(">I", 8)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
REQUEST = (
    (":method", "POST"),
    (":scheme", "http"),
    (":path", EXPORT),
    (":authority", "localhost"),
    ("content-type", "application/grpc"),
    ("te", "trailers"),
)
HEAD = hpack.Encoder().encode(REQUEST, huffman=False)
PATIENCE_SECONDS = 20.0
SILENCE_SECONDS = 0.3
FIRST_WORD_SECONDS = 5.0  # for the first sign of a refusal, on a machine that is busy with others
MIB = 1 << 20


class Seen(msgspec.Struct):
    """What came back of a flood. `sent` are its bytes that the kernel took, `closed` whether the server hung up."""

    sent: int = 0
    going_away: int = 0
    resets: int = 0
    closed: bool = False
    received: int = 0


def frame(kind: int, stream: int = 0, payload: bytes = b"", flags: int = 0) -> bytes:
    """One frame: nine bytes of head, then its payload (RFC 9113, 4.1)."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def opened(stream: int) -> bytes:
    """A stream with the head of an export, and no message yet."""
    return frame(HEADERS, stream, HEAD, END_HEADERS)


def odd(count: int) -> range:
    """So many numbers of streams that a client may open."""
    return range(1, 2 * count, 2)


def rapid_resets(count: int) -> Iterator[bytes]:
    """CVE-2023-44487: each stream is given up as soon as it is open, so that no limit of open ones is met."""
    return (opened(stream) + frame(RST_STREAM, stream, CANCEL) for stream in odd(count))


def pings(count: int) -> Iterator[bytes]:
    """Each wants an answer."""
    return repeat(frame(PING, payload=bytes(8)), count)


def streams(count: int) -> Iterator[bytes]:
    """Calls that are opened and stay silent."""
    return map(opened, odd(count))


def large_heads(count: int, size: int, path: str = EXPORT) -> Iterator[bytes]:
    """Calls with heads of so many bytes, each cut into frames of 16 kB."""
    request = [(name, path if name == ":path" else value) for name, value in REQUEST]
    fields = [*request, *((f"x-{number}", "y" * 1000) for number in range(size // 1000))]
    block = hpack.Encoder().encode(fields, huffman=False)
    parts = [block[at : at + 16_000] for at in range(0, len(block), 16_000)]
    for stream in odd(count):
        yield frame(HEADERS, stream, parts[0])
        for part in parts[1:-1]:
            yield frame(CONTINUATION, stream, part)
        yield frame(CONTINUATION, stream, parts[-1], END_HEADERS)


def continuations(size: int) -> Iterator[bytes]:
    """CVE-2024-27316 and its kin: a head of so many bytes that never ends."""
    part = hpack.Encoder().encode([("x-y", "y" * 15_000)], huffman=False)
    return chain([frame(HEADERS, 1, part)], repeat(frame(CONTINUATION, 1, part), size // len(part)))


FLOODS: dict[str, Callable[[], Iterator[bytes]]] = {
    "rapid resets": lambda: rapid_resets(20_000),
    "pings": lambda: pings(100_000),
    "streams": lambda: streams(10_000),
    "heads of 1 MiB": lambda: large_heads(20, MIB),
    "continuations without an end": lambda: continuations(32 * MIB),
}


def flood(port: int, frames: Iterator[bytes]) -> Seen:
    """Send frames until they end or the server hangs up, and read meanwhile; afterwards read until it is silent."""
    seen = Seen()
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as sock:
        sock.setblocking(False)
        unread, unsent = b"", PREFACE + frame(SETTINGS)
        more = True
        while not seen.closed:
            while more and len(unsent) < 65_536:
                if (following := next(frames, None)) is None:
                    more = False
                else:
                    unsent += following
            told = seen.going_away or seen.resets
            wait = PATIENCE_SECONDS if unsent else SILENCE_SECONDS if told else FIRST_WORD_SECONDS
            readable, writable, _ = select.select([sock], [sock] if unsent else [], [], wait)
            if not readable and not writable:
                break
            try:
                if writable:
                    sent = sock.send(unsent)
                    unsent, seen.sent = unsent[sent:], seen.sent + sent
                if readable:
                    part = sock.recv(65_536)
                    seen.closed, seen.received = not part, seen.received + len(part)
                    unread = _read(seen, unread + part)
            except OSError:
                seen.closed = True
    return seen


def _read(seen: Seen, received: bytes) -> bytes:
    """Count the frames that matter; returns what is of an incomplete one."""
    while len(received) >= 9 and len(received) >= (end := 9 + int.from_bytes(received[:3])):
        seen.going_away += received[3] == GOAWAY
        seen.resets += received[3] == RST_STREAM
        received = received[end:]
    return received
