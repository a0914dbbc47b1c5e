"""One whole span or log record from its protobuf bytes, or the reason why it was rejected.

Dropped counts of the SDK and what Lanewatch's own limits leave out go into one number, since both mean the same to whoever
judges evidence: the span is not all that the application said. Links are no evidence; the SDK's own count of dropped ones
is left out of it.
"""

from lanewatch.collector.content import attributes_bytes
from lanewatch.collector.harvest import NO_TRACE_ID, Harvest, is_span_id, is_trace_id
from lanewatch.collector.sampling_state import sampling_state
from lanewatch.collector.spans import (
    Attributes,
    AttributeValue,
    Event,
    Link,
    LogRecord,
    RejectReason,
    Resource,
    Scope,
    Span,
)
from lanewatch.collector.values import read_value, read_with_attributes
from lanewatch.collector.wire import DecodeError, Message, lenient, plain

EVENT_BYTES = 250  # an event or link without its content


def read_span(raw: bytes, resource: Resource, scope: Scope, harvest: Harvest) -> None:
    """Add a Span, opentelemetry/proto/trace/v1/trace.proto."""
    harvest.begin()
    try:
        message, attributes = read_with_attributes(raw, plain.span, lenient.span, harvest)
        trace_id, span_id = message.trace_id, message.span_id
        if not harvest.has_valid_ids(trace_id, span_id):
            return
        events = _read_events(message.events, harvest)
        links = _read_links(message.links, harvest)
    except DecodeError:
        harvest.reject(RejectReason.UNDECODABLE_SPAN)
        return
    status = message.status
    name, status_message = harvest.text(message.name), harvest.text(status.message)
    state = sampling_state(message.trace_state)
    harvest.spans.append(
        Span(
            trace_id,
            span_id,
            harvest.linked_span_id(message.parent_span_id, span_id),
            name,
            message.kind,
            message.start_time_unix_nano,
            message.end_time_unix_nano,
            status.code,
            status_message,
            attributes,
            events,
            links,
            resource,
            scope,
            harvest.lost + message.dropped_attributes_count + message.dropped_events_count,
            span_bytes(len(raw), attributes, events, links) + harvest.inner_bytes + len(state),
            trace_state=state,
        )
    )


def read_log_record(raw: bytes, resource: Resource, scope: Scope, harvest: Harvest) -> None:
    """Add a LogRecord, opentelemetry/proto/logs/v1/logs.proto; one that names no trace is unrelated."""
    harvest.begin()
    try:
        message, attributes = read_with_attributes(raw, plain.log_record, lenient.log_record, harvest)
        body = read_value(message.body, harvest)
    except DecodeError:
        harvest.reject(RejectReason.UNDECODABLE_LOG)
        return
    trace_id = message.trace_id
    if not trace_id or trace_id == NO_TRACE_ID:
        harvest.unrelated_logs += 1
        return
    if not is_trace_id(trace_id):
        harvest.reject(RejectReason.INVALID_TRACE_ID)
        return
    harvest.logs.append(
        LogRecord(
            trace_id,
            harvest.linked_span_id(message.span_id),
            harvest.text(message.event_name) or event_name(attributes),
            message.time_unix_nano or message.observed_time_unix_nano,
            body,
            attributes,
            resource,
            scope,
            harvest.lost + message.dropped_attributes_count,
            log_bytes(len(raw), body, attributes) + harvest.inner_bytes,
        )
    )


def span_bytes(raw_bytes: int, attributes: Attributes, events: tuple[Event, ...], links: tuple[Link, ...]) -> int:
    """Memory of what makes one span larger than another, arrays and maps apart; `ITEM_BYTES` is what all have."""
    size = raw_bytes + attributes_bytes(attributes)
    for event in events:
        size += EVENT_BYTES + attributes_bytes(event.attributes)
    for link in links:
        size += EVENT_BYTES + attributes_bytes(link.attributes)
    return size


def log_bytes(raw_bytes: int, body: AttributeValue, attributes: Attributes) -> int:
    """The same for a log record."""
    return raw_bytes + attributes_bytes(attributes) + attributes_bytes({"body": body})


def event_name(attributes: Attributes) -> str:
    """The name as it was written before LogRecord got a field for it, semantic conventions up to 1.36."""
    name = attributes.get("event.name")
    return name if isinstance(name, str) else ""


def _read_events(items: Message, harvest: Harvest) -> tuple[Event, ...]:
    if not items:
        return ()
    events = []
    for raw in items[: harvest.spend(len(items), harvest.limits.max_events)]:
        message, attributes = read_with_attributes(raw, plain.event, lenient.event, harvest)
        harvest.lost += message.dropped_attributes_count
        events.append(Event(harvest.text(message.name), message.time_unix_nano, attributes))
    return tuple(events)


def _read_links(items: Message, harvest: Harvest) -> tuple[Link, ...]:
    if not items:
        return ()
    links = []
    for raw in items[: harvest.spend(len(items), harvest.limits.max_links)]:
        message, attributes = read_with_attributes(raw, plain.link, lenient.link, harvest)
        if is_trace_id(message.trace_id) and is_span_id(message.span_id):
            links.append(Link(message.trace_id, message.span_id, attributes))
        else:
            harvest.malformed_links += 1
    return tuple(links)
