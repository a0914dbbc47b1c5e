"""What has arrived of one trace, and the `Trace` that it makes.

Invariants:

- A span id is held once, a log record once; the first to arrive wins, unless a later span of its id says all that it said
  and more: exporters that send a span when it begins send it again when it has ended. A span that a convention knows replaces the
  skeleton of the same id, whichever came first.
- The `Trace` depends on what arrived, not on its order: spans are sorted by start time and id, log records by time,
  span id, name and identity.
- Parent ids are handed on as they came. They may name a missing span, the span itself or a cycle: whoever walks them
  keeps a set of visited ids, as `missing_parents` does.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import TypeAlias

import msgspec

from lanewatch.collector.closing import ITEM_BYTES, TRACE_BYTES
from lanewatch.collector.content import digest
from lanewatch.collector.skeleton_groups import Skeleton
from lanewatch.collector.spans import CloseReason, LogRecord, Resource, Scope, Span, StatusCode, Trace

Item: TypeAlias = Span | LogRecord

_in_order: Callable[[Span], tuple[int, bytes]] = attrgetter("start_ns", "span_id")


class Gathered(msgspec.Struct):
    """The parts of one trace. Mutable; owned by the assembler while open and by the closed traces' memory afterwards."""

    trace_id: bytes
    opened_at: float  # for the second time when late spans reopened it
    touched_at: float
    closed_at: float = 0.0
    items: dict[bytes, Item] = {}  # spans by span id (8 bytes), log records by `log_identity` (16 bytes)
    skeletons: dict[bytes, Skeleton] = {}
    n_bytes: int = TRACE_BYTES
    root_seen: bool = False
    revision: int = 0
    skeletons_refused: bool = False  # more came than the limit lets one trace keep
    wanted: frozenset[bytes] = frozenset()  # parents that were missing when it was closed
    # What the latest item came with. Items of one request share both, so they are charged to the trace once.
    resource: Resource | None = None
    scope: Scope | None = None

    def charge(self, item: Item) -> int:
        """Memory that the item adds, in bytes: its own, and that of its resource and scope where these are new."""
        size = ITEM_BYTES + item.size_bytes
        if item.resource is not self.resource:
            size += item.resource.size_bytes
        if item.scope is not self.scope:
            size += item.scope.size_bytes
        return size


def log_identity(log: LogRecord) -> bytes:
    """Digest what makes a log record one and the same: span, name, time and body. It has no id of its own."""
    return digest((log.span_id, log.event_name, log.time_ns, log.body))


def same_content(a: Item, b: Item) -> bool:
    """Whether two items of one identity are a resend, whatever encoding each was sent in.

    What is held is read once however many resends come: digests are kept.
    """
    return a.digest == b.digest


def extends(item: Item, held: Item) -> bool:
    """Whether an item of the same identity says all that the held one says, and has more attributes, events or links.

    Anything else that is told twice is a conflict, in which nobody can say who is right.
    """
    if isinstance(item, LogRecord) or isinstance(held, LogRecord):
        return False
    own, other = item.attributes, held.attributes
    told = (own, item.events, item.links), (other, held.events, held.links)
    return (
        sum(map(len, told[0])) > sum(map(len, told[1]))
        and (item.parent_id, item.name, item.kind, item.start_ns)
        == (held.parent_id, held.name, held.kind, held.start_ns)
        and item.end_ns >= held.end_ns
        and held.status in (StatusCode.UNSET, item.status)
        and item.dropped_attributes <= held.dropped_attributes
        and item.resource.digest == held.resource.digest
        and item.scope.digest == held.scope.digest
        and item.events[: len(held.events)] == held.events
        and item.links[: len(held.links)] == held.links
        and digest({key: own.get(key) for key in other}) == digest(other)
    )


def missing_parents(gathered: Gathered) -> frozenset[bytes]:
    """Ids that the parent chains of the items lead to and that have not arrived. Each chain step is walked once."""
    items, skeletons = gathered.items, gathered.skeletons
    missing: list[bytes] = []
    seen: set[bytes] = set()
    for item in items.values():
        parent = item.parent_id if isinstance(item, Span) else item.span_id
        while parent and parent not in seen:
            seen.add(parent)
            if parent in items:
                break
            skeleton = skeletons.get(parent)
            if skeleton is None:
                missing.append(parent)
                break
            parent = skeleton.parent_id
    return frozenset(missing)


def trace_of(gathered: Gathered, reason: CloseReason, *, complete: bool) -> Trace:
    """Make the trace as it stands. Skeletons become spans that are not `relevant` and have ids and times alone."""
    spans: list[Span] = []
    logs: list[tuple[int, bytes, str, bytes, LogRecord]] = []
    for key, item in gathered.items.items():
        if isinstance(item, Span):
            spans.append(item)
        else:
            logs.append((item.time_ns, item.span_id, item.event_name, key, item))
    spans += [
        Span(s.trace_id, s.span_id, s.parent_id, start_ns=s.start_ns, end_ns=s.end_ns, relevant=False)
        for s in gathered.skeletons.values()
    ]
    spans.sort(key=_in_order)
    logs.sort()  # the key differs in each, so that no two records are ever compared
    return Trace(
        trace_id=gathered.trace_id,
        spans=tuple(spans),
        logs=tuple(log for *_, log in logs),
        reason=CloseReason.REVISED if gathered.revision else reason,
        revision=gathered.revision,
        complete=complete,
    )
