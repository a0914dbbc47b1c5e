"""Plays recorded turns into a sidecar for some minutes, with a fault in one lane after the other, and draws the dashboards from
what a real Prometheus with the shipped rules then answers.

    python -m tests.system.take_pictures FOLDER [--seconds N]
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from lanewatch.config.keys import Config
from lanewatch.replaying.playback import replay
from opentelemetry.proto.trace.v1.trace_pb2 import Span as RecordedSpan

from dashboards.build import DASHBOARDS, text_of
from dashboards.pictures import Asked, Shown, picture, save
from dashboards.queries import Span
from tests.system.alerting import Prometheus, scraping
from tests.system.dashboard_run import JSON, post_all, wait_scraped
from tests.system.lane_faults import as_it_is, hidden_answer, no_documents, turn
from tests.system.sidecar import Running, running
from tests.system.test_artifacts import without_a_call

STACK, SERVICE, OTHER = "openai_oi", "support", "shop"
SCRAPE_SECONDS, SECONDS, A_SECOND = 2, 240, 5
FIT, LEARNT, SPACING = 400, 1400, 6.0
SETTINGS = {
    "LANEWATCH_JUDGE_ENABLED": "true",
    "LANEWATCH_SAMPLING_RATE": "0.3",
    "LANEWATCH_DRIFT_FIT_TRACES": str(FIT),
    "LANEWATCH_DRIFT_LEARNING_SECONDS": str(LEARNT * SPACING),
}
USUAL = {
    "01_right_tool": 40,
    "10_rag_only": 22,
    "03_parallel": 20,
    "04_retry": 5,
    "13_streaming": 8,
    "05_tool_error": 2,
    "09_refusal": 2,
    "07b_rewrite_inside": 1,
}
Change = Callable[[RecordedSpan], None]


class Fault(msgspec.Struct, frozen=True):
    """From `begin` to `end`, as parts of the whole time, this share of the turns is another capture, or changed."""

    begin: float
    end: float
    share: float
    capture: str
    change: Change = as_it_is


FAULTS = (
    Fault(0.20, 0.45, 0.30, "01_right_tool", no_documents),
    Fault(0.40, 0.62, 0.18, "07_runtime_rewrite"),
    Fault(0.40, 0.62, 0.05, "08_dropped"),
    Fault(0.48, 0.60, 0.04, "14b_bad_schema"),
    Fault(0.62, 0.80, 0.45, "01_right_tool", hidden_answer),
    Fault(0.78, 1.00, 0.12, "09_refusal"),
)
BAD_ADAPTER = 0.55  # from then on it loses a call
TOLD_OUTCOME, HELD = 0.4, 0.93  # shares of turns whose outcome somebody tells, and of those that it holds


def chosen(rng: random.Random, part: float) -> tuple[str, Change]:
    """What a turn is at this part of the whole time."""
    for fault in FAULTS:
        if fault.begin <= part < fault.end and rng.random() < fault.share:
            return fault.capture, fault.change
    return rng.choices(list(USUAL), list(USUAL.values()))[0], as_it_is


def learn(sidecar: Running, now: float, rng: random.Random) -> None:
    """The usual traffic of the hours before, as much as makes a reference."""

    def made() -> Iterator[bytes]:
        for number in range(LEARNT):
            at = now - (LEARNT - number + FIT + 10) * SPACING  # a pause ends the learning
            yield turn(f"{STACK}/{chosen(rng, -1)[0]}", SERVICE, at, slower=rng.lognormvariate(0, 0.3))[1]

    post_all(sidecar, made())
    sidecar.wait_until_read(LEARNT)
    post_all(sidecar, [turn(f"{STACK}/10_rag_only", SERVICE, now - SPACING)[1]])
    sidecar.wait_for(lambda: sidecar.total("lanewatch_drift_phase", phase="watching") == 1)


def play(sidecar: Running, seconds: int, rng: random.Random) -> None:
    """So many seconds of traffic, as fast as it happens."""
    begin = time.time()
    for second in range(seconds):
        part = second / seconds
        time.sleep(max(begin + second - time.time(), 0))
        for number in range(A_SECOND):
            at = time.time() - 2 + number / A_SECOND
            capture, change = chosen(rng, part)
            service = OTHER if number == 0 and change is as_it_is else SERVICE
            slower = rng.lognormvariate(0, 0.3)
            trace_id, body = turn(f"{STACK}/{capture}", service, at, slower=slower, change=change)
            if rng.random() < TOLD_OUTCOME:
                told = {"name": "state", "trace_id": trace_id, "status": "pass" if rng.random() < HELD else "fail"}
                sidecar.post("/v1/outcomes", json.dumps(told).encode(), Content_Type=JSON)
            post_all(sidecar, [body])
            if capture == "03_parallel":
                tell(sidecar, trace_id, body, faulty=part >= BAD_ADAPTER)


def tell(sidecar: Running, trace_id: str, body: bytes, *, faulty: bool) -> None:
    """An evaluator's adapter pushes what it made of a turn."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "turn.pb").write_bytes(body)
        messages: Any = replay(Path(folder), Config()).observations[0].record.messages
    pushed = {
        "producer": "my_adapter",
        "trace_id": trace_id,
        "messages": without_a_call(messages) if faulty else messages,
    }
    sidecar.post("/v1/artifacts", json.dumps(pushed).encode(), Content_Type=JSON)


def asked_of(scraped: Prometheus) -> Asked:
    """A server, as pictures ask it."""

    def instant(expr: str, at: float) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = scraped.get("/api/v1/query", query=expr, time=f"{at:.3f}")["result"]
        return found

    def over_time(expr: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        times = {"start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.0f}"}
        found: list[dict[str, Any]] = scraped.get("/api/v1/query_range", query=expr, **times)["result"]
        return found

    return Asked(instant, over_time)


def values_of(name: str) -> dict[str, str]:
    """What is chosen in a dashboard: all services where several can be."""
    signals = {"retrieval": "contexts", "generation": "response_length", "tools": "tool", "outcome": "latency"}
    values = {f"{lane}_signal": signal for lane, signal in signals.items()}
    values |= dict.fromkeys(("tool", "job", "instance", *(f"{lane}_score" for lane in signals)), ".+")
    return {**values, "service": SERVICE if name in ("retrieval-generation", "drift", "divergence") else ".+"}


def draw_all(scraped: Prometheus, end: float, seconds: int, folder: Path) -> None:
    """All dashboards as they are now."""
    step = max(SCRAPE_SECONDS, seconds // 60)
    span = Span(length=seconds, step=step, scrape=SCRAPE_SECONDS)
    for name in DASHBOARDS:
        page = json.loads(text_of(name))
        save(folder, name, picture(page, asked_of(scraped), Shown(end, span, values_of(name))))


def main(arguments: list[str] | None = None) -> int:
    """Always 0."""
    parser = argparse.ArgumentParser(description="Draw the dashboards from a run with recorded traffic.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="how long traffic is played")
    asked = parser.parse_args(arguments)
    rng = random.Random(7)
    base = Path(tempfile.mkdtemp())
    with running(**SETTINGS) as sidecar, scraping(base, sidecar.page_port, interval_seconds=SCRAPE_SECONDS) as scraped:
        learn(sidecar, time.time(), rng)
        wait_scraped(scraped, 8)  # what is learnt is not in the time shown
        play(sidecar, asked.seconds, rng)
        end = time.time()
        wait_scraped(scraped, 3)
        draw_all(scraped, end, asked.seconds, asked.folder)
    sys.stdout.write(f"{asked.folder}: {', '.join(DASHBOARDS)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
