"""Intake: checks in order, delivers whole or in slices, counts each request once, on the thread that owns it."""

import asyncio
import threading
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from lanewatch.collector.admission import Admission, AdmissionLimits
from lanewatch.collector.counts import Counts
from lanewatch.collector.intake import METRICS, Intake, IntakeLimits, Transport, _slices
from lanewatch.collector.outcomes import RefusalReason, Refused
from lanewatch.collector.relevance import Relevance
from lanewatch.collector.responses import Media, Receipt
from lanewatch.collector.skeleton_groups import Skeletons
from lanewatch.collector.spans import Decoded, LogRecord, RejectReason, Signal, Span

from tests.collector.plain_decoder import pair, span, traces

SPAN = b"\x0a\x10" + b"t" * 16 + b"\x12\x08" + b"s" * 8  # trace_id, span_id


def request(n_spans: int, span: bytes = SPAN) -> bytes:
    """An ExportTraceServiceRequest of equal spans that no convention knows."""
    scope = b"".join(b"\x12" + varint(len(span)) + span for _ in range(n_spans))
    block = b"\x12" + varint(len(scope)) + scope
    return b"\x0a" + varint(len(block)) + block


def varint(value: int) -> bytes:
    """Protobuf's variable-length integer."""
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


class Desk:
    """An intake whose deliveries are kept."""

    def __init__(
        self,
        *,
        token: str | None = None,
        room: int = 1 << 30,
        relevance: Relevance = Relevance(),  # noqa: B008 - frozen
        **limits: Any,
    ) -> None:
        self.delivered: list[Decoded] = []
        self.threads: set[int] = set()
        self.fault: BaseException | None = None
        self.counts = Counts(METRICS)
        self.admission = Admission(AdmissionLimits(max_in_flight_bytes=room), clock=lambda: 0.0, read_memory=lambda: 0)
        self.intake = Intake(self._deliver, relevance, IntakeLimits(**limits), self.counts, self.admission, token=token)

    def _deliver(self, decoded: Decoded) -> None:
        self.threads.add(threading.get_ident())
        if self.fault is not None:
            raise self.fault
        self.delivered.append(decoded)

    def accept(self, body: bytes, **options: str) -> Receipt:
        """A whole request at once."""
        return self.intake.accept(body, signal=Signal.TRACES, media=Media.PROTOBUF, protocol=Transport.HTTP, **options)

    def submit(self, body: bytes, encoding: str = "") -> Receipt | asyncio.Future[Receipt]:
        """A request as the receivers hand it in."""
        lease = self.intake.open()
        self.intake.grow(lease, len(body))
        return self.intake.submit(
            body, signal=Signal.TRACES, media=Media.PROTOBUF, encoding=encoding, protocol=Transport.GRPC, lease=lease
        )

    def refused(self) -> dict[str, int]:
        """The refusals counted, by reason."""
        families = {metric.name: values for metric, values in self.counts.families()}
        return {labels[0]: n for labels, n in families["lanewatch_requests_refused"].items() if n}


def test_an_accepted_request_is_counted_once() -> None:
    """Received counts items, requests counts requests; both by signal and protocol."""
    desk = Desk()
    receipt = desk.accept(request(3))

    assert receipt == Receipt(accepted=3)
    assert desk.counts.value("lanewatch_spans_received", "traces", "http") == 3
    assert desk.counts.value("lanewatch_requests", "traces", "http") == 1
    assert desk.refused() == {}
    assert [len(part.skeletons) for part in desk.delivered] == [3]


def test_rejected_items_are_counted_as_received_too() -> None:
    """Conservation: received = kept + rejected, and the receipt says how many and why."""
    desk = Desk()
    receipt = desk.accept(request(2, SPAN[:-1]))

    assert receipt.rejected == desk.counts.value("lanewatch_spans_received") == 2
    assert desk.counts.value("lanewatch_spans_rejected") == 2
    assert receipt.message.startswith("2 of 2 spans rejected: ")


@pytest.mark.parametrize(
    ("body", "options", "reason"),
    [
        (b"\xff", {}, RefusalReason.UNDECODABLE),
        (b"x" * 1001, {}, RefusalReason.TOO_LARGE),
        (zlib.compress(bytes(1001)), {"encoding": "deflate"}, RefusalReason.TOO_LARGE_INFLATED),
        (b"x", {"encoding": "gzip"}, RefusalReason.CORRUPT_COMPRESSION),
        (b"x", {"encoding": "br"}, RefusalReason.CONTENT_CODING),
        (b"", {"credentials": "Bearer wrong"}, RefusalReason.CREDENTIALS),
    ],
)
def test_a_refused_request_is_counted_once_and_leaves_nothing(
    body: bytes, options: dict[str, str], reason: RefusalReason
) -> None:
    """No delivery, no item counted, no byte held."""
    desk = Desk(token="secret", max_request_bytes=1000)
    with pytest.raises(Refused) as refused:
        desk.accept(body, **{"credentials": "Bearer secret", **options})

    assert refused.value.reason is reason
    assert desk.refused() == {reason: 1}
    assert desk.counts.value("lanewatch_spans_received") == desk.counts.value("lanewatch_requests") == 0
    assert desk.delivered == []
    assert desk.admission.in_flight_bytes == 0


@pytest.mark.parametrize("credentials", ["Bearer secret", "bearer secret", "Bearer  secret ", b"Bearer secret"])
def test_credentials_are_a_scheme_and_the_token(credentials: str | bytes) -> None:
    """Neither the scheme's case nor blanks around the token matter (RFC 9110, 11.1)."""
    desk = Desk(token="secret")
    desk.intake.open(credentials)

    assert desk.refused() == {}


@pytest.mark.parametrize("credentials", [None, "", "Bearer", "Bearer ", "secret", "Basic secret", "Bearer secret2"])
def test_anything_else_is_no_credentials(credentials: str | None) -> None:
    """Also nothing at all, where a token is set."""
    with pytest.raises(Refused, match="bearer token"):
        Desk(token="secret").intake.open(credentials)


def test_a_token_that_is_no_ascii_is_wrong_and_no_error() -> None:
    """compare_digest takes no text beyond ASCII; a header can hold any byte."""
    desk = Desk(token="sécret")

    for credentials in ("Bearer s\udce9cret", b"Bearer s\xe9cret", "Bearer \ud800"):
        with pytest.raises(Refused, match="bearer token"):
            desk.intake.open(credentials)
    desk.intake.open("Bearer sécret")


def test_a_body_grows_into_its_lease_until_there_is_no_room() -> None:
    """Two slow bodies share the budget; the one that doesn't fit gives all of its bytes back."""
    desk = Desk(room=100)
    first, second = desk.intake.open(), desk.intake.open()
    desk.intake.grow(first, 60)
    desk.intake.grow(second, 40)
    with pytest.raises(Refused):
        desk.intake.grow(second, 1)

    assert desk.refused() == {RefusalReason.IN_FLIGHT_LIMIT: 1}
    assert desk.admission.in_flight_bytes == 60


def test_a_fault_in_delivery_is_internal_and_quotes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The place is logged once; the exception's message may hold content."""
    desk = Desk()
    desk.fault = ValueError("the user's question")
    for _ in range(3):
        with pytest.raises(Refused, match="fault of Lanewatch's own"):
            desk.accept(request(1))

    assert desk.refused() == {RefusalReason.INTERNAL: 3}
    assert desk.counts.value("lanewatch_spans_received") == 0
    assert sum("ValueError at test_intake.py" in record.getMessage() for record in caplog.records) == 1
    assert "question" not in caplog.text


def test_out_of_memory_is_an_overload() -> None:
    """The client's request is fine, and may pass in a second."""
    desk = Desk()
    desk.intake._unpack = out_of_memory  # type: ignore[assignment]
    with pytest.raises(Refused) as refused:
        desk.accept(b"")

    assert refused.value.reason is RefusalReason.MEMORY_LIMIT


def out_of_memory(*_: object, **__: object) -> Decoded:
    """What an allocation does then."""
    raise MemoryError


def test_after_stop_requests_are_refused() -> None:
    """With advice to come back: to the next process."""
    desk = Desk()
    desk.intake.stop()
    with pytest.raises(Refused) as refused:
        desk.accept(b"")

    assert refused.value.reason is RefusalReason.STOPPING


async def finish(desk: Desk, result: Receipt | asyncio.Future[Receipt]) -> Receipt:
    """The receipt, at once or later."""
    return result if isinstance(result, Receipt) else await result


@pytest.mark.parametrize(
    ("body", "encoding", "at_once"),
    [
        (request(10), "", True),
        (request(500), "", False),
        (zlib.compress(request(10)), "deflate", True),
        (zlib.compress(request(500)), "deflate", False),
    ],
)
def test_what_is_big_before_or_after_inflating_goes_to_the_worker(body: bytes, encoding: str, at_once: bool) -> None:
    """And what comes back is delivered here, in slices, and counted once."""
    desk = Desk(inline_bytes=1000, slice_items=200)

    async def main() -> tuple[bool, Receipt]:
        result = desk.submit(body, encoding)
        return isinstance(result, Receipt), await finish(desk, result)

    n_spans = 10 if at_once else 500
    assert asyncio.run(main()) == (at_once, Receipt(accepted=n_spans))
    assert [len(part.skeletons) for part in desk.delivered] == ([10] if at_once else [200, 200, 100])
    assert desk.threads == {threading.get_ident()}
    assert desk.counts.value("lanewatch_spans_received", "traces", "grpc") == n_spans
    assert desk.counts.value("lanewatch_requests", "traces", "grpc") == 1
    assert desk.admission.in_flight_bytes == 0


def marked(n_spans: int, n_values: int = 1) -> bytes:
    """A request of spans that are read, each with so many values."""
    attribute = pair("gen_ai.k", [None] * (n_values - 1))
    return traces(*[span(attributes=[attribute], span_id=(n + 1).to_bytes(8, "big")) for n in range(n_spans)])


@pytest.mark.parametrize(
    ("body", "at_once"),
    [
        pytest.param(marked(100, 50), True, id="an ordinary batch"),
        pytest.param(marked(2000), False, id="tiny spans"),
        pytest.param(marked(10, 8000), False, id="tiny values"),
        pytest.param(b"\n\x00" * 20_000, False, id="empty resources"),
        pytest.param(b"\n\xa0\x9c\x01" + b"\x12\x00" * 10_000, False, id="empty scopes"),
        pytest.param(
            traces(span(events=[{"name": "gen_ai.e", "attributes": []}] * 3000)), True, id="events, cut to 1,024"
        ),
    ],
)
def test_a_body_of_very_many_parts_goes_to_the_worker_though_it_is_small(body: bytes, at_once: bool) -> None:
    """Two bytes can cost two microseconds, so 1 MiB of them would hold the loop for a second."""
    desk = Desk(relevance=Relevance((b"gen_ai.",)), slice_items=100_000)
    unpacked_on: set[int] = set()
    inner = desk.intake._unpack

    def spy(*args: Any, **options: Any) -> Decoded:
        unpacked_on.add(threading.get_ident())
        return inner(*args, **options)

    desk.intake._unpack = spy  # type: ignore[assignment]

    async def main() -> bool:
        result = desk.submit(body)
        await finish(desk, result)
        return isinstance(result, Receipt)

    assert len(body) < 2**20
    assert asyncio.run(main()) is at_once
    assert threading.get_ident() not in unpacked_on
    assert len(unpacked_on) == (not at_once)


def test_a_small_body_of_many_spans_is_delivered_in_slices() -> None:
    """Each of them may open a trace, and close another one to make room for it."""
    desk = Desk(relevance=Relevance((b"gen_ai.",)), slice_items=100)

    async def main() -> None:
        await finish(desk, desk.submit(marked(250)))

    asyncio.run(main())

    assert [len(part.spans) for part in desk.delivered] == [100, 100, 50]


@pytest.mark.parametrize(
    ("body", "encoding", "reason"),
    [
        (b"\xff" * 2000, "", RefusalReason.UNDECODABLE),
        (zlib.compress(b"\xff" * 2000), "deflate", RefusalReason.UNDECODABLE),
        (zlib.compress(bytes(20_001)), "deflate", RefusalReason.TOO_LARGE_INFLATED),
    ],
)
def test_what_the_worker_refuses_is_counted_once(body: bytes, encoding: str, reason: RefusalReason) -> None:
    """The first try of a body that inflates to more than is done at once is no refusal."""
    desk = Desk(inline_bytes=1000, max_request_bytes=20_000)

    async def main() -> None:
        await finish(desk, desk.submit(body, encoding))

    with pytest.raises(Refused) as refused:
        asyncio.run(main())
    assert refused.value.reason is reason
    assert desk.refused() == {reason: 1}
    assert desk.admission.in_flight_bytes == 0


def test_an_inline_limit_above_the_request_limit_changes_nothing() -> None:
    """Small limits, as tests and small machines set them, leave no work for the worker."""
    desk = Desk(max_request_bytes=500)
    with pytest.raises(Refused) as refused:
        desk.submit(zlib.compress(request(100)), "deflate")

    assert refused.value.reason is RefusalReason.TOO_LARGE_INFLATED


def test_close_waits_for_the_worker_and_nothing_comes_after() -> None:
    """Work that nobody waits for any more is still finished, counted and given back."""
    desk = Desk(inline_bytes=10)

    async def main() -> int:
        waiting = [asyncio.ensure_future(finish(desk, desk.submit(request(50)))) for _ in range(5)]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await desk.intake.close()
        delivered = len(desk.delivered)
        await asyncio.sleep(0.01)
        return len(desk.delivered) - delivered

    assert asyncio.run(main()) == 0
    assert desk.counts.value("lanewatch_spans_received") == 250
    assert desk.admission.in_flight_bytes == 0


def test_every_reason_is_exported_as_zero_from_the_start() -> None:
    """D5: an alert on a counter that isn't there yet can't fire."""
    families = {metric.name: values for metric, values in Counts(METRICS).families()}

    assert {labels[0] for labels in families["lanewatch_requests_refused"]} == {str(reason) for reason in RefusalReason}
    assert {labels[0] for labels in families["lanewatch_spans_rejected"]} == {str(reason) for reason in RejectReason}
    assert set(families["lanewatch_spans_received"]) == {
        (signal, protocol) for signal in ("traces", "logs") for protocol in ("grpc", "http")
    }


@pytest.mark.parametrize(
    ("body", "encoding", "here"),
    [(b"{}", "", True), (b" " * 5000, "", False), (b" " * 10, "gzip", False)],
    ids=["small", "big", "packed"],
)
def test_what_is_pushed_is_read_by_the_worker_where_it_is_not_small(body: bytes, encoding: str, *, here: bool) -> None:
    """Four megabytes of JSON would hold up the loop; what comes of them is taken in on the loop all the same."""
    read: list[int] = []
    taken: list[int] = []

    def take(_: bytes) -> Callable[[], None]:
        read.append(threading.get_ident())
        return lambda: taken.append(threading.get_ident())

    async def push() -> None:
        limits = IntakeLimits(inline_json_bytes=1000)
        intake = Intake(at._deliver, Relevance(), limits, at.counts, at.admission, push=take)
        sent = zlib.compress(body, wbits=31) if encoding else body
        lease = intake.open(None, len(sent))
        intake.grow(lease, len(sent))
        later = intake.take_pushed(sent, encoding=encoding, lease=lease)
        assert (later is None) is here
        if later is not None:
            await later
        await intake.close()

    at = Desk()
    asyncio.run(push())

    loop = threading.get_ident()
    assert taken == [loop]
    assert (read == [loop]) is here
    assert at.admission.in_flight_bytes == 0


def test_what_the_worker_refuses_of_a_push_is_counted_once() -> None:
    """And its bytes are given back."""

    def take(_: bytes) -> Callable[[], None]:
        raise Refused(RefusalReason.NO_ARTIFACT)

    async def push() -> None:
        limits = IntakeLimits(inline_json_bytes=1)
        intake = Intake(at._deliver, Relevance(), limits, at.counts, at.admission, push=take)
        lease = intake.open(None, 2)
        intake.grow(lease, 2)
        later = intake.take_pushed(b"{}", encoding="", lease=lease)
        assert later is not None
        with pytest.raises(Refused):
            await later
        await intake.close()

    at = Desk()
    asyncio.run(push())

    assert at.counts.value("lanewatch_requests_refused", RefusalReason.NO_ARTIFACT) == 1
    assert at.admission.in_flight_bytes == 0


def test_slices_are_bounded_in_bytes_too_and_lose_nothing() -> None:
    """What the loop digests at once is a slice: log records for their identity, resends to be compared."""
    logs = [LogRecord(bytes([n]) * 16, size_bytes=size) for n, size in enumerate((10, 10, 500, 10, 95, 10, 10))]
    spans = [Span(b"t" * 16, bytes([n]) * 8, size_bytes=60) for n in range(3)]
    decoded = Decoded(spans, Skeletons(), logs, unrelated_logs=4, rejected={"x": 2})
    parts = list(_slices(decoded, 3, 100))

    assert [log for part in parts for log in part.logs] == logs
    assert [span for part in parts for span in part.spans] == spans
    assert [len(part.logs) for part in parts] == [2, 1, 1, 1, 2]
    assert [len(part.spans) for part in parts] == [1, 1, 1, 0, 0]
    assert [(part.unrelated_logs, len(part.rejected)) for part in parts] == [(4, 1)] + [(0, 0)] * 4
