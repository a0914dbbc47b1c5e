"""Markers are found where a convention puts them, and nowhere by chance."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.collector.decode import DecodeLimits, decode_protobuf
from lanewatch.collector.decode_json import decode_json
from lanewatch.collector.relevance import (
    MENTION_WINDOW_BYTES,
    MOST_MARKERS,
    SHORTEST_MARKER,
    WINDOW_BYTES,
    Relevance,
    searching,
)
from lanewatch.collector.spans import Decoded, Signal
from lanewatch.parts import RELEVANCE

from tests.collector.plain_decoder import as_json, log, logs, pair, span, traces

MARKERS = (b"gen_ai.", b"openinference.", b"gen_ai.event", b"lk.")
PLAIN = [pair("http.request.method", "GET"), pair("gen", 1), pair("open", "gen_a"), pair("not.gen_ai.", "x gen_ai.")]


def decode(body: bytes, relevance: Relevance) -> Decoded:
    """Both encodings of a trace request, which must agree on what is relevant."""
    decoded = decode_protobuf(body, Signal.TRACES, relevance, DecodeLimits())
    from_json = decode_json(as_json(body), Signal.TRACES, relevance, DecodeLimits())

    assert len(decoded.spans) == len(from_json.spans)
    assert decoded.skeletons == from_json.skeletons
    return decoded


@pytest.mark.parametrize(
    "attributes",
    [
        [pair("gen_ai.operation.name", 1)],
        [pair("lk.", 1)],
        [pair("openinference.span.kind", "LLM")],
        [pair("kind", "lk.x")],
        [pair("list", ["a", "gen_ai.system"])],
        [pair("map", {"gen_ai.system": None})],
    ],
)
def test_a_marker_at_the_start_of_a_key_or_value_makes_a_span_relevant(attributes: list[object]) -> None:
    """Keys and string values count at any depth, wherever they stand in the span."""
    decoded = decode(traces(span(attributes=[*PLAIN, *attributes, *PLAIN])), Relevance(MARKERS))

    assert len(decoded.spans) == 1


def test_a_marker_in_an_event_counts() -> None:
    """Content of older conventions is in span events."""
    event = {"name": "message", "attributes": [pair("gen_ai.event.content", "{}")]}

    assert decode(traces(span(attributes=PLAIN, events=[event])), Relevance(MARKERS)).spans


@pytest.mark.parametrize("place", [0, WINDOW_BYTES - 300, WINDOW_BYTES - 4, WINDOW_BYTES, 2 * WINDOW_BYTES + 5])
def test_a_marker_of_a_large_body_is_found_wherever_it_lies(place: int) -> None:
    """Also across the border of two of the windows that it is searched in."""
    body = bytearray(3 * WINDOW_BYTES)
    body[place : place + 12] = b"\n\x0agen_ai.x\x12"
    relevance = Relevance(MARKERS)

    assert searching(relevance.in_wire, bytes(body))(bytes(body))
    assert not searching(relevance.in_wire, bytes(body))(bytes(3 * WINDOW_BYTES))


def test_no_single_search_reads_a_large_body_whole() -> None:
    """It would hold the interpreter's lock for as long."""
    searched: list[int] = []

    class Pattern:
        def search(self, raw: bytes, start: int, end: int) -> None:
            searched.append(min(end, len(raw)) - start)

    body = bytes(5 * WINDOW_BYTES)
    searching(Pattern(), body)(body)  # type: ignore[arg-type]

    assert len(searched) == 5
    assert max(searched) <= 1.01 * WINDOW_BYTES


@given(
    st.lists(st.binary(min_size=1, max_size=5), min_size=1, max_size=12),
    st.lists(st.binary(max_size=8), max_size=6),
    st.data(),
)
def test_mentions_are_what_a_search_for_each_marker_finds(
    markers: list[bytes], words: list[bytes], data: st.DataObject
) -> None:
    """Whatever the markers have in common, and so no expression finds anything where nothing is mentioned."""
    relevance = Relevance(tuple(markers))
    body = b"".join(data.draw(st.permutations([*words, b"\n\x05", b"b\x05", b'"', *markers[:2]])))

    for part in (body, *words):
        assert relevance.mentions(part) == any(marker in part for marker in markers)
        assert not relevance.in_wire.search(part) or relevance.mentions(part)
        assert not relevance.in_event_name.search(part) or relevance.mentions(part)
        assert not relevance.in_json.search(part) or relevance.mentions(part)


@pytest.mark.parametrize("border", [1 << 10, 3 << 10, 7 << 10, 15 << 10, 31 << 10, 47 << 10])
@pytest.mark.parametrize("place", [-12, -7, -6, -1, 0, 1, 250, 256])
def test_a_mention_is_found_wherever_it_lies(border: int, place: int) -> None:
    """Also across the border of two windows, which grow at first, and at the end of the body."""
    body = bytearray(3 * MENTION_WINDOW_BYTES + 300)
    start = border + place
    body[start : start + 7] = b"gen_ai."
    relevance = Relevance(MARKERS)

    assert relevance.mentions(bytes(body))
    assert relevance.mentions(bytes(body[: start + 7]))
    assert not relevance.mentions(bytes(body[: start + 6]))


def test_a_body_full_of_mentions_is_not_read_to_its_end() -> None:
    """Each of them becomes an object, and a body of 64 MiB would have twenty million."""
    found: list[int] = []

    class Words:
        def find_matches_as_indexes(self, window: memoryview) -> list[int]:
            found.append(len(window))
            return [1]

    relevance = Relevance(MARKERS)
    msgspec.structs.force_setattr(relevance, "words", Words())

    assert relevance.mentions(b"lk." * WINDOW_BYTES)
    assert len(found) == 1
    assert found[0] < MENTION_WINDOW_BYTES


def test_the_markers_of_all_conventions_are_within_what_is_looked_for_quickly() -> None:
    """Beyond it nothing breaks, but each span that nobody knows costs a quarter more."""
    assert len(RELEVANCE.keys) <= MOST_MARKERS
    assert min(map(len, RELEVANCE.keys)) >= SHORTEST_MARKER


def test_spans_without_a_marker_become_skeletons() -> None:
    """A marker inside a word or a part of one is none."""
    decoded = decode(traces(span(attributes=PLAIN)), Relevance(MARKERS))

    assert (decoded.spans, len(decoded.skeletons)) == ([], 1)


def test_only_the_marked_spans_of_a_scope_are_decoded() -> None:
    """One agent span among a hundred others doesn't make them relevant."""
    others = [span(span_id=bytes([i + 1] * 8), attributes=PLAIN) for i in range(100)]
    decoded = decode(traces(*others[:50], span(attributes=[pair("gen_ai.x", 1)]), *others[50:]), Relevance(MARKERS))

    assert (len(decoded.spans), len(decoded.skeletons)) == (1, 100)


def test_a_marker_in_resource_or_scope_alone_makes_nothing_relevant() -> None:
    """Those are matched by name and exact value, not by marker."""
    body = traces(span(), scope="gen_ai.scope", resource={"gen_ai.x": "gen_ai.y"})

    assert not decode(body, Relevance(MARKERS)).spans


@pytest.mark.parametrize(("scope", "relevant"), [("pydantic-ai", True), ("pydantic-ai.x", True), ("pydantic", False)])
def test_all_spans_of_a_scope_with_a_known_prefix_count(scope: str, relevant: bool) -> None:
    """Frameworks are known by their scope, also where a span of theirs carries no key."""
    decoded = decode(traces(span(), span(span_id=b"12345678"), scope=scope), Relevance(MARKERS, ("pydantic-ai", "ai.")))

    assert (len(decoded.spans), len(decoded.skeletons)) == ((2, 0) if relevant else (0, 2))


@pytest.mark.parametrize(("name", "relevant"), [("openlit", True), ("openlit2", False), ("opentelemetry", False)])
def test_all_spans_of_a_known_resource_count(name: str, relevant: bool) -> None:
    """OpenLIT is known by `telemetry.sdk.name`, whose value must be exactly that."""
    relevance = Relevance(resources=(("telemetry.sdk.name", "openlit"),))
    decoded = decode(traces(span(), resource={"other": "openlit", "telemetry.sdk.name": name}), relevance)

    assert len(decoded.spans) == relevant


def test_nothing_is_relevant_to_nobody() -> None:
    """Without markers every span is a skeleton."""
    assert not decode(traces(span(attributes=[pair("gen_ai.x", 1)])), Relevance()).spans


def test_an_empty_marker_is_refused() -> None:
    """It would match everything, surely by mistake."""
    with pytest.raises(ValueError, match=r"Relevance\.keys"):
        Relevance((b"gen_ai.", b""))


@given(
    st.lists(st.binary(min_size=1, max_size=5), min_size=1, max_size=12),
    st.lists(st.binary(max_size=8), max_size=6),
)
def test_the_expression_finds_what_a_search_for_each_marker_finds(markers: list[bytes], words: list[bytes]) -> None:
    """The tree of alternatives is exact, also where a marker is the start of another or holds special characters."""
    found = Relevance(tuple(markers)).in_wire.fullmatch

    for word in (*words, *markers):
        assert bool(found(b"\n\x07" + word)) == any(
            word == marker and not any(marker.startswith(other) and marker != other for other in markers)
            for marker in markers
        )


def test_an_escaped_marker_in_json_is_still_found() -> None:
    """JSON may write any letter as an escape; what can't be searched is decoded."""
    body = as_json(traces(span(attributes=[pair("gen_ai.x", 1)]))).replace(b'"gen_ai.x"', b'"gen\\u005fai.x"')
    decoded = decode_json(body, Signal.TRACES, Relevance(MARKERS), DecodeLimits())

    assert decoded.spans[0].attributes == {"gen_ai.x": 1}


@pytest.mark.parametrize(
    ("record", "relevant"),
    [
        (log(event_name="gen_ai.choice"), True),
        (log(attributes=[pair("event.name", "gen_ai.choice")]), True),
        (log(body={"kvlist_value": {"values": [pair("gen_ai.input.messages", "x")]}}), True),
        (log(event_name="checkout", attributes=PLAIN), False),
    ],
)
def test_log_records_are_relevant_by_event_name_attribute_or_body(record: object, relevant: bool) -> None:
    """GenAI events carry their name in a field of its own or, before there was one, in an attribute."""
    decoded = decode_protobuf(logs(record), Signal.LOGS, Relevance(MARKERS), DecodeLimits())  # type: ignore[arg-type]

    assert (len(decoded.logs), decoded.unrelated_logs) == (relevant, not relevant)
