"""`lanewatch demo`: a sidecar, recorded traffic of real agents sent into it over real OTLP, and what it finds.

The recordings go in over gRPC and over HTTP, gzip compressed, exactly as an application would send them.
"""

import asyncio
import contextlib
import gzip
import http.client
import threading
import time

import grpc
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from lanewatch.config.keys import Config, Metrics, Receivers
from lanewatch.demo.stories import STORIES, Story, losses, requests_of, samples, tell, tell_moved
from lanewatch.observation import Observation
from lanewatch.shown_text import shown_line
from lanewatch.sidecar.app import ListenerError, Sidecar

EXPORT = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}
SHORT_QUIET_SECONDS = 2.0
PATIENCE_SECONDS = 30.0  # beyond the time in which a trace is meant to close
LONGEST_QUIET_SECONDS = 60.0  # nobody watches a demonstration that waits longer for each of five traces
POLL_SECONDS = 0.2
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - addresses to listen on, and where to reach who does


class NotShownError(Exception):
    """It can't be shown with these settings, or on this machine now; `str()` says why and what to do."""


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
    quiet = config.assembler.quiet_after_root_seconds
    if "quiet_after_root_seconds" not in config.assembler.model_fields_set:
        # A recording comes whole and at once: there is no late span to wait for. Those of an application that is watched
        # afterwards are waited for.
        assembler = config.assembler.model_copy(update={"quiet_after_root_seconds": SHORT_QUIET_SECONDS})
        config = config.model_copy(update={"assembler": assembler})
    try:
        _check_quiet(config)
        return asyncio.run(_life(config, console, stay=stay, quiet=quiet))
    except NotShownError as error:
        console.print(shown_line(str(error)), style="red", markup=False, soft_wrap=True)
        return False
    except ListenerError as error:
        text = str(error)
        console.print(f"{text[0].upper()}{text[1:]} Is a sidecar running already? "
                      "`lanewatch demo --endpoint http://127.0.0.1:4318` plays into it.",
                      style="red", markup=False, soft_wrap=True)  # fmt: skip
        return False


def _check_quiet(config: Config) -> None:
    quiet = config.assembler.quiet_after_root_seconds
    if quiet > LONGEST_QUIET_SECONDS:
        raise NotShownError(
            f"assembler.quiet_after_root_seconds is {quiet:g}: each trace is told only after so long. Lower it to "
            f"{LONGEST_QUIET_SECONDS:g} or less for a demonstration."
        )


async def _life(config: Config, console: Console, *, stay: bool, quiet: float) -> bool:
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
        shown = await asyncio.to_thread(_show, sidecar, config, seen, arrived, console)
        if sidecar.stopping:
            console.print("The demonstration was stopped.")
            shown = True
        elif stay and shown:
            sidecar.assembler.wait_after_root(quiet)
            _say_where(sidecar, config, console)
            await life
    finally:
        # Whatever happened: grpc.aio must be stopped before its event loop is closed.
        if not life.done():
            sidecar.stop()
            await life
    return shown


def _show(
    sidecar: Sidecar, config: Config, seen: dict[str, Observation], arrived: threading.Event, console: Console
) -> bool:
    console.print(Panel(Text(
        "Lanewatch compares what the model asked for, what the runtime ran, and what an evaluator is told.\n"
        "Five recordings of real agents are now sent into a sidecar over OTLP.",
    )))  # fmt: skip
    client = _Client(sidecar, config)
    for story in STORIES:
        known = set(seen)
        before: dict[str, float] = {}
        try:
            before = client.metrics()
            with console.status(f"sending {story.title.lower()} and waiting for the trace to close ..."):
                traces = client.send(story)
                if lost := losses(before, client.metrics()):
                    raise NotShownError(" ".join(lost))
                patience = PATIENCE_SECONDS + config.assembler.quiet_after_root_seconds
                arrived_in_time = _wait(len(known) + traces, seen, arrived, sidecar, patience)
            after = client.metrics()
        except (OSError, grpc.RpcError) as error:
            if sidecar.stopping:
                return False
            raise NotShownError(_why(error, client, before)) from None
        if sidecar.stopping:
            return False
        if not arrived_in_time:
            raise NotShownError("The sidecar did not report in time. Is the machine very busy? Try again.")
        tell(story, [seen[trace_id] for trace_id in seen if trace_id not in known], console)
        tell_moved(before, after, console)
    return True


def _why(error: Exception, client: "_Client", before: dict[str, float]) -> str:
    """What the sidecar says that it refused; where it says nothing, what came of speaking to it."""
    with contextlib.suppress(OSError):
        if lost := losses(before, client.metrics()):
            return " ".join(lost)
    what = error.code().name if isinstance(error, grpc.Call) else getattr(error, "strerror", None) or str(error)
    return f"Can't speak to the sidecar that was started: {what}. Which addresses may this process reach?"


def _wait(
    expected: int, seen: dict[str, Observation], arrived: threading.Event, sidecar: Sidecar, patience: float
) -> bool:
    """Wait until so many traces were read; False where they were not in time, or the sidecar stops."""
    deadline = time.monotonic() + patience
    while len(seen) < expected:
        if sidecar.stopping or time.monotonic() > deadline:
            return False
        arrived.wait(POLL_SECONDS)
        arrived.clear()
    return True


class _Client:
    """Speaks to the sidecar as an application does, at the addresses and with the token of its configuration."""

    def __init__(self, sidecar: Sidecar, config: Config) -> None:
        self._sidecar = sidecar
        self._config = config
        token = config.receivers.bearer_token
        self._credentials = {} if token is None else {"authorization": f"Bearer {token.get_secret_value()}"}

    def send(self, story: Story) -> int:
        """Send a story's requests, by turns over HTTP and gRPC; returns how many traces are to be expected."""
        before = self._sidecar.counts.value("lanewatch_traces_opened")
        host, port = reachable(self._config.receivers.grpc_host), self._sidecar.grpc.port
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        with grpc.insecure_channel(target, compression=grpc.Compression.Gzip) as channel:
            for number, request in enumerate(requests_of(story)):
                if number % 2:
                    call = channel.unary_unary(EXPORT[request.signal])
                    call(request.body, timeout=10, metadata=tuple(self._credentials.items()))
                else:
                    self._post(request.signal, gzip.compress(request.body))
        return self._sidecar.counts.value("lanewatch_traces_opened") - before

    def _post(self, signal: str, body: bytes) -> None:
        host = reachable(self._config.receivers.http_host)
        connection = http.client.HTTPConnection(host, self._sidecar.http.port, timeout=10)
        try:
            headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip", **self._credentials}
            connection.request("POST", f"/v1/{signal}", body, headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status != http.client.OK:
                raise OSError(f"it answered {answer.status}")
        finally:
            connection.close()

    def metrics(self) -> dict[str, float]:
        """The counters as a scrape over HTTP shows them."""
        host = reachable(self._config.metrics.host)
        connection = http.client.HTTPConnection(host, self._sidecar.page_port, timeout=10)
        try:
            connection.request("GET", "/metrics")
            return samples(connection.getresponse().read().decode())
        finally:
            connection.close()


def reachable(host: str) -> str:
    """Where a listener on `host` is reached from this machine."""
    return WILDCARDS.get(host, host)


def _say_where(sidecar: Sidecar, config: Config, console: Console) -> None:
    grpc_at, http_at, pages_at = (
        f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        for host, port in (
            (reachable(config.receivers.grpc_host), sidecar.grpc.port),
            (reachable(config.receivers.http_host), sidecar.http.port),
            (reachable(config.metrics.host), sidecar.page_port),
        )
    )
    header = "  OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN  (with the token that is configured)\n"
    console.print(Panel(Text(
        f"The sidecar stays up. Point your own application at it, over HTTP (both variables are needed):\n"
        f"  OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\n"
        f"  OTEL_EXPORTER_OTLP_ENDPOINT={http_at}\n"
        f"or over gRPC:\n"
        f"  OTEL_EXPORTER_OTLP_PROTOCOL=grpc\n"
        f"  OTEL_EXPORTER_OTLP_ENDPOINT={grpc_at}\n"
        f"{header * (config.receivers.bearer_token is not None)}"
        f"Where message content travels as logs, OTEL_LOGS_EXPORTER=otlp too. docs/stacks.md has each stack's switch for "
        f"content.\n"
        f"Metrics: {pages_at}/metrics. Ctrl-C ends.",
    )))  # fmt: skip
