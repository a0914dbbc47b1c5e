"""Recorded traces as drift sees them: read once, in order of their end, cut down to what the signals read.

Kept of a trace is about 2 kB and its question and answer, so a recording of 100,000 traces takes some 500 MB. What has
no time, or lies off the others by more than 400 days, is left out and counted: time is what a monitor goes by.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from lanewatch.adapters.records import TraceRecord
from lanewatch.collector.spans import Trace
from lanewatch.config.keys import Config
from lanewatch.drifting.watch import weighted_facts
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.observer import UNKNOWN_SERVICE
from lanewatch.observation import Observation
from lanewatch.replaying.playback import observe_path

NANOSECONDS = 1_000_000_000
FAR_NS = 400 * 86_400 * NANOSECONDS
MAX_TRACES = 2_000_000  # further ones are left out, and counted

Weighted: TypeAlias = tuple[Facts, float | None]


class Traffic(msgspec.Struct, frozen=True):
    """Traces in order of their end, with weights (None: sampling unknown), and what is not among them."""

    traces: list[Weighted]
    problems: tuple[str, ...] = ()
    without_time: int = 0
    far_off: int = 0
    outside: int = 0  # of the window that was asked for
    beyond_limit: int = 0

    @property
    def services(self) -> dict[str, int]:
        """Traces by service, the most first."""
        return dict(Counter(facts.record.service or UNKNOWN_SERVICE for facts, _ in self.traces).most_common())

    @property
    def first_ns(self) -> int:
        """The end of the first trace."""
        return self.traces[0][0].record.end_ns

    @property
    def last_ns(self) -> int:
        """The end of the last trace."""
        return self.traces[-1][0].record.end_ns

    def between(self, first: int, last: int) -> "Traffic":
        """The traces from one place in the order to another."""
        return replace(self, traces=self.traces[first:last])


def read_traffic(
    paths: list[Path],
    config: Config,
    *,
    keep: Callable[[int], bool] = lambda _end_ns: True,
    on_progress: Callable[[int, int], None] = lambda _read, _total: None,
    on_records: Callable[[int, int], None] = lambda _made, _total: None,
) -> Traffic:
    """Read files and folders. `keep` tells by its end (nanoseconds since the epoch) whether a trace is wanted.

    Of a trace that late spans revised, and of one that stands in several files, the last record counts.
    """
    found: dict[str, Weighted] = {}
    without_time = outside = beyond_limit = 0
    problems: list[str] = []

    def take(trace: Trace, seen: Observation) -> None:
        nonlocal without_time, outside, beyond_limit
        record = seen.record
        if record.end_ns <= 0:
            without_time += 1
        elif not keep(record.end_ns):
            outside += 1
        elif record.trace_id not in found and len(found) >= MAX_TRACES:
            beyond_limit += 1
        else:
            facts, weight = weighted_facts(trace, seen)
            known = found.get(record.trace_id)
            if known is not None and record.trace_id != trace.trace_id.hex():
                # Another trace told more of this one; its vector and its weight are in its own spans.
                facts, weight = replace(facts, embedding=known[0].embedding), known[1]
            found[record.trace_id] = _slim(facts), weight

    for path in paths:
        told, _ = observe_path(path, config, take, on_progress=on_progress, on_records=on_records)
        problems += told
    ordered = sorted(found.values(), key=lambda one: (one[0].record.end_ns, one[0].record.trace_id))
    near = _near(ordered)
    return Traffic(near, tuple(problems), without_time, len(ordered) - len(near), outside, beyond_limit)


def _near(ordered: list[Weighted]) -> list[Weighted]:
    if not ordered:
        return []
    middle = ordered[len(ordered) // 2][0].record.end_ns
    return [one for one in ordered if abs(one[0].record.end_ns - middle) <= FAR_NS]


def _slim(facts: Facts) -> Facts:
    """Without the texts and values that were read already; what the signals look at stays."""
    return replace(
        facts,
        record=_slim_record(facts.record),
        divergences=facts.divergences[:1],
        documents=tuple(replace(one, content=None) for one in facts.documents),
    )


def _slim_record(record: TraceRecord) -> TraceRecord:
    return replace(
        record,
        revision=0,  # the last record is the one that counts
        messages=(),
        tools={},
        shown_ids=(),
        requests=tuple(
            replace(
                one,
                arguments=None if one.arguments is None else True,
                arguments_raw=None if one.arguments_raw is None else "",
            )
            for one in record.requests
        ),
        dispatches=tuple(replace(one, arguments=None, result=None, schema=None, keys=()) for one in record.dispatches),
        retrievals=tuple(
            replace(one, query=None, documents=tuple(replace(d, content=None) for d in one.documents))
            for one in record.retrievals
        ),
        responses=tuple(replace(one, text=None) for one in record.responses),
    )
