"""CPU per span and resident memory of the whole sidecar: gRPC in, records made, metrics out.

Starts `lanewatch run` as a process of its own on free loopback ports, sends it a bounded load from this process, and
reads the CPU time and memory that the kernel accounts to it. Beside it, in the same run: the plain protobuf decode of
the same bytes into Python objects. Compare the ratios; seconds differ from machine to machine and from minute to minute.

A span's CPU is that of the whole process, without what it takes to idle and to be scraped meanwhile: both go by time, not by
spans, and have lines of their own. The load ends when every trace was closed and read.
"""

import gzip
import http.client
import json
import os
import platform
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
CORPUS = Path(__file__).parent.parent / "corpus"
STACKS = ("langchain_oi", "llamaindex_oi", "openai_agents_oi", "openai_traceloop", "openai-v2-latest")
SPANS = 60_000
TIMES = 4  # that the irrelevant spans are sent
CALL_ID = re.compile(r"\b(call_|fc_|chatcmpl-|resp_|msg_)(\w{6,}(?:-\d+)?)")
BATCH = 256  # half of what the SDK's batch processor sends at most (OTEL_BSP_MAX_EXPORT_BATCH_SIZE 512)
TIMEOUT_SECONDS = 8  # after which a trace without a root is closed: a few of the recorded runs never show theirs
BUSY = 0.1  # of a core: a sidecar that takes less has read everything
IDLE_SECONDS = 10


def irrelevant_request(rng: random.Random, spans: int = 300) -> bytes:
    """A batch of ordinary HTTP and database spans, 12 attributes each, in traces of ten."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "shop"
    scope = resource.scope_spans.add()
    scope.scope.name = "opentelemetry.instrumentation.fastapi"
    for number in range(spans):
        if number % 10 == 0:
            trace_id, parent = rng.randbytes(16), b""
        span = scope.spans.add(
            trace_id=trace_id, span_id=rng.randbytes(8), parent_span_id=parent, name="GET /cart", kind=2
        )
        parent = span.span_id
        span.start_time_unix_nano = 1_760_000_000_000_000_000 + number
        span.end_time_unix_nano = span.start_time_unix_nano + 5_000_000
        for key in ("http.request.method", "url.path", "url.scheme", "server.address", "client.address", "network.peer.address",
                    "user_agent.original", "http.route", "network.protocol.version", "db.system", "db.statement"):  # fmt: skip
            span.attributes.add(key=key).value.string_value = f"{key} of a value"
        span.attributes.add(key="http.response.status_code").value.int_value = 200
    body: bytes = request.SerializeToString()
    return body


def agent_captures(wanted: Callable[[Path], bool] = lambda _folder: True) -> list[list[bytes]]:
    """Recorded runs of real agents, each the requests of one run, of folders that are wanted."""
    captures = sorted({p.parent for s in STACKS for p in (CORPUS / s).glob("*/request-*.pb.gz")})
    captures = [folder for folder in captures if wanted(folder)]
    return [[gzip.decompress(p.read_bytes()) for p in sorted(c.glob("request-*.pb.gz"))] for c in captures]


def agent_batch(captures: list[list[bytes]], rng: random.Random) -> tuple[bytes, int]:
    """A request of at least BATCH spans, as a batching exporter under load sends it: whole runs under trace, response and
    call ids of their own, so that no copy shares a call with another; and its number of spans.
    """
    batch = ExportTraceServiceRequest()
    count = 0
    while count < BATCH:
        ids: dict[Any, Any] = {}

        def renamed(found: "re.Match[str]", ids: dict[Any, Any] = ids) -> str:
            return str(ids.setdefault(found[0], found[1] + rng.randbytes(len(found[0])).hex()[: len(found[2])]))

        for body in rng.choice(captures):
            request = ExportTraceServiceRequest.FromString(body)
            for span in (span for r in request.resource_spans for scope in r.scope_spans for span in scope.spans):
                span.trace_id = ids.setdefault(span.trace_id, rng.randbytes(16))
                count += 1
                for pair in span.attributes:
                    if pair.value.WhichOneof("value") == "string_value":
                        pair.value.string_value = CALL_ID.sub(renamed, pair.value.string_value)
            batch.resource_spans.extend(request.resource_spans)
    return batch.SerializeToString(), count


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far, to the nanosecond: clock_getcpuclockid(3)."""
    return time.clock_gettime(~pid << 3 | 2)


def resident_mb(pid: int) -> float:
    """Resident memory in 10^6 bytes."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found.group(1)) * 1024 / 1e6 if found else float("nan")


def plain_decode_us(bodies: list[bytes], spans: int) -> float:
    """CPU microseconds a span of decoding the same bytes into Python objects and reading every attribute once."""
    began = time.process_time()
    for body in bodies:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    {
                        pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "string_value")
                        for pair in span.attributes
                    }
    return (time.process_time() - began) / spans * 1e6


class Sidecar:
    """`lanewatch run` as a child process on free ports."""

    def __init__(self, **settings: str) -> None:
        """`settings` are LANEWATCH_* variables."""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        environ = {**os.environ, "LANEWATCH_RECEIVERS_GRPC_PORT": "0", "LANEWATCH_RECEIVERS_HTTP_PORT": "0",
                   "LANEWATCH_METRICS_PORT": "0", "LANEWATCH_LOG_FORMAT": "json",
                   "LANEWATCH_ASSEMBLER_TRACE_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS), **settings}  # fmt: skip
        self.process = subprocess.Popen([sys.executable, "-m", "lanewatch", "run"], stderr=self._log, env=environ)
        self.grpc_port, self.page_port = self._ports()

    def _ports(self) -> tuple[int, int]:
        for _ in range(1_200):  # a minute: others may have the machine
            self._log.seek(0)
            for line in self._log.read().splitlines():
                found = re.search(rb"gRPC on port (\d+), HTTP on port \d+; metrics on port (\d+)", line)
                if found:
                    return int(found.group(1)), int(found.group(2))
            time.sleep(0.05)
        raise SystemExit("the sidecar did not start")

    def unread(self) -> float:
        """Traces that are open or wait to be read."""
        found = re.findall(r"^lanewatch_traces_(?:open|waiting) (\S+)$", self.page(), re.MULTILINE)
        return sum(float(value) for value in found)

    def page(self) -> str:
        """The page of metrics."""
        connection = http.client.HTTPConnection("127.0.0.1", self.page_port, timeout=10)
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()

    def stop(self) -> int:
        """Drain and end; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


def idle_cores(sidecar: Sidecar) -> float:
    """Cores that a sidecar without traffic takes."""
    began = cpu_seconds(sidecar.process.pid)
    time.sleep(IDLE_SECONDS)
    return (cpu_seconds(sidecar.process.pid) - began) / IDLE_SECONDS


def wait_until_read(sidecar: Sidecar) -> None:
    """Return once every trace is closed, and the process idle. It is not asked: a scrape costs what hundreds of spans do."""
    time.sleep(TIMEOUT_SECONDS + 1)
    busy, seconds = 1.0, 0
    while busy > BUSY and seconds < 60:
        before = cpu_seconds(sidecar.process.pid)
        time.sleep(1)
        busy, seconds = cpu_seconds(sidecar.process.pid) - before, seconds + 1


def load(sidecar: Sidecar, bodies: list[bytes], spans: int, idle: float) -> float:
    """CPU microseconds of the sidecar per span, records and metrics included; `idle`: cores that it takes without any."""
    pid = sidecar.process.pid
    began, began_at = cpu_seconds(pid), time.monotonic()
    with grpc.insecure_channel(f"127.0.0.1:{sidecar.grpc_port}") as channel:
        export = channel.unary_unary(EXPORT)
        for body in bodies:
            export(body, timeout=30)
    wait_until_read(sidecar)
    used = cpu_seconds(pid) - began - idle * (time.monotonic() - began_at)
    if sidecar.unread():
        raise SystemExit("some traces were not read: what they cost is not known")
    return used / spans * 1e6


def main() -> None:
    """Print the figures as one table, and as a JSON line."""
    rng = random.Random(7)
    irrelevant = [irrelevant_request(rng) for _ in range(SPANS // 300)]
    captures = agent_captures()
    agent, agent_spans = [], 0
    while agent_spans < SPANS // 4:
        body, count = agent_batch(captures, rng)
        agent.append(body)
        agent_spans += count
    sidecar = Sidecar()
    try:
        time.sleep(1)
        at_rest = resident_mb(sidecar.process.pid)
        idle = idle_cores(sidecar)
        irrelevant_us = load(sidecar, irrelevant * TIMES, len(irrelevant) * 300 * TIMES, idle)
        agent_us = load(sidecar, agent, agent_spans, idle)
        after = resident_mb(sidecar.process.pid)
        scrape = cpu_seconds(sidecar.process.pid)
        sidecar.page()
        scrape = cpu_seconds(sidecar.process.pid) - scrape
    finally:
        status = sidecar.stop()
    figures = {
        "irrelevant span, us CPU (target 3)": irrelevant_us,
        "plain decode of the same, us": plain_decode_us(irrelevant, len(irrelevant) * 300),
        "agent span, us CPU (target 40)": agent_us,
        "plain decode of the same, us ": plain_decode_us(agent, agent_spans),
        "agent span, mean bytes": sum(map(len, agent)) / agent_spans,
        "resident at rest, MB (target 120)": at_rest,
        "resident after the load, MB": after,
        "idle, % of a core": idle * 100,
        "a scrape, ms CPU": scrape * 1e3,
    }
    print(f"Python {platform.python_version()}; one built with profiles takes a tenth less")
    for name, value in figures.items():
        print(f"{name:45}{value:10.2f}")
    print(json.dumps({"exit_status": status, "agent_spans": agent_spans, **figures}))


if __name__ == "__main__":
    main()
