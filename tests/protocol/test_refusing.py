"""What both receivers refuse, and how they say so (P2 to P10, P13)."""

import gzip
import random
from collections.abc import Callable

import grpc
import pytest
from lanewatch.collector.intake import IntakeLimits
from lanewatch.collector.outcomes import Code, RefusalReason
from lanewatch.collector.receive_grpc import GrpcSettings
from lanewatch.collector.spans import Signal

from tests.protocol.clients import (
    CONTENT_TYPE,
    METHOD,
    OK,
    Keeping,
    Via,
    call_raw,
    deliver_raw,
    encode,
    framed,
    post,
    send,
    talk,
)
from tests.protocol.export_requests import bomb, compressed, span, text, traces
from tests.protocol.served import Served

SMALL = IntakeLimits(max_request_bytes=100_000)
REQUEST = traces(span(1), span(2, attributes=[text("gen_ai.operation.name", "chat"), text("gen_ai.x", "y" * 50)]))
HTTP = [Via.HTTP_PROTOBUF, Via.HTTP_JSON]


def mutated(raw: bytes, rng: random.Random) -> bytes:
    """One to four small damages, as a network, a proxy or an attacker makes them."""
    out = bytearray(raw)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out)) if out else 0
        match rng.randrange(6):
            case 0 if out:
                out[at] ^= 1 << rng.randrange(8)
            case 1 if out:
                out[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                del out[at : at + rng.randint(1, 20)]
            case 3:
                out[at:at] = rng.randbytes(rng.randint(1, 20))
            case 4:
                out[at:at] = out[at : at + rng.randint(1, 60)]
            case _:
                del out[at:]
    return bytes(out)


@pytest.mark.parametrize("via", Via)
@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_are_undecodable(served: Served, via: Via, seed: int) -> None:
    """P2: 400 or INVALID_ARGUMENT with a Status that says what to check, and nothing delivered."""
    answer = deliver_raw(served, via, b"\xff" + random.Random(seed).randbytes(300))

    assert answer.code == Code.INVALID_ARGUMENT
    assert answer.status == (0 if via is Via.GRPC else 400)
    assert answer.details == ["google.rpc.BadRequest"]
    assert "exporter" in answer.message
    assert served.refused(RefusalReason.UNDECODABLE) == 1
    assert served.sink.items == 0


@pytest.mark.parametrize("via", Via)
def test_a_request_cut_anywhere_is_taken_whole_or_refused(
    served: Served, via: Via, caplog: pytest.LogCaptureFixture
) -> None:
    """P3: a cut on a field's border is a shorter message; no other cut counts anything."""
    raw = encode(REQUEST, via)
    codes = set()
    for end in range(len(raw) + 1):
        before = served.counts.value("lanewatch_spans_received"), served.sink.items
        answer = deliver_raw(served, via, raw[:end])
        codes.add(answer.code)
        received = served.counts.value("lanewatch_spans_received") - before[0]
        assert received == served.sink.items - before[1] + answer.rejected
        assert answer.code == OK or received == 0

    assert codes == {OK, Code.INVALID_ARGUMENT}
    assert "Traceback" not in caplog.text
    assert served.refused(RefusalReason.INTERNAL) == 0


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda raw: raw[: len(raw) // 2],
    "no trailer": lambda raw: raw[:-8],
    "wrong checksum": lambda raw: raw[:-8] + bytes([raw[-8] ^ 1]) + raw[-7:],
    "garbage": lambda raw: b"garbage" + raw,
    "nothing of it": lambda raw: b"\x00" * len(raw),
    "junk behind": lambda raw: raw + b"junk",
}


@pytest.mark.parametrize("via", HTTP)
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_body_that_does_not_inflate_is_a_bad_request(served: Served, via: Via, coding: str, damage: str) -> None:
    """P4: with a reason of its own, since it isn't the exporter that must be looked at."""
    raw = DAMAGE[damage](compressed(encode(REQUEST, via), coding))
    answer = post(served, raw, content_type=CONTENT_TYPE[via], headers={"Content-Encoding": coding})

    assert (answer.status, answer.code) == (400, Code.INVALID_ARGUMENT)
    assert served.refused(RefusalReason.CORRUPT_COMPRESSION) == 1
    assert served.sink.items == 0


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_grpc_s_core_refuses_what_does_not_inflate(served: Served, coding: str, damage: str) -> None:
    """P4: the core answers by itself, with a code that no client retries; we count it."""
    raw = DAMAGE[damage](compressed(REQUEST.SerializeToString(), coding))
    answer = call_raw(served, framed(raw, flag=1), encoding=coding)

    assert answer.code in {Code.INTERNAL, Code.INVALID_ARGUMENT}
    assert served.refused_in_the_end(1, *RefusalReason)
    assert served.sink.items == 0


@pytest.mark.parametrize("via", HTTP)
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_bomb_is_too_large(serve: Callable[..., Served], via: Via, coding: str) -> None:
    """P6, P7: 1000:1 in each coding; refused after as many bytes as the limit has."""
    served = serve(limits=SMALL)
    answer = post(served, bomb(8 << 20, coding), content_type=CONTENT_TYPE[via], headers={"Content-Encoding": coding})

    assert (answer.status, answer.code, answer.details) == (413, Code.RESOURCE_EXHAUSTED, [])
    assert served.refused(RefusalReason.TOO_LARGE_INFLATED) == 1


def test_a_bomb_in_the_second_gzip_member_is_too_large(serve: Callable[..., Served]) -> None:
    """P5: zlib stops after the first member, and a receiver that stops there as well loses data in silence."""
    served = serve(limits=SMALL)
    raw = compressed(REQUEST.SerializeToString(), "gzip") + bomb(8 << 20, "gzip")
    answer = post(served, raw, headers={"Content-Encoding": "gzip"})

    assert (answer.status, served.refused(RefusalReason.TOO_LARGE_INFLATED)) == (413, 1)


def test_two_gzip_members_are_one_body(served: Served) -> None:
    """P5: RFC 1952 makes their concatenation a file."""
    raw = REQUEST.SerializeToString()
    answer = post(served, gzip.compress(raw[:100]) + gzip.compress(raw[100:]), headers={"Content-Encoding": "gzip"})

    assert (answer.status, served.sink.items) == (200, 2)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_bomb_over_grpc_is_too_large(serve: Callable[..., Served], coding: str) -> None:
    """P10: refused by the core while it inflates, without retry advice."""
    served = serve(limits=SMALL)
    answer = call_raw(served, framed(bomb(8 << 20, coding), flag=1), encoding=coding)

    assert answer.code == Code.RESOURCE_EXHAUSTED
    assert "google.rpc.retryinfo-bin" not in answer.headers
    assert served.refused_in_the_end(1, RefusalReason.UNREADABLE_MESSAGE)


@pytest.mark.parametrize("via", Via)
@pytest.mark.parametrize("coding", ["", "gzip"])
def test_a_request_above_the_limit_is_too_large(serve: Callable[..., Served], via: Via, coding: str) -> None:
    """P7: before inflating and after it; final, since the same request will be no smaller."""
    served = serve(limits=SMALL)
    answer = send(served, via, traces(span(1, name="x" * 200_000)), encoding=coding)

    assert (answer.code, answer.details) == (Code.RESOURCE_EXHAUSTED, [])
    assert answer.status == (0 if via is Via.GRPC else 413)
    assert "Retry-After" not in answer.headers
    assert served.sink.items == 0


@pytest.mark.parametrize("via", Via)
def test_a_request_of_exactly_the_limit_is_taken(serve: Callable[..., Served], via: Via) -> None:
    """The limit is what may come, not what may not."""
    raw = encode(REQUEST, via)

    answers = [
        deliver_raw(serve(limits=IntakeLimits(max_request_bytes=len(raw) - short)), via, raw) for short in (0, 1)
    ]

    assert [answer.code for answer in answers] == [OK, Code.RESOURCE_EXHAUSTED]


def test_too_long_a_body_is_refused_before_it_is_sent(served: Served) -> None:
    """P8: the client sends the head alone, and has its answer."""
    head = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 1000000000\r\n\r\n"
    answer = talk(served, head)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"Connection: close" in answer
    assert served.refused(RefusalReason.TOO_LARGE) == 1


def test_an_endless_chunked_body_is_refused_at_the_limit(serve: Callable[..., Served]) -> None:
    """P8: without a length the bytes are counted, and the connection is closed."""
    served = serve(limits=SMALL)
    head = (
        b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    answer = talk(served, head, *[b"2710\r\n" + b"x" * 10_000 + b"\r\n"] * 11)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert served.refused(RefusalReason.TOO_LARGE) == 1


def test_a_chunked_body_is_taken(served: Served) -> None:
    """Java's and Go's exporters may send without a length."""
    raw = REQUEST.SerializeToString()
    head = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
    head += b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    chunks = b"".join(b"1\r\n%b\r\n" % raw[at : at + 1] for at in range(len(raw)))
    answer = talk(served, head, chunks + b"0\r\nAuthorization: Bearer trailer\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert served.sink.items == 2


@pytest.mark.parametrize("claimed", [1 << 30, 0xFFFFFFFF])
def test_a_grpc_message_that_claims_a_gibibyte_is_refused_by_its_prefix(served: Served, claimed: int) -> None:
    """P9: five bytes and then silence (grpc/grpc#43012); nothing is waited for, nothing is buffered."""
    answer = call_raw(served, framed(b"", claimed=claimed), end=False)

    assert answer.code == Code.RESOURCE_EXHAUSTED
    assert served.refused_in_the_end(1, RefusalReason.UNREADABLE_MESSAGE)


@pytest.mark.parametrize(
    "prefix", [framed(b"", claimed=5 << 20), framed(b"abc", claimed=9), framed(b"", claimed=9, flag=7)]
)
def test_a_grpc_message_that_does_not_come_is_given_up(serve: Callable[..., Served], prefix: bytes) -> None:
    """P9: a length within the limit, and then silence, ends at the request's deadline."""
    served = serve(grpc=GrpcSettings(port=0, request_deadline_seconds=0.2))
    answer = call_raw(served, prefix, end=False)

    assert answer.code == Code.DEADLINE_EXCEEDED
    assert served.refused(RefusalReason.REQUEST_TIMEOUT) == 1


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "compress"])
@pytest.mark.parametrize("via", HTTP)
def test_an_unknown_coding_is_refused_with_the_known_ones(served: Served, via: Via, coding: str) -> None:
    """P7: 415 and Accept-Encoding (RFC 9110, 15.5.16)."""
    answer = post(served, b"x", content_type=CONTENT_TYPE[via], headers={"Content-Encoding": coding})

    assert (answer.status, answer.headers["accept-encoding"]) == (415, "gzip, deflate")
    assert served.refused(RefusalReason.CONTENT_CODING) == 1


@pytest.mark.parametrize("coding", ["GZIP", "gzip", "identity", "Identity", ""])
def test_codings_are_known_in_either_case(served: Served, coding: str) -> None:
    """P7: content codings are case-insensitive (RFC 9110, 8.4.1)."""
    raw = REQUEST.SerializeToString()
    answer = post(served, compressed(raw, coding.lower()), headers={"Content-Encoding": coding} if coding else {})

    assert (answer.status, served.sink.items) == (200, 2)


def test_an_unknown_grpc_encoding_is_refused(served: Served) -> None:
    """P7: by the core, with a code that no client retries."""
    answer = call_raw(served, framed(b"abc", flag=1), encoding="br")

    assert answer.code in {Code.UNIMPLEMENTED, Code.INTERNAL}
    assert served.refused_in_the_end(1, RefusalReason.UNREADABLE_MESSAGE)


@pytest.mark.parametrize("via", HTTP)
@pytest.mark.parametrize(
    ("status", "body", "path", "headers"),
    [
        (200, b"", None, {}),
        (400, b"\xff\xff", None, {}),
        (404, b"", "/v2/traces", {}),
        (413, b"x" * 200_000, None, {}),
        (415, b"x", None, {"Content-Encoding": "br"}),
        (503, b"", None, {}),
    ],
)
def test_the_answer_has_the_request_s_content_type(
    serve: Callable[..., Served], via: Via, status: int, body: bytes, path: str | None, headers: dict[str, str]
) -> None:
    """P13: the specification says MUST, for success and for errors."""
    served = serve(limits=SMALL)
    if status == 503:
        served.intake.stop()
    if status == 200 and via is Via.HTTP_JSON:
        body = b"{}"
    answer = post(served, body, content_type=CONTENT_TYPE[via] + "; charset=utf-8", path=path, headers=headers)

    assert (answer.status, answer.headers["content-type"]) == (status, CONTENT_TYPE[via])


def test_a_fault_of_our_own_is_internal_and_says_nothing_of_the_data(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """500 and INTERNAL are for our own bugs; the log names the place once, without the exception's message."""
    served.sink.fail = KeyError("secret content")
    answers = [send(served, via, REQUEST) for via in Via for _ in range(2)]

    assert {answer.code for answer in answers} == {Code.INTERNAL}
    assert {answer.status for answer in answers} == {0, 500}
    assert served.refused(RefusalReason.INTERNAL) == 6
    assert served.counts.value("lanewatch_spans_received") == 0
    faults = [record.getMessage() for record in caplog.records if "fault" in record.__dict__]
    assert len(faults) == 1
    assert "KeyError at served.py" in faults[0]
    assert "secret" not in caplog.text + "".join(answer.message for answer in answers)


def test_a_refusal_is_said_in_the_log_once(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    """The counter tells how many; a line for each would be a way to fill a disk."""
    for _ in range(3):
        post(served, b"\xff")

    lines = [record for record in caplog.records if record.__dict__.get("reason") == RefusalReason.UNDECODABLE.value]
    assert len(lines) == 1


@pytest.mark.parametrize("via", Via)
def test_ten_thousand_mutations_count_nothing_by_halves(served: Served, via: Via) -> None:
    """P2: each is taken or refused for what it is; the process lives, and no fault of our own shows. By the other two ways
    it is 2,000 each: what a body ends in is decided behind the receivers, and a call costs six times as much over gRPC.
    """
    rng = random.Random(7)
    raw = encode(REQUEST, via)
    with Keeping(served, via) as client:
        for round_ in range(10_000 if via is Via.HTTP_PROTOBUF else 2_000):
            before = served.counts.value("lanewatch_spans_received"), served.sink.items
            answer = client.deliver(mutated(raw, rng))
            received = served.counts.value("lanewatch_spans_received") - before[0]
            assert received == served.sink.items - before[1] + answer.rejected, round_
            assert answer.code in {OK, Code.INVALID_ARGUMENT}, round_
            assert answer.status in {0, 200, 400}, round_
            assert answer.code == OK or received == 0, round_

    assert served.refused(RefusalReason.INTERNAL) == 0
    assert send(served, via, REQUEST).code == OK


def test_mutated_compressed_bodies_are_answered(serve: Callable[..., Served]) -> None:
    """P2, P4: the same with the compression in between."""
    served = serve(limits=SMALL)
    rng = random.Random(11)
    raw = compressed(REQUEST.SerializeToString() * 20, "gzip")
    with Keeping(served, Via.HTTP_PROTOBUF, {"Content-Encoding": "gzip"}) as client:
        statuses = {client.deliver(mutated(raw, rng)).status for _ in range(2_000)}

    assert statuses <= {200, 400, 413}
    assert 400 in statuses
    assert served.refused(RefusalReason.INTERNAL) == 0


@pytest.mark.parametrize("messages", [2, 3])
def test_a_call_of_several_messages_is_refused_whole(served: Served, messages: int) -> None:
    """Export is unary: taking the first and saying OK would lose the others without a word."""
    raw = REQUEST.SerializeToString()
    with grpc.insecure_channel(f"127.0.0.1:{served.grpc.port}") as channel:
        stream = channel.stream_unary(METHOD[Signal.TRACES])
        error = stream.future(iter([raw] * messages), timeout=20).exception()
        taken = stream.future(iter([raw]), timeout=20).exception()

    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "unary" in error.details()
    assert taken is None
    assert served.refused(RefusalReason.FURTHER_MESSAGE) == 1
    assert served.sink.items == 2
