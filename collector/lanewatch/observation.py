"""One closed trace, seen by all: its record, where it diverges, and the verdict of each lane."""

import msgspec

from lanewatch.adapters.records import TraceRecord
from lanewatch.adapters.trace_record import read_trace
from lanewatch.collector.spans import Trace
from lanewatch.monitors.divergence import Divergence, find_divergences
from lanewatch.monitors.lanes import Lane, Verdict, judge_lanes


class Observation(msgspec.Struct, frozen=True):
    """What `run` counts and `replay` prints; the two can't disagree, since both get it from here."""

    record: TraceRecord
    divergences: tuple[Divergence, ...]
    lanes: dict[Lane, Verdict]


def observe(trace: Trace) -> Observation:
    """Read a closed trace and judge it."""
    record = read_trace(trace)
    divergences = find_divergences(record)
    return Observation(record, divergences, judge_lanes(record, divergences))
