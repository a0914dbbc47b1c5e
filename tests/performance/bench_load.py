"""A sidecar at its limits and beyond: steady load, more than it can read, ten thousand idle connections, floods of frames.

    PYTHONPATH=. python tests/performance/bench_load.py [--seconds N]

With 1,200 seconds the first part is as long as the slope of memory takes: what is kept for minutes must be full. Rates and times of what tests/system/test_steady_load.py and test_overrun.py hold by counting. Beside them, in the same run: the plain
decode of the same bytes, and what an empty export costs. Compare the ratios; the client shares the machine.
"""

import argparse
import contextlib
import random
import re
import resource
import socket
import threading
import time
from pathlib import Path

import grpc
import msgspec

from tests.performance.bench_process import (
    CALL_ID,
    TIMEOUT_SECONDS,
    agent_batch,
    agent_captures,
    cpu_seconds,
    plain_decode_us,
    resident_mb,
)
from tests.protocol.http2_floods import EXPORT, FLOODS, flood
from tests.system.sidecar import Running, running

STEADY = 2_000  # spans a second
CLIENTS = 4
CONNECTIONS = 10_000
EMPTY_EXPORTS = 1_000
PATIENCE_SECONDS = 120.0  # until all is read that was taken

IDS = re.compile(CALL_ID.pattern.encode())
TRACE_IDS = re.compile(rb"\x0a\x10.{16}\x12\x08", re.DOTALL)  # fields 1 and 2 of a span, as protobuf writes them
Batches = list[tuple[bytes, int]]


class Sent(msgspec.Struct):
    """What became of requests; `taken` and `offered` are spans, `told` refusals with advice to come back, `lost` any other end."""

    offered: int = 0
    taken: int = 0
    told: int = 0
    lost: int = 0


def batches(count: int) -> Batches:
    """Requests of 256 spans or some more, with ids of their own."""
    rng, captures = random.Random(3), agent_captures()
    return [agent_batch(captures, rng) for _ in range(count)]


def renewed(body: bytes, rng: random.Random) -> bytes:
    """The same request under other trace, response and call ids of the same length; for less than making one anew costs."""
    ids: dict[bytes, bytes] = {}

    def renamed(found: "re.Match[bytes]") -> bytes:
        prefix, rest = found.groups()
        return ids.setdefault(found[0], prefix + rng.randbytes(len(rest)).hex().encode()[: len(rest)])

    body = IDS.sub(renamed, body)
    return TRACE_IDS.sub(lambda found: ids.setdefault(found[0], b"\x0a\x10" + rng.randbytes(16) + b"\x12\x08"), body)


def export(call: grpc.UnaryUnaryMultiCallable, body: bytes, spans: int, sent: Sent) -> bool:
    """One request; whether it was taken."""
    sent.offered += spans
    try:
        call(body, timeout=30)
    except grpc.RpcError as error:
        advised = any(key == "google.rpc.retryinfo-bin" for key, _ in error.trailing_metadata() or ())
        sent.told, sent.lost = sent.told + advised, sent.lost + (not advised)
        return False
    sent.taken += spans
    return True


def wait_until_read(sidecar: Running) -> float:
    """Seconds until nothing is open or waits."""
    began = time.monotonic()
    names = ("lanewatch_traces_open", "lanewatch_traces_waiting")
    while sum(map(sidecar.total, names)) and time.monotonic() - began < PATIENCE_SECONDS:
        time.sleep(0.5)
    return time.monotonic() - began


def steady(sidecar: Running, load: Batches, seconds: float) -> None:
    """L1: so many spans a second, however long each takes to be accepted."""
    sent, waits, resident = Sent(), [], []
    cpu = cpu_seconds(sidecar.process.pid)
    with grpc.insecure_channel(f"127.0.0.1:{sidecar.grpc_port}") as channel:
        call = channel.unary_unary(EXPORT)
        began = due = time.monotonic()
        for body, spans in load:
            if due - began > seconds:
                break
            time.sleep(max(0.0, due - time.monotonic()))
            at = time.monotonic()
            export(call, body, spans, sent)
            waits.append(time.monotonic() - at)
            resident.append((at - began, resident_mb(sidecar.process.pid)))
            due += spans / STEADY
    took = time.monotonic() - began
    cpu = cpu_seconds(sidecar.process.pid) - cpu
    waits.sort()
    (half, then), (end, now) = resident[len(resident) // 2], resident[-1]
    print(
        f"steady, {sent.offered / took:.0f} spans a second for {took:.0f} s: {sent.taken / sent.offered:.2%} taken at once"
    )
    print(f"  accepted in {waits[len(waits) // 2] * 1e3:.1f} ms, p99 {waits[int(len(waits) * 0.99)] * 1e3:.1f} ms")
    print(
        f"  {cpu / took:.2f} cores; resident {now:.0f} MB, in the second half {(now - then) / (end - half) * 60:+.1f} MB a minute"
    )


def overrun(sidecar: Running, load: Batches, seconds: float) -> None:
    """L2: as much as four clients can send, which do not wait when they are told to."""
    parts = [Sent() for _ in range(CLIENTS)]
    end = time.monotonic() + seconds

    def client(sent: Sent, offset: int) -> None:
        rng = random.Random(offset)
        with grpc.insecure_channel(f"127.0.0.1:{sidecar.grpc_port}") as channel:
            call = channel.unary_unary(EXPORT)
            while time.monotonic() < end:
                offset = (offset + 1) % len(load)
                body, spans = load[offset]
                export(call, renewed(body, rng), spans, sent)

    before = sidecar.total("lanewatch_spans_received_total")
    threads = [threading.Thread(target=client, args=(sent, 7 * number)) for number, sent in enumerate(parts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    peak = resident_mb(sidecar.process.pid)
    began, again = time.monotonic(), Sent()
    with grpc.insecure_channel(f"127.0.0.1:{sidecar.grpc_port}") as channel:
        body, spans = load[0]
        fresh = renewed(body, random.Random(CLIENTS))
        while (
            not export(channel.unary_unary(EXPORT), fresh, spans, again) and time.monotonic() - began < PATIENCE_SECONDS
        ):
            time.sleep(0.1)
    recovered = time.monotonic() - began
    caught_up = wait_until_read(sidecar)
    offered, taken = (sum(getattr(sent, name) for sent in parts) for name in ("offered", "taken"))
    told, lost = (sum(getattr(sent, name) for sent in parts) for name in ("told", "lost"))
    print(f"overrun, {offered / seconds:.0f} spans a second for {seconds:.0f} s: {taken / offered:.0%} taken")
    print(f"  {told} requests told to come back, {lost} ended otherwise; resident {peak:.0f} MB")
    print(f"  took again after {recovered:.1f} s, had read all after {caught_up:.1f} s more")
    arrived = sidecar.total("lanewatch_spans_received_total") - before
    rate = (taken + again.taken) / (seconds + recovered + caught_up)
    print(
        f"  {arrived / (taken + again.taken):.2%} of what was taken is counted; read {rate:.0f} spans a second, to the last trace"
    )


def connections(sidecar: Running, count: int) -> None:
    """L4: idle ones, of which the setting's number is kept."""
    pid, start = sidecar.process.pid, resident_mb(sidecar.process.pid)
    files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    cpu = cpu_seconds(pid)
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection(("127.0.0.1", sidecar.http_port), timeout=30))
        sidecar.wait_for(lambda: sidecar.total("lanewatch_requests_refused_total", reason="connection_limit") > 0)
        at = time.monotonic()
        status = sidecar.get("/healthz")[0]
        answer = time.monotonic() - at
        kept = len(list(Path(f"/proc/{pid}/fd").iterdir())) - files
        held = resident_mb(pid) - start
        cpu = cpu_seconds(pid) - cpu
    sidecar.wait_for(lambda: len(list(Path(f"/proc/{pid}/fd").iterdir())) <= files)
    print(
        f"{count} idle connections: {kept} open once the last had come, {held:.0f} MB, {cpu / count * 1e6:.0f} us CPU each"
    )
    print(f"  health page {status} in {answer * 1e3:.0f} ms meanwhile; all descriptors came back")


def floods(sidecar: Running) -> None:
    """L6: CPU and memory of each, beside empty exports."""
    pid = sidecar.process.pid
    with grpc.insecure_channel(f"127.0.0.1:{sidecar.grpc_port}") as channel:
        call = channel.unary_unary(EXPORT)
        cpu = cpu_seconds(pid)
        for _ in range(EMPTY_EXPORTS):
            call(b"", timeout=30)
        print(f"an empty export: {(cpu_seconds(pid) - cpu) / EMPTY_EXPORTS * 1e6:.0f} us CPU")
    for name, frames in FLOODS.items():
        before, cpu, at = resident_mb(pid), cpu_seconds(pid), time.monotonic()
        seen = flood(sidecar.grpc_port, frames())
        took, cpu = time.monotonic() - at, cpu_seconds(pid) - cpu
        end = "hung up" if seen.closed else f"{seen.resets} refused" if seen.resets else f"{seen.going_away} GOAWAY"
        print(
            f"flood of {name:30} {seen.sent / 2**20:5.1f} MiB in {took:4.1f} s: {cpu / took:4.2f} cores, "
            f"{resident_mb(pid) - before:+4.0f} MB, {end}"
        )


def main(seconds: float) -> None:
    """Everything, in one run."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    load = batches(int(STEADY * seconds / 256) + 1)
    plain = plain_decode_us([body for body, _ in load], sum(spans for _, spans in load))
    print(f"plain decode of the same spans: {plain:.1f} us, {1e6 / plain:.0f} a second and core")
    with running(LANEWATCH_ASSEMBLER_TRACE_TIMEOUT_SECONDS=str(TIMEOUT_SECONDS)) as sidecar:
        steady(sidecar, load, seconds)
        wait_until_read(sidecar)
        overrun(sidecar, load, seconds / 2)
        connections(sidecar, min(CONNECTIONS, hard - 2_000))
        floods(sidecar)
        sidecar.assert_conserved()
        print(f"exit status {sidecar.terminate()}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    main(parser.parse_args().seconds)
