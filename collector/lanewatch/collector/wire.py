"""OTLP's messages as far as Lanewatch reads them: a projection of opentelemetry-proto, built in Python.

On the wire an embedded message and a bytes field are the same. So spans and log records, resources, scopes, events,
links, arrays and maps are declared as bytes here: a request is split without building an object for any of its parts,
each part is decoded only when somebody wants it, one broken part spoils no other, and no nesting reaches protobuf's own
recursion limit.

Every message comes in two schemas. `plain` declares text as string, which is quick but refuses a message with invalid
UTF-8; `lenient` declares it as bytes, and the reader decodes it with replacement characters. Traces and logs differ in
nothing but their innermost message, so both are read as `request`. Field numbers: opentelemetry/proto/*/v1/*.proto;
`string_value_strindex` and `key_strindex` (profiles only) are left out, which makes them unknown fields and so absent.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from google.protobuf import (  # type: ignore[import-untyped,unused-ignore]
    descriptor_pb2,
    descriptor_pool,
    message_factory,
)
from google.protobuf.internal import api_implementation  # type: ignore[import-untyped,unused-ignore]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped,unused-ignore]

__all__ = ["DecodeError", "Message", "Parse", "Schema", "has_more_fields", "lenient", "plain"]

if api_implementation.Type() != "upb":
    raise ImportError(
        f"protobuf runs on its {api_implementation.Type()!r} backend, which is too slow and has known unbounded recursion "
        "(CVE-2025-4565): install protobuf from a binary wheel and unset PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"
    )

Message: TypeAlias = Any
Parse: TypeAlias = Callable[[bytes], Message]

_Field = descriptor_pb2.FieldDescriptorProto
_TEXT = "text"
_TYPES = {
    "bytes": _Field.TYPE_BYTES,
    "bool": _Field.TYPE_BOOL,
    "double": _Field.TYPE_DOUBLE,
    "fixed64": _Field.TYPE_FIXED64,
    "int32": _Field.TYPE_INT32,  # enums too, since a reader must keep numbers that it doesn't know
    "int64": _Field.TYPE_INT64,
    "uint32": _Field.TYPE_UINT32,
}
_MESSAGES: dict[str, tuple[tuple[int, str, str], ...]] = {
    "Request": ((1, "blocks", "Block*"),),
    "Block": ((1, "resource", "bytes"), (2, "parts", "Part*"), (3, "schema_url", "bytes")),
    "Part": ((1, "scope", "bytes"), (2, "items", "bytes*"), (3, "schema_url", "bytes")),
    "Resource": ((1, "attributes", "KeyValue*"),),
    "Scope": ((1, "name", _TEXT), (2, "version", _TEXT), (3, "attributes", "KeyValue*")),
    "KeyValue": ((1, "key", _TEXT), (2, "value", "AnyValue")),
    "AnyValue": (
        (1, "string_value", _TEXT),
        (2, "bool_value", "bool"),
        (3, "int_value", "int64"),
        (4, "double_value", "double"),
        (5, "array_value", "bytes"),
        (6, "kvlist_value", "bytes"),
        (7, "bytes_value", "bytes"),
    ),
    "Array": ((1, "values", "AnyValue*"),),
    "Map": ((1, "values", "KeyValue*"),),
    "Span": (
        (1, "trace_id", "bytes"),
        (2, "span_id", "bytes"),
        (3, "trace_state", _TEXT),
        (4, "parent_span_id", "bytes"),
        (5, "name", _TEXT),
        (6, "kind", "int32"),
        (7, "start_time_unix_nano", "fixed64"),
        (8, "end_time_unix_nano", "fixed64"),
        (9, "attributes", "KeyValue*"),
        (10, "dropped_attributes_count", "uint32"),
        (11, "events", "bytes*"),
        (12, "dropped_events_count", "uint32"),
        (13, "links", "bytes*"),
        (15, "status", "Status"),
    ),
    "Outline": (
        (1, "trace_id", "bytes"),
        (2, "span_id", "bytes"),
        (4, "parent_span_id", "bytes"),
        (7, "start_time_unix_nano", "fixed64"),
        (8, "end_time_unix_nano", "fixed64"),
    ),
    "Status": ((2, "message", _TEXT), (3, "code", "int32")),
    "Event": (
        (1, "time_unix_nano", "fixed64"),
        (2, "name", _TEXT),
        (3, "attributes", "KeyValue*"),
        (4, "dropped_attributes_count", "uint32"),
    ),
    "Link": (
        (1, "trace_id", "bytes"),
        (2, "span_id", "bytes"),
        (4, "attributes", "KeyValue*"),
        (5, "dropped_attributes_count", "uint32"),
    ),
    "LogRecord": (
        (1, "time_unix_nano", "fixed64"),
        (5, "body", "AnyValue"),
        (6, "attributes", "KeyValue*"),
        (7, "dropped_attributes_count", "uint32"),
        (9, "trace_id", "bytes"),
        (10, "span_id", "bytes"),
        (11, "observed_time_unix_nano", "fixed64"),
        (12, "event_name", _TEXT),
    ),
}


class Schema(msgspec.Struct, frozen=True):
    """The parsers of one projection. Each raises `DecodeError` for bytes that are no such message."""

    request: Parse
    resource: Parse
    scope: Parse
    array: Parse
    map: Parse
    span: Parse
    outline: Parse
    event: Parse
    link: Parse
    log_record: Parse


def _schema(package: str, text: int) -> Schema:
    """Build the projection in a descriptor pool of its own, so that it can't clash with opentelemetry-proto's."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field_name, declared in fields:
            kind = declared.rstrip("*")
            field = message.field.add(number=number, name=field_name)
            field.label = _Field.LABEL_OPTIONAL if kind == declared else _Field.LABEL_REPEATED
            if kind in _MESSAGES:
                field.type, field.type_name = _Field.TYPE_MESSAGE, f".{package}.{kind}"
            else:
                field.type = text if kind == _TEXT else _TYPES[kind]
            if name == "AnyValue":
                field.oneof_index = 0
        if name == "AnyValue":
            message.oneof_decl.add(name="value")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)

    def parse(name: str) -> Parse:
        message_class = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        from_string: Parse = message_class.FromString
        return from_string

    return Schema(
        request=parse("Request"),
        resource=parse("Resource"),
        scope=parse("Scope"),
        array=parse("Array"),
        map=parse("Map"),
        span=parse("Span"),
        outline=parse("Outline"),
        event=parse("Event"),
        link=parse("Link"),
        log_record=parse("LogRecord"),
    )


plain = _schema("lanewatch.plain", _Field.TYPE_STRING)
lenient = _schema("lanewatch.lenient", _Field.TYPE_BYTES)


def has_more_fields(raw: bytes, limit: int, path: tuple[int, ...] = ()) -> bool:
    """Whether a message holds more than `limit` fields, those of the embedded messages along `path` included.

    Asked before parsing, since an empty field takes two bytes on the wire and up to fifty in protobuf's memory. Costs
    nothing for a message of fewer than `2 * limit` bytes, which can't. Bytes that are no message are left to the
    parser, groups apart: OTLP has none, and what is in them is not worth counting.
    """
    if len(raw) <= 2 * limit:
        return False
    try:
        return _count(raw, 0, len(raw), limit, path) > limit
    except (IndexError, OverflowError):
        return False


def _count(raw: bytes, at: int, end: int, limit: int, path: tuple[int, ...]) -> int:
    n = 0
    while at < end and n <= limit:
        n += 1
        tag, at = _varint(raw, at)
        wire_type = tag & 7
        if wire_type == 0:
            _, at = _varint(raw, at)
        elif wire_type == 1:
            at += 8
        elif wire_type == 2:  # noqa: PLR2004 - numbers of the encoding, https://protobuf.dev/programming-guides/encoding
            length, at = _varint(raw, at)
            if path and tag >> 3 == path[0]:
                n += _count(raw, at, min(at + length, end), limit - n, path[1:])
            at += length
        elif wire_type == 5:  # noqa: PLR2004
            at += 4
        else:
            return limit + 1
    return n


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """A varint and where it ends; IndexError or OverflowError where it is none."""
    value = 0
    for shift in range(0, 70, 7):
        byte = raw[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:  # noqa: PLR2004
            return value, at
    raise OverflowError
