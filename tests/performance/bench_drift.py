"""What drift costs: CPU a trace and signal on top of reading the trace, the price of a tick, and memory.

    python tests/performance/bench_drift.py [--traces N] [--rate PER_SECOND]

Figures are CPU time of this process, best of three, with the numbers of a plain loop over the same traces beside them. The
machine may be noisy: compare the ratios, not the microseconds.
"""

import argparse
import gc
import random
import resource
import time
import tracemalloc
from bisect import bisect_left
from collections.abc import Callable, Iterator

from lanewatch.monitors.drift.budget import Budget
from lanewatch.monitors.drift.building import build_reference
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.monitor import DriftMonitor
from lanewatch.monitors.drift.reference import Reference
from lanewatch.monitors.drift.vector_series import VectorSeries
from lanewatch.monitors.drift.view import DriftView, Phase, watching_view

from tests.monitors.drift.traces import Habits, traces

ROUNDS = 3
YARDSTICK_VALUES, YARDSTICK_SECONDS = 200_000, 108e-9
SERVICES = ("shop", "desk")
DAY = 86_400


def interleaved(n: int, rate: float, start: float, seed: int) -> Iterator[Facts]:
    """Traces of both services in order of time."""
    streams = [
        traces(random.Random(seed + k), n // 2, start, rate / 2, Habits(), service=s) for k, s in enumerate(SERVICES)
    ]
    yield from sorted((facts for stream in streams for facts in stream), key=lambda facts: facts.record.end_ns)


def cpu(run: Callable[[], object]) -> float:
    """Best CPU seconds."""
    best = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def count_values() -> None:
    """Values into fixed bins, as plainly as it can be done."""
    edges, counts = [float(k) for k in range(14)], [0] * 15
    for value in (k % 17 - 0.5 for k in range(YARDSTICK_VALUES)):
        counts[bisect_left(edges, value)] += 1


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--traces", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=20.0)
    args = parser.parse_args()
    training = list(interleaved(8000, args.rate, 4 * DAY, 1))
    reference = build_reference(lambda: ((facts, 1.0) for facts in training), random.Random(0), created=0)
    live = list(interleaved(args.traces, args.rate, 5 * DAY, 3))

    def plain() -> None:
        for facts in live:
            _ = facts.record.revision

    def observed(monitor: DriftMonitor) -> None:
        for facts in live:
            monitor.observer.observe(facts)

    monitor = DriftMonitor(reference)
    n_series, n_vectors = (
        len(monitor.watched),
        sum(isinstance(watched.watch.series, VectorSeries) for watched in monitor.watched.values()),
    )
    print(
        f"{n_series} series of {len(SERVICES)} services, {n_vectors} of them vectors; {args.traces} traces at {args.rate}/s"
    )
    base = cpu(plain)
    yardstick = cpu(count_values) / YARDSTICK_VALUES
    scale = YARDSTICK_SECONDS / yardstick
    print(f"one bisect and one add, the least it takes   {yardstick * 1e9:8.0f} ns   (108 where the limits were set)")
    counting = cpu(lambda: observed(DriftMonitor(reference))) - cpu(lambda: DriftMonitor(reference)) - base
    whole = cpu(lambda: run(reference, live)) - cpu(lambda: DriftMonitor(reference)) - base
    scalar = without_vectors(reference)
    plain_whole = cpu(lambda: run(scalar, live)) - cpu(lambda: DriftMonitor(scalar)) - base
    per_service = n_series / len(SERVICES)
    ticks = max((live[-1].record.end_ns - live[0].record.end_ns) / 1e10, 1)
    print(f"plain loop over the traces                {base / len(live) * 1e6:8.2f} us a trace")
    print(f"counting (signals, bins, open tick)       {counting / len(live) * 1e6:8.2f} us a trace")
    print(f"counting and detecting                    {whole / len(live) * 1e6:8.2f} us a trace")
    a_signal = whole / len(live) / per_service * 1e6
    scalar_signal = plain_whole / len(live) / (per_service - n_vectors / 2) * 1e6
    print(
        f"  the same, a trace and signal            {a_signal:8.2f} us   ({a_signal * scale:.2f} at 108 ns; at most 2)"
    )
    print(
        f"  without the vectors                     {scalar_signal:8.2f} us   ({scalar_signal * scale:.2f} at 108 ns; at most 2)"
    )
    ticked = viewed(reference, live[:5000])
    print(f"what the pages show, worked out once a tick  {ticked * 1e3:8.2f} ms")
    print(f"a tick of all series, closed and detected {(whole - counting) / ticks * 1e3:8.2f} ms, every 10 s")
    print(
        f"memory of {len(DriftMonitor(scalar).watched)} series without vectors    {held(scalar, live) / 1e6:8.2f} MB   (60 series: at most 2)"
    )
    print(f"memory of all {n_series} series                   {held(reference, live) / 1e6:8.2f} MB")
    print(
        f"resident memory of this process           {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MB at most"
    )


def run(reference: Reference, live: list[Facts]) -> DriftMonitor:
    """A new monitor that has seen everything."""
    monitor = DriftMonitor(reference, Budget())
    for facts in live:
        monitor.observe(facts)
    return monitor


def viewed(reference: Reference, live: list[Facts]) -> float:
    """CPU seconds of a tick's view, on the way through all traces."""
    monitor, view, spent, ticks = DriftMonitor(reference, Budget()), DriftView(Phase.LEARNING), 0.0, 0
    for facts in live:
        before = monitor.observer.tick
        monitor.observe(facts)
        if monitor.observer.tick != before:
            start = time.process_time()
            view = watching_view(DriftView(Phase.LEARNING), monitor, view)
            spent, ticks = spent + time.process_time() - start, ticks + 1
    return spent / max(ticks, 1)


def without_vectors(reference: Reference) -> Reference:
    """The reference without its vector signals."""
    import msgspec  # noqa: PLC0415

    services = {
        name: msgspec.structs.replace(service, projections={}) for name, service in reference.layout.services.items()
    }
    return msgspec.structs.replace(reference, layout=msgspec.structs.replace(reference.layout, services=services))


def held(reference: Reference, live: list[Facts]) -> int:
    """Bytes that a monitor with full windows holds, beside its reference."""
    gc.collect()
    tracemalloc.start()
    monitor = run(reference, live)
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del monitor
    return size


if __name__ == "__main__":
    main()
