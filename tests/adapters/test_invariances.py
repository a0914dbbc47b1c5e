"""What a record must not depend on: the ids of spans and so their order among equals, who else reported, and strangers."""

import random
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lanewatch.adapters.conventions import convention_of
from lanewatch.adapters.facts import Step
from lanewatch.adapters.records import TraceRecord
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.adapters.trace_record import read_trace
from lanewatch.collector.spans import Span, Trace
from lanewatch.monitors.divergence import find_divergences
from msgspec.structs import replace

from tests.adapters.recordings import CORPUS, captures, traces
from tests.adapters.spans import agent, call, chat, span_id, text, tool, trace

CAPTURES = [pytest.param(path, id=str(path.relative_to(CORPUS))) for path in captures()]


def _ordered(spans: list[Span]) -> tuple[Span, ...]:
    return tuple(sorted(spans, key=lambda one: (one.start_ns, one.span_id)))


def _renamed(original: Trace, seed: int) -> tuple[Trace, dict[str, str]]:
    """The trace with other span ids, so that spans that start together come in another order, and the way back."""
    ids = [one.span_id for one in original.spans]
    others = [index.to_bytes(8, "big") for index in range(1, len(ids) + 1)]
    random.Random(seed).shuffle(others)
    new = dict(zip(ids, others, strict=True))
    spans = [
        replace(one, span_id=new[one.span_id], parent_id=new.get(one.parent_id, one.parent_id))
        for one in original.spans
    ]
    logs = tuple(replace(one, span_id=new.get(one.span_id, one.span_id)) for one in original.logs)
    back = {other.hex(): one.hex() for one, other in new.items()}
    return replace(original, spans=_ordered(spans), logs=logs), back


def _with_ids(value: Any, back: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _with_ids(item, back) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_ids(item, back) for item in value]
    return back.get(value, value) if isinstance(value, str) else value


def _plain(record: TraceRecord) -> Any:
    return msgspec.to_builtins({"record": record, "divergences": find_divergences(record)})


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_recorded_trace_reads_the_same_in_any_order_of_spans_that_start_together(capture: Path) -> None:
    """Spans are sorted by start and then by id, and ids are random: the order among equals must mean nothing."""
    for original in traces(capture):
        other, back = _renamed(original, seed=7)

        assert _with_ids(_plain(read_trace(other)), back) == _with_ids(_plain(read_trace(original)), {})


def test_parallel_calls_that_start_together_read_the_same_in_any_order() -> None:
    """Runs that start in the same nanosecond are told apart by what they hold, and identical ones by nothing."""
    original = trace(
        agent(),
        chat(
            "ask", *(call("look", {"city": city}, None) for city in ("Rome", "Oslo", "Rome")), under="agent", at=(1, 2)
        ),
        *(
            tool(f"run {number}", "look", {"city": city}, result=city, under="agent", at=(3, 4))
            for number, city in enumerate(("Oslo", "Rome", "Rome"))
        ),
        chat("say", text("warm"), under="agent", at=(5, 6)),
    )

    def summary(record: TraceRecord) -> Any:
        runs = sorted(
            (run.arguments["city"], run.result, run.match_rule or "", run.request or 0) for run in record.dispatches
        )
        return runs, [request.outcome for request in record.requests], record.evidence, find_divergences(record)

    expected = summary(read_trace(original))
    assert all(summary(read_trace(_renamed(original, seed)[0])) == expected for seed in range(20))


def _reported_twice(original: Trace, place: Callable[[Span], bytes]) -> Trace:
    """Each model call, tool run and retrieval reported by a second instrumentation too."""
    tree = SpanTree(original)
    spans = list(original.spans)
    for one in original.spans:
        convention = convention_of(one) if one.relevant else None
        if convention is None or any(isinstance(fact, Step) for fact in convention.read_span(one, tree)):
            continue
        scope = replace(one.scope, name=f"second.instrumentation.{one.scope.name.rpartition('.')[2]}")
        spans.append(replace(one, span_id=span_id(one.span_id.hex()), parent_id=place(one), scope=scope))
    return replace(original, spans=_ordered(spans))


def _counted(record: TraceRecord) -> Any:
    return (
        [(r.name, r.call_id, r.arguments, r.arguments_raw, r.outcome, r.turn, r.position) for r in record.requests],
        [(d.name, d.call_id, d.arguments, d.executed, d.attempt, d.request) for d in record.dispatches],
        [(s.query, s.documents) for s in record.retrievals],
        [(r.text, r.refusal) for r in record.responses],
        [(d.boundary, d.kind, d.tool, d.path) for d in find_divergences(record)],
    )


@pytest.mark.parametrize("place", [attrgetter("span_id"), attrgetter("parent_id")], ids=["nested", "beside"])
@pytest.mark.parametrize("capture", CAPTURES)
def test_a_second_report_of_the_same_events_adds_no_records(capture: Path, place: Callable[[Span], bytes]) -> None:
    """Two instrumentations of one process report side by side or inside one another: each event still counts once."""
    for original in traces(capture):
        twice = _reported_twice(original, place)

        assert _counted(read_trace(twice)) == _counted(read_trace(original))


@pytest.mark.parametrize("capture", CAPTURES)
def test_spans_of_no_convention_change_nothing(capture: Path) -> None:
    """HTTP clients, databases and web frameworks share the trace; they keep parent chains and say nothing."""
    for original in traces(capture):
        dice = random.Random(3)
        strangers = []
        for number in range(10):
            above = dice.choice(original.spans)
            start = above.start_ns + dice.randrange(1 + max(above.end_ns - above.start_ns, 0))
            strangers.append(
                Span(
                    original.trace_id,
                    span_id(f"stranger {number}"),
                    above.span_id,
                    "GET /",
                    3,
                    start,
                    start + 5,
                    relevant=False,
                )
            )
        crowded = replace(original, spans=_ordered([*original.spans, *strangers]))

        assert _plain(read_trace(crowded)) == _plain(read_trace(original))
