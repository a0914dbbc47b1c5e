"""The same capture gives the same records, sent live over any protocol or replayed from files, in any order and number."""

import asyncio
import random
import threading
from collections.abc import Callable, Iterable
from functools import cache
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanewatch import parts
from lanewatch.adapters.records import TraceRecord
from lanewatch.collector.admission import Admission, AdmissionLimits
from lanewatch.collector.assembler import Assembler
from lanewatch.collector.counts import Counts
from lanewatch.collector.intake import Intake, Transport
from lanewatch.collector.responses import Media
from lanewatch.collector.spans import CloseReason, Signal, Trace
from lanewatch.config import keys
from lanewatch.config.keys import Config, Metrics, Receivers
from lanewatch.observation import Observation, Observer
from lanewatch.replaying.playback import replay
from lanewatch.rules import rules_of
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
# Two services, several turns, retries; content in span events, in log records, in logs of which spans know nothing.
REORDERED = (
    "langchain_oi/03_parallel", "openai-v2-latest/11_multi_turn", "openai_oi/04_retry", "openai-v2-events/03_parallel",
    "openai-v2-latest-event/03_parallel", "google-adk/11_multi_turn",
)  # fmt: skip
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
            assembler=keys.Assembler(quiet_after_root_seconds=30.0),
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


@cache
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
    alone: list[tuple[str, bytes]] = []
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
                    alone.append((signal, part.SerializeToString()))
    return alone


@cache
def parts_of(capture: str) -> tuple[tuple[str, bytes], ...]:
    """The spans and log records of a capture, each as a request of its own."""
    return tuple(single_spans(list(bodies(capture))))


def gathered(requests: Iterable[tuple[str, bytes, Media]]) -> dict[str, TraceRecord]:
    """What intake, assembler and readers make of requests, as a sidecar has them, without its sockets and clocks."""
    config = Config()
    counts, observer = Counts(parts.COUNTS), Observer(rules=rules_of(config))
    records: dict[str, TraceRecord] = {}

    def deliver(trace: Trace) -> None:
        for seen in observer.observe(trace):
            records[seen.record.trace_id] = replace(seen.record, revision=0)

    assembler = Assembler(deliver, parts.assembler_limits(config), counts)
    admission = Admission(AdmissionLimits(), clock=lambda: 0.0, read_memory=lambda: 0)
    intake = Intake(
        lambda decoded: assembler.add(decoded, 0.0), parts.RELEVANCE, parts.intake_limits(config), counts, admission
    )
    for signal, body, media in requests:
        taken = intake.accept(body, signal=Signal(signal), media=media, protocol=Transport.HTTP)
        assert taken.rejected == 0
    assembler.close_all(CloseReason.SHUTDOWN)
    return records


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("capture", REORDERED)
def test_splitting_reordering_and_repeating_requests_changes_nothing(capture: str, data: st.DataObject) -> None:
    """Exporters batch as they like, networks reorder, and retries repeat (OTLP allows all three), in either encoding;
    content may come in log records before its span, or long after it.
    """
    alone = parts_of(capture)
    places = range(len(alone))
    again = data.draw(st.lists(st.sampled_from(places), max_size=len(alone) // 3))
    order = data.draw(st.permutations([*places, *again]))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(order)), max_size=len(order))))
    encodings = data.draw(st.lists(st.sampled_from(Media), min_size=1, max_size=5))
    requests: list[tuple[str, bytes, Media]] = []
    for begin, end in pairwise([0, *cuts, len(order)]):
        for signal, items in groupby((alone[place] for place in order[begin:end]), key=itemgetter(0)):
            body = b"".join(body for _, body in items)  # in protobuf, messages one after the other are their sum
            media = encodings[len(requests) % len(encodings)]
            requests.append((signal, as_json(body, REQUEST[signal]) if media is Media.JSON else body, media))

    assert gathered(requests) == replayed(capture)


@pytest.mark.parametrize("capture", ["openai-v2-latest/11_multi_turn", "openai-v2-events/03_parallel"])
def test_a_sidecar_takes_requests_in_any_order(capture: str) -> None:
    """The same over a socket, once: each span and log record by itself, a third of them twice."""
    rng = random.Random(1)
    shuffled = list(parts_of(capture))
    shuffled += rng.sample(shuffled, len(shuffled) // 3)
    rng.shuffle(shuffled)

    assert live(over_http, shuffled) == replayed(capture)
