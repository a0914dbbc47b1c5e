"""Responses: hand-written bytes that the generated code and protobuf's JSON mapping read back."""

from typing import Any

import pytest
from google.protobuf import json_format  # type: ignore[import-untyped,unused-ignore]
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.collector.outcomes import OUTCOMES, RefusalReason, Refused
from lanewatch.collector.responses import RETRY_INFO, Media, Receipt, encode_receipt, encode_status
from lanewatch.collector.spans import Signal
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

RESPONSE = {Signal.TRACES: ExportTraceServiceResponse, Signal.LOGS: ExportLogsServiceResponse}


def read(raw: bytes, media: Media, message: Any) -> Any:
    """What a client reads: the generated class, or protobuf's JSON mapping."""
    if media is Media.PROTOBUF:
        message.ParseFromString(raw)
    else:
        json_format.Parse(raw, message)
    return message


@pytest.mark.parametrize("media", Media)
@pytest.mark.parametrize("signal", Signal)
def test_partial_success_is_unset_where_all_was_taken(signal: Signal, media: Media) -> None:
    """The specification: the server MUST leave it unset."""
    response = read(encode_receipt(Receipt(accepted=7), signal, media), media, RESPONSE[signal]())

    assert not response.HasField("partial_success")


@given(rejected=st.integers(0, 2**62), message=st.text(min_size=1, max_size=300))
@pytest.mark.parametrize("media", Media)
@pytest.mark.parametrize("signal", Signal)
def test_partial_success_holds_count_and_message(signal: Signal, media: Media, rejected: int, message: str) -> None:
    """Also for a count that needs more than one byte, and for advice with none rejected."""
    raw = encode_receipt(Receipt(rejected=rejected, message=message), signal, media)
    partial = read(raw, media, RESPONSE[signal]()).partial_success

    count = partial.rejected_spans if signal is Signal.TRACES else partial.rejected_log_records
    assert (count, partial.error_message) == (rejected, message)


@pytest.mark.parametrize("media", Media)
@pytest.mark.parametrize("reason", RefusalReason)
def test_a_status_holds_code_message_and_details(reason: RefusalReason, media: Media) -> None:
    """RetryInfo exactly where a retry is asked for; BadRequest where the body was at fault."""
    refused = Refused(reason, "détail")
    status = read(encode_status(refused, media), media, Status())
    details = {detail.TypeName(): detail for detail in status.details}

    assert (status.code, status.message) == (OUTCOMES[reason].code, str(refused))
    assert ("google.rpc.RetryInfo" in details) == OUTCOMES[reason].retry
    if OUTCOMES[reason].retry:
        retry = RetryInfo()
        details["google.rpc.RetryInfo"].Unpack(retry)
        assert retry.retry_delay.ToMilliseconds() == 1000
    if reason is RefusalReason.UNDECODABLE:
        bad = BadRequest()
        details["google.rpc.BadRequest"].Unpack(bad)
        assert bad.field_violations[0].description == str(refused)


def test_the_retry_trailer_is_a_retry_info_of_one_second() -> None:
    """Python's gRPC exporter reads seconds and nanos out of this one."""
    assert RetryInfo.FromString(RETRY_INFO).retry_delay.ToMilliseconds() == 1000
