"""Skeletons of one request by trace, each as it came until somebody wants it: most belong to no agent's trace and are never read.

Invariant: bytes that stand for a skeleton were checked before they came in. They are a span's up to and with its end time,
laid out as `read_skeleton` says: one object of a hundred bytes, where a Skeleton is six of three hundred.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from struct import Struct
from typing import TypeAlias

import msgspec


class Skeleton(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is kept of a span that no convention knows, so that parent chains still run through it. There may be a hundred
    thousand, of bytes and numbers: Python's garbage collector has nothing to look for in them.
    """

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    start_ns: int
    end_ns: int


Unread: TypeAlias = Skeleton | bytes

PARENT_TAG = 0x22
AFTER_SPAN_ID = 28  # where the parent's tag is, or the name's
_times = Struct("<QxQ").unpack_from  # the last fields, the tag of the end between them


def read_skeleton(unread: Unread) -> Skeleton:
    """The skeleton of a span's first fields: trace_id, span_id, parent_span_id or none, name, kind, start and end."""
    if isinstance(unread, Skeleton):
        return unread
    parent_id = unread[30:38] if unread[AFTER_SPAN_ID] == PARENT_TAG else b""
    start_ns, end_ns = _times(unread, len(unread) - 17)
    return Skeleton(unread[2:18], unread[20:28], parent_id, start_ns, end_ns)


class Skeletons:
    """A request's, by trace id in order of appearance. Its length is their number; iterating reads them."""

    __slots__ = ("groups",)

    def __init__(self, skeletons: Iterable[Skeleton] = ()) -> None:
        self.groups: dict[bytes, list[Unread]] = {}
        for skeleton in skeletons:
            self.add(skeleton)

    def add(self, skeleton: Skeleton) -> None:
        """Put a skeleton to those of its trace."""
        self.groups.setdefault(skeleton.trace_id, []).append(skeleton)

    def parts(self, size: int) -> Iterator["Skeletons"]:
        """The same in parts of at most so many."""
        pairs = ((trace_id, unread) for trace_id, group in self.groups.items() for unread in group)
        while taken := list(islice(pairs, size)):
            part = Skeletons()
            for trace_id, unread in taken:
                part.groups.setdefault(trace_id, []).append(unread)
            yield part

    def __len__(self) -> int:
        return sum(map(len, self.groups.values()))

    def __iter__(self) -> Iterator[Skeleton]:
        return (read_skeleton(unread) for group in self.groups.values() for unread in group)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Skeletons) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]
