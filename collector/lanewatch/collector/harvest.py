"""What has been read of one request so far: its items, what was rejected and why, and how much may still be read.

Both decoders fill one, a new one for each request, so that limits and counts mean the same in protobuf and JSON.
"""

from lanewatch.collector.limits import DecodeLimits, Overwork
from lanewatch.collector.skeleton_groups import Skeletons
from lanewatch.collector.spans import Decoded, LogRecord, RejectReason, Span

NO_TRACE_ID = bytes(16)
NO_SPAN_ID = bytes(8)
# An honest attribute takes a dozen bytes or more. Empty values take two, and two microseconds each: without this a request
# of 1 MiB could hold the event loop for seconds.
_BYTES_A_VALUE, _ALWAYS_GRANTED = 8, 10_000
_NO_LIMIT = 1 << 62
TOO_DEEP = "<too deep>"
TOO_LARGE = "<too large>"


class Harvest:
    """Items and counts of one request. `lost` and `values_left` belong to the item that is being read."""

    __slots__ = (
        "_fewest_values",
        "_put_by",
        "_work_left",
        "inner_bytes",
        "items_left",
        "limits",
        "logs",
        "lost",
        "malformed_links",
        "rejected",
        "skeletons",
        "spans",
        "unrelated_logs",
        "values_left",
    )

    def __init__(self, limits: DecodeLimits, body_bytes: int) -> None:
        self.limits = limits
        self.items_left = limits.max_spans_per_request
        granted = min(limits.max_values, max(body_bytes // _BYTES_A_VALUE, _ALWAYS_GRANTED))
        self.values_left = min(granted, limits.max_item_values)  # to the item that is being read
        self._put_by = granted - self.values_left  # for those behind it
        self._work_left = limits.max_work or _NO_LIMIT
        self._fewest_values = granted - self._work_left
        self.lost = 0  # attributes, values, events and links that this item had and its Span or LogRecord won't have
        self.inner_bytes = 0  # memory of what this item has in arrays and maps
        self.spans: list[Span] = []
        self.skeletons = Skeletons()
        self.logs: list[LogRecord] = []
        self.unrelated_logs = 0
        self.rejected: dict[str, int] = {}
        self.malformed_links = 0

    def begin(self) -> None:
        """A further item, resource or scope is read: nothing of it is lost yet, and it has values of its own to spend."""
        self.lost = self.inner_bytes = 0
        if self._put_by:
            left = self.values_left + self._put_by
            self.values_left = min(left, self.limits.max_item_values)
            self._put_by = left - self.values_left
        if self.values_left + self._put_by < self._fewest_values:
            raise Overwork

    def toil(self, units: int) -> None:
        """Parts are about to be read; raises `Overwork` where they are too many. Values are seen to by themselves."""
        self._work_left -= units
        if self._work_left < 0:
            raise Overwork

    def admit(self, n: int) -> int:
        """How many of `n` further items may be read; the others are rejected."""
        admitted = min(n, self.items_left)
        self.items_left -= admitted
        if admitted < n:
            self.reject(RejectReason.TOO_MANY_ITEMS, n - admitted)
        return admitted

    def spend(self, n: int, limit: int | None = None) -> int:
        """How many of `n` further values may be read, at most `limit`; the others are lost."""
        granted = min(n, self.values_left) if limit is None else min(n, self.values_left, limit)
        self.values_left -= granted
        self.lost += n - granted
        if self.values_left + self._put_by < self._fewest_values:
            raise Overwork
        return granted

    def text(self, value: str | bytes) -> str:
        """A text field of either schema, cut to `max_value_bytes` of UTF-8 on a character's border."""
        limit = self.limits.max_value_bytes
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if len(value) * 4 <= limit:
            return value
        encoded = value.encode()
        if len(encoded) <= limit:
            return value
        self.lost += 1
        return encoded[:limit].decode("utf-8", "ignore")

    def cut_bytes(self, value: bytes) -> bytes:
        """The same for bytes."""
        if len(value) <= self.limits.max_value_bytes:
            return value
        self.lost += 1
        return value[: self.limits.max_value_bytes]

    def reject(self, reason: RejectReason, n: int = 1) -> None:
        """Count `n` items that are rejected."""
        self.rejected[reason] = self.rejected.get(reason, 0) + n

    def has_valid_ids(self, trace_id: bytes, span_id: bytes) -> bool:
        """Whether a span has both its ids; if not, it is rejected herewith."""
        if len(trace_id) != len(NO_TRACE_ID) or trace_id == NO_TRACE_ID:
            self.reject(RejectReason.INVALID_TRACE_ID)
            return False
        if len(span_id) != len(NO_SPAN_ID) or span_id == NO_SPAN_ID:
            self.reject(RejectReason.INVALID_SPAN_ID)
            return False
        return True

    def linked_span_id(self, span_id: bytes, own_id: bytes = b"") -> bytes:
        """The id of the parent, or of a log record's span: b"" where empty, all zero (some exporters do), or malformed."""
        if not span_id or span_id == NO_SPAN_ID:
            return b""
        if len(span_id) == len(NO_SPAN_ID) and span_id != own_id:
            return span_id
        self.malformed_links += 1
        return b""

    def decoded(self) -> Decoded:
        """The result, once all is read."""
        return Decoded(
            spans=self.spans,
            skeletons=self.skeletons,
            logs=self.logs,
            unrelated_logs=self.unrelated_logs,
            rejected=self.rejected,
            malformed_links=self.malformed_links,
        )


def is_trace_id(trace_id: bytes) -> bool:
    """16 bytes, not all zero."""
    return len(trace_id) == len(NO_TRACE_ID) and trace_id != NO_TRACE_ID


def is_span_id(span_id: bytes) -> bool:
    """8 bytes, not all zero."""
    return len(span_id) == len(NO_SPAN_ID) and span_id != NO_SPAN_ID
