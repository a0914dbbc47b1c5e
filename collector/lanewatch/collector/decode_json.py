"""From the OTLP/JSON text of an export request to its items, with the same results as from protobuf.

The outer objects are decoded by msgspec, which leaves their spans and log records as text: each is decoded alone, rejected
alone, and not at all where it carries no marker. protobuf's own json_format is not used, since it reads ids as base64.
The invariants are those of `decode`.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from lanewatch.collector import json_values
from lanewatch.collector.blocks import Block, Encoding, Part, UnreadableError, count_unrelated_logs, read_blocks
from lanewatch.collector.content import attributes_bytes
from lanewatch.collector.harvest import Harvest
from lanewatch.collector.json_items import read_log_record, read_skeletons, read_span
from lanewatch.collector.limits import DecodeLimits, Undecodable
from lanewatch.collector.relevance import Relevance, searching
from lanewatch.collector.spans import Decoded, Resource, Scope, Signal
from lanewatch.collector.surrogates import repaired

_NULL = b"null"
_ABSENT = msgspec.Raw(_NULL)
# A marker's letters may be escaped, though no encoder is known to do it; such an item is decoded whatever it holds.
_ESCAPED_LETTER = re.compile(rb"\\u00(?:2[dDeE]|3[0-9aA]|[4-7])")
# An element of a list can be two bytes of JSON, and is 56 in memory as msgspec.Raw. A span has a comma every 30 bytes.
_MIN_BYTES_A_COMMA = 8


class _SpanPart(msgspec.Struct):
    """ScopeSpans. Here and below, repeated fields and texts are None where they are absent or null."""

    scope: msgspec.Raw = _ABSENT
    schema_url: str | None = msgspec.field(default=None, name="schemaUrl")
    items: list[msgspec.Raw] | None = msgspec.field(default=None, name="spans")


class _LogPart(msgspec.Struct):
    scope: msgspec.Raw = _ABSENT
    schema_url: str | None = msgspec.field(default=None, name="schemaUrl")
    items: list[msgspec.Raw] | None = msgspec.field(default=None, name="logRecords")


class _SpanBlock(msgspec.Struct):
    resource: msgspec.Raw = _ABSENT
    schema_url: str | None = msgspec.field(default=None, name="schemaUrl")
    parts: list[_SpanPart] | None = msgspec.field(default=None, name="scopeSpans")


class _LogBlock(msgspec.Struct):
    resource: msgspec.Raw = _ABSENT
    schema_url: str | None = msgspec.field(default=None, name="schemaUrl")
    parts: list[_LogPart] | None = msgspec.field(default=None, name="scopeLogs")


class _Traces(msgspec.Struct):
    blocks: list[_SpanBlock] | None = msgspec.field(default=None, name="resourceSpans")


class _Logs(msgspec.Struct):
    blocks: list[_LogBlock] | None = msgspec.field(default=None, name="resourceLogs")


_Request: TypeAlias = _Traces | _Logs
_request_of: dict[Signal, Callable[[bytes], _Request]] = {
    Signal.TRACES: msgspec.json.Decoder(_Traces).decode,
    Signal.LOGS: msgspec.json.Decoder(_Logs).decode,
}


def decode_json(body: bytes, signal: Signal, relevance: Relevance, limits: DecodeLimits) -> Decoded:
    """Decode an export request of traces or logs (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).

    An empty body is an empty request, as it is in protobuf. Raises `Undecodable` where the body is no such object, has a
    member twice in the objects around the items, or far more list elements than a request of its size can have.
    """
    if len(body) > 2 * limits.max_values and body.count(b",") > limits.max_values + len(body) // _MIN_BYTES_A_COMMA:
        raise Undecodable(f"more than {limits.max_values} list elements")
    body = repaired(body)
    has_escapes = _ESCAPED_LETTER.search(body) is not None
    try:
        request = _request_of[signal](body or b"{}")
        if has_escapes or _may_have_duplicates(body, request, signal):
            json_values.find_duplicates(body)
    except (msgspec.MsgspecError, json_values.MalformedError, ValueError, RecursionError):
        raise Undecodable(f"malformed JSON, or not the shape of an export request for {signal}") from None
    harvest = Harvest(limits, len(body))

    in_json = searching(relevance.in_json, body)

    def is_marked(raw: Any) -> bool:
        return in_json(raw) is not None or (has_escapes and _ESCAPED_LETTER.search(raw) is not None)

    traces = signal is Signal.TRACES
    encoding = Encoding(
        is_marked=is_marked,
        resource=_read_resource,
        scope=_read_scope,
        relevant=read_span if traces else read_log_record,
        irrelevant=read_skeletons if traces else count_unrelated_logs,
    )
    marked = has_escapes or (relevance.mentions(body) and is_marked(body))
    read_blocks(_blocks(request), encoding, relevance, harvest, marked=marked)
    return harvest.decoded()


def _blocks(request: _Request) -> Iterator[Block]:
    for block in request.blocks or ():
        parts = [Part(part.scope, part.schema_url or "", part.items or ()) for part in block.parts or ()]
        yield Block(bytes(block.resource), block.schema_url or "", parts)


def _may_have_duplicates(body: bytes, request: _Request, signal: Signal) -> bool:
    """Whether a member around the items may stand twice in one object: msgspec keeps the last one and says nothing.

    Each name is counted in the text, where it may also stand for something else, and among what was kept.
    """
    blocks = request.blocks or []
    parts = [part for block in blocks for part in block.parts or ()]
    spans = signal is Signal.TRACES
    kept = {
        b'"resourceSpans"' if spans else b'"resourceLogs"': request.blocks is not None,
        b'"scopeSpans"' if spans else b'"scopeLogs"': sum(block.parts is not None for block in blocks),
        b'"spans"' if spans else b'"logRecords"': sum(part.items is not None for part in parts),
        b'"resource"': sum(bytes(block.resource) != _NULL for block in blocks),
        b'"scope"': sum(bytes(part.scope) != _NULL for part in parts),
        b'"schemaUrl"': sum(each.schema_url is not None for each in (*blocks, *parts)),
    }
    return any(body.count(name) > n for name, n in kept.items())


def _read_resource(raw: Any, harvest: Harvest) -> Resource:
    harvest.begin()
    try:
        attributes = json_values.attributes(_members(raw, harvest), harvest)
    except json_values.MalformedError:
        raise UnreadableError from None
    return Resource(attributes, len(memoryview(raw)) + attributes_bytes(attributes) + harvest.inner_bytes)


def _read_scope(raw: Any, schema_url: bytes | str, harvest: Harvest) -> Scope:
    harvest.begin()
    try:
        members = _members(raw, harvest)
        name, version = (json_values.text(members, key, harvest) for key in ("name", "version"))
        attributes = json_values.attributes(members, harvest)
    except json_values.MalformedError:
        raise UnreadableError from None
    size = len(memoryview(raw)) + len(schema_url) + attributes_bytes(attributes) + harvest.inner_bytes
    return Scope(name, version, harvest.text(schema_url), attributes, size)


def _members(raw: Any, harvest: Harvest) -> json_values.Members:
    return {} if bytes(raw) == _NULL else json_values.parse(raw, harvest.limits.max_item_values)
