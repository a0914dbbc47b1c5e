"""Parents, children and logs of a trace's spans.

The tree is made once, in time that grows with the number of spans: every span has at most one known parent, and a cycle
of parents (a broken emitter) is cut at its earliest span, so that walks end.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any

from lanewatch.adapters.reading import read_json
from lanewatch.adapters.work import Work
from lanewatch.collector.spans import LogRecord, Span, Trace

GLANCES = 16  # children that are passed over in one step of work


class SpanTree:
    """A trace, indexed. Children are in order of start time; `order` has every span behind its parent."""

    def __init__(self, trace: Trace, work: Work | None = None) -> None:
        """`work` is what reading the trace may cost, WORK_LIMIT unless it is given."""
        self.trace = trace
        self.work = work if work is not None else Work()
        self.memo: dict[object, Any] = {}  # what readers worked out once for many spans, by (who, of what)
        self._spans = {span.span_id: span for span in trace.spans}
        self._children: dict[bytes, list[Span]] = defaultdict(list)
        self._logs: dict[bytes, list[LogRecord]] = defaultdict(list)
        self._parents: dict[bytes, Span | None] = {}
        self._depths: dict[bytes, int] = {}
        self._tops: dict[bytes, Span] = {}
        self.order: list[Span] = []
        tops: list[Span] = []
        for span in trace.spans:
            if span.parent_id in self._spans:
                self._children[span.parent_id].append(span)
            else:
                tops.append(span)
        for log in trace.logs:
            self._logs[log.span_id].append(log)
        for span in tops:
            self._add(span)
        if len(self.order) < len(self._spans):  # what a cycle leaves over starts at its earliest
            for span in trace.spans:
                if span.span_id not in self._parents:
                    tops.append(span)
                    self._add(span)
        # No orphan and no cycle: no process died on the way, as far as the spans tell.
        self.rooted = not any(top.parent_id for top in tops)

    def _add(self, top: Span) -> None:
        """Take in a span that has no known parent, and all below it, level by level."""
        below = [top]
        self._parents[top.span_id], self._depths[top.span_id], self._tops[top.span_id] = None, 0, top
        for span in below:  # grows on the way
            children = self._children.get(span.span_id)
            if children is None:
                continue
            depth = self._depths[span.span_id] + 1
            for child in children:
                if child.span_id not in self._parents:
                    self._parents[child.span_id], self._depths[child.span_id] = span, depth
                    self._tops[child.span_id] = top
                    below.append(child)
        self.order += below

    def span(self, span_id: bytes) -> Span | None:
        """The span of this id."""
        return self._spans.get(span_id)

    def parent(self, span: Span) -> Span | None:
        """The span above, if it is known."""
        return self._parents.get(span.span_id)

    def ancestors(self, span: Span) -> Iterator[Span]:
        """Parent, grandparent, ... as far as they are known."""
        above = self._parents.get(span.span_id)
        while above is not None:
            yield above
            above = self._parents[above.span_id]

    def depth(self, span: Span) -> int:
        """How many known ancestors a span has."""
        return self._depths.get(span.span_id, 0)

    def top(self, span: Span) -> Span:
        """The last of the ancestors, or the span itself."""
        return self._tops[span.span_id]

    def children(self, span: Span) -> list[Span]:
        """Direct children."""
        children = self._children.get(span.span_id)
        if children is None:
            return []
        self.work.spend(len(children) // GLANCES)
        return children

    def nearest_above(self, marked: Collection[bytes]) -> dict[bytes, bytes]:
        """For each span that has one, the id of its nearest ancestor among `marked`."""
        nearest: dict[bytes, bytes] = {}
        if not marked:
            return nearest
        for span in self.order:
            parent = self._parents[span.span_id]
            if parent is None:
                continue
            if parent.span_id in marked:
                nearest[span.span_id] = parent.span_id
            elif parent.span_id in nearest:
                nearest[span.span_id] = nearest[parent.span_id]
        return nearest

    def read_json(self, span: Span, key: str) -> Any:
        """The object or list in an attribute of a span that many others ask for: it is decoded once."""
        place = (span.span_id, key)
        if place not in self.memo:
            self.memo[place] = read_json(span.attributes.get(key))
        return self.memo[place]

    def later_beside(self, span: Span) -> Iterator[Span]:
        """The spans under the same known parent that began when this one had ended or later, in order."""
        parent = self._parents.get(span.span_id)
        siblings = self._children[parent.span_id] if parent is not None else []
        for place in range(bisect_left(siblings, span.end_ns, key=lambda one: one.start_ns), len(siblings)):
            self.work.spend()
            if siblings[place].span_id != span.span_id:
                yield siblings[place]

    def logs(self, span: Span) -> list[LogRecord]:
        """Log records of a span, in order of arrival."""
        return self._logs.get(span.span_id, [])
