"""Recorded OTLP through the same intake, assembler and readers as live traffic, with a clock that follows event time."""

from collections.abc import Callable
from math import inf
from pathlib import Path

import msgspec
from msgspec.structs import replace

from lanewatch import parts
from lanewatch.collector.admission import Admission, AdmissionLimits
from lanewatch.collector.assembler import Assembler
from lanewatch.collector.closing import AssemblerLimits
from lanewatch.collector.counts import Counts
from lanewatch.collector.event_clock import EventClock
from lanewatch.collector.intake import Intake, IntakeLimits, Transport
from lanewatch.collector.oddities import count_oddities
from lanewatch.collector.outcomes import Refused
from lanewatch.collector.recorded import Batch, read_recorded
from lanewatch.collector.spans import CloseReason, Decoded, RejectReason, Trace
from lanewatch.config.keys import Config
from lanewatch.observation import Observation, Observer
from lanewatch.replaying.problems import Problems
from lanewatch.rules import rules_of

REMEMBERED_BYTES = 512 * 2**20  # a replay is a process of its own and may remember more than a sidecar


class Replayed(msgspec.Struct, frozen=True):
    """What one path held: its traces in order of their start (the latest revision of each), and what could not be read."""

    path: str
    observations: tuple[Observation, ...]
    problems: tuple[str, ...]
    counts: Counts


def replay(
    path: Path,
    config: Config,
    *,
    on_progress: Callable[[int, int], None] = lambda _read, _total: None,
    on_records: Callable[[int, int], None] = lambda _made, _total: None,
) -> Replayed:
    """Read one file or folder. What can't be read becomes a problem; the rest is still read.

    `on_progress` gets the bytes read and in all; then `on_records` how many of the traces still open were made into
    records, which takes longer than reading where one long run was recorded.
    """
    observations: dict[str, Observation] = {}

    def keep(_trace: Trace, seen: Observation) -> None:
        observations[seen.record.trace_id] = seen

    told, counts = observe_path(path, config, keep, on_progress=on_progress, on_records=on_records)
    ordered = sorted(observations.values(), key=lambda seen: (seen.record.start_ns, seen.record.trace_id))
    return Replayed(str(path), tuple(ordered), told, counts)


def observe_path(
    path: Path,
    config: Config,
    on_observation: Callable[[Trace, Observation], None],
    *,
    on_progress: Callable[[int, int], None] = lambda _read, _total: None,
    on_records: Callable[[int, int], None] = lambda _made, _total: None,
) -> tuple[tuple[str, ...], Counts]:
    """Read one file or folder and hand on each observation as it is made, with the trace that it was made of or that
    told more of it; a revised trace's once more, keeping none.

    Returns what could not be read, and the counts. For recordings of which less is wanted than all records at once.
    """
    observer = Observer(rules=rules_of(config), related_bytes=REMEMBERED_BYTES)
    problems = Problems()
    counts = Counts(parts.COUNTS)

    def deliver(trace: Trace) -> None:
        count_oddities(trace, counts)
        for seen in observer.observe(trace):
            on_observation(trace, seen)
        counts.add("lanewatch_traces_read")
        if still_open:
            on_records(min(counts.value("lanewatch_traces_read") - made_before, still_open), still_open)

    made_before = still_open = 0

    assembler = Assembler(deliver, _patient(parts.assembler_limits(config)), counts)
    clock = EventClock()

    def gather(decoded: Decoded) -> None:
        assembler.add(decoded, clock.event_time(decoded))

    limits = parts.intake_limits(config)
    intake = _intake(gather, limits, counts)

    for batch in read_recorded(
        path,
        on_unreadable=problems.unreadable,
        on_progress=on_progress,
        max_request_bytes=limits.max_request_bytes,
    ):
        before = _rejected(counts)
        try:
            receipt = intake.accept(batch.body, signal=batch.signal, media=batch.media, protocol=Transport.FILE)
        except Refused as refused:
            problems.refused(batch, refused)
            continue
        if receipt.rejected:
            _tell_rejected(batch, before, _rejected(counts), problems)
    made_before = counts.value("lanewatch_traces_read")
    still_open = assembler.open_traces + assembler.revising_traces
    assembler.close_all(CloseReason.SHUTDOWN)
    return (*problems.lines(), *(f"{path}: {loss}" for loss in _losses(counts))), counts


def _rejected(counts: Counts) -> dict[RejectReason, int]:
    return {reason: counts.value("lanewatch_spans_rejected", reason) for reason in RejectReason}


def _tell_rejected(
    batch: Batch, before: dict[RejectReason, int], after: dict[RejectReason, int], problems: Problems
) -> None:
    for reason, n in after.items():
        if n > before[reason]:
            problems.rejected(batch, reason, n - before[reason])


def _patient(limits: AssemblerLimits) -> AssemblerLimits:
    """A folder is read in name order, logs before spans, so a log may be an hour older than its span's request."""
    return replace(limits, revision_window_seconds=inf, remembered_bytes=max(limits.remembered_bytes, REMEMBERED_BYTES))


def _losses(counts: Counts) -> list[str]:
    """What was in the recording and is in no record, by how many and why."""
    late = counts.value("lanewatch_late_spans", "dropped")
    told = [
        f"{late} spans came after all that was remembered of their traces; raise assembler.remembered_bytes"
    ] * bool(late)
    dropped = counts.value("lanewatch_spans_dropped")
    if dropped:
        told.append(
            f"{dropped} spans were beyond a limit of their trace; raise assembler.max_trace_spans and max_trace_bytes"
        )
    return told


def _intake(deliver: Callable[[Decoded], None], limits: IntakeLimits, counts: Counts) -> Intake:
    """An intake that always has room: a file waits for its reader by itself."""
    room = AdmissionLimits(max_in_flight_bytes=2 * limits.max_request_bytes)
    admission = Admission(room, clock=lambda: 0.0, read_memory=lambda: 0)
    return Intake(deliver, parts.RELEVANCE, limits, counts, admission)
