"""What the collector hands on: spans, log records, and the traces made of them.

Ids are raw bytes (16 for a trace, 8 for a span), checked by the decoder and nowhere else. Times are nanoseconds since
the Unix epoch. Attribute values are plain Python: None, bool, int, float, str, bytes, list, dict.
"""

from enum import IntEnum, StrEnum
from functools import cached_property
from typing import Any, TypeAlias

import msgspec

from lanewatch.collector.content import digest
from lanewatch.collector.explained import Explained
from lanewatch.collector.skeleton_groups import Skeletons

AttributeValue: TypeAlias = Any
Attributes: TypeAlias = dict[str, AttributeValue]

_SHARED = frozenset({"resource", "scope", "size_bytes"})


class Signal(StrEnum):
    """OTLP's signals, as far as Lanewatch takes them."""

    TRACES = "traces"
    LOGS = "logs"


class RejectReason(Explained):
    """Why a span or log record was rejected out of an accepted request; the label of `lanewatch_spans_rejected_total`.

    What each means is its row in docs/refused-requests.md.
    """

    INVALID_TRACE_ID = "invalid_trace_id", "the trace id is not 16 bytes (32 hex digits in JSON), or it is all zero"
    INVALID_SPAN_ID = "invalid_span_id", "the span id is not 8 bytes (16 hex digits in JSON), or it is all zero"
    UNDECODABLE_SPAN = "undecodable_span", "the span is no OTLP message, or has more fields than the limit"
    UNDECODABLE_LOG = "undecodable_log", "the log record is no OTLP message, or has more fields than the limit"
    UNDECODABLE_RESOURCE = "undecodable_resource", "the resource or scope that it shares with others can't be read"
    TOO_MANY_ITEMS = "too_many_items", "the request holds more spans or log records than the limit"


class StatusCode(IntEnum):
    """Status of a span, with OTLP's numbers."""

    UNSET = 0
    OK = 1
    ERROR = 2


class CloseReason(StrEnum):
    """Why the assembler handed a trace on; also the label of `lanewatch_traces_closed_total`."""

    ROOT = "root"  # the root has ended and nothing came for the quiet time
    TIMEOUT = "timeout"  # no root within the trace timeout
    SPAN_LIMIT = "span_limit"
    BYTE_LIMIT = "byte_limit"
    EVICTED = "evicted"  # memory ran out; the heaviest and oldest go first
    SHUTDOWN = "shutdown"  # the process stops, or the recorded input ended
    REVISED = "revised"  # late spans joined a trace that was closed before


class Resource(msgspec.Struct, frozen=True, dict=True):
    """What emitted the spans. Shared by them, so its digest is made once for all."""

    attributes: Attributes = {}
    size_bytes: int = 0

    @cached_property
    def digest(self) -> bytes:
        """Equal where the content is."""
        return digest(self.attributes)

    @property
    def service(self) -> str | None:
        """`service.name`, or None where it is missing, empty or the SDK's `unknown_service`."""
        name = self.attributes.get("service.name")
        return name if isinstance(name, str) and name and not name.startswith("unknown_service") else None


class Scope(msgspec.Struct, frozen=True, dict=True):
    """The instrumentation scope; shared as a resource is."""

    name: str = ""
    version: str = ""
    schema_url: str = ""
    attributes: Attributes = {}
    size_bytes: int = 0

    @cached_property
    def digest(self) -> bytes:
        """Equal where the content is."""
        return digest((self.name, self.version, self.schema_url, self.attributes))


class Event(msgspec.Struct, frozen=True):
    """A span event."""

    name: str
    time_ns: int
    attributes: Attributes = {}


class Link(msgspec.Struct, frozen=True):
    """A span link."""

    trace_id: bytes
    span_id: bytes
    attributes: Attributes = {}


class Span(msgspec.Struct, frozen=True, dict=True):
    """One span. `relevant` is False for a span that no convention knows: it keeps ids, name and times only."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes = b""  # empty: a root
    name: str = ""
    kind: int = 0
    start_ns: int = 0
    end_ns: int = 0
    status: int = 0
    status_message: str = ""
    attributes: Attributes = {}
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    resource: Resource = Resource()
    scope: Scope = Scope()
    dropped_attributes: int = 0  # by the SDK's limits or by ours
    size_bytes: int = 0  # of its content in memory, those of the resource and scope apart
    relevant: bool = True
    trace_state: str = ""  # W3C's, where it tells with what probability the trace was sampled; else empty

    @cached_property
    def digest(self) -> bytes:
        """Equal where the content is. Made once, so that a thousand resends cost one of it and a thousand of theirs."""
        return _item_digest(self)


class LogRecord(msgspec.Struct, frozen=True, dict=True):
    """One log record that belongs to a span (GenAI events carry message content this way)."""

    trace_id: bytes
    span_id: bytes = b""
    event_name: str = ""
    time_ns: int = 0
    body: AttributeValue = None
    attributes: Attributes = {}
    resource: Resource = Resource()
    scope: Scope = Scope()
    dropped_attributes: int = 0
    size_bytes: int = 0

    @cached_property
    def digest(self) -> bytes:
        """As a span's."""
        return _item_digest(self)


class Trace(msgspec.Struct, frozen=True):
    """All that is known of one trace at the moment it was closed.

    `spans` are in order of start time, then span id, and hold each span id once. `revision` is 0 at the first closing
    and grows by one each time late spans or logs reopen the trace; a revision holds everything, not just what is new.
    `complete` is False where spans of it were lost to a limit: its evidence can't be `complete` then.
    """

    trace_id: bytes
    spans: tuple[Span, ...]
    logs: tuple[LogRecord, ...] = ()
    reason: CloseReason = CloseReason.ROOT
    revision: int = 0
    complete: bool = True


class Decoded(msgspec.Struct, frozen=True):
    """One request, decoded. Conservation: the request's items = spans + skeletons + logs + unrelated logs + rejected."""

    spans: list[Span]
    skeletons: Skeletons
    logs: list[LogRecord]
    unrelated_logs: int  # log records that no convention knows, or that name no trace
    rejected: dict[str, int]  # reason (a RejectReason) -> number of spans or log records
    # Parent ids of a wrong length or naming the span itself, and log records' span ids of a wrong length: dropped, while
    # the span or log record is kept.
    malformed_links: int = 0


def _item_digest(item: Span | LogRecord) -> bytes:
    own = [getattr(item, field) for field in item.__struct_fields__ if field not in _SHARED]
    return digest((own, item.resource.digest, item.scope.digest))
