"""Content codings are undone whole, or refused with the reason, within the limit."""

import gzip
import random
import subprocess
import sys
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.collector.inflate import CorruptBody, InflatedTooLarge, UnknownCoding, inflate

MiB = 1 << 20
PLAIN = b"some spans " * 1000


def raw_deflate(plain: bytes) -> bytes:
    """Deflate without the zlib wrapping."""
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(plain) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "identity": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "raw deflate": raw_deflate,
}
CODED = [name for name in PACKERS if name != "identity"]


def coding(name: str) -> str:
    """The value of Content-Encoding."""
    return name.removeprefix("raw ")


@pytest.mark.parametrize("name", PACKERS)
@given(st.binary(max_size=300_000), st.integers(0, 3))
def test_what_was_packed_comes_back(name: str, plain: bytes, spare: int) -> None:
    """Each coding is undone exactly, up to a limit of just the plain size."""
    packed = PACKERS[name](plain)

    assert inflate(packed, coding(name), len(plain) + spare) == plain


@pytest.mark.parametrize("name", PACKERS)
@given(st.binary(min_size=1, max_size=200_000))
def test_one_byte_over_the_limit_is_too_large(name: str, plain: bytes) -> None:
    """The limit is exact."""
    with pytest.raises(InflatedTooLarge):
        inflate(PACKERS[name](plain), coding(name), len(plain) - 1)


@pytest.mark.parametrize("encoding", ["", "identity", " GZIP ", "x-gzip", "Deflate"])
def test_codings_are_named_in_any_case_and_x_gzip_is_gzip(encoding: str) -> None:
    """RFC 9110, 8.4.1: codings are case-insensitive, and x-gzip equals gzip."""
    name = {"": "identity", "x-gzip": "gzip"}.get(encoding, encoding.strip().lower())

    assert inflate(PACKERS[name](PLAIN), encoding, MiB) == PLAIN


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "snappy", "utf-8"])
def test_other_codings_are_unknown(encoding: str) -> None:
    """What can't be undone is named as such, not called corrupt."""
    with pytest.raises(UnknownCoding):
        inflate(PLAIN, encoding, MiB)


def test_every_gzip_member_counts() -> None:
    """RFC 1952, 2.2: a stream is a series of members; zlib alone stops after the first."""
    body = gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two")

    assert inflate(body, "gzip", 7) == b"one two"
    with pytest.raises(InflatedTooLarge):
        inflate(body, "gzip", 6)


def test_zero_padding_after_gzip_is_no_error() -> None:
    """The gzip tool ignores trailing zeros; blocks on tape and some proxies add them."""
    assert inflate(gzip.compress(PLAIN) + bytes(5000), "gzip", MiB) == PLAIN


JUNK = {
    "text": b"x",
    "zero, text": b"\0x",
    "half a header": b"\x1f\x8b",
    "a header": b"\x1f\x8bjunk",
    "a member after padding": bytes(9) + gzip.compress(b"y"),
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_anything_else_after_gzip_is_corrupt(junk: bytes) -> None:
    """Trailing junk means that the body isn't what the client meant to send."""
    with pytest.raises(CorruptBody):
        inflate(gzip.compress(PLAIN) + junk, "gzip", MiB)


@pytest.mark.parametrize("name", ["deflate", "raw deflate"])
@pytest.mark.parametrize("junk", [b"x", b"\0"])
def test_anything_after_deflate_is_corrupt(name: str, junk: bytes) -> None:
    """A zlib stream has neither members nor padding."""
    with pytest.raises(CorruptBody):
        inflate(PACKERS[name](PLAIN) + junk, "deflate", MiB)


@pytest.mark.parametrize("name", CODED)
def test_a_stream_cut_anywhere_is_corrupt(name: str) -> None:
    """No prefix of a stream passes for the whole, the empty one included."""
    packed = PACKERS[name](PLAIN)

    for end in range(len(packed)):
        with pytest.raises(CorruptBody):
            inflate(packed[:end], coding(name), MiB)


@pytest.mark.parametrize("name", ["gzip", "deflate"])
def test_a_wrong_checksum_is_corrupt(name: str) -> None:
    """The last bytes are gzip's size and CRC, and zlib's Adler-32."""
    packed = bytearray(PACKERS[name](PLAIN))
    for at in range(1, 5):
        broken = packed.copy()
        broken[-at] ^= 0x40

        with pytest.raises(CorruptBody):
            inflate(bytes(broken), name, MiB)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_no_bytes_whatever_raise_anything_else(encoding: str) -> None:
    """Damage ends in one of the typed errors, or in what the checksum accepts."""
    seeded = random.Random(20)
    packed = PACKERS[encoding](PLAIN)
    for _ in range(3000):
        body = bytearray(packed if seeded.random() < 0.8 else seeded.randbytes(seeded.randrange(60)))
        for _ in range(seeded.randrange(1, 4)):
            if body:
                body[seeded.randrange(len(body))] = seeded.randrange(256)
        try:
            plain = inflate(bytes(body), encoding, MiB)
        except (CorruptBody, InflatedTooLarge):
            continue

        assert len(plain) <= MiB


def test_a_flood_of_empty_members_is_corrupt() -> None:
    """Each member costs a fresh inflater, so their number is bounded beside their bytes."""
    with pytest.raises(CorruptBody):
        inflate(gzip.compress(b"") * 5000, "gzip", MiB)


BOMB = """
import gzip, resource, sys, zlib
from lanewatch.collector.inflate import InflatedTooLarge, inflate
MiB = 1 << 20
name, encoding = sys.argv[1], sys.argv[1].removeprefix("raw ").removeprefix("second ")
packer = zlib.compressobj(9, wbits={"gzip": 31, "second gzip": 31, "deflate": 15, "raw deflate": -15}.get(name, 31))
packed = b"".join(packer.compress(bytes(MiB)) for _ in range(256)) + packer.flush()
body = bytes(64 * MiB) if name == "identity" else packed
if name == "second gzip":
    body = gzip.compress(b"harmless") + packed
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    inflate(body, encoding, 4 * MiB)
except InflatedTooLarge:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("name", ["identity", "gzip", "second gzip", "deflate", "raw deflate"])
def test_a_bomb_costs_no_more_memory_than_the_limit_allows(name: str) -> None:
    """256 MiB of zeros against a limit of 4 MiB: too large, and peak memory grows by less than 8 MiB."""
    run = subprocess.run([sys.executable, "-c", BOMB, name], capture_output=True, text=True, check=True)

    assert 0 <= int(run.stdout) < 8 * 1024
