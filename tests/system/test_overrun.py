"""More than a sidecar takes: a budget that is full, floods of connections and of frames (L2, L4, L6); it serves all the while."""

import contextlib
import resource
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tests.protocol.http2_floods import EXPORT, FLOODS, flood
from tests.system.sidecar import Running, running

BUDGET = 100_000
NARROW = {f"LANEWATCH_LIMITS_MAX_{limit}_BYTES": str(BUDGET) for limit in ("IN_FLIGHT", "REQUEST", "VALUE")}
CONNECTIONS = 150
FLOOD = 500  # connections to each receiver
PEAK_KB = 256 * 1024  # 90 MiB at rest; a client that sends faster than heads are refused has some of them in memory
HEAD = "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\n\r\n"
EMPTY = HEAD.format(0).encode()
with_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors and memory are read from /proc")


@pytest.fixture(autouse=True)
def _descriptors() -> Iterator[None]:
    """This process holds the other ends of all connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < 3 * FLOOD:
        pytest.skip("too few files may be open: ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def agent_spans(count: int) -> list[ReadableSpan]:
    """Finished spans of the SDK."""
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    spans: list[ReadableSpan] = []
    for _ in range(count):
        span = tracer.start_span("chat", attributes={"gen_ai.operation.name": "chat"})
        span.end()
        assert isinstance(span, ReadableSpan)
        spans.append(span)
    return spans


@contextlib.contextmanager
def full(sidecar: Running) -> Iterator[Callable[[], None]]:
    """A request whose last byte does not come holds the whole budget; what is yielded sends that byte."""
    held = BUDGET - 100
    with socket.create_connection(("127.0.0.1", sidecar.http_port), timeout=20) as sock:
        sock.sendall(HEAD.format(held).encode() + bytes(held - 1))
        sidecar.wait_for(lambda: sidecar.total("lanewatch_bytes_in_flight") == held - 1)

        def send() -> None:
            sock.sendall(bytes(1))
            assert sock.recv(100).startswith(b"HTTP/1.1 400 ")

        yield send


def exporters(sidecar: Running, timeout: float) -> list[SpanExporter]:
    """The SDK's two, which try for so many seconds."""
    return [
        HttpSpans(f"http://127.0.0.1:{sidecar.http_port}/v1/traces", timeout=timeout),
        GrpcSpans(f"http://127.0.0.1:{sidecar.grpc_port}", timeout=timeout),
    ]


def test_an_overload_that_passes_costs_nothing() -> None:
    """L2: every client is told to come back in a second, and does; all arrives once, and the counters balance."""
    with running(**NARROW) as sidecar:
        clients = exporters(sidecar, 10)
        told: list[SpanExportResult] = []
        sending = [
            threading.Thread(target=lambda client=client: told.append(client.export(agent_spans(20))))
            for client in clients
        ]
        with full(sidecar) as send:
            for thread in sending:
                thread.start()
            sidecar.wait_for(lambda: sidecar.total("lanewatch_requests_refused_total", reason="in_flight_limit") >= 2)
            assert sidecar.get("/readyz")[0] == 200
            send()
            for thread in sending:
                thread.join()
        for client in clients:
            client.shutdown()

        assert told == [SpanExportResult.SUCCESS] * 2
        assert sidecar.total("lanewatch_spans_received_total") == 40
        assert sidecar.total("lanewatch_spans_received_total", protocol="grpc") == 20
        sidecar.wait_for(lambda: sidecar.total("lanewatch_bytes_in_flight") == 0)
        sidecar.assert_conserved()


def test_an_overload_that_stays_loses_what_the_clients_give_up_and_nothing_else() -> None:
    """L2: a client that gives up knows it, and nothing of its batch was taken; the next batch arrives as soon as there is room."""
    with running(**NARROW) as sidecar:
        clients = exporters(sidecar, 0.5)
        with full(sidecar):
            lost = [client.export(agent_spans(20)) for client in clients]
        sidecar.wait_for(lambda: sidecar.total("lanewatch_bytes_in_flight") == 0)
        taken = [client.export(agent_spans(3)) for client in clients]
        for client in clients:
            client.shutdown()

        assert lost == [SpanExportResult.FAILURE] * 2
        assert taken == [SpanExportResult.SUCCESS] * 2
        assert sidecar.total("lanewatch_spans_received_total") == 6
        sidecar.assert_conserved()


def descriptors(sidecar: Running) -> int:
    """Files and connections that the sidecar has open."""
    return len(list(Path(f"/proc/{sidecar.process.pid}/fd").iterdir()))


@contextlib.contextmanager
def connected(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Connections that say nothing."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)) for _ in range(count)]


def answered(sock: socket.socket) -> bool:
    """Whether a connection is served: the end of it, or a refusal, is no answer."""
    try:
        sock.sendall(EMPTY)
        return sock.recv(100).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


@with_proc
def test_the_first_connections_are_served_and_the_further_ones_closed() -> None:
    """L4: as many as the setting says, by each receiver; the pages answer meanwhile, and every descriptor comes back."""
    with (
        running(LANEWATCH_RECEIVERS_MAX_CONNECTIONS=str(CONNECTIONS)) as sidecar,
        grpc.insecure_channel(f"127.0.0.1:{sidecar.grpc_port}") as channel,
    ):
        before = descriptors(sidecar)
        export = channel.unary_unary(EXPORT)
        export(b"", timeout=20)
        with connected(sidecar.http_port, FLOOD) as http, connected(sidecar.grpc_port, FLOOD):
            served = [answered(sock) for sock in http]
            sidecar.wait_for(lambda: descriptors(sidecar) <= before + 2 * CONNECTIONS + 3)

            assert served == [True] * CONNECTIONS + [False] * (FLOOD - CONNECTIONS)
            assert [sidecar.get(page)[0] for page in ("/healthz", "/readyz", "/metrics")] == [200] * 3
            assert export(b"", timeout=20) == b""
        channel.close()
        sidecar.wait_for(lambda: descriptors(sidecar) <= before)

        refused = sidecar.total("lanewatch_requests_refused_total", reason="connection_limit")
        assert refused == FLOOD - CONNECTIONS
        assert len(sidecar.log_lines()) < 20


@with_proc
@pytest.mark.skipif(not shutil.which("prlimit"), reason="prlimit: apt-get install util-linux")
def test_where_few_files_may_be_open_a_flood_leaves_enough_for_the_pages() -> None:
    """L4: that is said at the start, with the settings to change; a process without descriptors would log each accept that fails."""
    with running("prlimit", "--nofile=700:700") as sidecar:
        warnings = [event["message"] for event in sidecar.log_events() if event["level"] == "warning"]
        with connected(sidecar.http_port, FLOOD), connected(sidecar.grpc_port, FLOOD):
            pages = [sidecar.get("/healthz")[0] for _ in range(3)]

        assert len(warnings) == 1
        assert warnings[0].startswith("at most 700 files may be open: each receiver takes 158 connections")
        assert pages == [200] * 3
        assert len(sidecar.log_lines()) < 20


@with_proc
def test_floods_of_frames_are_refused_in_flat_memory_and_hurt_nobody_else() -> None:
    """L6: of each flood most is refused or its connection ended; a client that was there before is served all the while."""
    with running() as sidecar, grpc.insecure_channel(f"127.0.0.1:{sidecar.grpc_port}") as channel:
        export = channel.unary_unary(EXPORT)
        export(b"", timeout=20)
        for name, frames in FLOODS.items():
            seen = flood(sidecar.grpc_port, frames())

            assert seen.going_away or seen.closed or seen.resets, name
            assert export(b"", timeout=20) == b"", name
        status = Path(f"/proc/{sidecar.process.pid}/status").read_text().splitlines()
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))

        assert peak < PEAK_KB
        assert sidecar.total("lanewatch_requests_refused_total", reason="headers_too_large") == 20
        assert (
            sidecar.total("lanewatch_requests_refused_total") < 5_000
        )  # of 30,020 streams: the core refused the others
        assert sidecar.get("/healthz")[0] == 200
        assert len(sidecar.log_lines()) < 20
