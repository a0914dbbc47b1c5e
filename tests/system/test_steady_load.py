"""Steady traffic through the sidecar's own parts, on a clock that is passed in: nothing is lost, nothing grows (L1)."""

import gc
import random
from collections import deque

from lanewatch.collector.intake import Transport
from lanewatch.collector.responses import Media
from lanewatch.collector.spans import Signal, Trace
from lanewatch.config.keys import Config
from lanewatch.observation import Observer
from lanewatch.rules import rules_of
from lanewatch.sidecar.app import Sidecar
from prometheus_client.parser import text_string_to_metric_families

from tests.performance.bench_process import agent_batch, agent_captures

SETTLING = 6  # minutes after which all that is kept for a time, or up to a number, is full
STEADY = 3
TICK_SECONDS = 5
KEPT = 50  # traces, wherever a number of them is kept
SETTINGS = {
    "judge": {"enabled": False},
    "drift": {"enabled": False},  # it learns for thousands of traces, within bounds of its own
    "assembler": {"revision_window_seconds": 60, "closed_traces_remembered": KEPT},
    "artifacts": {"remembered_traces": KEPT},
}


class Steady:
    """A sidecar without its threads: what they would do is done here, by a clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sent = 0
        self.sidecar = Sidecar(Config.model_validate(SETTINGS), clock=lambda: self.now)
        rules = rules_of(self.sidecar._config)
        self.sidecar.reading._observer = Observer(rules=rules, related_traces=KEPT)
        self._closed: deque[Trace] = deque()
        self.sidecar.assembler._deliver = self._closed.append

    def send(self, body: bytes, spans: int) -> int:
        """One request; returns what was accepted of it."""
        self.sent += spans
        receipt = self.sidecar.intake.accept(body, signal=Signal.TRACES, media=Media.PROTOBUF, protocol=Transport.GRPC)
        return receipt.accepted

    def pass_a_minute(self) -> None:
        """Ticks as the sidecar's, and every closed trace is read."""
        reading = self.sidecar.reading
        for _ in range(60 // TICK_SECONDS):
            self.now += TICK_SECONDS
            self.sidecar.assembler.close_due(self.now)
            while self._closed:
                reading.take(self._closed.popleft())
            reading._queue.put(None)
            reading._read()
            reading.settle()

    def total(self, name: str) -> float:
        """The sum of a metric over all of its series."""
        families = text_string_to_metric_families(self.sidecar.exposition.text(openmetrics=False).decode())
        return sum(sample.value for family in families for sample in family.samples if sample.name == name)


def objects() -> int:
    """How many objects Python's collector knows of, garbage aside."""
    gc.collect()
    return len(gc.get_objects())


def test_steady_traffic_loses_nothing_and_leaves_nothing() -> None:
    """L1: each minute the same runs come under new ids. Once what is kept is full, further minutes leave not one object more
    for each of their traces; every span is in a trace, and every trace was read.
    """
    steady, rng = Steady(), random.Random(5)
    runs = [body for capture in agent_captures()[::20] for body in capture]
    held = []
    for minute in range(SETTLING + STEADY):
        body, spans = agent_batch([runs], rng)
        assert steady.send(body, spans) == spans
        steady.pass_a_minute()
        if minute >= SETTLING:
            held.append(objects())
    read = steady.total("lanewatch_traces_read_total")

    assert max(held) - min(held) < read / len(held) / 2
    assert (
        steady.sent == steady.total("lanewatch_spans_received_total") == steady.total("lanewatch_spans_assembled_total")
    )
    assert read == steady.total("lanewatch_traces_opened_total") == steady.total("lanewatch_traces_closed_total") > 0
    assert steady.total("lanewatch_adapter_errors_total") == 0
