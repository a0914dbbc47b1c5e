"""`lanewatch demo`: a sidecar, recorded traffic of real agents sent into it over real OTLP, and what it finds.

The recordings go in over gRPC and over HTTP, gzip compressed, exactly as an application would send them.
"""

import asyncio
import gzip
import http.client
import threading
import time

import grpc
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from lanewatch.app import ListenerError, Sidecar
from lanewatch.config_keys import Config, Metrics, Receivers
from lanewatch.demo_stories import STORIES, Story, requests_of, samples, tell, tell_moved
from lanewatch.observation import Observation

EXPORT = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}
PATIENCE_SECONDS = 30.0
POLL_SECONDS = 0.2


def run_demo(config: Config, *, stay: bool) -> bool:
    """Show it all; with `stay` on the configured ports and until a signal. False where it could not be shown.

    A signal ends it after at most the current wait, and well: it was asked for.
    """
    console = Console(highlight=False)
    if not stay:
        # A demo must not fail because a sidecar runs already.
        config = config.model_copy(
            update={"receivers": Receivers(grpc_port=0, http_port=0), "metrics": Metrics(port=0)},
        )
    try:
        return asyncio.run(_life(config, console, stay=stay))
    except ListenerError as error:
        text = str(error)
        console.print(f"{text[0].upper()}{text[1:]} Is a sidecar running already? "
                      "`lanewatch demo --endpoint http://127.0.0.1:4318` plays into it.",
                      style="red", markup=False, soft_wrap=True)  # fmt: skip
        return False


async def _life(config: Config, console: Console, *, stay: bool) -> bool:
    seen: dict[str, Observation] = {}
    arrived = threading.Event()

    def observer(observation: Observation) -> None:
        seen[observation.record.trace_id] = observation
        arrived.set()

    sidecar = Sidecar(config, observer=observer)
    sidecar.stop_on_signals()
    ready = asyncio.Event()
    life = asyncio.create_task(sidecar.run(started=lambda _: ready.set()))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait({life, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if life.done():
        waiting.cancel()
        life.result()
        return False
    shown = False
    try:
        shown = await asyncio.to_thread(_show, sidecar, seen, arrived, console)
        if sidecar.stopping:
            console.print("The demonstration was stopped.")
            shown = True
        elif stay and shown:
            _say_where(sidecar, console)
            await life
    finally:
        # Whatever happened: grpc.aio must be stopped before its event loop is closed.
        if not life.done():
            sidecar.stop()
            await life
    return shown


def _show(sidecar: Sidecar, seen: dict[str, Observation], arrived: threading.Event, console: Console) -> bool:
    console.print(Panel(Text(
        "Lanewatch compares what the model asked for, what the runtime ran, and what an evaluator is told.\n"
        "Five recordings of real agents are now sent into a sidecar over OTLP.",
    )))  # fmt: skip
    for story in STORIES:
        known = set(seen)
        try:
            before = _metrics(sidecar)
            with console.status(f"sending {story.title.lower()} and waiting for the trace to close ..."):
                traces = _send(story, sidecar)
                arrived_in_time = _wait(len(known) + traces, seen, arrived, sidecar)
            after = _metrics(sidecar)
        except (OSError, grpc.RpcError):
            if sidecar.stopping:
                return False
            raise
        if sidecar.stopping:
            return False
        if not arrived_in_time:
            console.print("The sidecar did not report in time. Is the machine very busy? Try again.", style="red")
            return False
        tell(story, [seen[trace_id] for trace_id in seen if trace_id not in known], console)
        tell_moved(before, after, console)
    return True


def _wait(expected: int, seen: dict[str, Observation], arrived: threading.Event, sidecar: Sidecar) -> bool:
    """Wait until so many traces were read; False where they were not in time, or the sidecar stops."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(seen) < expected:
        if sidecar.stopping or time.monotonic() > deadline:
            return False
        arrived.wait(POLL_SECONDS)
        arrived.clear()
    return True


def _send(story: Story, sidecar: Sidecar) -> int:
    """Send a story's requests, by turns over HTTP and gRPC; returns how many traces are to be expected."""
    before = sidecar.counts.value("lanewatch_traces_opened")
    with grpc.insecure_channel(f"127.0.0.1:{sidecar.grpc.port}", compression=grpc.Compression.Gzip) as channel:
        for number, request in enumerate(requests_of(story)):
            if number % 2:
                channel.unary_unary(EXPORT[request.signal])(request.body, timeout=10)
            else:
                _post(sidecar.http.port, request.signal, gzip.compress(request.body))
    return sidecar.counts.value("lanewatch_traces_opened") - before


def _post(port: int, signal: str, body: bytes) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
        connection.request("POST", f"/v1/{signal}", body, headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.client.OK:
            raise OSError(f"the sidecar answered {answer.status}")
    finally:
        connection.close()


def _metrics(sidecar: Sidecar) -> dict[str, float]:
    """The counters as a scrape over HTTP shows them."""
    connection = http.client.HTTPConnection("127.0.0.1", sidecar.page_port, timeout=10)
    try:
        connection.request("GET", "/metrics")
        return samples(connection.getresponse().read().decode())
    finally:
        connection.close()


def _say_where(sidecar: Sidecar, console: Console) -> None:
    console.print(Panel(Text(
        f"The sidecar stays up. Point your own application at it, over HTTP (both variables are needed):\n"
        f"  OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\n"
        f"  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{sidecar.http.port}\n"
        f"or over gRPC:\n"
        f"  OTEL_EXPORTER_OTLP_PROTOCOL=grpc\n"
        f"  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{sidecar.grpc.port}\n"
        f"Where message content travels as logs, OTEL_LOGS_EXPORTER=otlp too. docs/content.md has each stack's switch for "
        f"content.\n"
        f"Metrics: http://127.0.0.1:{sidecar.page_port}/metrics. Ctrl-C ends.",
    )))  # fmt: skip
