"""OTLP/JSON gives what protobuf gives for the same content, and nothing in it raises anything but `Undecodable`."""

import random
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.collector.decode import DecodeLimits, Undecodable, decode_protobuf
from lanewatch.collector.decode_json import decode_json
from lanewatch.collector.relevance import Relevance
from lanewatch.collector.skeleton_groups import Skeleton, Skeletons
from lanewatch.collector.spans import Decoded, RejectReason, Signal
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.trace.v1 import trace_pb2

from tests.collector.plain_decoder import (
    ALL,
    SPAN_ID,
    TRACE_ID,
    as_json,
    captured,
    log,
    log_records,
    logs,
    pair,
    plain_traces,
    span,
    spans,
    traces,
    without_sizes,
)

LIMITS = DecodeLimits()
NONE = Relevance()
SMALL = DecodeLimits(
    max_spans_per_request=5, max_attributes=4, max_depth=3, max_value_bytes=10, max_events=2, max_links=2
)
IDS = {"traceId": TRACE_ID.hex(), "spanId": SPAN_ID.hex()}


def decode(body: bytes, relevance: Relevance = ALL, limits: DecodeLimits = LIMITS) -> Decoded:
    """A trace request."""
    return decode_json(body, Signal.TRACES, relevance, limits)


def document(*items: Any) -> bytes:
    """A trace request of these spans: objects, or JSON text."""
    encoded = [msgspec.Raw(item) if isinstance(item, bytes) else item for item in items]
    return msgspec.json.encode({"resourceSpans": [{"scopeSpans": [{"spans": encoded}]}]})


def attribute(value: Any) -> dict[str, Any]:
    """A span with one attribute `k` of this AnyValue."""
    return {**IDS, "attributes": [{"key": "k", "value": value}]}


def test_a_trace_state_is_kept_where_it_tells_of_sampling() -> None:
    """One that is no text spoils nothing."""
    written: list[Any] = ["ot=th:8", "vendor=1", 5, None]
    found = decode(document(*({**IDS, "traceState": one} for one in written)))

    assert [one.trace_state for one in found.spans] == ["ot=th:8", "", "", ""]


class TestSameAsProtobuf:
    @given(st.lists(spans, max_size=3), st.booleans())
    def test_generated_requests(self, items: list[trace_pb2.Span], upper: bool) -> None:
        """Every field and kind of value; ids in either case."""
        body = traces(*items)
        expected = without_sizes(decode_protobuf(body, Signal.TRACES, ALL, LIMITS))

        assert without_sizes(decode(as_json(body, upper=upper))) == expected

    @given(st.lists(spans, max_size=3))
    def test_skeletons(self, items: list[trace_pb2.Span]) -> None:
        """Spans that nobody knows."""
        body = traces(*items)

        assert decode(as_json(body), NONE) == decode_protobuf(body, Signal.TRACES, NONE, LIMITS)

    @given(st.lists(log_records, max_size=3))
    def test_generated_log_records(self, items: list[Any]) -> None:
        """Bodies of every kind."""
        body = logs(*items)
        expected = without_sizes(decode_protobuf(body, Signal.LOGS, ALL, LIMITS))
        decoded = decode_json(as_json(body, ExportLogsServiceRequest), Signal.LOGS, ALL, LIMITS)

        assert without_sizes(decoded) == expected

    @pytest.mark.parametrize("stack", ["openai_oi", "langfuse", "strands", "google-adk"])
    def test_recorded_requests(self, stack: str) -> None:
        """Real content, among it JSON in strings in JSON."""
        for body in captured(stack):
            decoded = without_sizes(decode(as_json(body)))

            assert decoded.spans == plain_traces(body)

    def test_what_is_over_a_limit_is_cut_and_counted_alike(self) -> None:
        """One table of limits, one meaning."""
        item = span(
            name="n" * 11,
            attributes=[
                pair("t", "123456789äbc"),
                pair("b", bytes(11)),
                pair("d", {"a": [[1, {"b": 2}, [3]]]}),
                pair("t", 2),
                *(pair(f"k{i}", i) for i in range(9)),
            ],
            events=[trace_pb2.Span.Event(name="e", dropped_attributes_count=10)] * 5,
            links=[trace_pb2.Span.Link(trace_id=TRACE_ID, span_id=SPAN_ID), trace_pb2.Span.Link()],
            dropped_events_count=100,
        )
        body = traces(*[item] * 7)
        for limits in (SMALL, DecodeLimits(max_values=100)):
            expected = without_sizes(decode_protobuf(body, Signal.TRACES, ALL, limits))

            assert without_sizes(decode(as_json(body), ALL, limits)) == expected
            assert expected.spans[-1].dropped_attributes > 100

    def test_invalid_ids_and_parents_are_counted_alike(self) -> None:
        """Under the same reasons."""
        body = traces(
            span(trace_id=b"1" * 15),
            span(span_id=bytes(8)),
            span(parent_span_id=b"short"),
            span(parent_span_id=SPAN_ID),
            span(parent_span_id=bytes(8)),
        )
        for relevance in (ALL, NONE):
            expected = without_sizes(decode_protobuf(body, Signal.TRACES, relevance, LIMITS))

            assert without_sizes(decode(as_json(body), relevance)) == expected
            assert expected.malformed_links == 2


class TestForms:
    def test_the_recorded_json_exporter(self) -> None:
        """JavaScript's: numbers as numbers, zero counts and empty lists written out."""
        for body in captured("vercel-ai-json"):
            decoded = decode(body, Relevance((b"ai.", b"gen_ai.")))

            assert decoded.spans
            assert (len(decoded.skeletons), decoded.rejected) == (0, {})
            assert all(
                each.attributes and each.resource.service and each.end_ns > each.start_ns for each in decoded.spans
            )

    @pytest.mark.parametrize("body", [b"", b"{}", b'{"resourceSpans":[]}', b'{"resourceSpans":null}', b' { "x": 1 } '])
    def test_a_request_without_spans_is_empty(self, body: bytes) -> None:
        """An empty body too: in protobuf it is the same request."""
        assert decode(body) == Decoded([], Skeletons(), [], 0, {})

    def test_null_is_absent_and_unknown_members_are_ignored_at_every_level(self) -> None:
        """OTLP/JSON: receivers must ignore unknown fields; snake_case names are unknown."""
        nothing = {"attributes": None, "events": None, "links": None, "status": None, "name": None, "kind": None}
        item = {**IDS, **nothing, "parentSpanId": None, "start_time_unix_nano": 7, "new": {"deep": [1]}}
        body = msgspec.json.encode(
            {
                "new": 1,
                "resourceSpans": [
                    {"resource": None, "scopeSpans": None},
                    {
                        "resource": {"new": 1, "attributes": [{"key": "a", "value": None, "new": 1}, {}]},
                        "schemaUrl": None,
                        "scopeSpans": [{"scope": None, "spans": None}, {"spans": [item], "new": []}],
                    },
                ],
            }
        )
        (kept,) = decode(body).spans

        assert (kept.start_ns, kept.attributes, kept.events, kept.name) == (0, {}, (), "")
        assert kept.resource.attributes == {"a": None, "": None}

    @pytest.mark.parametrize(("value", "expected"), [(5, 5), ("5", 5), (2.0**53, 2**53), (str(2**64 - 1), 2**64 - 1)])
    def test_64_bit_integers_are_numbers_or_strings(self, value: Any, expected: int) -> None:
        """Writers should use strings; readers must take both."""
        item = {**IDS, "startTimeUnixNano": value}

        assert decode(document(item)).spans[0].start_ns == expected
        assert next(iter(decode(document(item), NONE).skeletons)).start_ns == expected

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ({"doubleValue": 1}, 1.0),
            ({"doubleValue": "1.5"}, 1.5),
            ({"doubleValue": "-Infinity"}, float("-inf")),
            ({"intValue": "-9223372036854775808"}, -(2**63)),
            ({"bytesValue": "_-8="}, b"\xff\xef"),
            ({"bytesValue": "/+8"}, b"\xff\xef"),
            ({"arrayValue": {}}, []),
            ({"kvlistValue": {"values": None}}, {}),
            ({"stringValue": None, "boolValue": False}, False),
            ({"new": 1}, None),
        ],
    )
    def test_values_in_all_their_spellings(self, value: Any, expected: Any) -> None:
        """Protobuf's JSON mapping."""
        (kept,) = decode(document(attribute(value))).spans

        assert kept.attributes == {"k": expected}
        assert type(kept.attributes["k"]) is type(expected)

    def test_halves_of_a_surrogate_pair_become_replacement_characters(self) -> None:
        """JavaScript's limits cut text in the middle of an emoji; that must cost neither the span nor an exception."""
        cases = {
            r"cut \ud83d": "cut �",
            r"\uDE42\uD83D\ude42\uD83D": "�🙂�",
            r"\ud83d\ud83d\ude42": "�🙂",
            r"\\ud83d": r"\ud83d",
            r"\\\ud83d": "\\�",
            r"\ud83d\\ude42": r"�\ude42",
        }
        for escaped, expected in cases.items():
            body = document(attribute({"stringValue": "@"}), IDS).replace(b"@", escaped.encode())

            assert [each.attributes for each in decode(body).spans] == [{"k": expected}, {}]
            assert len(decode(body, NONE).skeletons) == 2


class TestRejectedAlone:
    @pytest.mark.parametrize("relevance", [ALL, NONE])
    @pytest.mark.parametrize(
        ("trace_id", "span_id", "reason"),
        [
            ("5b8efff798038103d269b633813fc60", IDS["spanId"], RejectReason.INVALID_TRACE_ID),
            (" 5b8efff798038103d269b633813fc60", IDS["spanId"], RejectReason.INVALID_TRACE_ID),
            ("5b 8e ff f7 98 03 81 03 d2 69 b6", IDS["spanId"], RejectReason.INVALID_TRACE_ID),
            ("W47/95gDgQPSabYzgT/GDA==", IDS["spanId"], RejectReason.INVALID_TRACE_ID),
            (IDS["spanId"], IDS["spanId"], RejectReason.INVALID_TRACE_ID),
            ("0" * 32, IDS["spanId"], RejectReason.INVALID_TRACE_ID),
            (5, IDS["spanId"], RejectReason.INVALID_TRACE_ID),
            (None, IDS["spanId"], RejectReason.INVALID_TRACE_ID),
            (IDS["traceId"], IDS["traceId"], RejectReason.INVALID_SPAN_ID),
            (IDS["traceId"], "eee19b7ec3c1b17g", RejectReason.INVALID_SPAN_ID),
            (IDS["traceId"], "eee19b7ec3c1b17٣", RejectReason.INVALID_SPAN_ID),
            (IDS["traceId"], "eee19b7ec3c1b174\n", RejectReason.INVALID_SPAN_ID),
        ],
    )
    def test_ids_are_hex_of_the_right_length_and_nothing_else(
        self, relevance: Relevance, trace_id: Any, span_id: Any, reason: RejectReason
    ) -> None:
        """No base64, no blanks, as bytes.fromhex would allow them."""
        decoded = decode(document(IDS, {"traceId": trace_id, "spanId": span_id}), relevance)

        assert decoded.rejected == {reason: 1}
        assert len(decoded.spans) + len(decoded.skeletons) == 1

    @pytest.mark.parametrize(
        "item",
        [
            b"null",
            b"5",
            b"[]",
            {**IDS, "kind": "SPAN_KIND_SERVER"},
            {**IDS, "kind": True},
            {**IDS, "kind": 2**31},
            {**IDS, "status": {"code": "STATUS_CODE_OK"}},
            {**IDS, "name": 5},
            {**IDS, "startTimeUnixNano": -1},
            {**IDS, "startTimeUnixNano": "1_0"},
            {**IDS, "startTimeUnixNano": " 1"},
            {**IDS, "startTimeUnixNano": "٣"},
            {**IDS, "startTimeUnixNano": 2**64},
            {**IDS, "startTimeUnixNano": 0.5},
            {**IDS, "droppedAttributesCount": 2**32},
            {**IDS, "attributes": {}},
            {**IDS, "attributes": [None]},
            {**IDS, "attributes": [{"key": 5}]},
            {**IDS, "events": ["e"]},
            {**IDS, "links": [[]]},
            attribute("text"),
            attribute({"stringValue": 5}),
            attribute({"boolValue": "true"}),
            attribute({"boolValue": 1}),
            attribute({"intValue": True}),
            attribute({"intValue": "0x10"}),
            attribute({"intValue": 2**63}),
            attribute({"intValue": "9" * 20}),
            attribute({"doubleValue": "nan"}),
            attribute({"doubleValue": "1e999"}),
            attribute({"doubleValue": True}),
            attribute({"bytesValue": "a"}),
            attribute({"bytesValue": "ä"}),
            attribute({"arrayValue": []}),
            attribute({"kvlistValue": {"values": {}}}),
            attribute({"stringValue": "a", "intValue": 1}),
        ],
        ids=lambda item: str(item)[-40:],
    )
    def test_a_member_of_the_wrong_type_rejects_its_span_alone(self, item: Any) -> None:
        """Enums by name among them, which OTLP/JSON forbids."""
        decoded = decode(document(IDS, item, IDS))

        assert len(decoded.spans) == 2
        assert decoded.rejected == {RejectReason.UNDECODABLE_SPAN: 1}

    @pytest.mark.parametrize(
        "value",
        [
            b"1e999",
            b"-1e999",
            b"1" * 5000,
            b"1" * 400,
            b'"\xff"',
            b'{"intValue":1,"intValue":2}',
            b'{"x":{"y":1,"y":2}}',
        ],
        ids=lambda value: repr(value)[:20],
    )
    def test_what_json_libraries_let_pass_rejects_its_span_alone(self, value: bytes) -> None:
        """Infinite, endless, no UTF-8, or twice: where the last one won, an attribute would be lost in silence."""
        item = document(attribute({"doubleValue": "@"}))
        bad = item.replace(b'{"doubleValue":"@"}', value if value.startswith(b"{") else b'{"doubleValue":%b}' % value)
        body = bad.replace(b'"spans":[', b'"spans":[' + msgspec.json.encode(IDS) + b",")
        decoded = decode(body)

        assert len(decoded.spans) == 1
        assert decoded.rejected == {RejectReason.UNDECODABLE_SPAN: 1}

    @pytest.mark.parametrize("member", ["resource", "scope"])
    def test_spans_that_share_an_unreadable_resource_or_scope_are_rejected(self, member: str) -> None:
        """As in protobuf."""
        block: dict[str, Any] = {"scopeSpans": [{"spans": [IDS, IDS]}]}
        (block if member == "resource" else block["scopeSpans"][0])[member] = {"attributes": 5}
        body = msgspec.json.encode({"resourceSpans": [block, {"scopeSpans": [{"spans": [IDS]}]}]})
        decoded = decode(body)

        assert len(decoded.spans) == 1
        assert decoded.rejected == {RejectReason.UNDECODABLE_RESOURCE: 2}

    def test_logs_have_their_own_reason(self) -> None:
        """And the ids of log records are checked as in protobuf."""
        body = as_json(logs(log(), log(trace_id=b""), log(trace_id=b"x"), log(span_id=b"x")), ExportLogsServiceRequest)
        body = body.replace(b'"logRecords":[', b'"logRecords":[{"traceId":"%b","body":5},' % TRACE_ID.hex().encode())
        decoded = decode_json(body, Signal.LOGS, ALL, LIMITS)

        assert (len(decoded.logs), decoded.unrelated_logs, decoded.malformed_links) == (2, 1, 1)
        assert decoded.rejected == {RejectReason.UNDECODABLE_LOG: 1, RejectReason.INVALID_TRACE_ID: 1}


class TestUndecodable:
    @pytest.mark.parametrize(
        "body",
        [
            b"secret",
            b"[]",
            b"5",
            b"null",
            b" ",
            b'{"resourceSpans":5}',
            b'{"resourceSpans":[null]}',
            b'{"resourceSpans":[{"scopeSpans":[{"spans":[{]}]}]}',
            b'{"resourceSpans":[]} x',
            b'{"resourceSpans":[{"schemaUrl":5}]}',
            b'{"resourceSpans":[{"schemaUrl":"\xff"}]}',
            b'{"x":NaN}',
            b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
            b'{"resourceSpans":' + b"[" * 100_000,
            document(IDS).decode().encode("utf-16"),
            b"\xef\xbb\xbf" + document(IDS),
        ],
        ids=lambda body: repr(body)[:40],
    )
    def test_a_body_that_is_no_request_is_undecodable_and_not_quoted(self, body: bytes) -> None:
        """Whatever the JSON library raises; the error says nothing of the content."""
        for relevance in (ALL, NONE):
            with pytest.raises(
                Undecodable, match=r"^malformed JSON, or not the shape of an export request for traces$"
            ):
                decode(body, relevance)

    @pytest.mark.parametrize(
        "body",
        [
            b'{"resourceSpans":[%b],"resourceSpans":[]}',
            b'{"resourceSpans":[%b],"resource\\u0053pans":[]}',
            b'{"resourceSpans":[{"resource":{},"resource":{},"scopeSpans":[]},%b]}',
            b'{"resourceSpans":[%b,{"scopeSpans":[{"spans":[{}]}],"scopeSpans":[]}]}',
            b'{"resourceSpans":[%b,{"scopeSpans":[{"spans":[{}],"spans":null}]}]}',
            b'{"resourceSpans":[%b,{"scopeSpans":[{"scope":{},"scope":{}}]}]}',
            b'{"resourceSpans":[%b,{"schemaUrl":"a","schemaUrl":"b"}]}',
            b'{"resourceSpans":[%b,{"scopeSpans":[{"spans":[{"\\u0061":1,"a":1}]}]}]}',
        ],
    )
    def test_a_member_twice_around_the_spans_is_undecodable(self, body: bytes) -> None:
        """JSON libraries keep the last one, and the spans of the first would vanish in silence."""
        block = msgspec.json.encode({"scopeSpans": [{"spans": [IDS]}]})

        for relevance in (ALL, NONE):
            with pytest.raises(Undecodable):
                decode(body % block, relevance)

    def test_the_names_of_members_may_stand_in_the_content(self) -> None:
        """What looks like a member twice is looked at again before it is refused."""
        named = {**IDS, "name": "spans", "attributes": [{"key": "resource", "value": {"stringValue": "scope"}}]}

        assert [each.name for each in decode(document(named)).spans] == ["spans"]

    def test_deep_values_are_marked(self) -> None:
        """As in protobuf, to the depth that Python's stack allows."""
        for levels in (32, 33, 200):
            deep: Any = {"stringValue": "bottom"}
            for _ in range(levels):
                deep = {"arrayValue": {"values": [deep]}}
            value = decode(document(attribute(deep))).spans[0].attributes["k"]
            while isinstance(value, list):
                (value,) = value

            assert value == ("bottom" if levels == 32 else "<too deep>")

    @pytest.mark.parametrize("levels", [500, 1_500, 9_000])
    def test_no_depth_raises_anything_else(self, levels: int) -> None:
        """How deep C code may recurse differs between Python's versions: the span is rejected, or the whole request."""
        item = {**IDS, "attributes": "@"}
        body = document(item, IDS).replace(b'"@"', b"[" * levels + b"]" * levels)
        for relevance in (ALL, NONE):
            try:
                decoded = decode(body, relevance)
            except Undecodable:
                continue

            assert len(decoded.spans) + len(decoded.skeletons) + sum(decoded.rejected.values()) == 2
            assert len(decoded.spans) + len(decoded.skeletons) == (1 if relevance is ALL else 2)

    @pytest.mark.parametrize("signal", Signal)
    @given(st.binary(max_size=60) | st.text('{}[]":,resourcSpan0', max_size=60).map(str.encode))
    def test_random_bytes_raise_nothing_but_undecodable(self, signal: Signal, body: bytes) -> None:
        """Whatever comes in through the port."""
        for relevance in (ALL, NONE):
            try:
                decode_json(body, signal, relevance, LIMITS)
            except Undecodable:
                continue

    @pytest.mark.parametrize("relevance", [ALL, NONE])
    def test_ten_thousand_mutations_raise_nothing_but_undecodable(self, relevance: Relevance) -> None:
        """And every id that is kept is valid."""
        seeded = random.Random(11)
        bodies = [as_json(body) for body in captured("openai_oi")[:6]]
        for _ in range(5_000):
            raw = bytearray(seeded.choice(bodies))
            for _ in range(seeded.randrange(1, 4)):
                at = seeded.randrange(len(raw))
                if seeded.random() < 0.5:
                    raw[at] = seeded.choice(b'{}[]":,\\x0e1\xff')
                else:
                    del raw[at : at + seeded.choice((1, 1, 20))]
            try:
                decoded = decode(bytes(raw), relevance)
            except Undecodable:
                continue
            kept = [(each.trace_id, each.span_id) for each in decoded.spans]
            kept += [(each.trace_id, each.span_id) for each in decoded.skeletons]

            assert all(len(trace) == 16 and any(trace) and len(own) == 8 and any(own) for trace, own in kept)

    def test_far_more_elements_than_a_request_can_have_are_refused(self) -> None:
        """Before they are made: two bytes of JSON would be 56 in memory."""
        limits = DecodeLimits(max_values=1000)

        with pytest.raises(Undecodable, match="elements"):
            decode(document(*[b"0"] * 5000), ALL, limits)
        assert len(decode(document(*[IDS] * 100), ALL, limits).spans) == 100

    def test_a_span_of_more_arrays_than_the_limit_is_rejected(self) -> None:
        """An empty array takes 56 bytes in memory."""
        crowded = {**IDS, "x": [[]] * 5000}
        limits = DecodeLimits(max_values=4000, max_item_values=4000)
        body = document(crowded, IDS, {**IDS, "x": "y" * 90_000})
        decoded = decode(body, ALL, limits)

        assert len(decoded.spans) == 2
        assert decoded.rejected == {RejectReason.UNDECODABLE_SPAN: 1}


HOSTILE = r"""
import resource, sys
from lanewatch.collector.decode import DecodeLimits, Undecodable
from lanewatch.collector.decode_json import decode_json
from lanewatch.collector.relevance import Relevance
from lanewatch.collector.spans import Signal

N = 1 << 21
ids = b'"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174",'
spans = {
    "numbers": b"0," * N + b"0",
    "objects": b"{}," * N + b"{}",
    "arrays": b'{' + ids + b'"x":[' + b"[]," * N + b"[]]}",
    "attributes": b'{' + ids + b'"attributes":[' + b"{}," * N + b"{}]}",
    "twice": b'{"x":' + b"[" * 500 + b'"",' * N + b'""' + b"]" * 500 + b'},{"a":"spans","a":"spans"}',
}
body = b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + spans[sys.argv[1]] + b"]}]}]}"
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    decode_json(body, Signal.TRACES, Relevance(scopes=("",)), DecodeLimits())
except Undecodable:
    pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


@pytest.mark.parametrize("crowd", ["numbers", "objects", "arrays", "attributes", "twice"])
def test_millions_of_empty_elements_cost_little_more_memory_than_their_bytes(crowd: str) -> None:
    """Two million of them in 4 to 6 MiB would be 100 MiB and more of objects."""
    run = subprocess.run([sys.executable, "-c", HOSTILE, crowd], capture_output=True, text=True, check=True)

    assert int(run.stdout) < 40


def test_a_skeleton_needs_no_more_than_ids_and_times() -> None:
    """What is in the rest of an irrelevant span is not looked at."""
    raw = b'{"traceId":"%b","spanId":"%b","endTimeUnixNano":"9","attributes":5,"name":{}}'

    decoded = decode(document(raw % (TRACE_ID.hex().encode(), SPAN_ID.hex().encode())), NONE)

    assert list(decoded.skeletons) == [Skeleton(TRACE_ID, SPAN_ID, b"", 0, 9)]
