"""Spans of a closed trace that can't have been as they say: times and parents that no run has.

They are read as they came (their order falls back to ids, walks up a cycle end), and counted, once a span: broken emitters and
clocks that differ between hosts show here before they show as odd figures elsewhere. Of a trace that late spans revise, what
was there at its first closing is counted.
"""

from lanewatch.collector.counts import Counts, Metric
from lanewatch.collector.explained import Explained
from lanewatch.collector.spans import Span, Trace

LATEST_NS = 1 << 63  # the year 2262; beyond it stand times that were counted down from zero


class Oddity(Explained):
    """What is odd about a span; the label of `lanewatch_odd_spans_total`."""

    BAD_TIME = "bad_time", "it has no start, ended before it began, or stands beyond the year 2262"
    BEFORE_PARENT = "before_parent", "it began before its parent: the clocks of two hosts differ"
    PARENT_CYCLE = "parent_cycle", "it is its own ancestor"


_NAME = "lanewatch_odd_spans"
METRICS = (
    Metric(
        _NAME,
        "Spans of closed traces that can't be as they say, and are read all the same: "
        + "; ".join(f"`{one}`: {one.meaning}" for one in Oddity)
        + ".",
        ("oddity",),
        tuple((one.value,) for one in Oddity),
    ),
)


def count_oddities(trace: Trace, counts: Counts) -> None:
    """Count the oddities of a trace at its first closing; takes time in proportion to its spans."""
    if trace.revision:
        return
    spans = {span.span_id: span for span in trace.spans}
    for span in trace.spans:
        if not span.start_ns <= span.end_ns < LATEST_NS or not span.start_ns:
            counts.add(_NAME, Oddity.BAD_TIME)
            continue
        parent = spans.get(span.parent_id)
        if parent is not None and span.start_ns < parent.start_ns:
            counts.add(_NAME, Oddity.BEFORE_PARENT)
    if n := _in_cycles(spans):
        counts.add(_NAME, Oddity.PARENT_CYCLE, n=n)


def _in_cycles(spans: dict[bytes, Span]) -> int:
    """How many spans are their own ancestors. Each is walked over once."""
    walked: set[bytes] = set()
    n = 0
    for start in spans:
        span_id = start
        path: dict[bytes, int] = {}
        while span_id in spans and span_id not in walked:
            walked.add(span_id)
            path[span_id] = len(path)
            span_id = spans[span_id].parent_id
        if span_id in path:
            n += len(path) - path[span_id]
    return n
