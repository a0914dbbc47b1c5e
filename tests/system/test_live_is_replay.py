"""The same capture gives the same records, sent live over any protocol or replayed from files, in any order and number."""

import asyncio
import random
import threading
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from lanewatch.adapters.records import TraceRecord
from lanewatch.config.keys import Assembler, Config, Metrics, Receivers
from lanewatch.observation import Observation
from lanewatch.replaying.playback import replay
from lanewatch.sidecar.app import Sidecar
from msgspec.structs import replace
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.collector.plain_decoder import as_json
from tests.system.captures import CORPUS, bodies
from tests.system.sidecar import post

CAPTURES = (
    "langchain_oi/03_parallel",
    "openai_traceloop/04_retry",
    "openai-v2-events/03_parallel",
    "openai-v2-latest-event/03_parallel",
    "llamaindex_oi/06_runtime_alias",
    "smolagents_oi/12_hard_args",
)
SERVICE = "/opentelemetry.proto.collector.{}/Export"
METHOD = {"traces": SERVICE.format("trace.v1.TraceService"), "logs": SERVICE.format("logs.v1.LogsService")}
REQUEST: dict[str, Any] = {"traces": ExportTraceServiceRequest, "logs": ExportLogsServiceRequest}
PROTOBUF, JSON = "application/x-protobuf", "application/json"
Send = Callable[[Sidecar, str, bytes], None]


def over_grpc(sidecar: Sidecar, signal: str, body: bytes) -> None:
    """As the Python SDK's gRPC exporter does, compressed."""
    with grpc.insecure_channel(f"127.0.0.1:{sidecar.grpc.port}", compression=grpc.Compression.Gzip) as channel:
        channel.unary_unary(METHOD[signal])(body, timeout=10)


def over_http(sidecar: Sidecar, signal: str, body: bytes) -> None:
    """Protobuf by POST."""
    assert post(sidecar.http.port, f"/v1/{signal}", body, Content_Type=PROTOBUF) == 200


def over_json(sidecar: Sidecar, signal: str, body: bytes) -> None:
    """OTLP/JSON by POST, as JavaScript's exporter sends it."""
    assert post(sidecar.http.port, f"/v1/{signal}", as_json(body, REQUEST[signal]), Content_Type=JSON) == 200


def live(send: Send, requests: list[tuple[str, bytes]]) -> dict[str, TraceRecord]:
    """The latest record of each trace that a real sidecar made of these requests."""
    records: dict[str, TraceRecord] = {}

    def observer(observation: Observation) -> None:
        records[observation.record.trace_id] = replace(observation.record, revision=0)

    async def life() -> None:
        config = Config(
            receivers=Receivers(grpc_port=0, http_port=0),
            metrics=Metrics(port=0),
            assembler=Assembler(quiet_after_root_seconds=30.0),
        )
        sidecar = Sidecar(config, observer=observer)
        ready = asyncio.Event()
        running = asyncio.create_task(sidecar.run(started=lambda _: ready.set()))
        await ready.wait()
        try:
            for signal, body in requests:
                await asyncio.to_thread(send, sidecar, signal, body)
        finally:
            sidecar.stop()
            await running

    thread = threading.Thread(target=asyncio.run, args=(life(),))
    thread.start()
    thread.join()
    return records


def replayed(capture: str) -> dict[str, TraceRecord]:
    """What replay makes of the same capture."""
    return {o.record.trace_id: replace(o.record, revision=0) for o in replay(CORPUS / capture, Config()).observations}


@pytest.mark.parametrize("send", [over_grpc, over_http, over_json])
@pytest.mark.parametrize("capture", CAPTURES)
def test_live_traffic_gives_the_records_of_a_replay(capture: str, send: Send) -> None:
    """Otherwise a recording would prove nothing about production."""
    assert live(send, list(bodies(capture))) == replayed(capture) != {}


def single_spans(requests: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """The same spans and log records, each in a request of its own."""
    parts: list[tuple[str, bytes]] = []
    for signal, body in requests:
        request = REQUEST[signal].FromString(body)
        outer, inner, items = (
            ("resource_spans", "scope_spans", "spans")
            if signal == "traces"
            else ("resource_logs", "scope_logs", "log_records")
        )
        for resource in getattr(request, outer):
            for scope in getattr(resource, inner):
                for item in getattr(scope, items):
                    part = REQUEST[signal]()
                    new_resource = getattr(part, outer).add(resource=resource.resource)
                    getattr(getattr(new_resource, inner).add(scope=scope.scope), items).add().CopyFrom(item)
                    parts.append((signal, part.SerializeToString()))
    return parts


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "capture", ["langchain_oi/03_parallel", "openai-v2-latest/11_multi_turn", "openai_oi/04_retry"]
)
def test_splitting_reordering_and_repeating_requests_changes_nothing(capture: str, seed: int) -> None:
    """Exporters batch as they like, networks reorder, and retries repeat (OTLP allows all three)."""
    rng = random.Random(seed)
    parts = single_spans(list(bodies(capture)))
    parts += rng.sample(parts, len(parts) // 3)
    rng.shuffle(parts)

    assert live(over_http, parts) == replayed(capture)
