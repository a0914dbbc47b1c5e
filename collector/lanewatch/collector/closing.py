"""When a trace is handed on, and which one has to go when memory is short: pure functions of times, sizes and limits.

Invariants:

- A trace that is open is due at the latest `trace_timeout_seconds` after it was opened. A seen root only brings that
  forward; what arrives after the root prolongs the quiet time, but never beyond the timeout (Refinery's rule: the time to
  send only moves earlier, https://github.com/honeycombio/refinery/blob/main/collect/collector_worker.go).
- A root may never come: the parent is remote and exports elsewhere, or the process died. Then the timeout closes.
- Sizes are of memory, estimated: that of the content as it was decoded (`content`), plus a fixed part for each object.
  `bench_assembler.py` measures.
"""

import msgspec

from lanewatch.collector.spans import CloseReason

MiB = 1 << 20

# Measured on 4,098 recorded spans of many stacks: 3,275 bytes on the wire, 6,825 in memory, of which the content counts
# for 7,001 (what is not ASCII twice, since its UTF-8 comes to stand beside it) and the resource and scope for 328.
ITEM_BYTES = 500
SKELETON_BYTES = 350
TRACE_BYTES = 700

# Where memory is short, a trace whose root has come is taken for whole after this much quiet, before any other is cut.
SHORT_QUIET_SECONDS = 2.0
CUT = frozenset({CloseReason.SPAN_LIMIT, CloseReason.BYTE_LIMIT, CloseReason.EVICTED})


class AssemblerLimits(msgspec.Struct, frozen=True):
    """How long a trace may gather and how much may be held. The defaults suit a container with 512 MiB.

    Seconds are of the clock that the assembler is given: monotonic when live, event time in a replay.
    """

    # Every SDK hands spans and logs on after at most 5 s (OTEL_BSP_SCHEDULE_DELAY is 5000 ms): those of another process may
    # come that much later than the root. A trace that closed before would count a call as dropped, and counters can't be
    # taken back. Two seconds more are for the way.
    quiet_after_root_seconds: float = 7.0
    trace_timeout_seconds: float = 60.0
    max_trace_spans: int = 20_000  # relevant spans and log records; as many skeletons may come on top
    max_trace_bytes: int = 16 * MiB
    max_open_traces: int = 20_000
    max_open_bytes: int = 128 * MiB
    closed_traces_remembered: int = 10_000
    remembered_bytes: int = 64 * MiB  # of the spans of closed traces, kept so that late ones can revise a record
    revision_window_seconds: float = 300.0
    max_waiting_skeletons: int = 100_000  # of traces that are not agent traces yet; 12 to 27 MB
    # Evict down to this part of a limit: one scan of all open traces (10 ms) frees many (600, another 10 ms).
    eviction_ratio: float = 31 / 32


def due(opened_at: float, touched_at: float, *, root_seen: bool, limits: AssemblerLimits) -> tuple[float, CloseReason]:
    """When a trace closes if nothing more arrives, and why. `touched_at` is when something new last arrived."""
    timeout = opened_at + limits.trace_timeout_seconds
    quiet = touched_at + limits.quiet_after_root_seconds
    return (quiet, CloseReason.ROOT) if root_seen and quiet <= timeout else (timeout, CloseReason.TIMEOUT)


def limit_passed(n_items: int, n_bytes: int, limits: AssemblerLimits) -> CloseReason | None:
    """Why a trace that has grown to so much can't be held, or None where it can."""
    if n_items > limits.max_trace_spans:
        return CloseReason.SPAN_LIMIT
    if n_bytes > limits.max_trace_bytes:
        return CloseReason.BYTE_LIMIT
    return None


def impact(n_bytes: int, age_seconds: float, timeout_seconds: float) -> float:
    """Rate what closing a trace early is worth: its bytes, times 1 when new up to 5 at the timeout (Refinery's CacheImpact).

    A big trace goes before a small one, and of two alike the older one, of which less is still to come.
    """
    age = min(1.0, age_seconds / timeout_seconds) if timeout_seconds > 0 else 1.0
    return n_bytes * (1.0 + 4.0 * age)
