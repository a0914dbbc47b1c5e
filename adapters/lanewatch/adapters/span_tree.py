"""Parents, children and logs of a trace's spans. Walks end on cycles and missing parents."""

from collections import defaultdict
from collections.abc import Iterator

from lanewatch.collector.spans import LogRecord, Span, Trace


class SpanTree:
    """A trace, indexed. Children are in order of start time."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._spans = {span.span_id: span for span in trace.spans}
        self._children: dict[bytes, list[Span]] = defaultdict(list)
        self._logs: dict[bytes, list[LogRecord]] = defaultdict(list)
        for span in trace.spans:
            if span.parent_id:
                self._children[span.parent_id].append(span)
        for log in trace.logs:
            self._logs[log.span_id].append(log)

    def span(self, span_id: bytes) -> Span | None:
        """The span of this id."""
        return self._spans.get(span_id)

    def ancestors(self, span: Span) -> Iterator[Span]:
        """Parent, grandparent, ... as far as they are known."""
        seen = {span.span_id}
        above = self._spans.get(span.parent_id)
        while above is not None and above.span_id not in seen:
            yield above
            seen.add(above.span_id)
            above = self._spans.get(above.parent_id)

    def children(self, span: Span) -> list[Span]:
        """Direct children."""
        return self._children.get(span.span_id, [])

    def descendants(self, span: Span) -> Iterator[Span]:
        """Everything below, nearest first."""
        seen = {span.span_id}
        level = list(self.children(span))
        while level:
            below: list[Span] = []
            for child in level:
                if child.span_id not in seen:
                    seen.add(child.span_id)
                    yield child
                    below.extend(self.children(child))
            level = below

    def logs(self, span: Span) -> list[LogRecord]:
        """Log records of a span, in order of arrival."""
        return self._logs.get(span.span_id, [])

    @property
    def rooted(self) -> bool:
        """Whether every span's parent chain ends at a root that has arrived: no orphan, so no process died on the way."""
        return all(not span.parent_id or span.parent_id in self._spans for span in self.trace.spans)
