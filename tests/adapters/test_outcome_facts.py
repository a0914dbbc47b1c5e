"""Explicit outcome facts: what an event, a log or a push says, and when a state is told to hold."""

from typing import Any

import pytest
from lanewatch import parts
from lanewatch.adapters.outcome_facts import fact_of
from lanewatch.collector.decode import decode_protobuf
from lanewatch.collector.limits import DecodeLimits
from lanewatch.collector.spans import Event, Signal
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.adapters.spans import agent, log, record, span, span_id


def told(*, at: int = 5, **values: Any) -> Event:
    """A span's event."""
    return Event("lanewatch.outcome", at, {f"lanewatch.outcome.{key}": value for key, value in values.items()})


@pytest.mark.parametrize(
    ("values", "held"),
    [
        ({"status": "pass"}, True),
        ({"status": "fail"}, False),
        ({"status": "PASS"}, None),
        ({"expected": "refunded", "observed": "refunded"}, True),
        ({"expected": "refunded", "observed": "open"}, False),
        ({"expected": 1, "observed": 1.0}, True),
        ({"expected": 1, "observed": "1"}, False),
        ({"expected": None, "observed": None}, True),
        ({"expected": "refunded"}, None),
        ({"status": "fail", "expected": 1, "observed": 1}, False),  # whoever looked knows best
        ({}, None),
    ],
)
def test_a_state_holds_where_a_status_or_both_states_say_so(values: Any, held: bool | None) -> None:
    """Half a fact holds for nothing, and is no failure either."""
    assert fact_of(values).held is held


def test_facts_of_events_and_logs_are_read_in_their_order() -> None:
    """On any span, whatever its convention; a log's body may be the fact."""
    seen = record(
        agent(events=(told(name="refund", expected="a", observed="b", at=9),)),
        span("job", events=(told(status="pass", at=1), Event("other", 0, {"lanewatch.outcome.status": "fail"}))),
        logs=(log("agent", "lanewatch.outcome", {"name": "mail", "status": "fail"}, {"session.id": "s-2"}, at=0),),
    )

    assert [(fact.name, fact.held, fact.session_id) for fact in seen.outcomes] == [
        ("mail", False, "s-2"),
        ("outcome", True, None),
        ("refund", False, None),
    ]
    assert seen.outcomes[2].span_id == span_id("agent").hex()


def test_values_that_are_nested_too_deeply_are_not_compared() -> None:
    """Comparing recurses; the fact stays, and holds for nothing."""
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]

    assert fact_of({"expected": deep, "observed": deep}).held is None


def test_a_span_with_nothing_but_an_outcome_is_kept_by_the_decoder() -> None:
    """A job that checks the state later need not speak any GenAI convention."""
    request = ExportTraceServiceRequest()
    made = request.resource_spans.add().scope_spans.add().spans.add()
    made.trace_id, made.span_id, made.name = b"\x01" * 16, b"\x02" * 8, "verify"
    made.start_time_unix_nano, made.end_time_unix_nano = 1, 2
    event = made.events.add()
    event.name = "lanewatch.outcome"
    attribute = event.attributes.add()
    attribute.key, attribute.value.string_value = "lanewatch.outcome.status", "fail"
    decoded = decode_protobuf(request.SerializeToString(), Signal.TRACES, parts.RELEVANCE, DecodeLimits())

    assert [one.events[0].attributes for one in decoded.spans] == [{"lanewatch.outcome.status": "fail"}]
