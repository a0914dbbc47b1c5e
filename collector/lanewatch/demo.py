"""`lanewatch demo`: a sidecar, recorded traffic of real agents sent into it over real OTLP, and what it finds.

The recordings are export requests as the frameworks' own exporters sent them. They go in over gRPC and over HTTP, gzip
compressed, exactly as an application would send them; nothing is read from the files but bytes.
"""

import asyncio
import gzip
import http.client
import threading
import time
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable

import grpc
import msgspec
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from lanewatch.app import Sidecar
from lanewatch.config_keys import Config, Metrics, Receivers
from lanewatch.observation import Observation
from lanewatch.report import trace_report

EXPORT = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}
PATIENCE_SECONDS = 30.0
MOVED = (
    "lanewatch_tool_",
    "lanewatch_divergences",
    "lanewatch_responses",
    "lanewatch_spans_received",
    "lanewatch_lane_",
)


class Story(msgspec.Struct, frozen=True):
    """One recording and what to look at in it."""

    folder: str
    title: str
    text: str


STORIES = (
    Story("1_other_tool", "Another tool ran", "The model asked for cancel_sub; inside it the runtime ran cancel_subscription. (LlamaIndex, OpenInference)"),
    Story("2_dropped_call", "A dropped call", "Two calls were asked for, one ran: a guard stopped close_account, yet the answer says it was done. (LangChain, OpenLLMetry)"),
    Story("3_rewritten_arguments", "Rewritten arguments", "The model asked for a refund of 100, the runtime refunded 50. An evaluator is told of 100. (LangChain, OpenInference)"),
    Story("4_retry", "A retry", "The first run failed and the second succeeded: an error that was recovered is no failed outcome. (OpenAI, GenAI events as logs)"),
    Story("5_refusal", "A refusal", "The model refused by the API's own field, which most instrumentors drop. (OpenAI, OpenInference)"),
)  # fmt: skip


def run_demo(config: Config, *, stay: bool) -> bool:
    """Show it all; with `stay` on the configured ports and until a signal. False where it could not be shown."""
    console = Console(highlight=False)
    if not stay:
        # A demo must not fail because a sidecar runs already.
        config = config.model_copy(
            update={"receivers": Receivers(grpc_port=0, http_port=0), "metrics": Metrics(port=0)},
        )
    try:
        return asyncio.run(_life(config, console, stay=stay))
    except OSError as error:
        console.print(f"Can't listen: {error.strerror or error}. Is a sidecar running already? Set other ports with "
                      "LANEWATCH_RECEIVERS_GRPC_PORT, LANEWATCH_RECEIVERS_HTTP_PORT and LANEWATCH_METRICS_PORT.",
                      style="red", markup=False)  # fmt: skip
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
        if stay and shown:
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
        before = _metrics(sidecar)
        known = set(seen)
        with console.status(f"sending {story.title.lower()} and waiting for the trace to close ..."):
            traces = _send(story, sidecar)
            if not _wait(len(known) + traces, seen, arrived):
                console.print("The sidecar did not report in time. Is the machine very busy? Try again.", style="red")
                return False
        _tell(story, [seen[trace_id] for trace_id in seen if trace_id not in known], console)
        _moved(before, _metrics(sidecar), console)
    return True


def _wait(expected: int, seen: dict[str, Observation], arrived: threading.Event) -> bool:
    """Wait until so many traces were read; False where they were not in time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(seen) < expected:
        if time.monotonic() > deadline:
            return False
        arrived.wait(0.2)
        arrived.clear()
    return True


def _requests(story: Story) -> Iterator[tuple[str, bytes]]:
    folder: Traversable = files("lanewatch") / "demo_recordings" / story.folder
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        yield ("logs" if file.name.startswith("logs") else "traces"), file.read_bytes()


def _send(story: Story, sidecar: Sidecar) -> int:
    """Send a story's requests, by turns over HTTP and gRPC; returns how many traces are to be expected."""
    before = sidecar.counts.value("lanewatch_traces_opened")
    with grpc.insecure_channel(f"127.0.0.1:{sidecar.grpc.port}", compression=grpc.Compression.Gzip) as channel:
        for number, (signal, body) in enumerate(_requests(story)):
            if number % 2:
                channel.unary_unary(EXPORT[signal])(gzip.decompress(body), timeout=10)
            else:
                _post(sidecar.http.port, signal, body)
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


def _tell(story: Story, observations: list[Observation], console: Console) -> None:
    console.print()
    console.rule(Text(story.title, "bold"))
    console.print(Text(story.text, "italic"))
    for observation in sorted(observations, key=lambda o: (o.record.start_ns, o.record.trace_id)):
        record = observation.record
        if record.requests or record.dispatches or record.responses:
            console.print(trace_report(observation))


def _metrics(sidecar: Sidecar) -> dict[str, float]:
    """The counters as a scrape over HTTP shows them."""
    connection = http.client.HTTPConnection("127.0.0.1", sidecar.page_port, timeout=10)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines if name.startswith(MOVED) and "_created" not in name}


def _moved(before: dict[str, float], after: dict[str, float], console: Console) -> None:
    console.print(Text("\n  /metrics lines that this moved", "bold"))
    for name, value in after.items():
        if value != before.get(name, 0.0):
            console.print(Text(f"    {name} {value:g}"), soft_wrap=True)


def _say_where(sidecar: Sidecar, console: Console) -> None:
    console.print(Panel(Text(
        f"The sidecar stays up. Point your own application at it:\n"
        f"  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{sidecar.http.port}  (HTTP; gRPC is on port {sidecar.grpc.port})\n"
        f"  metrics: http://127.0.0.1:{sidecar.page_port}/metrics\n"
        "Message content is off by default in most instrumentors; README.md has the switch for each. Ctrl-C ends.",
    )))  # fmt: skip
