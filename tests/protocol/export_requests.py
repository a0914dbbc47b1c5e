"""Export requests for the tests, in all the ways in which a client may write one down."""

import base64
import gzip
import zlib
from collections.abc import Iterable
from typing import Any

import msgspec
from google.protobuf import json_format  # type: ignore[import-untyped,unused-ignore]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

TRACE = bytes.fromhex("5b8efff798038103d269b633813fc60c")
EPOCH_NS = 1_800_000_000_000_000_000


def span(number: int = 1, **fields: Any) -> Span:
    """A chat span that the GenAI convention knows, with ids made of `number`; `fields` override."""
    given = {
        "trace_id": TRACE,
        "span_id": number.to_bytes(8, "big"),
        "name": "chat gpt-4o",
        "start_time_unix_nano": EPOCH_NS + number,
        "end_time_unix_nano": EPOCH_NS + number + 1000,
        "attributes": [text("gen_ai.operation.name", "chat"), text("gen_ai.request.model", "gpt-4o")],
    }
    return Span(**{**given, **fields})


def log(number: int = 1, **fields: Any) -> LogRecord:
    """A GenAI event as a log record."""
    given = {
        "trace_id": TRACE,
        "span_id": number.to_bytes(8, "big"),
        "event_name": "gen_ai.client.inference.operation.details",
        "time_unix_nano": EPOCH_NS + number,
        "attributes": [text("gen_ai.operation.name", "chat")],
    }
    return LogRecord(**{**given, **fields})


def text(key: str, value: str) -> KeyValue:
    """An attribute that is a string."""
    return KeyValue(key=key, value=AnyValue(string_value=value))


def traces(*spans: Span, service: str = "app", scope: str = "openai") -> ExportTraceServiceRequest:
    """One resource, one scope, these spans."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.append(text("service.name", service))
    scoped = resource.scope_spans.add()
    scoped.scope.name = scope
    scoped.spans.extend(spans)
    return request


def logs(*records: LogRecord) -> ExportLogsServiceRequest:
    """One resource, one scope, these log records."""
    request = ExportLogsServiceRequest()
    scoped = request.resource_logs.add().scope_logs.add()
    scoped.scope.name = "openai"
    scoped.log_records.extend(records)
    return request


def as_json(request: ExportTraceServiceRequest | ExportLogsServiceRequest) -> bytes:
    """OTLP/JSON: protobuf's JSON mapping, but with ids in hex and enums as numbers."""
    return msgspec.json.encode(_hex_ids(json_format.MessageToDict(request, use_integers_for_enums=True)))


def compressed(raw: bytes, coding: str) -> bytes:
    """One gzip member or one zlib stream, the same bytes each time; the raw bytes for no coding."""
    if coding == "gzip":
        return gzip.compress(raw, mtime=0)
    return zlib.compress(raw) if coding == "deflate" else raw


def bomb(n_bytes: int, coding: str) -> bytes:
    """`n_bytes` of zeros in about a thousandth of the space; made in pieces, so that the test stays small itself."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if coding == "gzip" else 15)
    block = bytes(1 << 20)
    parts: Iterable[bytes] = (packer.compress(block) for _ in range(n_bytes >> 20))
    return b"".join([*parts, packer.flush()])


def _hex_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_hex_ids(item) for item in value]
    if isinstance(value, dict):
        return {key: _id(item) if key in _IDS else _hex_ids(item) for key, item in value.items()}
    return value


def _id(value: str) -> str:
    return base64.b64decode(value).hex()


_IDS = {"traceId", "spanId", "parentSpanId"}
