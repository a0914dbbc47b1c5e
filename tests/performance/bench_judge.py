"""What judging costs the sidecar: its own CPU per agent span with the judge on and off, measured in turns, and what the worker takes.

The same batches of recorded agents' spans, under ids of their own, go into a sidecar with and one without, a batch to each in turn:
what else the machine does then slows both alike. The figure is the median of the blocks' ratios. Offline metrics, at the default rates
and cap.
"""

import contextlib
import json
import random
import re
import sys
import time
from pathlib import Path
from statistics import median

import grpc

from tests.performance.bench_process import EXPORT, Sidecar, agent_batch, agent_captures, cpu_seconds, resident_mb

BLOCKS = 5
SPANS = 12_000  # of one block
OFFLINE = "number_support,entity_support,quote_support,lexical_support,negation_agreement"


def worker_of(pid: int) -> int | None:
    """The judging process of a sidecar."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            for child in (task / "children").read_text().split():
                return int(child)
    return None


def scored(sidecar: Sidecar) -> float:
    """Evaluations that have ended, of drawn traces."""
    text = sidecar.page()
    ended = re.findall(r'^lanewatch_evaluations_total\{.*outcome="(\w+)".*\} (\S+)$', text, re.MULTILINE)
    return sum(float(value) for outcome, value in ended if outcome in {"scored", "not_applicable", "unscored"})


def block(sidecars: dict[str, Sidecar], captures: list[list[bytes]], rng: random.Random) -> dict[str, float]:
    """CPU microseconds of each sidecar per span, records and metrics included, the quiet time too."""
    before = {name: cpu_seconds(sidecar.process.pid) for name, sidecar in sidecars.items()}
    spans, names = 0, list(sidecars)
    with contextlib.ExitStack() as stack:
        exports = {}
        for name, sidecar in sidecars.items():
            channel = stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{sidecar.grpc_port}"))
            exports[name] = channel.unary_unary(EXPORT)
        while spans < SPANS:
            body, count = agent_batch(captures, rng)
            spans += count
            names.reverse()
            for name in names:
                exports[name](body, timeout=60)
    time.sleep(8)  # the quiet time of the last traces, and whoever judges them
    deadline = time.monotonic() + 60
    while any(sidecar.unread() for sidecar in sidecars.values()) and time.monotonic() < deadline:
        time.sleep(1)
    return {name: (cpu_seconds(sidecar.process.pid) - before[name]) / spans * 1e6 for name, sidecar in sidecars.items()}


def main() -> None:
    """Print the figures as one table, and as a JSON line."""
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else BLOCKS
    rng = random.Random(11)
    captures = agent_captures()
    sidecars = {
        "off": Sidecar(LANEWATCH_JUDGE_ENABLED="false"),
        "on": Sidecar(LANEWATCH_JUDGE_ENABLED="true", LANEWATCH_JUDGE_METRICS=OFFLINE),
    }
    cpu: dict[str, list[float]] = {"off": [], "on": []}
    rest = {}
    try:
        time.sleep(1)
        rest = {name: resident_mb(sidecar.process.pid) for name, sidecar in sidecars.items()}
        block(sidecars, captures, rng)  # warms up, and fills the registers
        for _ in range(blocks):
            for name, used in block(sidecars, captures, rng).items():
                cpu[name].append(used)
        on = sidecars["on"]
        worker = worker_of(on.process.pid)
        evaluations = scored(on)
        figures = {
            "agent span, judge off, us CPU": median(cpu["off"]),
            "agent span, judge on, us CPU of the sidecar": median(cpu["on"]),
            "on / off, median of the blocks (target 1.05)": median(
                b / a for a, b in zip(cpu["off"], cpu["on"], strict=True)
            ),
            "resident at rest, judge off, MB": rest["off"],
            "resident at rest, judge on, MB (target 120)": rest["on"],
            "evaluations of drawn traces": evaluations,
            "worker, resident MB": float("nan") if worker is None else resident_mb(worker),
            "worker, ms CPU an evaluation": float("nan")
            if worker is None
            else cpu_seconds(worker) / max(1.0, evaluations) * 1e3,
        }
    finally:
        statuses = [sidecar.stop() for sidecar in sidecars.values()]
    for name, value in figures.items():
        print(f"{name:50}{value:10.2f}")
    print(json.dumps({"exit_statuses": statuses, "blocks": cpu, **figures}))


if __name__ == "__main__":
    main()
