"""What the receivers cost: CPU a request beside the bare intake in the same run, and how long big bodies hold the loop.

    PYTHONPATH=. python tests/performance/bench_receivers.py [--requests N]

The client is another process, so that its work isn't counted. Compare the ratios, not the microseconds.
"""

import argparse
import asyncio
import contextlib
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import uvicorn
from lanewatch.collector.admission import Admission, AdmissionLimits
from lanewatch.collector.counts import Counts
from lanewatch.collector.intake import METRICS, Intake, IntakeLimits, Transport
from lanewatch.collector.limits import DecodeLimits
from lanewatch.collector.receive_grpc import GrpcReceiver, GrpcSettings
from lanewatch.collector.receive_http import HttpReceiver, HttpSettings
from lanewatch.collector.responses import Media, Receipt
from lanewatch.collector.spans import Signal

from tests.protocol.clients import METHOD
from tests.protocol.export_requests import as_json, compressed, span, text, traces
from tests.protocol.served import RELEVANCE

CLIENTS = 4
BEAT_SECONDS = 0.001


def agent_spans(n: int, text_bytes: int) -> bytes:
    """A request of chat spans with a message of so many bytes each."""
    attributes = [text("gen_ai.operation.name", "chat"), text("gen_ai.input.messages", "x" * text_bytes)]
    return bytes(traces(*(span(number, attributes=attributes) for number in range(1, n + 1))).SerializeToString())


def noise(n: int) -> bytes:
    """A request of spans that no convention knows."""
    attributes = [text("url.full", "http://localhost/" + "x" * 180)]
    spans = [span(number, attributes=attributes) for number in range(1, n + 1)]
    return bytes(traces(*spans, scope="urllib3").SerializeToString())


BODY = agent_spans(8, 200)  # a small agent's batch


def new_intake(limits: IntakeLimits = IntakeLimits()) -> Intake:  # noqa: B008 - frozen
    """An intake that forgets what it takes."""
    room = AdmissionLimits(max_in_flight_bytes=1 << 30)
    admission = Admission(room, clock=time.monotonic, read_memory=lambda: 0)
    return Intake(lambda _: None, RELEVANCE, limits, Counts(METRICS), admission)


async def forget(_: Any, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
    """What a framework costs at the least: an ASGI application that reads a body and answers nothing."""
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"application/x-protobuf"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


@contextlib.asynccontextmanager
async def uvicorn_alone() -> AsyncIterator[int]:
    """Uvicorn with httptools, without access log."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        config = uvicorn.Config(forget, http="httptools", access_log=False, log_level="error", lifespan="off")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve([sock]))
        yield sock.getsockname()[1]
        server.should_exit = True
        await serving


@contextlib.asynccontextmanager
async def http_receiver() -> AsyncIterator[int]:
    """OTLP/HTTP."""
    receiver = HttpReceiver(new_intake(), HttpSettings(port=0))
    await receiver.start()
    yield receiver.port
    await receiver.stop(1)


@contextlib.asynccontextmanager
async def grpc_receiver() -> AsyncIterator[int]:
    """OTLP/gRPC."""
    receiver = GrpcReceiver(new_intake(), GrpcSettings(port=0))
    await receiver.start()
    yield receiver.port
    await receiver.stop(1)


def bare_intake(requests: int) -> float:
    """CPU seconds a request of the intake without a receiver."""
    intake = new_intake()
    begin = time.process_time()
    for _ in range(requests):
        intake.accept(BODY, signal=Signal.TRACES, media=Media.PROTOBUF, protocol=Transport.HTTP)
    return (time.process_time() - begin) / requests


async def served(name: str, receiver: contextlib.AbstractAsyncContextManager[int], requests: int, base: float) -> None:
    """CPU seconds a request, as another process sends them."""
    async with receiver as port:
        for n in (requests // 10, requests):  # the first time to warm up
            begin = time.process_time()
            client = await asyncio.create_subprocess_exec(sys.executable, __file__, "--client", name, str(port), str(n))
            assert await client.wait() == 0
        cost = (time.process_time() - begin) / requests
    print(f"{name:34} {cost * 1e6:8.1f} us a request   {cost / base:6.1f} x the bare intake")


def send_http(port: int, requests: int) -> None:
    """Keep-alive, as requests' sessions do it: head and body apart."""
    head = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nUser-Agent: OTel-OTLP-Exporter-Python\r\nAccept: */*\r\n"
    head += b"Accept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\nContent-Type: application/x-protobuf\r\n"
    head += b"Content-Length: %d\r\n\r\n" % len(BODY)
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(requests):
            sock.sendall(head)
            sock.sendall(BODY)
            answer = b""
            while b"\r\n\r\n" not in answer:
                answer += sock.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200")


def send_grpc(port: int, requests: int) -> None:
    """Unary calls of grpcio's own client."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        export = channel.unary_unary(METHOD[Signal.TRACES])
        for _ in range(requests):
            export(BODY)


def client(name: str, port: int, requests: int) -> None:
    """The load, from a process of its own."""
    send = send_grpc if name == "gRPC receiver" else send_http
    threads = [threading.Thread(target=send, args=(port, requests // CLIENTS)) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def held_up(name: str, body: bytes, *, media: Media = Media.PROTOBUF, encoding: str = "") -> None:
    """How long one big body keeps the loop from anything else: the longest gap between beats, and their p99."""
    intake = new_intake(IntakeLimits(max_request_bytes=1 << 28, decode=DecodeLimits(max_spans_per_request=1 << 20)))
    gaps: list[float] = []

    async def beat() -> None:
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(BEAT_SECONDS)
            gaps.append(time.perf_counter() - begin - BEAT_SECONDS)

    heart = asyncio.create_task(beat())
    await asyncio.sleep(0.05)
    lease = intake.open()
    intake.grow(lease, len(body))
    begin = time.perf_counter()
    result = intake.submit(
        body, signal=Signal.TRACES, media=media, encoding=encoding, protocol=Transport.HTTP, lease=lease
    )
    receipt = result if isinstance(result, Receipt) else await result
    took = time.perf_counter() - begin
    await asyncio.sleep(0.01)
    heart.cancel()
    await intake.close()
    gaps.sort()
    print(
        f"{name:34} {len(body) / 2**20:5.1f} MiB {receipt.accepted:7} spans {took * 1e3:6.0f} ms"
        f"   longest hold {gaps[-1] * 1e3:5.1f} ms   p99 {gaps[int(len(gaps) * 0.99)] * 1e3:5.1f} ms"
    )


async def main(requests: int) -> None:
    """Everything, in one run."""
    base = bare_intake(requests)
    print(f"{'bare intake':34} {base * 1e6:8.1f} us a request   ({len(BODY)} bytes, 8 agent spans)")
    await served("HTTP receiver", http_receiver(), requests, base)
    await served("uvicorn, no work behind it", uvicorn_alone(), requests, base)
    await served("gRPC receiver", grpc_receiver(), requests, base)
    agents, noises = agent_spans(30_000, 2_000), noise(200_000)
    await held_up("small: done on the loop", agent_spans(450, 2_000))
    await held_up("agent spans", agents)
    await held_up("agent spans, gzip", compressed(agents, "gzip"), encoding="gzip")
    await held_up("spans of 320 KB", agent_spans(200, 320_000))
    await held_up("noise", noises)
    for name, spans in (("agent spans, JSON", 28_000), ("noise, JSON", 150_000)):
        request = traces()
        request.ParseFromString(agent_spans(spans, 2_000) if "agent" in name else noise(spans))
        await held_up(name, as_json(request), media=Media.JSON)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--client", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.client:
        client(given.client[0], int(given.client[1]), int(given.client[2]))
    else:
        asyncio.run(main(given.requests))
