"""Tells spans that some convention may know from all others, by one look at their bytes.

A marker is a prefix of an attribute's key or of a string value ("gen_ai.", "openinference."), anywhere in a span, its
events included. Looking for four dozen markers one by one costs 5 microseconds a span; one expression that is anchored
at protobuf's length bytes costs 0.6. So it looks at keys and values of less than 128 bytes, whose length is one byte.
Whether any marker occurs in a request, anchored or not, costs 0.1 to 0.2: most requests end there. It takes vector
instructions (https://github.com/BurntSushi/aho-corasick/tree/master/src/packed/teddy), which `re` does not have.

Invariant: a miss is certain, a hit is not. A span that carries a marker is always found; one that is found for another
reason (a line of a text that starts with a marker; in JSON, any string that does) merely costs its decoding.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec
from ahocorasick_rs import BytesAhoCorasick, MatchKind

from lanewatch.collector.spans import Attributes

WINDOW_BYTES = 1 << 20
# Each hit in a window becomes an object: of one, a body of nothing else has 5,000 made in vain.
MENTION_WINDOW_BYTES = 1 << 14
# An agent's spans have a marker every 60 bytes: a first window of the full size costs 2 us a span.
_FIRST_MENTION_WINDOW_BYTES = 1 << 10
MOST_MARKERS, SHORTEST_MARKER = 64, 3  # beyond these, looking for mentions takes twice as long as the expression does
_LONGEST_MARKER = 256  # and more: it is found though it lies across the border of two windows

_NEVER = re.compile(rb"(?!)")
_STRING = b"\n."  # field 1 of KeyValue (its key) and of AnyValue (a string) alike: tag 0x0a, length
_EVENT_NAME = b"b."  # field 12 of LogRecord
_JSON_STRING = rb'"(?<!\\")'


class Relevance(msgspec.Struct, frozen=True):
    """What makes a span relevant: a marker, the start of its scope's name, or a resource attribute (key, exact value).

    Nothing of `own_scopes` (exact names) is: what Lanewatch sends out about traffic may come back to it, and is no traffic.
    """

    keys: tuple[bytes, ...] = ()
    scopes: tuple[str, ...] = ()
    resources: tuple[tuple[str, str], ...] = ()
    own_scopes: frozenset[str] = frozenset()
    # Made of `keys`: find them anywhere, and in a span's protobuf bytes, in a log record's event name, and in JSON text.
    words: BytesAhoCorasick | None = None
    in_wire: re.Pattern[bytes] = _NEVER
    in_event_name: re.Pattern[bytes] = _NEVER
    in_json: re.Pattern[bytes] = _NEVER

    def __post_init__(self) -> None:
        if not all(self.keys):
            raise ValueError("an empty marker would make every span relevant: leave it out of Relevance.keys")
        if self.keys:
            # Only the leftmost kinds use vector instructions; that of the longest spreads the markers better over their lanes.
            search = BytesAhoCorasick(self.keys, matchkind=MatchKind.LeftmostLongest)
            msgspec.structs.force_setattr(self, "words", search)
            words = _expression(self.keys)
            for field, anchor in (("in_wire", _STRING), ("in_event_name", _EVENT_NAME), ("in_json", _JSON_STRING)):
                msgspec.structs.force_setattr(self, field, re.compile(anchor + words, re.DOTALL))

    def mentions(self, body: bytes) -> bool:
        """Whether any of `keys` occurs in a body. Where none does none of the expressions finds anything in it."""
        if self.words is None:
            return False
        find, view = self.words.find_matches_as_indexes, memoryview(body)
        start, size = 0, _FIRST_MENTION_WINDOW_BYTES
        while start < len(body):
            if find(view[start : start + size + _LONGEST_MARKER]):
                return True
            start, size = start + size, min(2 * size, MENTION_WINDOW_BYTES)
        return False

    def marks_scope(self, name: str) -> bool:
        """Whether all spans of this instrumentation scope count."""
        return name.startswith(self.scopes)

    def may_mark_resource(self, raw: bytes) -> bool:
        """Whether it is worth decoding this resource to ask `marks_resource`."""
        return any(key.encode() in raw and value.encode() in raw for key, value in self.resources)

    def marks_resource(self, attributes: Attributes) -> bool:
        """Whether all spans of this resource count."""
        return any(attributes.get(key) == value for key, value in self.resources)


def searching(pattern: re.Pattern[bytes], body: bytes) -> Callable[[Any], object]:
    """`pattern.search` for a body and its parts, in windows where the body is large.

    A search holds Python's interpreter lock from its begin to its end: a body of 64 MiB of line ends would stop the event
    loop for more than a second, though a worker reads it.
    """
    return pattern.search if len(body) <= WINDOW_BYTES else partial(_search_in_windows, pattern)


def _search_in_windows(pattern: re.Pattern[bytes], raw: Any) -> object:
    n_bytes = len(memoryview(raw))
    for start in range(0, n_bytes, WINDOW_BYTES):
        found = pattern.search(raw, start, start + WINDOW_BYTES + _LONGEST_MARKER)
        if found:
            return found
    return None


def _expression(words: tuple[bytes, ...]) -> bytes:
    """What finds each of the words.

    One class of first bytes, then a tree of what follows, and only at the end of a branch a look back at the first byte:
    alternatives are tried one by one, and most keys and values end at this class or at the byte behind it. A tree from the
    first byte on takes a quarter longer, a flat list half as long again.
    """
    shortest = [word for word in words if not any(word != other and word.startswith(other) for other in words)]
    return _one_of(word[0] for word in shortest) + _rest(shortest, 1)


def _rest(words: list[bytes], at: int) -> bytes:
    """The same from a place on; up to there the words are alike, but for their first byte."""
    ended = [word for word in words if len(word) == at]
    branches = [b"(?<=%b%b)" % (_one_of(word[0] for word in ended), re.escape(ended[0][1:]))] if ended else []
    longer = sorted((word for word in words if len(word) > at), key=itemgetter(at))
    branches += [
        re.escape(bytes([byte])) + _rest(list(group), at + 1) for byte, group in groupby(longer, itemgetter(at))
    ]
    return branches[0] if len(branches) == 1 else b"(?:%b)" % b"|".join(branches)


def _one_of(some: Iterable[int]) -> bytes:
    return b"[%b]" % b"".join(re.escape(bytes([byte])) for byte in sorted(set(some)))
