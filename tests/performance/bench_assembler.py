"""What the assembler costs: CPU a span beside a plain append of the same spans in the same run, and memory a trace.

    python tests/performance/bench_assembler.py [--spans N]

Figures are CPU time of this process, best of five. The machine may be noisy: compare the ratios, not the microseconds.
"""

import argparse
import gc
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from lanewatch.collector.assembler import METRICS, Assembler
from lanewatch.collector.closing import AssemblerLimits
from lanewatch.collector.counts import Counts
from lanewatch.collector.skeleton_groups import Skeleton, Skeletons, Unread
from lanewatch.collector.spans import CloseReason, Decoded, Resource, Scope, Span

from tests.collector.gathering import unread

BATCH = 512  # the batch span processor's default
ROUNDS = 5
SPANS_PER_TRACE = 20
FLOOD = 1_000_000
RESOURCE, SCOPE = Resource({"service.name": "bench"}), Scope("bench")
KEYS = [f"gen_ai.attribute.{k}" for k in range(13)]
ROOMY = AssemblerLimits(max_open_bytes=1 << 40, remembered_bytes=1 << 40, max_open_traces=1 << 40)


def agent_requests(n_spans: int, per_trace: int = SPANS_PER_TRACE) -> list[Decoded]:
    """Agent spans of 13 attributes, children before their root. Each id is an object of its own, as decoders make them."""
    spans = []
    for i in range(n_spans):
        trace, place = divmod(i, per_trace)
        is_root = place == per_trace - 1
        attributes = {key: f"value {i} of {key}".ljust(80) for key in KEYS}
        size = sum(len(key) + len(value) + 6 for key, value in attributes.items()) + 100
        span = Span(
            trace.to_bytes(16, "big"),
            (place + 1).to_bytes(8, "big"),
            b"" if is_root else per_trace.to_bytes(8, "big"),
            "chat",
            start_ns=i + 2**60,
            end_ns=i + 2**60 + 10,
            attributes=attributes,
            resource=RESOURCE,
            scope=SCOPE,
            size_bytes=size,
        )
        spans.append(span)
    return [Decoded(spans[i : i + BATCH], Skeletons(), [], 0, {}) for i in range(0, n_spans, BATCH)]


def skeleton_requests(n_spans: int, per_trace: int = SPANS_PER_TRACE) -> list[Decoded]:
    """Skeletons as a web service without agents sends them."""
    skeletons = [
        Skeleton(
            (i // per_trace).to_bytes(16, "big"), (i + 1).to_bytes(8, "big"), b"12345678", i + 2**60, i + 2**60 + 9
        )
        for i in range(n_spans)
    ]
    requests = [Decoded([], Skeletons(), [], 0, {}) for _ in range(0, n_spans, BATCH)]
    for i, skeleton in enumerate(skeletons):
        requests[i // BATCH].skeletons.groups.setdefault(skeleton.trace_id, []).append(unread(skeleton))
    return requests


def plain(requests: list[Decoded]) -> None:
    """Append each span to its trace's list: what any assembler has to do."""
    traces: dict[bytes, list[Span | Unread]] = {}
    for request in requests:
        for item in request.spans:
            traces.setdefault(item.trace_id, []).append(item)
        for trace_id, group in request.skeletons.groups.items():
            traces.setdefault(trace_id, []).extend(group)


def assembled(requests: list[Decoded], limits: AssemblerLimits = ROOMY, seconds_a_request: float = 0.0) -> Assembler:
    """Add the requests to a new assembler whose traces go nowhere."""
    assembler = Assembler(lambda _: None, limits, Counts(METRICS))
    for i, request in enumerate(requests):
        assembler.add(request, i * seconds_a_request)
    return assembler


def cpu_us(run: Callable[[], object], n_spans: int) -> float:
    """Best CPU microseconds a span."""
    best = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best / n_spans * 1e6


def traced_bytes(run: Callable[[], object]) -> int:
    """Memory that the result of `run` holds."""
    gc.collect()
    tracemalloc.start()
    result = run()
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return held


def resident_mib() -> float:
    """Resident memory now (Linux)."""
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize() / (1 << 20)


def flood() -> list[float]:
    """Send one-span traces whose root never comes, at the default limits; the resident memory after each fifth."""
    assembler = Assembler(lambda _: None, AssemblerLimits(), Counts(METRICS))
    readings = []
    for i in range(FLOOD):
        span = Span(i.to_bytes(16, "big"), b"12345678", b"87654321", size_bytes=100)
        assembler.add(Decoded([span], Skeletons(), [], 0, {}), i * 60 / FLOOD)
        if (i + 1) % (FLOOD // 5) == 0:
            readings.append(resident_mib())
    return readings


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=100_000)
    n_spans = parser.parse_args().spans
    out = sys.stdout

    out.write(f"flood, {FLOOD} traces of one span in a minute\n")
    before = resident_mib()
    start = time.process_time()
    grown = [mib - before for mib in flood()]
    seconds = time.process_time() - start
    out.write(f"  CPU a trace, eviction included     {seconds / FLOOD * 1e6:6.3f} us\n")
    out.write(f"  memory beyond the start, by fifths {', '.join(f'{mib:.0f}' for mib in grown)} MiB\n")

    agents, skeletons = agent_requests(n_spans), skeleton_requests(n_spans)
    base, noise_base = cpu_us(lambda: plain(agents), n_spans), cpu_us(lambda: plain(skeletons), n_spans)
    add = cpu_us(lambda: assembled(agents), n_spans)
    close = cpu_us(lambda: assembled(agents).close_all(CloseReason.SHUTDOWN), n_spans) - add
    flowing = cpu_us(lambda: assembled(agents, seconds_a_request=0.25), n_spans)
    noise = cpu_us(lambda: assembled(skeletons, seconds_a_request=0.05), n_spans)
    out.write(f"CPU us a span, {n_spans} spans, {SPANS_PER_TRACE} a trace\n")
    out.write(f"  agent span, plain dict append      {base:6.3f}\n")
    out.write(f"  agent span, add                    {add:6.3f}   {add / base:5.1f} x plain\n")
    out.write(f"  agent span, close and hand on      {close:6.3f}   {close / base:5.1f} x plain\n")
    out.write(f"  agent span, all, as time goes by   {flowing:6.3f}   {flowing / base:5.1f} x plain\n")
    out.write(f"  skeleton, plain dict append        {noise_base:6.3f}\n")
    out.write(f"  skeleton, add                      {noise:6.3f}   {noise / noise_base:5.1f} x plain\n")

    # One trace a span against twenty: two equations for the cost of a trace and of a span beside its own objects.
    n = min(n_spans, 20_000)
    for per_trace in (1, SPANS_PER_TRACE):
        requests = agent_requests(n, per_trace)
        held = traced_bytes(lambda r=requests: assembled(r))  # type: ignore[misc]
        estimated = assembled(requests).open_bytes - sum(s.size_bytes for r in requests for s in r.spans)
        made = traced_bytes(lambda p=per_trace: agent_requests(n, p))  # type: ignore[misc]
        traces = n // per_trace
        out.write(f"memory, {per_trace} span(s) a trace\n")
        out.write(
            f"  spans themselves, a span           {made / n:8.0f} bytes, on the wire {requests[0].spans[0].size_bytes}\n"
        )
        out.write(f"  assembler beside them, a trace     {held / traces:8.0f} bytes\n")
        out.write(f"  estimate beside the wire, a trace  {estimated / traces:8.0f} bytes\n")
    waiting = skeleton_requests(n)
    held = traced_bytes(lambda: assembled(waiting)) + traced_bytes(lambda: skeleton_requests(n))
    out.write(f"memory, waiting skeletons            {held / n:8.0f} bytes a skeleton\n")


if __name__ == "__main__":
    main()
