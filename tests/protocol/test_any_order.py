"""Spans of one trace in any order, twice, and by any way in, make the same trace (S5, S6, S7)."""

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lanewatch.collector.assembler import METRICS, Assembler
from lanewatch.collector.closing import AssemblerLimits
from lanewatch.collector.counts import Counts
from lanewatch.collector.spans import CloseReason, Trace

from tests.protocol.clients import OK, Via, send
from tests.protocol.export_requests import span, traces
from tests.protocol.served import Served

ROOT = (1).to_bytes(8, "big")
NUMBERS = (1, 2, 3, 4, 5, 6)


class Assembly:
    """The real assembler behind both receivers."""

    def __init__(self, serve: Callable[..., Served]) -> None:
        self.counts = Counts(METRICS)
        self.trace_ids = (number.to_bytes(16, "big") for number in count(1))
        self._closed: list[Trace] = []
        self._assembler = Assembler(self._closed.append, AssemblerLimits(), self.counts)
        self.served = serve(deliver=lambda decoded: self._assembler.add(decoded, 0.0))

    def send(self, trace_id: bytes, numbers: list[int], via: Via, name: str = "step") -> None:
        """Send some of a trace's spans, of which the first is the root."""
        parts = [
            span(number, trace_id=trace_id, name=name, parent_span_id=b"" if number == 1 else ROOT)
            for number in numbers
        ]
        assert send(self.served, via, traces(*parts)).code == OK

    def close(self) -> list[Trace]:
        """Close every open trace."""
        self._closed.clear()
        self.served.loop.call(lambda: self._assembler.close_all(CloseReason.SHUTDOWN))
        return list(self._closed)


@pytest.fixture
def assembly(serve: Callable[..., Served]) -> Assembly:
    """One for all examples of a test: each uses a trace id of its own."""
    return Assembly(serve)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.lists(st.sampled_from(NUMBERS), max_size=4).flatmap(lambda again: st.permutations([*NUMBERS, *again])),
    cuts=st.sets(st.integers(1, 5), max_size=4),
    ways=st.lists(st.sampled_from(Via), min_size=5, max_size=5),
)
def test_order_split_and_protocol_make_no_difference(
    assembly: Assembly, order: list[int], cuts: set[int], ways: list[Via]
) -> None:
    """S7, S5: any permutation, in any number of requests, each by any way, some spans twice: a span that comes by another way again is the same."""
    before = assembly.counts.value("lanewatch_duplicates", "identical")
    trace_id = next(assembly.trace_ids)
    for begin, end, via in zip([0, *sorted(cuts)], [*sorted(cuts), len(order)], ways, strict=False):
        assembly.send(trace_id, order[begin:end], via)
    (closed,) = assembly.close()

    assert [item.span_id for item in closed.spans] == [number.to_bytes(8, "big") for number in NUMBERS]
    assert [item.parent_id for item in closed.spans] == [b"", *[ROOT] * 5]
    assert all(
        item.trace_id == trace_id and item.attributes["gen_ai.operation.name"] == "chat" for item in closed.spans
    )
    assert assembly.counts.value("lanewatch_duplicates", "identical") - before == len(order) - len(NUMBERS)


@pytest.mark.parametrize("second", Via)
@pytest.mark.parametrize("first", Via)
def test_the_three_ways_in_make_one_trace(assembly: Assembly, first: Via, second: Via) -> None:
    """S7: two services of one application may export differently."""
    assembly.send(b"t" * 16, [1, 2], first)
    assembly.send(b"t" * 16, [3, 2], second)
    (closed,) = assembly.close()

    assert [int.from_bytes(item.span_id, "big") for item in closed.spans] == [1, 2, 3]
    assert assembly.counts.value("lanewatch_duplicates", "identical") == 1
    assert assembly.counts.value("lanewatch_duplicates") == 1


@pytest.mark.parametrize("via", Via)
def test_another_span_of_the_same_id_does_not_replace_the_first(assembly: Assembly, via: Via) -> None:
    """S6: the first wins, and the conflict is counted."""
    assembly.send(b"t" * 16, [1], via, name="first")
    assembly.send(b"t" * 16, [1], via, name="second")
    (closed,) = assembly.close()

    assert [item.name for item in closed.spans] == ["first"]
    assert assembly.counts.value("lanewatch_duplicates", "conflicting") == 1


def test_items_are_conserved_from_the_wire_to_the_trace(assembly: Assembly) -> None:
    """M7: received = assembled + late + duplicates + irrelevant + dropped + rejected."""
    for via in Via:
        assembly.send(b"t" * 16, [1, 2, 3], via)
        request = traces(span(9, attributes=[]), span(10, trace_id=b"x"), scope="urllib3")
        assert send(assembly.served, via, request).rejected == 1
    assembly.close()
    assembly.send(b"t" * 16, [4], Via.GRPC)

    served, counts = assembly.served.counts, assembly.counts
    behind = ("assembled", "irrelevant", "dropped")
    total = sum(counts.value(f"lanewatch_spans_{name}") for name in behind)
    total += counts.value("lanewatch_late_spans") + counts.value("lanewatch_duplicates")
    assert served.value("lanewatch_spans_received") == total + served.value("lanewatch_spans_rejected") == 16
