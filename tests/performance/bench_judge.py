"""What judging costs the sidecar: its own CPU per agent span with the judge on and off, measured in turns, and what the worker takes.

The same batches of recorded agents' spans, under ids of their own, go into a sidecar with and one without, a batch to each in turn:
what else the machine does then slows both alike. The figure is the median of the blocks' ratios. Offline metrics, at the default rates
and cap. Each block has a fresh pair. Only runs that retrieved something and answered are sent, so that whatever is drawn is judged by
every metric; of other agents' runs hardly one is, and a draw costs next to nothing.
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
from lanewatch.config.keys import Config
from lanewatch.monitors.judge.eligibility import eligible
from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.sample import draft_of
from lanewatch.observation import Observation
from lanewatch.replaying.playback import observe_path

from tests.performance.bench_process import (
    EXPORT,
    Sidecar,
    agent_batch,
    agent_captures,
    cpu_seconds,
    resident_mb,
    wait_until_read,
)

BLOCKS = 4  # even: each comes first in half of them
SPANS = 36_000  # of one block: draws are bounded by the minute, and a short burst would have a minute's
OFFLINE = "number_support,entity_support,quote_support,lexical_support,negation_agreement"


def is_judged(folder: Path) -> bool:
    """Whether the offline metrics can be asked of a recorded run's answer."""
    metrics = [BY_NAME[name] for name in OFFLINE.split(",")]
    found = False

    def see(_: object, seen: Observation) -> None:
        nonlocal found
        draft = draft_of(seen.record)
        found = found or all(eligible(metric, draft) is None for metric in metrics)

    observe_path(folder, Config(), see)
    return found


def worker_of(pid: int) -> int | None:
    """The judging process of a sidecar."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            for child in (task / "children").read_text().split():
                return int(child)
    return None


def judged(sidecar: Sidecar) -> float:
    """Evaluations that the worker has ended."""
    counts = re.findall(r"^lanewatch_judge_call_seconds_count\{.*\} (\S+)$", sidecar.page(), re.MULTILINE)
    return sum(map(float, counts))


def export_all(sidecars: dict[str, Sidecar], captures: list[list[bytes]], rng: random.Random, spans: int) -> int:
    """Send at least so many spans to each, a batch in turn; how many they were."""
    sent, names = 0, list(sidecars)
    with contextlib.ExitStack() as stack:
        exports = {}
        for name, sidecar in sidecars.items():
            channel = stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{sidecar.grpc_port}"))
            exports[name] = channel.unary_unary(EXPORT)
        while sent < spans:
            body, count = agent_batch(captures, rng)
            sent += count
            names.reverse()
            for name in names:
                exports[name](body, timeout=60)
    for sidecar in sidecars.values():
        wait_until_read(sidecar)  # and judged
    return sent


def block(captures: list[list[bytes]], rng: random.Random, number: int) -> dict[str, float]:
    """Figures of a fresh pair: two processes differ by some percent of themselves, by where their memory lies and how it hashes."""
    settings = {
        "off": {"LANEWATCH_JUDGE_ENABLED": "false"},
        "on": {"LANEWATCH_JUDGE_ENABLED": "true", "LANEWATCH_JUDGE_METRICS": OFFLINE},
    }
    names = list(settings)[:: -1 if number % 2 else 1]
    sidecars = {name: Sidecar(**settings[name]) for name in names}
    try:
        time.sleep(1)
        figures = {f"rest {name}": resident_mb(sidecar.process.pid) for name, sidecar in sidecars.items()}
        export_all(sidecars, captures, rng, SPANS // 12)  # warms up: a process loads and compiles on its first traces
        before = {name: cpu_seconds(sidecar.process.pid) for name, sidecar in sidecars.items()}
        spans = export_all(sidecars, captures, rng, SPANS)
        for name, sidecar in sidecars.items():
            figures[name] = (cpu_seconds(sidecar.process.pid) - before[name]) / spans * 1e6
        worker = worker_of(sidecars["on"].process.pid)
        figures["evaluations"] = judged(sidecars["on"])
        if worker is None or not figures["evaluations"]:
            raise SystemExit("nothing was judged: what judging costs is not known")
        figures["worker"] = resident_mb(worker)
        figures["worker ms"] = cpu_seconds(worker) / figures["evaluations"] * 1e3
    finally:
        for sidecar in sidecars.values():
            sidecar.stop()
    return figures


def main() -> None:
    """Print the figures as one table, and as a JSON line."""
    rng = random.Random(11)
    captures = agent_captures(is_judged)
    blocks = [block(captures, rng, number) for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else BLOCKS)]

    def middle(name: str) -> float:
        return median(one.get(name, float("nan")) for one in blocks)

    figures = {
        "agent span, judge off, us CPU": middle("off"),
        "agent span, judge on, us CPU of the sidecar": middle("on"),
        "on / off, median of the blocks (target 1.05)": median(one["on"] / one["off"] for one in blocks),
        "resident at rest, judge off, MB": middle("rest off"),
        "resident at rest, judge on, MB (target 120)": middle("rest on"),
        "evaluations that the worker ended, anchors' too": middle("evaluations"),
        "worker, resident MB": middle("worker"),
        "worker, ms CPU an evaluation, its start included": middle("worker ms"),
    }
    for name, value in figures.items():
        print(f"{name:50}{value:10.2f}")
    print(json.dumps({"blocks": [[one["off"], one["on"]] for one in blocks], **figures}))


if __name__ == "__main__":
    main()
