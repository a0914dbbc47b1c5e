"""What the decoders must give, made the plain way: all of opentelemetry-proto, no limits, no haste; and OTLP/JSON by hand."""

import base64
import gzip
import math
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from hypothesis import strategies as st
from lanewatch.collector.relevance import Relevance
from lanewatch.collector.spans import Decoded, Event, Link, LogRecord, Resource, Scope, Span
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
ALL = Relevance(scopes=("",))  # every scope's name starts with it
TRACE_ID = bytes.fromhex("5b8efff798038103d269b633813fc60c")
SPAN_ID = bytes.fromhex("eee19b7ec3c1b174")
START = 1_800_000_000_000_000_000


def captured(stack: str, kind: str = "request") -> list[bytes]:
    """The recorded bodies of one stack, spans or logs, in name order."""
    return [gzip.decompress(path.read_bytes()) for path in sorted((CORPUS / stack).glob(f"*/{kind}-*.gz"))]


def span(**fields: Any) -> trace_pb2.Span:
    """A span with valid ids; `fields` override."""
    given = {
        "trace_id": TRACE_ID,
        "span_id": SPAN_ID,
        "name": "chat",
        "kind": 3,
        "start_time_unix_nano": START,
        "end_time_unix_nano": START + 5,
    }
    return trace_pb2.Span(**{**given, **fields})


def log(**fields: Any) -> logs_pb2.LogRecord:
    """A log record that belongs to that span; `fields` override."""
    return logs_pb2.LogRecord(**{"trace_id": TRACE_ID, "span_id": SPAN_ID, "time_unix_nano": START, **fields})


def pair(key: str, value: Any) -> KeyValue:
    """An attribute."""
    return KeyValue(key=key, value=any_value(value))


def any_value(value: Any) -> AnyValue:
    """Plain Python as an AnyValue."""
    match value:
        case None:
            return AnyValue()
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value)
        case bytes():
            return AnyValue(bytes_value=value)
        case list():
            return AnyValue(array_value=ArrayValue(values=[any_value(item) for item in value]))
        case _:
            return AnyValue(kvlist_value=KeyValueList(values=[pair(key, item) for key, item in value.items()]))


def traces(*spans: trace_pb2.Span, scope: str = "scope", resource: dict[str, Any] | None = None) -> bytes:
    """A request of one block."""
    request = ExportTraceServiceRequest()
    block = request.resource_spans.add()
    block.resource.attributes.extend(pair(*each) for each in (resource or {"service.name": "shop"}).items())
    part = block.scope_spans.add(scope=InstrumentationScope(name=scope, version="1"))
    part.spans.extend(spans)
    return bytes(request.SerializeToString())


def logs(*records: logs_pb2.LogRecord, scope: str = "scope") -> bytes:
    """A request of one block."""
    request = ExportLogsServiceRequest()
    part = request.resource_logs.add().scope_logs.add(scope=InstrumentationScope(name=scope, version="1"))
    part.log_records.extend(records)
    return bytes(request.SerializeToString())


def plain_traces(body: bytes) -> list[Span]:
    """All spans of a request, decoded without any of Lanewatch's ways."""
    return [
        Span(
            trace_id=item.trace_id,
            span_id=item.span_id,
            parent_id=item.parent_span_id,
            name=item.name,
            kind=item.kind,
            start_ns=item.start_time_unix_nano,
            end_ns=item.end_time_unix_nano,
            status=item.status.code,
            status_message=item.status.message,
            attributes=plain_attributes(item.attributes),
            events=tuple(Event(e.name, e.time_unix_nano, plain_attributes(e.attributes)) for e in item.events),
            links=tuple(Link(each.trace_id, each.span_id, plain_attributes(each.attributes)) for each in item.links),
            resource=Resource(plain_attributes(block.resource.attributes)),
            scope=_scope(block, part),
            dropped_attributes=item.dropped_attributes_count
            + item.dropped_events_count
            + sum(event.dropped_attributes_count for event in item.events),
            trace_state=item.trace_state if "ot=" in item.trace_state and len(item.trace_state) <= 512 else "",
        )
        for block in ExportTraceServiceRequest.FromString(body).resource_spans
        for part in block.scope_spans
        for item in part.spans
    ]


def plain_logs(body: bytes) -> list[LogRecord]:
    """All log records of a request that name a trace."""
    return [
        LogRecord(
            trace_id=item.trace_id,
            span_id=item.span_id,
            event_name=item.event_name or plain_attributes(item.attributes).get("event.name", ""),
            time_ns=item.time_unix_nano or item.observed_time_unix_nano,
            body=plain_value(item.body),
            attributes=plain_attributes(item.attributes),
            resource=Resource(plain_attributes(block.resource.attributes)),
            scope=_scope(block, part),
            dropped_attributes=item.dropped_attributes_count,
        )
        for block in ExportLogsServiceRequest.FromString(body).resource_logs
        for part in block.scope_logs
        for item in part.log_records
        if item.trace_id
    ]


def _scope(block: Any, part: Any) -> Scope:
    attributes = plain_attributes(part.scope.attributes)
    return Scope(part.scope.name, part.scope.version, part.schema_url or block.schema_url, attributes)


def plain_attributes(pairs: Any) -> dict[str, Any]:
    """Of a repeated key the first counts."""
    return {each.key: plain_value(each.value) for each in reversed(pairs)}


def plain_value(value: AnyValue) -> Any:
    """An AnyValue as plain Python."""
    match value.WhichOneof("value"):
        case None:
            return None
        case "array_value":
            return [plain_value(item) for item in value.array_value.values]
        case "kvlist_value":
            return plain_attributes(value.kvlist_value.values)
        case kind:
            return getattr(value, kind)


def as_json(body: bytes, request_type: type[Any] = ExportTraceServiceRequest, *, upper: bool = False) -> bytes:
    """The same request as OTLP/JSON: ids in hex, enums as numbers, 64-bit integers as strings, bytes in base64."""
    document = _json_message(request_type.FromString(body), upper=upper)
    return msgspec.json.encode(document)


def _json_message(message: Any, *, upper: bool) -> dict[str, Any]:
    return {
        field.json_name: [_json_field(field, item, upper=upper) for item in value]
        if isinstance(value, list) or hasattr(value, "append")
        else _json_field(field, value, upper=upper)
        for field, value in message.ListFields()
        if not field.name.endswith("_strindex")
    }


def _json_field(field: Any, value: Any, *, upper: bool) -> Any:
    if field.message_type is not None:
        return _json_message(value, upper=upper)
    if isinstance(value, bytes):
        if field.name.endswith("_id"):
            return value.hex().upper() if upper else value.hex()
        return base64.b64encode(value).decode()
    if field.cpp_type in {field.CPPTYPE_INT64, field.CPPTYPE_UINT64}:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


# Content of every kind. NaN is left out, since it equals nothing; surrogates have no UTF-8.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | texts
    | st.binary(max_size=6)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
attribute_lists = st.dictionaries(texts, values, max_size=5).map(lambda each: [pair(*item) for item in each.items()])
times = st.integers(0, 2**64 - 1)
trace_ids = st.binary(min_size=16, max_size=16).filter(any)
span_ids = st.binary(min_size=8, max_size=8).filter(any)
counts = st.integers(0, 1000)
spans = st.builds(
    trace_pb2.Span,
    trace_id=trace_ids,
    span_id=st.just(b"\x07" * 8),
    parent_span_id=span_ids.filter(lambda each: each != b"\x07" * 8) | st.just(b""),
    trace_state=texts,
    flags=st.integers(0, 2**32 - 1),
    name=texts | st.text("x", min_size=126, max_size=130),
    kind=st.integers(0, 9),
    start_time_unix_nano=times,
    end_time_unix_nano=times,
    attributes=attribute_lists,
    dropped_attributes_count=counts,
    events=st.lists(
        st.builds(
            trace_pb2.Span.Event,
            name=texts,
            time_unix_nano=times,
            attributes=attribute_lists,
            dropped_attributes_count=counts,
        ),
        max_size=2,
    ),
    dropped_events_count=counts,
    links=st.lists(
        st.builds(trace_pb2.Span.Link, trace_id=trace_ids, span_id=span_ids, attributes=attribute_lists), max_size=2
    ),
    dropped_links_count=counts,
    status=st.builds(trace_pb2.Status, message=texts, code=st.integers(0, 3)),
)
log_records = st.builds(
    logs_pb2.LogRecord,
    trace_id=trace_ids | st.just(b""),
    span_id=span_ids | st.just(b""),
    time_unix_nano=times,
    observed_time_unix_nano=times,
    severity_number=st.integers(0, 24),
    severity_text=texts,
    event_name=texts,
    body=values.map(any_value),
    attributes=attribute_lists,
    dropped_attributes_count=counts,
)


def without_sizes(decoded: Decoded) -> Decoded:
    """What the plain decoder can say: it knows nothing of memory."""
    return msgspec.structs.replace(
        decoded,
        spans=[_without_size(each) for each in decoded.spans],
        logs=[_without_size(each) for each in decoded.logs],
    )


Item = TypeVar("Item", Span, LogRecord)


def _without_size(item: Item) -> Item:
    replace = msgspec.structs.replace
    resource, scope = replace(item.resource, size_bytes=0), replace(item.scope, size_bytes=0)
    return replace(item, resource=resource, scope=scope, size_bytes=0)
