"""What is gathered of a trace: identity, order, missing parents."""

from typing import Any

import msgspec
import pytest
from lanewatch.collector import spans as spans_module
from lanewatch.collector.content import digest
from lanewatch.collector.gathered import Gathered, Item, extends, log_identity, missing_parents, same_content, trace_of
from lanewatch.collector.skeleton_groups import Skeleton
from lanewatch.collector.spans import CloseReason, Event, LogRecord, Resource, Scope, Span

from tests.collector.gathering import log, names, sid, skeleton, span, tid


def gathered(*parts: Span | Skeleton | LogRecord) -> Gathered:
    """What these parts make, taken in as they are."""
    items: dict[bytes, Item] = {part.span_id: part for part in parts if isinstance(part, Span)}
    items |= {log_identity(part): part for part in parts if isinstance(part, LogRecord)}
    skeletons = {part.span_id: part for part in parts if isinstance(part, Skeleton)}
    return Gathered(tid(1), opened_at=0.0, touched_at=0.0, items=items, skeletons=skeletons)


@pytest.mark.parametrize(
    ("field", "value"),
    [("span_id", sid(9)), ("event_name", "other"), ("time_ns", 9), ("body", {"text": "other"}), ("body", None)],
)
def test_a_log_record_is_told_by_span_name_time_and_body(field: str, value: object) -> None:
    """A difference in any of them makes two records."""
    one, other = log(1, 1), log(1, 1)
    changes: dict[str, Any] = {field: value}
    changed = msgspec.structs.replace(other, **changes)

    assert log_identity(one) == log_identity(other)
    assert log_identity(one) != log_identity(changed)


def test_a_log_records_attributes_are_no_part_of_its_identity() -> None:
    """The same event with other attributes is a conflict, not a second event."""
    assert log_identity(log(1, 1, attributes={"a": 1})) == log_identity(log(1, 1, attributes={"a": 2}))


BEGUN: dict[str, Any] = {"attributes": {"gen_ai.tool.name": "look"}, "events": (Event("began", 1),)}


@pytest.mark.parametrize(
    ("later", "fuller"),
    [
        pytest.param({"attributes": {"gen_ai.tool.name": "look", "x": 1}}, True, id="an attribute more"),
        pytest.param({"events": (Event("began", 1), Event("ended", 2))}, True, id="an event more"),
        pytest.param(
            {"attributes": {"gen_ai.tool.name": "look", "x": 1}, "end_ns": 9, "status": 2}, True, id="and its end"
        ),
        pytest.param({"end_ns": 9}, False, id="its end alone"),
        pytest.param({}, False, id="nothing more"),
        pytest.param({"attributes": {"gen_ai.tool.name": "find", "x": 1}}, False, id="another value"),
        pytest.param({"attributes": {"x": 1, "y": 2}}, False, id="without what was told"),
        pytest.param({"attributes": {"gen_ai.tool.name": "look", "x": 1}, "events": ()}, False, id="without an event"),
        pytest.param({"attributes": {"gen_ai.tool.name": "look", "x": 1}, "name": "other"}, False, id="another name"),
        pytest.param({"attributes": {"gen_ai.tool.name": "look", "x": 1}, "start_ns": 9}, False, id="another start"),
        pytest.param(
            {"attributes": {"gen_ai.tool.name": "look", "x": 1}, "parent_id": sid(7)}, False, id="another parent"
        ),
        pytest.param(
            {"attributes": {"gen_ai.tool.name": "look", "x": 1}, "dropped_attributes": 1}, False, id="with losses"
        ),
        pytest.param(
            {"attributes": {"gen_ai.tool.name": "look", "x": 1}, "scope": Scope("o")}, False, id="another scope"
        ),
    ],
)
def test_a_span_says_more_where_it_says_all_that_the_other_says(later: dict[str, Any], fuller: bool) -> None:
    """Anything else is a conflict, in which nobody can say who is right."""
    held = span(1, 1, **BEGUN)

    assert extends(msgspec.structs.replace(held, **later), held) is fuller


def test_a_log_record_never_takes_the_place_of_another() -> None:
    """It is written once."""
    assert not extends(log(1, 1, attributes={"a": 1}), log(1, 1))


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="order of keys"),
        pytest.param({"a": float("nan")}, {"a": float("nan")}, True, id="NaN"),
        pytest.param({"a": 1}, {"a": True}, False, id="true is not 1"),
        pytest.param({"a": 1}, {"a": 1.0}, False, id="1.0 is not 1"),
        pytest.param({"a": "x"}, {"a": b"x"}, False, id="bytes are no text"),
        pytest.param({"a": 2**70}, {"a": 2**70}, True, id="beyond 64 bits"),
        pytest.param({"a": 2**70}, {"a": 2**70 + 1}, False, id="beyond 64 bits, another"),
        pytest.param({"a": "\ud800"}, {"a": "\ud800"}, True, id="lone surrogate"),
    ],
)
def test_content_is_compared_by_value_and_type(left: dict[str, object], right: dict[str, object], same: bool) -> None:
    """Python's own equality takes 1, 1.0 and true as one, and NaN as none."""
    assert same_content(span(1, 1, attributes=left), span(1, 1, attributes=right)) is same


def test_what_shares_its_resource_and_scope_is_compared_with_them() -> None:
    """They are part of what was sent."""
    resource, scope = Resource({"service.name": "shop"}), Scope("s", "1")

    assert same_content(span(1, 1, resource=resource, scope=scope), span(1, 1, resource=resource, scope=scope))
    assert not same_content(span(1, 1, resource=resource), span(1, 1))
    assert not same_content(span(1, 1, scope=scope), span(1, 1, scope=Scope("s", "2")))


def test_the_size_is_no_content() -> None:
    """A resend in the other encoding has another one."""
    assert same_content(span(1, 1, size_bytes=1), span(1, 1, size_bytes=2))


def test_resends_cost_one_reading_of_what_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """A held span is read at most once, its resource too."""
    read: list[object] = []

    def counted(value: object) -> bytes:
        read.append(value)
        return digest(value)

    monkeypatch.setattr(spans_module, "digest", counted)
    shared: dict[str, Any] = {"resource": Resource({"service.name": "shop"}), "scope": Scope("s")}
    held = span(1, 1, attributes={"k": "x" * 1_000_000}, size_bytes=1_000_000, **shared)
    alike = [span(1, 1, attributes={"k": str(n)}, size_bytes=1_000_000, **shared) for n in range(100)]

    assert not any(same_content(held, item) for item in alike)
    assert len(read) == 100 + 1 + 2  # the resends, what is held, the resource and the scope that all share


def test_a_shared_resource_is_charged_once() -> None:
    """Spans of one request share it; those of the next one bring their own."""
    first, second = (Resource({"k": "v"}, size_bytes=10_000) for _ in range(2))
    trace = gathered()
    charged = []
    for resource in (first, first, second, second):
        item = span(1, 1, resource=resource)
        charged.append(trace.charge(item) >= 10_000)
        trace.resource, trace.scope = item.resource, item.scope

    assert charged == [True, False, True, False]


def test_missing_parents_are_found_through_skeletons() -> None:
    """Only what the chain of a relevant span or log record leads to is missing."""
    parts = (span(1, 1, parent=2), skeleton(1, 2, parent=3), skeleton(1, 7, parent=8), log(1, 9), span(1, 4, parent=1))

    assert missing_parents(gathered(*parts)) == {sid(3), sid(9)}


def test_cycles_of_parents_end() -> None:
    """Parent ids come from outside: a span may be its own ancestor."""
    parts = (
        span(1, 1, parent=1),
        span(1, 2, parent=3),
        span(1, 3, parent=2),
        span(1, 4, parent=5),
        skeleton(1, 5, parent=6),
        skeleton(1, 6, parent=5),
    )

    assert missing_parents(gathered(*parts)) == frozenset()


def test_spans_stand_in_order_of_start_and_id() -> None:
    """Ties of the start time are broken by id, whatever came first; skeletons stand among the others."""
    parts = (span(1, 9, parent=1), span(1, 4, 1, start_ns=2), skeleton(1, 2, 1), span(1, 3, start_ns=2))

    trace = trace_of(gathered(*parts), CloseReason.ROOT, complete=True)

    assert names(trace) == [(2, False), (3, True), (4, True), (9, True)]


def test_a_skeleton_hands_on_ids_and_times() -> None:
    """Parent chains run through it; nothing else of it was kept."""
    trace = trace_of(gathered(skeleton(1, 2, parent=3)), CloseReason.ROOT, complete=True)

    assert trace.spans == (Span(tid(1), sid(2), sid(3), start_ns=2, end_ns=3, relevant=False),)


def test_log_records_stand_in_order_of_time() -> None:
    """Ties are broken by span, name and identity, so that the order of arrival shows nowhere."""
    records = [log(1, 1, "b"), log(1, 1, "a"), log(1, 1, "z", time_ns=0), log(1, 0, "y", time_ns=1)]

    traces = [trace_of(gathered(*parts), CloseReason.ROOT, complete=True) for parts in (records, records[::-1])]

    assert traces[0] == traces[1]
    assert [record.body["text"] for record in traces[0].logs][:2] == ["z", "y"]


def test_a_revision_is_called_one() -> None:
    """Whatever closed the trace the second time."""
    parts = gathered(span(1, 1))
    parts.revision = 2

    trace = trace_of(parts, CloseReason.TIMEOUT, complete=True)

    assert (trace.reason, trace.revision) == (CloseReason.REVISED, 2)
