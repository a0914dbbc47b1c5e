"""One span or log record from its JSON text, or the reason why it was rejected; `items` and `skeletons` for JSON."""

from collections.abc import Iterable
from typing import Any

import msgspec

from lanewatch.collector.harvest import NO_TRACE_ID, Harvest, is_span_id, is_trace_id
from lanewatch.collector.items import event_name, log_bytes, span_bytes
from lanewatch.collector.json_values import (
    MalformedError,
    Members,
    any_value,
    attributes,
    elements,
    enum,
    expect_object,
    identifier,
    integer,
    nested,
    parse,
    text,
)
from lanewatch.collector.sampling_state import sampling_state
from lanewatch.collector.skeleton_groups import Skeleton
from lanewatch.collector.spans import Event, Link, LogRecord, RejectReason, Resource, Scope, Span


class _Outline(msgspec.Struct, rename="camel"):
    trace_id: Any = None
    span_id: Any = None
    parent_span_id: Any = None
    start_time_unix_nano: Any = None
    end_time_unix_nano: Any = None


_outline = msgspec.json.Decoder(_Outline).decode


def read_skeletons(items: Iterable[Any], harvest: Harvest) -> None:
    """A Skeleton or a reason for each span."""
    for raw in items:
        try:
            outline = _outline(raw)
            trace_id, span_id = identifier(outline.trace_id), identifier(outline.span_id)
            start_ns, end_ns = integer(outline.start_time_unix_nano), integer(outline.end_time_unix_nano)
        except (MalformedError, ValueError, RecursionError):
            harvest.reject(RejectReason.UNDECODABLE_SPAN)
            continue
        if harvest.has_valid_ids(trace_id, span_id):
            parent_id = harvest.linked_span_id(identifier(outline.parent_span_id), span_id)
            harvest.skeletons.add(Skeleton(trace_id, span_id, parent_id, start_ns, end_ns))


def read_span(raw: Any, resource: Resource, scope: Scope, harvest: Harvest) -> None:
    """Add a Span, opentelemetry/proto/trace/v1/trace.proto."""
    harvest.begin()
    try:
        members = parse(raw, harvest.limits.max_item_values)
        trace_id, span_id = identifier(members.get("traceId")), identifier(members.get("spanId"))
        if not harvest.has_valid_ids(trace_id, span_id):
            return
        status = nested(members, "status")
        name, status_message = text(members, "name", harvest), text(status, "message", harvest)
        named, events, links = (
            attributes(members, harvest),
            _read_events(members, harvest),
            _read_links(members, harvest),
        )
        state = sampling_state(members.get("traceState"))
        span = Span(
            trace_id,
            span_id,
            harvest.linked_span_id(identifier(members.get("parentSpanId")), span_id),
            name,
            enum(members.get("kind")),
            integer(members.get("startTimeUnixNano")),
            integer(members.get("endTimeUnixNano")),
            enum(status.get("code")),
            status_message,
            named,
            events,
            links,
            resource,
            scope,
            harvest.lost + _count(members, "droppedAttributesCount") + _count(members, "droppedEventsCount"),
            span_bytes(len(memoryview(raw)), named, events, links) + harvest.inner_bytes + len(state),
            trace_state=state,
        )
    except MalformedError:
        harvest.reject(RejectReason.UNDECODABLE_SPAN)
    else:
        harvest.spans.append(span)


def read_log_record(raw: Any, resource: Resource, scope: Scope, harvest: Harvest) -> None:
    """Add a LogRecord, opentelemetry/proto/logs/v1/logs.proto; one that names no trace is unrelated."""
    harvest.begin()
    try:
        members = parse(raw, harvest.limits.max_item_values)
        trace_id = identifier(members.get("traceId"))
        if not trace_id or trace_id == NO_TRACE_ID:
            harvest.unrelated_logs += 1
            return
        if not is_trace_id(trace_id):
            harvest.reject(RejectReason.INVALID_TRACE_ID)
            return
        time_ns, observed_ns = integer(members.get("timeUnixNano")), integer(members.get("observedTimeUnixNano"))
        named = attributes(members, harvest)
        body = any_value(members.get("body"), harvest)
        record = LogRecord(
            trace_id,
            harvest.linked_span_id(identifier(members.get("spanId"))),
            text(members, "eventName", harvest) or event_name(named),
            time_ns or observed_ns,
            body,
            named,
            resource,
            scope,
            harvest.lost + _count(members, "droppedAttributesCount"),
            log_bytes(len(memoryview(raw)), body, named) + harvest.inner_bytes,
        )
    except MalformedError:
        harvest.reject(RejectReason.UNDECODABLE_LOG)
    else:
        harvest.logs.append(record)


def _count(members: Members, name: str) -> int:
    return integer(members.get(name), high=2**32 - 1)


def _read_events(members: Members, harvest: Harvest) -> tuple[Event, ...]:
    events = []
    items = elements(members, "events")
    for item in items[: harvest.spend(len(items), harvest.limits.max_events)]:
        event = expect_object(item)
        harvest.lost += _count(event, "droppedAttributesCount")
        events.append(
            Event(text(event, "name", harvest), integer(event.get("timeUnixNano")), attributes(event, harvest))
        )
    return tuple(events)


def _read_links(members: Members, harvest: Harvest) -> tuple[Link, ...]:
    links = []
    items = elements(members, "links")
    for item in items[: harvest.spend(len(items), harvest.limits.max_links)]:
        link = expect_object(item)
        trace_id, span_id = identifier(link.get("traceId")), identifier(link.get("spanId"))
        named = attributes(link, harvest)
        if is_trace_id(trace_id) and is_span_id(span_id):
            links.append(Link(trace_id, span_id, named))
        else:
            harvest.malformed_links += 1
    return tuple(links)
