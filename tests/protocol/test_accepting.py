"""What both receivers take in, and what they answer then (P1, P19, P20, P21)."""

from collections.abc import Callable

import pytest
from lanewatch.collector.outcomes import MAX_MESSAGE_BYTES
from lanewatch.collector.spans import Signal
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.protocol.clients import OK, Request, Via, deliver_raw, encode, post, send
from tests.protocol.export_requests import log, logs, span, text, traces
from tests.protocol.served import Served

PROTOCOL = {Via.HTTP_PROTOBUF: "http", Via.HTTP_JSON: "http", Via.GRPC: "grpc"}
EMPTY = [ExportTraceServiceRequest(), ExportLogsServiceRequest(), traces(), logs()]


@pytest.mark.parametrize("via", Via)
@pytest.mark.parametrize("request_", EMPTY, ids=["traces", "logs", "a scope without spans", "a scope without records"])
def test_an_empty_request_is_a_success(served: Served, via: Via, request_: Request) -> None:
    """P1: the specification asks for success; nothing is counted but the request."""
    answer = send(served, via, request_)

    assert (answer.code, answer.partial, answer.message) == (OK, False, "")
    assert served.counts.value("lanewatch_spans_received") == 0
    assert served.counts.value("lanewatch_requests") == 1
    assert served.sink.items == 0


def test_a_body_of_no_bytes_is_an_empty_request(served: Served) -> None:
    """P1: in protobuf nothing at all is a message without fields."""
    answer = post(served, b"")

    assert (answer.status, answer.raw) == (200, b"")


@pytest.mark.parametrize("via", Via)
@pytest.mark.parametrize("encoding", ["", "gzip", "deflate"])
@pytest.mark.parametrize(("request_", "signal"), [(traces(span(1), span(2)), "traces"), (logs(log()), "logs")])
def test_a_request_is_delivered_and_counted(
    served: Served, via: Via, encoding: str, request_: Request, signal: str
) -> None:
    """Every way in leads to the same place, in every coding that is offered."""
    answer = send(served, via, request_, encoding=encoding)

    items = 2 if signal == "traces" else 1
    assert (answer.code, answer.partial) == (OK, False)
    assert served.sink.items == items
    assert served.counts.value("lanewatch_spans_received", signal, PROTOCOL[via]) == items
    assert served.counts.value("lanewatch_requests", signal, PROTOCOL[via]) == 1


@pytest.mark.parametrize("via", Via)
@pytest.mark.parametrize("n_bytes", [5_000, 3_000_000])
def test_a_big_request_is_delivered_on_the_loop_too(served: Served, via: Via, n_bytes: int) -> None:
    """The assembler has one owner; a big body is unpacked elsewhere, and comes back in slices."""
    many = traces(*(span(number, name="x" * 500) for number in range(1, n_bytes // 500)))
    answer = send(served, via, many)

    assert answer.code == OK
    assert served.sink.items == n_bytes // 500 - 1
    assert served.sink.thread == {served.loop.call(__import__("threading").get_ident)}
    assert (len(served.sink.delivered) > 1) == (n_bytes > 1 << 20)


@pytest.mark.parametrize("via", Via)
def test_a_small_body_that_inflates_to_a_big_one_is_taken(served: Served, via: Via) -> None:
    """How much there is to do shows only while inflating."""
    many = traces(*(span(number, name="x" * 500) for number in range(1, 6000)))
    answer = send(served, via, many, encoding="gzip")

    assert answer.code == OK
    assert served.sink.items == 5999


@pytest.mark.parametrize("via", Via)
def test_rejected_spans_are_told_by_exact_number_and_reason(served: Served, via: Via) -> None:
    """One bad span doesn't cost the others; the client MUST NOT send again, so it is a success."""
    answer = send(served, via, traces(span(1), span(2, trace_id=bytes(16)), span(3, span_id=b"1234567")))

    assert (answer.code, answer.partial, answer.rejected) == (OK, True, 2)
    assert answer.message == "2 of 3 spans rejected: invalid_span_id 1, invalid_trace_id 1"
    assert served.sink.items == 1
    assert served.counts.value("lanewatch_spans_rejected", "invalid_span_id") == 1
    assert served.counts.value("lanewatch_spans_rejected") == 2
    assert served.counts.value("lanewatch_spans_received") == 3


@pytest.mark.parametrize("via", Via)
def test_rejected_log_records_are_told_by_exact_number_and_reason(served: Served, via: Via) -> None:
    """Logs have a field of their own for the number; the records beside the bad ones are kept."""
    odd = {"attributes": [text("gen_ai.x", "odd")]}
    raw = encode(logs(log(1), log(2, **odd), log(3), log(4, **odd)), via)
    text_for, length_for = (b'"odd"', b"{}"), (b"\x03odd", b"\x7fodd")  # no text; a text that is longer than its record
    damaged = raw.replace(*(text_for if via is Via.HTTP_JSON else length_for))
    answer = deliver_raw(served, via, damaged, Signal.LOGS)

    assert (answer.code, answer.partial, answer.rejected) == (OK, True, 2)
    assert answer.message == "2 of 4 log records rejected: undecodable_log 2"
    assert served.sink.items == 2
    assert served.counts.value("lanewatch_spans_rejected", "undecodable_log") == 2
    assert served.counts.value("lanewatch_spans_received", "logs", PROTOCOL[via]) == 4


@pytest.mark.parametrize("via", Via)
def test_a_request_of_bad_spans_only_is_still_a_partial_success(served: Served, via: Via) -> None:
    """It was decoded, so it is no bad request; all of it was rejected."""
    answer = send(served, via, traces(span(1, span_id=b"")))

    assert (answer.code, answer.rejected) == (OK, 1)


@pytest.mark.parametrize("via", Via)
def test_fifty_thousand_rejected_spans_make_a_small_answer(served: Served, via: Via) -> None:
    """P21: the count is exact, the message short; the specification allows 4 MiB."""
    answer = send(served, via, traces(*(span(number, trace_id=b"") for number in range(1, 50_001))))

    assert answer.rejected == 50_000
    assert 0 < len(answer.message.encode()) <= MAX_MESSAGE_BYTES
    assert len(answer.raw) < 2 * MAX_MESSAGE_BYTES


@pytest.mark.parametrize("via", Via)
def test_flags_and_unknown_fields_are_nobody_s_fault(served: Served, via: Via) -> None:
    """P20: readers must not take reserved bits for zero, and ignore what they don't know."""
    answer = send(served, via, traces(span(1, flags=0xFFFFFFFF)))

    assert (answer.code, answer.partial) == (OK, False)
    assert served.sink.items == 1


def test_unknown_protobuf_fields_are_ignored(served: Served) -> None:
    """P20: field 100 of the request, of every wire type."""
    unknown = b"\xa2\x06\x03abc" + b"\xa0\x06\x01" + b"\xa1\x06" + bytes(8) + b"\xa5\x06" + bytes(4)
    answer = post(served, unknown + traces(span()).SerializeToString() + unknown)

    assert (answer.status, answer.raw) == (200, b"")
    assert served.sink.items == 1


@pytest.mark.parametrize("signal", Signal)
def test_an_answer_over_json_is_an_object(serve: Callable[..., Served], signal: Signal) -> None:
    """P1: the empty message is `{}` in JSON, not nothing."""
    answer = post(serve(), b"{}", signal=signal, content_type="application/json")

    assert (answer.status, answer.raw) == (200, b"{}")
