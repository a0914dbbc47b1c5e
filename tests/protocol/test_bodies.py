"""What stands in a body, through both receivers: JSON's own rules, odd values, odd spans (P14 to P20, S1 to S3)."""

import base64
import json
from typing import Any

import pytest
from lanewatch.collector.outcomes import Code, RefusalReason
from lanewatch.collector.spans import RejectReason, Span
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList

from tests.protocol.clients import OK, Answer, Via, call, post, send
from tests.protocol.export_requests import EPOCH_NS, span, text, traces
from tests.protocol.served import Served

JSON = "application/json"
TRACE_ID, SPAN_ID = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"
CHAT = {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}


PLAIN = {"traceId": TRACE_ID, "spanId": SPAN_ID, "name": "chat", "attributes": [CHAT]}
ENUM_BY_NAME = {**PLAIN, "spanId": "0102030405060708", "kind": "SPAN_KIND_CLIENT"}


def one_span(**fields: Any) -> bytes:
    """OTLP/JSON of one span; `fields` override."""
    return wrapped(json.dumps({**PLAIN, **fields}))


def wrapped(raw_span: str) -> bytes:
    """OTLP/JSON around a span's text."""
    return f'{{"resourceSpans": [{{"resource": {{}}, "scopeSpans": [{{"spans": [{raw_span}]}}]}}]}}'.encode()


def post_json(served: Served, body: bytes) -> Answer:
    """A body as OTLP/JSON."""
    return post(served, body, content_type=JSON)


def only_span(served: Served) -> Span:
    """The one span that was delivered."""
    (found,) = [span for part in served.sink.delivered for span in part.spans]
    return found


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        ({"traceId": TRACE_ID.upper()}, "trace_id", bytes.fromhex(TRACE_ID)),
        ({"spanId": SPAN_ID.upper()}, "span_id", bytes.fromhex(SPAN_ID)),
        ({"parentSpanId": "0102030405060708"}, "parent_id", bytes(range(1, 9))),
        ({"parentSpanId": ""}, "parent_id", b""),
        ({"kind": 3}, "kind", 3),
        ({"status": {"code": 2}}, "status", 2),
        ({"startTimeUnixNano": "1800000000000000001"}, "start_ns", 1_800_000_000_000_000_001),
        ({"startTimeUnixNano": 1_800_000_000_000_000_001}, "start_ns", 1_800_000_000_000_000_001),
        ({"name": "gr\u00fc\u00dfe \U0001f600"}, "name", "gr\u00fc\u00dfe \U0001f600"),
        ({"start_time_unix_nano": "5", "trace_state": 7, "newField": {"a": [1]}}, "start_ns", 0),
    ],
)
def test_json_is_read_as_the_specification_maps_it(
    served: Served, given: dict[str, Any], name: str, expected: object
) -> None:
    """P14: hex ids in either case, enums as numbers, int64 as text or number, unknown and snake_case keys ignored."""
    answer = post_json(served, one_span(**given))

    assert (answer.status, answer.partial) == (200, False)
    assert getattr(only_span(served), name) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"stringValue": ""}, ""),
        ({"boolValue": False}, False),
        ({"intValue": "-9223372036854775808"}, -(2**63)),
        ({"intValue": 7}, 7),
        ({"doubleValue": 1.5}, 1.5),
        ({"doubleValue": 3}, 3.0),
        ({"bytesValue": base64.b64encode(b"\x00\xff").decode()}, b"\x00\xff"),
        ({"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "a"}, {}]}}, [1, "a", None]),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": True}}]}}, {"k": True}),
        ({}, None),
    ],
)
def test_json_values_are_read(served: Served, value: dict[str, Any], expected: object) -> None:
    """P14, P19: every kind of value, also mixed and empty ones."""
    post_json(served, one_span(attributes=[CHAT, {"key": "x", "value": value}]))

    got = only_span(served).attributes["x"]
    assert got == expected
    assert type(got) is type(expected)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"traceId": base64.b64encode(bytes.fromhex(TRACE_ID)).decode()}, RejectReason.INVALID_TRACE_ID),
        ({"traceId": " " + TRACE_ID[1:]}, RejectReason.INVALID_TRACE_ID),
        ({"traceId": TRACE_ID[:-1]}, RejectReason.INVALID_TRACE_ID),
        ({"traceId": TRACE_ID[:-2] + " 0c"}, RejectReason.INVALID_TRACE_ID),
        ({"traceId": "0" * 32}, RejectReason.INVALID_TRACE_ID),
        ({"traceId": ""}, RejectReason.INVALID_TRACE_ID),
        ({"spanId": "0" * 16}, RejectReason.INVALID_SPAN_ID),
        ({"spanId": SPAN_ID + "00"}, RejectReason.INVALID_SPAN_ID),
        ({"spanId": SPAN_ID[:-1] + "g"}, RejectReason.INVALID_SPAN_ID),
    ],
)
def test_a_bad_id_in_json_costs_its_span_alone(served: Served, given: dict[str, str], reason: RejectReason) -> None:
    """P15: `bytes.fromhex` would take blanks, and protobuf's JSON mapping would take base64."""
    answer = post_json(served, one_span(**given))

    assert (answer.status, answer.rejected) == (200, 1)
    assert served.counts.value("lanewatch_spans_rejected", reason) == 1
    assert served.sink.items == 0


def test_an_enum_by_its_name_costs_its_span_alone(served: Served) -> None:
    """P15: the specification allows numbers only."""
    answer = post_json(served, wrapped(", ".join(json.dumps(given) for given in (ENUM_BY_NAME, PLAIN))))

    assert (answer.status, answer.rejected) == (200, 1)
    assert served.counts.value("lanewatch_spans_rejected", RejectReason.UNDECODABLE_SPAN) == 1
    assert served.sink.items == 1


REFUSED = {
    "deep arrays": b"[" * 100_000 + b"]" * 100_000,
    "deep arrays in a request": b'{"resourceSpans": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a deep value": one_span(attributes=[CHAT]).replace(
        b'{"stringValue": "chat"}', b'{"arrayValue":{"values":[' * 10_000 + b"]}}" * 10_000
    ),
    "NaN": one_span().replace(b'{"stringValue": "chat"}', b'{"doubleValue": NaN}'),
    "a duplicate key": one_span().replace(b'"resourceSpans"', b'"resourceSpans": [], "resourceSpans"'),
    "UTF-16": one_span().decode().encode("utf-16"),
    "a BOM": b"\xef\xbb\xbf" + one_span(),
    "an array": b"[]",
    "a string": b'"x"',
    "null": b"null",
    "blanks": b"  \n",
    "two documents": b"{}{}",
    "a wrong type": b'{"resourceSpans": {"a": 1}}',
    "a wrong type within": b'{"resourceSpans": [{"scopeSpans": [{"spans": "x"}]}]}',
}
REJECTED = {
    "5000 digits": one_span().replace(b'"chat", "attributes"', b'"chat", "kind": ' + b"9" * 5000 + b', "attributes"'),
    "5000 digits in a value": one_span().replace(b'{"stringValue": "chat"}', b'{"intValue": ' + b"9" * 5000 + b"}"),
    "1e999": one_span().replace(b'{"stringValue": "chat"}', b'{"doubleValue": 1e999}'),
    "a duplicate key of a span": one_span().replace(b'"name"', b'"name": "x", "name"'),
    "latin-1": one_span().replace(b'"chat"', b'"\xe9"'),
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_hostile_json_is_refused_whole(served: Served, body: bytes) -> None:
    """P16: RecursionError, ValueError, UnicodeDecodeError and the like all end in a 400, of which nothing is taken."""
    answer = post_json(served, body)

    assert (answer.status, answer.code, served.sink.items) == (400, Code.INVALID_ARGUMENT, 0)
    assert served.refused(RefusalReason.UNDECODABLE) == 1
    assert served.counts.value("lanewatch_spans_received") == 0
    assert post_json(served, one_span()).status == 200


@pytest.mark.parametrize("body", REJECTED.values(), ids=REJECTED)
def test_hostile_json_within_a_span_costs_it_alone(served: Served, body: bytes) -> None:
    """P16: where the shape of the request is sound, the span that can't be read is rejected, not the request."""
    answer = post_json(served, body)

    assert (answer.status, answer.rejected, served.sink.items) == (200, 1, 0)
    assert served.counts.value("lanewatch_spans_rejected", RejectReason.UNDECODABLE_SPAN) == 1
    assert served.refused(RefusalReason.INTERNAL) == 0
    assert post_json(served, one_span()).status == 200


@pytest.mark.parametrize(
    ("escape", "name"),
    [(b"\\ud800", "\ufffd"), (b"a\\u0000b", "a\0b")],
    ids=["a lone surrogate", "a NUL"],
)
def test_odd_characters_are_read(served: Served, escape: bytes, name: str) -> None:
    """P16: half a surrogate pair becomes U+FFFD, which every consumer can write; NUL is a character like any other."""
    post_json(served, one_span().replace(b'"name": "chat"', b'"name": "' + escape + b'"'))

    assert only_span(served).name == name


@pytest.mark.parametrize(
    "body",
    [b"", b'{"resourceSpans": [{"resource": null, "scopeSpans": [{"scope": null, "spans": null}]}]}'],
    ids=["nothing", "nulls"],
)
def test_json_of_nothing_is_an_empty_request(served: Served, body: bytes) -> None:
    """P1, P16: null stands for a field that is not there, and no bytes for a message without fields."""
    answer = post_json(served, body)

    assert (answer.status, answer.partial, served.sink.items) == (200, False, 0)


def nested(depth: int) -> bytes:
    """An ExportTraceServiceRequest with one value nested so deep, alternately in arrays and in maps."""
    value = AnyValue(string_value="core").SerializeToString()
    for level in range(depth):
        if level % 2:
            entry = field(1, b"k") + field(2, value)
            value = field(6, field(1, entry))
        else:
            value = field(5, field(1, value))
    attribute = field(1, b"gen_ai.deep") + field(2, value)
    raw = span().SerializeToString() + field(9, attribute)
    return field(1, field(2, field(2, raw)))


def field(number: int, value: bytes) -> bytes:
    """A length-delimited protobuf field."""
    length, size = len(value), b""
    while length > 0x7F:
        size += bytes([length & 0x7F | 0x80])
        length >>= 7
    return bytes([number << 3 | 2]) + size + bytes([length]) + value


@pytest.mark.parametrize("via", [Via.HTTP_PROTOBUF, Via.GRPC])
@pytest.mark.parametrize("depth", [31, 32, 33, 99, 100, 101, 10_000])
def test_a_deep_value_is_cut_and_costs_nothing_else(served: Served, via: Via, depth: int) -> None:
    """P17: 32 levels are kept, and what is nested deeper says so in its place; never a RecursionError."""
    raw = nested(depth)
    answer = call(served, raw) if via is Via.GRPC else post(served, raw)

    assert (answer.code, answer.rejected) == (OK, 0)
    value = only_span(served).attributes["gen_ai.deep"]
    for level in reversed(range(depth - min(depth, 32), depth)):
        value = value["k"] if level % 2 else value[0]
    assert value == ("core" if depth <= 32 else "<too deep>")


@pytest.mark.parametrize("via", [Via.HTTP_PROTOBUF, Via.GRPC])
def test_fields_of_profiles_are_treated_as_absent(served: Served, via: Via) -> None:
    """P18: string_value_strindex and key_strindex mean nothing outside profiles; the span is kept."""
    odd = span(
        attributes=[
            text("gen_ai.operation.name", "chat"),
            KeyValue(key="gen_ai.x", value=AnyValue(string_value_strindex=7)),
            KeyValue(key_strindex=9, value=AnyValue(int_value=1)),
        ]
    )
    answer = send(served, via, traces(odd))

    assert (answer.code, answer.partial) == (OK, False)
    assert only_span(served).attributes.get("gen_ai.x") is None


@pytest.mark.parametrize("via", Via)
def test_every_kind_of_value_is_taken(served: Served, via: Via) -> None:
    """P19: consumers must, since 1.9.0."""
    values: dict[str, tuple[AnyValue, object]] = {
        "nothing": (AnyValue(), None),
        "empty text": (AnyValue(string_value=""), ""),
        "zero": (AnyValue(int_value=0), 0),
        "bytes": (AnyValue(bytes_value=b"\x00\xff"), b"\x00\xff"),
        "mixed": (
            AnyValue(array_value=ArrayValue(values=[AnyValue(int_value=1), AnyValue(string_value="a")])),
            [1, "a"],
        ),
        "map": (AnyValue(kvlist_value=KeyValueList(values=[text("k", "v")])), {"k": "v"}),
        "empty map": (AnyValue(kvlist_value=KeyValueList()), {}),
    }
    attributes = [KeyValue(key=key, value=value) for key, (value, _) in values.items()]
    answer = send(served, via, traces(span(attributes=[text("gen_ai.operation.name", "chat"), *attributes])))

    assert (answer.code, answer.partial) == (OK, False)
    got = only_span(served).attributes
    assert {key: got[key] for key in values} == {key: expected for key, (_, expected) in values.items()}


BAD_IDS: dict[str, dict[str, bytes]] = {
    "trace id of zeros": {"trace_id": bytes(16)},
    "no trace id": {"trace_id": b""},
    "trace id of 8": {"trace_id": b"t" * 8},
    "trace id of 15": {"trace_id": b"t" * 15},
    "trace id of 17": {"trace_id": b"t" * 17},
    "span id of zeros": {"span_id": bytes(8)},
    "no span id": {"span_id": b""},
    "span id of 7": {"span_id": b"s" * 7},
    "span id of 16": {"span_id": b"s" * 16},
}


@pytest.mark.parametrize("via", Via)
@pytest.mark.parametrize("relevant", [True, False])
@pytest.mark.parametrize("ids", BAD_IDS.values(), ids=BAD_IDS)
def test_a_span_with_a_bad_id_is_rejected_alone(
    served: Served, via: Via, relevant: bool, ids: dict[str, bytes]
) -> None:
    """S1: the rest is kept, whether a convention knows the spans or not."""
    shared: dict[str, Any] = {} if relevant else {"attributes": []}
    scope = "openai" if relevant else "urllib3"
    answer = send(served, via, traces(span(1, **shared), span(2, **shared, **ids), span(3, **shared), scope=scope))

    reason = RejectReason.INVALID_TRACE_ID if "trace_id" in ids else RejectReason.INVALID_SPAN_ID
    assert (answer.code, answer.rejected) == (OK, 1)
    assert served.counts.value("lanewatch_spans_rejected", reason) == 1
    assert served.sink.items == 2


@pytest.mark.parametrize("via", Via)
@pytest.mark.parametrize("parent", [b"p", b"p" * 9, (1).to_bytes(8, "big")], ids=["short", "long", "itself"])
def test_a_parent_that_can_not_be_is_left_out(served: Served, via: Via, parent: bytes) -> None:
    """S2: the span is kept as if it had none, and the link is counted."""
    answer = send(served, via, traces(span(1, parent_span_id=parent)))

    assert (answer.code, answer.partial) == (OK, False)
    assert only_span(served).parent_id == b""
    assert served.counts.value("lanewatch_malformed_links") == 1


@pytest.mark.parametrize("via", Via)
@pytest.mark.parametrize(
    ("start", "end"), [(EPOCH_NS, EPOCH_NS - 1), (0, 0), (0, EPOCH_NS), (2**64 - 1, 2**64 - 1), (2**63, 1)]
)
def test_odd_times_are_kept_as_they_came(served: Served, via: Via, start: int, end: int) -> None:
    """S3: whoever subtracts them decides what that means; nothing is rejected for a clock."""
    answer = send(served, via, traces(span(1, start_time_unix_nano=start, end_time_unix_nano=end)))

    assert (answer.code, answer.partial) == (OK, False)
    assert (only_span(served).start_ns, only_span(served).end_ns) == (start, end)
