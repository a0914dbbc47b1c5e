"""What goes back to a client, in bytes: export responses and `google.rpc.Status`, as protobuf and as JSON.

The messages have two or three fields, so they are written by hand: no generated code, no descriptor pool, and the usual
answer (everything taken) is a constant. A response's encoding is the request's; where that is unknown it is JSON.
"""

from enum import StrEnum

import msgspec

from lanewatch.collector.outcomes import RETRY_AFTER_SECONDS, RefusalReason, Refused
from lanewatch.collector.spans import Signal


class Media(StrEnum):
    """The two encodings of OTLP/HTTP, with their content types."""

    PROTOBUF = "application/x-protobuf"
    JSON = "application/json"


class Receipt(msgspec.Struct, frozen=True):
    """An accepted request. `message` is empty where nothing was rejected: `partial_success` must be unset then."""

    accepted: int = 0
    rejected: int = 0
    message: str = ""


RETRY_INFO = b"\x0a\x02\x08" + bytes([RETRY_AFTER_SECONDS])  # RetryInfo{retry_delay{seconds}}

_REJECTED_FIELD = {Signal.TRACES: "rejectedSpans", Signal.LOGS: "rejectedLogRecords"}
_BAD_REQUEST = frozenset({RefusalReason.UNDECODABLE, RefusalReason.CORRUPT_COMPRESSION})
_TYPE_URL = "type.googleapis.com/google.rpc."


def encode_receipt(receipt: Receipt, signal: Signal, media: Media) -> bytes:
    """`ExportTraceServiceResponse` or `ExportLogsServiceResponse`; the two have the same field numbers."""
    if not receipt.message:
        return b"" if media is Media.PROTOBUF else b"{}"
    if media is Media.PROTOBUF:
        return _field(1, _varint_field(1, receipt.rejected) + _field(2, receipt.message.encode()))
    # int64 is a string in protobuf's JSON mapping.
    partial = {_REJECTED_FIELD[signal]: str(receipt.rejected), "errorMessage": receipt.message}
    return msgspec.json.encode({"partialSuccess": partial})


def encode_status(refused: Refused, media: Media) -> bytes:
    """`google.rpc.Status`, with RetryInfo where a retry is asked for and BadRequest where the body was at fault."""
    text, outcome = str(refused), refused.outcome
    bad_request = refused.reason in _BAD_REQUEST
    if media is Media.PROTOBUF:
        status = _varint_field(1, outcome.code) + _field(2, text.encode())
        if outcome.retry:
            status += _field(3, _any("RetryInfo", RETRY_INFO))
        if bad_request:
            status += _field(3, _any("BadRequest", _field(1, _field(1, b"body") + _field(2, text.encode()))))
        return status
    details: list[dict[str, object]] = []
    if outcome.retry:
        details.append({"@type": _TYPE_URL + "RetryInfo", "retryDelay": f"{RETRY_AFTER_SECONDS}s"})
    if bad_request:
        violation = {"field": "body", "description": text}
        details.append({"@type": _TYPE_URL + "BadRequest", "fieldViolations": [violation]})
    return msgspec.json.encode(
        {"code": int(outcome.code), "message": text, **({"details": details} if details else {})}
    )


def _any(name: str, value: bytes) -> bytes:
    return _field(1, (_TYPE_URL + name).encode()) + _field(2, value)


def _field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(value)) + value


def _varint_field(number: int, value: int) -> bytes:
    # proto3 leaves a zero out.
    return bytes([number << 3]) + _varint(value) if value else b""


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits a byte
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
