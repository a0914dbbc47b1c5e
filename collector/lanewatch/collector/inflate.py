"""Undoes HTTP's content codings without ever holding much more than the caller allows.

Invariants:

- At most `limit` bytes and one chunk of output are held, whatever the input claims: 261 KB of gzip can stand for 256 MiB.
- A body is taken whole or not at all. Every gzip member counts (RFC 1952, 2.2), and what follows the last one may be
  zero padding only; a stream that ends early, fails its checksum, or is followed by anything else is corrupt.
"""

import io
import zlib

_CHUNK = 64 * 1024
# Honest multi-member streams (bgzip, pigz) have one member for each 64 KiB or more. Every member costs a fresh inflater,
# so 64 MiB of empty 20-byte members would hold a core for half a minute.
_MAX_MEMBERS = 4096
_GZIP, _ZLIB, _RAW_DEFLATE = 31, 15, -15


class CorruptBody(Exception):  # noqa: N818 - what is wrong with the body, not with the program
    """The body is not a complete stream of its coding."""


class InflatedTooLarge(Exception):  # noqa: N818
    """The body, or what it inflates to, is larger than the limit."""


class UnknownCoding(Exception):  # noqa: N818
    """The content coding is none of identity, gzip (x-gzip) and deflate."""


def inflate(body: bytes, encoding: str, limit: int) -> bytes:
    """The body without its content coding (RFC 9110, 8.4.1), at most `limit` bytes.

    `encoding` is the value of Content-Encoding, "" where there is none; codings stacked on each other are unknown.
    Raises `InflatedTooLarge`, `CorruptBody` or `UnknownCoding`.
    """
    coding = encoding.strip().lower()
    if coding in {"", "identity"}:
        if len(body) > limit:
            raise InflatedTooLarge
        return body
    if coding in {"gzip", "x-gzip"}:
        return _inflate(body, _GZIP, limit)
    if coding == "deflate":
        return _inflate(body, _ZLIB if _has_zlib_header(body) else _RAW_DEFLATE, limit)
    raise UnknownCoding


def _has_zlib_header(body: bytes) -> bool:
    """RFC 1950, 2.2. Some clients send `deflate` without the zlib wrapping (RFC 9110, 8.4.1.2)."""
    return len(body) > 1 and body[0] & 0x0F == zlib.DEFLATED and int.from_bytes(body[:2], "big") % 31 == 0


def _inflate(body: bytes, wbits: int, limit: int) -> bytes:
    plain = io.BytesIO()  # getvalue() gives its buffer away without a copy
    at = 0
    for _ in range(_MAX_MEMBERS):
        at = _member(body, at, wbits, plain, limit)
        if wbits != _GZIP or not body.startswith(b"\x1f\x8b", at):
            break
    if at < len(body) and (wbits != _GZIP or body.count(0, at) != len(body) - at):
        raise CorruptBody
    return plain.getvalue()


def _member(body: bytes, at: int, wbits: int, plain: io.BytesIO, limit: int) -> int:
    """Inflate one stream that starts at `at` into `plain`; returns where it ends."""
    inflater = zlib.decompressobj(wbits)
    while not inflater.eof:
        # In chunks, since zlib copies all the input that it hasn't used.
        chunk = inflater.unconsumed_tail or body[at : at + _CHUNK]
        if not inflater.unconsumed_tail:
            at += len(chunk)
        try:
            inflated = inflater.decompress(chunk, _CHUNK)
        except zlib.error:
            raise CorruptBody from None
        if plain.tell() + len(inflated) > limit:
            raise InflatedTooLarge
        plain.write(inflated)
        if not chunk and not inflated:
            raise CorruptBody
    return at - len(inflater.unused_data)
