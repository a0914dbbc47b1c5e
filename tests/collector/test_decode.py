"""Protobuf requests become spans and log records, exactly, item by item, within the limits, whatever the bytes."""

import gc
import os
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lanewatch.collector.decode import DecodeLimits, Undecodable, decode_protobuf
from lanewatch.collector.relevance import Relevance
from lanewatch.collector.skeleton_groups import Skeleton, Skeletons
from lanewatch.collector.spans import Decoded, Event, RejectReason, Signal, Span
from lanewatch.collector.values import LONGEST_KEY, MOST_KEYS, Keys
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from tests.collector.plain_decoder import (
    ALL,
    SPAN_ID,
    START,
    TRACE_ID,
    any_value,
    captured,
    log,
    log_records,
    logs,
    pair,
    plain_logs,
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


def decode(body: bytes, relevance: Relevance = ALL, limits: DecodeLimits = LIMITS) -> Decoded:
    """A trace request; conservation holds each time."""
    decoded = decode_protobuf(body, Signal.TRACES, relevance, limits)
    n_items = sum(
        len(part.spans)
        for block in ExportTraceServiceRequest.FromString(body).resource_spans
        for part in block.scope_spans
    )

    assert len(decoded.spans) + len(decoded.skeletons) + sum(decoded.rejected.values()) == n_items
    return decoded


def wire_field(number: int, payload: bytes | int, *, fixed: int = 0) -> bytes:
    """One field in protobuf's encoding: length-delimited, a varint, or fixed of so many bytes."""
    if isinstance(payload, bytes):
        return varint(number << 3 | 2) + varint(len(payload)) + payload
    if fixed:
        return varint(number << 3 | (1 if fixed == 8 else 5)) + payload.to_bytes(fixed, "little")
    return varint(number << 3) + varint(payload)


def varint(value: int) -> bytes:
    """A varint."""
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def request_of(*items: bytes) -> bytes:
    """A request of these encoded spans, whatever they are."""
    part = wire_field(1, wire_field(1, b"scope")) + b"".join(wire_field(2, item) for item in items)
    return wire_field(1, wire_field(2, part))


def split(body: bytes, relevance: Relevance = ALL, limits: DecodeLimits = LIMITS) -> Decoded:
    """A request with spans that opentelemetry-proto may refuse."""
    return decode_protobuf(body, Signal.TRACES, relevance, limits)


class TestSpans:
    @given(st.lists(spans, max_size=4))
    def test_a_request_comes_out_as_the_plain_decoder_says(self, items: list[trace_pb2.Span]) -> None:
        """Every field, every kind of value, nested and mixed."""
        body = traces(*items)

        assert without_sizes(decode(body)).spans == plain_traces(body)

    @pytest.mark.parametrize("stack", ["openai_oi", "langfuse", "strands", "google-adk", "openai-v2-latest"])
    def test_recorded_requests_come_out_as_the_plain_decoder_says(self, stack: str) -> None:
        """Real exporters' bytes, all of them, none rejected."""
        for body in captured(stack):
            decoded = decode(body)

            assert without_sizes(decoded).spans == plain_traces(body)
            assert (len(decoded.skeletons), decoded.rejected, decoded.malformed_links) == (0, {}, 0)

    def test_resource_and_scope_are_shared_by_the_spans_of_a_block(self) -> None:
        """They are decoded once, and each span refers to them."""
        one, two = decode(traces(span(), span(span_id=b"12345678"))).spans

        assert one.resource is two.resource
        assert one.scope is two.scope

    @pytest.mark.parametrize(
        ("written", "kept"),
        [
            ("vendor=1,ot=th:8", "vendor=1,ot=th:8"),
            ("vendor=1", ""),
            ("ot=th:8" + "x" * 600, ""),
            ("", ""),
        ],
    )
    def test_a_trace_state_is_kept_where_it_tells_of_sampling(self, written: str, kept: str) -> None:
        """What other vendors put there is not our business, and nobody can fill memory with it."""
        assert decode(traces(span(trace_state=written))).spans[0].trace_state == kept

    def test_an_empty_body_is_an_empty_request(self) -> None:
        """OTLP: such requests succeed."""
        assert decode(b"") == Decoded([], Skeletons(), [], 0, {})

    def test_unknown_fields_and_flag_bits_are_ignored(self) -> None:
        """Readers must not assume that the reserved bits of `flags` are zero (trace.proto)."""
        raw = span(flags=0xFFFFFFFF, name="n").SerializeToString()
        extra = wire_field(100, b"new") + wire_field(101, 7) + wire_field(102, 1, fixed=8) + wire_field(103, 1, fixed=4)

        assert [(each.name, each.kind) for each in split(request_of(extra + raw + extra)).spans] == [("n", 3)]

    def test_values_of_the_profiles_signal_are_absent(self) -> None:
        """`key_strindex` and `string_value_strindex` refer to a table that traces don't have."""
        attributes = [KeyValue(key="a", value=AnyValue(string_value_strindex=3)), KeyValue(key_strindex=4)]

        assert decode(traces(span(attributes=attributes))).spans[0].attributes == {"a": None, "": None}

    def test_of_a_repeated_key_the_first_value_counts(self) -> None:
        """The other is counted as lost; one that says the same is no loss."""
        same = decode(traces(span(attributes=[pair("k", 1), pair("k", 1)]))).spans[0]
        other = decode(traces(span(attributes=[pair("k", 1), pair("k", 2), pair("m", {"x": 1})]))).spans[0]

        assert (same.attributes, same.dropped_attributes) == ({"k": 1}, 0)
        assert (other.attributes, other.dropped_attributes) == ({"k": 1, "m": {"x": 1}}, 1)


class TestIds:
    @pytest.mark.parametrize("relevance", [ALL, NONE])
    @pytest.mark.parametrize(
        ("fields", "reason"),
        [
            *(({"trace_id": bytes([1] * n)}, RejectReason.INVALID_TRACE_ID) for n in (0, 8, 15, 17)),
            *(({"span_id": bytes([1] * n)}, RejectReason.INVALID_SPAN_ID) for n in (0, 7, 9, 16)),
            ({"trace_id": bytes(16)}, RejectReason.INVALID_TRACE_ID),
            ({"span_id": bytes(8)}, RejectReason.INVALID_SPAN_ID),
        ],
    )
    def test_a_span_with_an_invalid_id_is_rejected_alone(
        self, relevance: Relevance, fields: dict[str, bytes], reason: RejectReason
    ) -> None:
        """Its neighbours are kept, whether they are decoded in full or not."""
        decoded = decode(traces(span(), span(**fields), span(span_id=b"12345678")), relevance)

        assert len(decoded.spans) + len(decoded.skeletons) == 2
        assert decoded.rejected == {reason: 1}

    @pytest.mark.parametrize("relevance", [ALL, NONE])
    @pytest.mark.parametrize(
        ("parent_id", "kept", "malformed"),
        [
            (b"", b"", 0),
            (bytes(8), b"", 0),
            (b"87654321", b"87654321", 0),
            (b"1234567", b"", 1),
            (b"123456789", b"", 1),
            (SPAN_ID, b"", 1),
        ],
    )
    def test_a_malformed_parent_is_dropped_and_counted(
        self, relevance: Relevance, parent_id: bytes, kept: bytes, malformed: int
    ) -> None:
        """Wrong length, or the span itself; all zero is how some exporters write a root."""
        decoded = decode(traces(span(parent_span_id=parent_id)), relevance)

        parents = [each.parent_id for each in decoded.spans] + [each.parent_id for each in decoded.skeletons]

        assert parents == [kept]
        assert decoded.malformed_links == malformed

    def test_a_link_to_an_invalid_id_is_dropped_and_counted(self) -> None:
        """Links are followed by id too."""
        links = [{"trace_id": TRACE_ID, "span_id": b"12345678"}, {"trace_id": b"1", "span_id": b"12345678"}]
        decoded = decode(traces(span(links=links)))

        assert [(each.trace_id, each.span_id) for each in decoded.spans[0].links] == [(TRACE_ID, b"12345678")]
        assert decoded.malformed_links == 1


class TestSkeletons:
    @given(spans)
    def test_a_skeleton_is_what_the_span_says(self, item: trace_pb2.Span) -> None:
        """Also with trace state, long or empty names, unknown kinds and times of zero."""
        expected = Skeleton(
            item.trace_id, item.span_id, item.parent_span_id, item.start_time_unix_nano, item.end_time_unix_nano
        )

        assert list(decode(traces(item), NONE).skeletons) == [expected]

    @given(st.permutations(range(9)))
    @example([0, 1, 3, 4, 5, 6, 2, 7, 8])  # the parent behind all that a root's usual place holds
    @example([0, 1, 3, 4, 5, 6, 7, 8, 2])
    def test_fields_may_come_in_any_order(self, order: list[int]) -> None:
        """Protobuf leaves the order to the writer."""
        fields = [
            wire_field(1, TRACE_ID),
            wire_field(2, SPAN_ID),
            wire_field(4, b"87654321"),
            wire_field(5, b"name"),
            wire_field(6, 2),
            wire_field(7, START, fixed=8),
            wire_field(8, START + 5, fixed=8),
            wire_field(9, pair("k", "v").SerializeToString()),
            wire_field(16, 0x101, fixed=4),
        ]
        decoded = decode(request_of(b"".join(fields[i] for i in order)), NONE)

        assert list(decoded.skeletons) == [Skeleton(TRACE_ID, SPAN_ID, b"87654321", START, START + 5)]

    def test_a_span_that_is_no_message_is_rejected_alone(self) -> None:
        """What can't be read at its usual place and is no message either."""
        decoded = split(request_of(b"\xff" * 60, span().SerializeToString(), b"\x0a\x10short"), NONE)

        assert len(decoded.skeletons) == 1
        assert decoded.rejected == {RejectReason.UNDECODABLE_SPAN: 2}


class TestText:
    def test_invalid_utf8_is_kept_with_replacement_characters(self) -> None:
        """Protobuf's runtime would refuse the span, and its neighbours with it."""
        broken = (
            span(name="N", attributes=[pair("K", "V"), pair("list", ["L"]), pair("n", 0)])
            .SerializeToString()
            .replace(b"N", b"\xff")
            .replace(b"K", b"\xfe")
            .replace(b"V", b"\xc3")
            .replace(b"L", b"\xed")
        )
        one, two = split(request_of(broken, span(name="fine").SerializeToString())).spans

        assert (one.name, one.attributes) == ("�", {"�": "�", "list": ["�"], "n": 0})
        assert (two.name, one.dropped_attributes) == ("fine", 0)

    def test_control_characters_and_all_of_unicode_come_through(self) -> None:
        """Nothing is escaped or cut here; whoever prints does that."""
        text = "\0\x1b[31m\u202e🙂\n"

        assert decode(traces(span(name=text, attributes=[pair(text, text)]))).spans[0].attributes == {text: text}


class TestLimits:
    @pytest.mark.parametrize("relevance", [ALL, NONE])
    def test_spans_beyond_the_limit_are_rejected_and_counted(self, relevance: Relevance) -> None:
        """The limit is the request's, not the block's."""
        one, two = traces(*[span()] * 3), traces(*[span()] * 4)
        decoded = decode(one + two, relevance, SMALL)

        assert len(decoded.spans) + len(decoded.skeletons) == 5
        assert decoded.rejected == {RejectReason.TOO_MANY_ITEMS: 2}

    def test_attributes_beyond_the_limit_are_dropped_and_counted(self) -> None:
        """The first ones are kept, and the SDK's own count is added."""
        attributes = [pair(f"k{i}", i) for i in range(10)]
        kept = decode(traces(span(attributes=attributes, dropped_attributes_count=7)), ALL, SMALL).spans[0]

        assert kept.attributes == {"k0": 0, "k1": 1, "k2": 2, "k3": 3}
        assert kept.dropped_attributes == 6 + 7

    def test_long_values_are_cut_on_a_character_and_counted(self) -> None:
        """Ten bytes of a limit: an umlaut that would be cut in two is left out."""
        attributes = [pair("t", "123456789äbc"), pair("b", bytes(11)), pair("l", ["x" * 11, "y" * 10])]
        kept = decode(traces(span(attributes=attributes, name="n" * 11)), ALL, SMALL).spans[0]

        assert kept.attributes == {"t": "123456789", "b": bytes(10), "l": ["x" * 10, "y" * 10]}
        assert kept.name == "n" * 10
        assert kept.dropped_attributes == 4

    def test_a_long_message_is_kept_whole_by_default(self) -> None:
        """Agents' messages are long: up to 1 MiB a value."""
        kept = decode(traces(span(attributes=[pair("a", "x" * (1 << 20)), pair("b", "y" * (1 << 20 | 1))]))).spans[0]

        assert {key: len(value) for key, value in kept.attributes.items()} == {"a": 1 << 20, "b": 1 << 20}
        assert kept.dropped_attributes == 1

    def test_events_and_links_beyond_the_limit_are_dropped_and_counted(self) -> None:
        """With what the SDK dropped of events, since they carry content."""
        events = [trace_pb2.Span.Event(name=f"e{i}", dropped_attributes_count=10) for i in range(5)]
        links = [trace_pb2.Span.Link(trace_id=TRACE_ID, span_id=bytes([i + 1] * 8)) for i in range(6)]
        kept = decode(traces(span(events=events, links=links, dropped_events_count=100)), ALL, SMALL).spans[0]

        assert kept.events == (Event("e0", 0), Event("e1", 0))
        assert len(kept.links) == 2
        assert kept.dropped_attributes == 3 + 4 + 100 + 20

    def test_values_nested_too_deep_are_marked_and_counted(self) -> None:
        """Three levels are kept, what is below becomes a mark; scalars at the border are kept."""
        value = {"a": [[1, {"b": 2}, [3]]]}
        kept = decode(traces(span(attributes=[pair("k", value)])), ALL, SMALL).spans[0]

        assert kept.attributes == {"k": {"a": [[1, "<too deep>", "<too deep>"]]}}
        assert kept.dropped_attributes == 2

    def test_ten_thousand_levels_spoil_neither_the_span_nor_the_stack(self) -> None:
        """Protobuf's runtime refuses what is nested deeper than a hundred messages; a span is more than one value."""
        deep = any_value("bottom").SerializeToString()
        for _ in range(10_000):
            deep = wire_field(5, wire_field(1, deep))
        attribute = wire_field(1, b"k") + wire_field(2, deep)
        raw = span().SerializeToString() + wire_field(9, attribute)
        kept = split(request_of(raw)).spans[0]

        value, levels = kept.attributes["k"], 0
        while isinstance(value, list):
            (value,) = value
            levels += 1
        assert (value, levels, kept.dropped_attributes) == ("<too deep>", 32, 1)

    @pytest.mark.parametrize("value", [[0] * 30, {f"k{i}": 0 for i in range(30)}, [[0, 0]] * 10])
    def test_all_values_of_a_request_together_are_bounded(self, value: Any) -> None:
        """An element of two bytes can take a hundred in memory, so their number is bounded beside the bytes."""
        limits = DecodeLimits(max_values=100)
        decoded = split(traces(*[span(attributes=[pair("k", value)])] * 10), ALL, limits)

        assert len(decoded.spans) == 10
        assert decoded.spans[0].dropped_attributes == 0
        assert sum(map(_count_values, (each.attributes for each in decoded.spans))) <= 100
        assert decoded.spans[-1].dropped_attributes > 0

    def test_one_span_has_less_than_the_whole_request(self) -> None:
        """A span's values are bounded by themselves, and those behind it are still granted theirs."""
        limits = DecodeLimits(max_values=100, max_item_values=40)
        crowded, modest = (span(attributes=[pair("k", [[0] * 9] * n)]) for n in (9, 3))
        decoded = split(traces(crowded, modest, crowded), ALL, limits)

        # What is in a value that is cut isn't counted, as it isn't read.
        assert [_count_values(each.attributes) for each in decoded.spans] == [40, 31, 28]
        assert [each.dropped_attributes > 0 for each in decoded.spans] == [True, False, True]

    @pytest.mark.parametrize(
        "value",
        [
            pytest.param([{"": None}] * 20_000, id="tiny maps"),
            pytest.param([[]] * 20_000, id="empty arrays"),
            pytest.param([0.5] * 20_000, id="numbers"),
            pytest.param("a" * 100_000 + "\N{ROBOT FACE}", id="a text of four bytes a character"),
            pytest.param({f"key {i}": f"value {i}" for i in range(5_000)}, id="a map"),
        ],
    )
    def test_the_size_of_a_span_is_what_it_takes_in_memory(self, value: Any) -> None:
        """The wire says too little by up to a factor of fifty; whoever bounds memory goes by this."""
        bodies = [traces(span(attributes=[pair("k", value)])) for _ in range(2)]
        decode(bodies[0])
        gc.collect()
        tracemalloc.start()
        decoded = decode(bodies[1])
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert 0.8 * held - 5_000 <= decoded.spans[0].size_bytes <= 2.5 * held

    def test_a_small_request_is_granted_fewer_values(self) -> None:
        """Empty ones take two bytes and two microseconds each: a request of 1 MiB must not hold the loop for seconds."""
        kept = decode(traces(span(attributes=[pair("k", [None] * 30_000)]))).spans[0]
        n_kept = len(kept.attributes["k"])

        assert 9_000 < n_kept < 10_000
        assert n_kept + kept.dropped_attributes == 30_000

    def test_a_message_of_more_fields_than_the_limit_is_not_parsed(self) -> None:
        """A span of them is rejected, a value marked, a request undecodable."""
        limits = DecodeLimits(max_values=100, max_item_values=100, max_value_bytes=150)
        crowded = span(attributes=[KeyValue()] * 150).SerializeToString()
        marked = span(attributes=[pair("k", [None] * 150)]).SerializeToString()
        decoded = split(request_of(crowded, marked), ALL, limits)

        assert decoded.rejected == {RejectReason.UNDECODABLE_SPAN: 1}
        assert decoded.spans[0].attributes == {"k": "<too large>"}
        assert decoded.spans[0].dropped_attributes == 1
        with pytest.raises(Undecodable):
            split(request_of(*[b""] * 150), ALL, limits)


class TestKeys:
    """Keys of attributes come again with every span."""

    def test_spans_share_their_keys(self) -> None:
        """One object for all requests: to look through the keys of many spans is to look at the same few."""
        first, second = (decode(traces(span(attributes=[pair("a.key", n)]))).spans[0] for n in range(2))

        assert next(iter(first.attributes)) is next(iter(second.attributes))

    def test_keys_that_are_kept_are_bounded(self) -> None:
        """In number and in length, whatever an application makes up; what is forgotten is right all the same."""
        keys = Keys()
        made_up = [f"key.{n}" for n in range(3 * MOST_KEYS)] + ["x" * (LONGEST_KEY + 1)]

        assert [keys[key] for key in made_up] == made_up
        assert 0 < len(keys) <= MOST_KEYS
        assert max(map(len, keys)) <= LONGEST_KEY


def _count_values(value: Any) -> int:
    inner: Iterable[Any] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(1 + _count_values(each) for each in inner)


class TestDamage:
    def test_a_broken_span_is_rejected_alone(self) -> None:
        """Also where only one of its attributes, events or links is broken."""
        good = span().SerializeToString()
        broken = [
            b"\xff",
            good + wire_field(9, b"\xff"),
            good + wire_field(9, wire_field(1, b"k") + wire_field(2, wire_field(5, b"\xff"))),
            good + wire_field(11, b"\xff"),
            good + wire_field(13, b"\xff"),
            good + b"\x0b",
        ]
        decoded = split(request_of(good, *broken, good))

        assert len(decoded.spans) == 2
        assert decoded.rejected == {RejectReason.UNDECODABLE_SPAN: len(broken)}

    @pytest.mark.parametrize("field", [1, 2])
    def test_spans_that_share_an_unreadable_resource_or_scope_are_rejected(self, field: int) -> None:
        """They can't be told whose they are; the blocks beside them are kept."""
        part = wire_field(1, b"\xff" if field == 2 else b"") + wire_field(2, span().SerializeToString()) * 3
        block = (wire_field(1, b"\xff") if field == 1 else b"") + wire_field(2, part)
        decoded = split(wire_field(1, block) + traces(span()))

        assert len(decoded.spans) == 1
        assert decoded.rejected == {RejectReason.UNDECODABLE_RESOURCE: 3}

    def test_a_body_that_is_no_request_is_undecodable_and_not_quoted(self) -> None:
        """The error says nothing of the content."""
        for body in (b"secret", b"\xff" * 20, b'{"resourceSpans":[]}', traces(span())[:-1]):
            with pytest.raises(Undecodable) as error:
                split(body)

            assert str(error.value) == "malformed protobuf message"

    @pytest.mark.parametrize("relevance", [ALL, NONE])
    def test_a_request_cut_anywhere_is_decoded_or_undecodable(self, relevance: Relevance) -> None:
        """A cut on a field's border is a shorter valid request."""
        body = traces(span(attributes=[pair("k", "v")]), span(span_id=b"12345678")) + traces(span())
        n_decoded = 0
        for end in range(len(body)):
            try:
                decode(body[:end], relevance)
            except Undecodable:
                continue
            n_decoded += 1

        assert n_decoded == 2

    @pytest.mark.parametrize("signal", Signal)
    @given(st.binary(max_size=200))
    def test_random_bytes_raise_nothing_but_undecodable(self, signal: Signal, body: bytes) -> None:
        """Whatever comes in through the port."""
        for relevance in (ALL, NONE):
            try:
                decode_protobuf(body, signal, relevance, LIMITS)
            except Undecodable:
                continue

    @pytest.mark.parametrize("relevance", [ALL, Relevance((b"gen_ai.", b"llm.", b"openinference."))])
    def test_ten_thousand_mutations_of_real_requests_raise_nothing_but_undecodable(self, relevance: Relevance) -> None:
        """What opentelemetry-proto can read is never undecodable, no item is lost, and every id that is kept is valid."""
        seeded = random.Random(7)
        bodies = [body for body in (*captured("openai_oi"), *captured("strands")) if len(body) < 4000]
        for _ in range(5_000):
            body = mutated(seeded.choice(bodies), seeded)
            try:
                decoded = split(body, relevance)
            except Undecodable:
                with pytest.raises(Exception, match="parsing"):
                    ExportTraceServiceRequest.FromString(body)
                continue
            kept: list[Span | Skeleton] = [*decoded.spans, *decoded.skeletons]

            assert all(len(each.trace_id) == 16 and any(each.trace_id) for each in kept)
            assert all(len(each.span_id) == 8 and any(each.span_id) for each in kept)
            assert all(each.parent_id != each.span_id and len(each.parent_id) in {0, 8} for each in kept)
            assert len(kept) + sum(decoded.rejected.values()) == n_items(body)


def mutated(body: bytes, seeded: random.Random) -> bytes:
    """Bytes changed, removed, doubled and inserted, a few times."""
    raw = bytearray(body)
    for _ in range(seeded.randrange(1, 5)):
        at = seeded.randrange(len(raw))
        piece = slice(at, at + seeded.choice((1, 1, 1, 4, 30)))
        match seeded.randrange(4):
            case 0:
                raw[at] = seeded.randrange(256)
            case 1:
                raw[at] ^= 1 << seeded.randrange(8)
            case 2:
                del raw[piece]
            case _:
                raw[at:at] = raw[piece] if seeded.random() < 0.5 else seeded.randbytes(3)
        if not raw:
            break
    return bytes(raw)


def n_items(body: bytes) -> int:
    """How many spans a request holds, by a walk of its own: opentelemetry-proto refuses more bodies than must be."""
    return sum(1 for block in embedded(body, 1) for part in embedded(block, 2) for _ in embedded(part, 2))


def embedded(raw: bytes, number: int) -> list[bytes]:
    """The length-delimited fields of that number."""
    found, at = [], 0
    while at < len(raw):
        tag, at = read_varint(raw, at)
        match tag & 7:
            case 0:
                _, at = read_varint(raw, at)
            case 1:
                at += 8
            case 2:
                length, at = read_varint(raw, at)
                if tag >> 3 == number:
                    found.append(raw[at : at + length])
                at += length
            case 3:
                at = skip_group(raw, at)
            case _:
                at += 4
    return found


def skip_group(raw: bytes, at: int) -> int:
    """Where a group ends."""
    while True:
        tag, at = read_varint(raw, at)
        match tag & 7:
            case 0:
                _, at = read_varint(raw, at)
            case 1:
                at += 8
            case 2:
                length, at = read_varint(raw, at)
                at += length
            case 3:
                at = skip_group(raw, at)
            case 4:
                return at
            case _:
                at += 4


def read_varint(raw: bytes, at: int) -> tuple[int, int]:
    """A varint and where it ends."""
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


class TestLogs:
    @given(st.lists(log_records, max_size=4))
    def test_records_that_name_a_trace_come_out_as_the_plain_decoder_says(self, items: list[Any]) -> None:
        """Every field, and bodies of every kind; the others are counted."""
        body = logs(*items)
        decoded = decode_protobuf(body, Signal.LOGS, ALL, LIMITS)

        assert without_sizes(decoded).logs == plain_logs(body)
        assert decoded.unrelated_logs == len(items) - len(decoded.logs)

    @pytest.mark.parametrize("stack", ["openai-v2-events", "openai-v2-latest-event"])
    def test_recorded_events_come_out_as_the_plain_decoder_says(self, stack: str) -> None:
        """GenAI events of two generations, found by the marker alone."""
        bodies = captured(stack, "logs")
        for body in bodies:
            decoded = decode_protobuf(body, Signal.LOGS, Relevance((b"gen_ai.",)), LIMITS)

            assert without_sizes(decoded).logs == plain_logs(body)
            assert (decoded.rejected, decoded.unrelated_logs) == ({}, 0)
        assert bodies

    @pytest.mark.parametrize(
        ("fields", "name"),
        [
            ({"event_name": "a", "attributes": [pair("event.name", "b")]}, "a"),
            ({"attributes": [pair("event.name", "b")]}, "b"),
            ({"attributes": [pair("event.name", 5)]}, ""),
            ({}, ""),
        ],
    )
    def test_the_event_name_falls_back_to_the_attribute(self, fields: dict[str, Any], name: str) -> None:
        """Up to semantic conventions 1.36 it was the attribute `event.name`."""
        decoded = decode_protobuf(logs(log(**fields)), Signal.LOGS, ALL, LIMITS)

        assert decoded.logs[0].event_name == name

    def test_ids_of_log_records_are_checked(self) -> None:
        """None or zero names no trace; a wrong trace id is rejected, a wrong span id dropped."""
        records = [
            log(trace_id=b""),
            log(trace_id=bytes(16)),
            log(trace_id=b"short"),
            log(span_id=b"short"),
            log(span_id=bytes(8)),
            log(),
        ]
        decoded = decode_protobuf(logs(*records), Signal.LOGS, ALL, LIMITS)

        assert [each.span_id for each in decoded.logs] == [b"", b"", SPAN_ID]
        assert (decoded.unrelated_logs, decoded.malformed_links) == (2, 1)
        assert decoded.rejected == {RejectReason.INVALID_TRACE_ID: 1}

    def test_a_broken_record_is_rejected_alone_and_the_number_is_limited(self) -> None:
        """Under reasons of their own where these tell more."""
        body = request_of(b"\xff", *[log().SerializeToString()] * 6)
        decoded = decode_protobuf(body, Signal.LOGS, ALL, SMALL)

        assert len(decoded.logs) == 4
        assert decoded.rejected == {RejectReason.UNDECODABLE_LOG: 1, RejectReason.TOO_MANY_ITEMS: 2}


def test_another_backend_of_protobuf_is_refused_with_the_remedy() -> None:
    """The pure-Python one recurses without a bound and takes a hundred times as long."""
    environment = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    run = subprocess.run(
        [sys.executable, "-c", "import lanewatch.collector.decode"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 1
    assert "unset PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION" in run.stderr


HOSTILE = r"""
import resource, sys
from lanewatch.collector.decode import DecodeLimits, Undecodable, decode_protobuf
from lanewatch.collector.relevance import Relevance
from lanewatch.collector.spans import Signal

def field(number, raw):
    length, tail = len(raw), b""
    while length > 127:
        tail, length = tail + bytes([length & 127 | 128]), length >> 7
    return bytes([number << 3 | 2]) + tail + bytes([length]) + raw

N = 1 << 22
ids = field(1, b"t" * 16) + field(2, b"s" * 8)
spans = {
    "attributes": ids + bytes([9 << 3 | 2, 0]) * N,
    "events": ids + bytes([11 << 3 | 2, 0]) * N,
    "elements": ids + field(9, field(1, b"k") + field(2, field(5, bytes([1 << 3 | 2, 0]) * N))),
    "group": ids + b"\x0b\x0c" + bytes([9 << 3 | 2, 0]) * N,
    "varint": ids + b"\x80" * N,
}
requests = {"blocks": bytes([1 << 3 | 2, 0]) * N, "spans": field(1, field(2, bytes([2 << 3 | 2, 0]) * N))}
name = sys.argv[1]
body = requests.get(name) or field(1, field(2, field(2, spans[name])))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    decode_protobuf(body, Signal.TRACES, Relevance(scopes=("",)), DecodeLimits())
except Undecodable:
    pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


@pytest.mark.parametrize("crowd", ["blocks", "spans", "attributes", "events", "elements", "group", "varint"])
def test_millions_of_empty_fields_cost_little_more_memory_than_their_bytes(crowd: str) -> None:
    """Four million of them in 8 MiB would be up to 260 MiB of messages; copies of the body are all that is made."""
    run = subprocess.run([sys.executable, "-c", HOSTILE, crowd], capture_output=True, text=True, check=True)

    assert int(run.stdout) < 60
