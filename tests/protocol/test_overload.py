"""Overload: how it is said, and that the OpenTelemetry SDK's own exporters come back and lose nothing."""

import logging
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from lanewatch.collector.admission import AdmissionLimits
from lanewatch.collector.outcomes import Code, RefusalReason
from lanewatch.collector.spans import Signal
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogs
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import TraceFlags

from tests.protocol.clients import METHOD, OK, Via, send
from tests.protocol.export_requests import span, traces
from tests.protocol.served import Served

REQUEST = traces(span())
GATE = AdmissionLimits(memory_soft_bytes=100, memory_hard_bytes=200, memory_check_seconds=0)
GRPC_COMPRESSION = {
    "none": grpc.Compression.NoCompression,
    "gzip": grpc.Compression.Gzip,
    "deflate": grpc.Compression.Deflate,
}
HTTP_COMPRESSION = {"none": Compression.NoCompression, "gzip": Compression.Gzip, "deflate": Compression.Deflate}


def passing_overload() -> Callable[[], int]:
    """Memory that is above the soft limit at the first reading only."""
    readings = iter([150])
    return lambda: next(readings, 0)


@pytest.mark.parametrize("via", Via)
@pytest.mark.parametrize(
    ("limits", "used", "reason"),
    [
        (GATE, 150, RefusalReason.MEMORY_LIMIT),
        (GATE, 250, RefusalReason.MEMORY_LIMIT),
        (AdmissionLimits(max_in_flight_bytes=10), 0, RefusalReason.IN_FLIGHT_LIMIT),
    ],
)
def test_overload_asks_to_come_back_in_a_second(
    serve: Callable[..., Served], via: Via, limits: AdmissionLimits, used: int, reason: RefusalReason
) -> None:
    """L3: 503 with Retry-After, UNAVAILABLE with RetryInfo twice; nothing is read, nothing is counted as received."""
    served = serve(admission=limits, read_memory=lambda: used)
    answer = send(served, via, REQUEST)

    assert (answer.code, answer.details) == (Code.UNAVAILABLE, ["google.rpc.RetryInfo"])
    if via is Via.GRPC:
        trailer = answer.headers["google.rpc.retryinfo-bin"]
        assert isinstance(trailer, bytes)
        assert RetryInfo.FromString(trailer).retry_delay.ToMilliseconds() == 1000
    else:
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert "connection" not in answer.headers
    assert served.refused(reason) == 1
    assert served.counts.value("lanewatch_spans_received") == 0


@pytest.mark.parametrize("via", Via)
def test_what_was_refused_is_taken_once_there_is_room(serve: Callable[..., Served], via: Via) -> None:
    """L3: below the limit again, the next request passes."""
    served = serve(admission=GATE, read_memory=passing_overload())

    assert [send(served, via, REQUEST).code for _ in range(3)] == [Code.UNAVAILABLE, OK, OK]


def exporters(served: Served) -> dict[str, Any]:
    """The SDK's four exporters, pointed at the receivers."""
    grpc_at, http_at = f"http://127.0.0.1:{served.grpc.port}", f"http://127.0.0.1:{served.http.port}/v1/"
    return {
        "grpc traces": lambda compression: GrpcSpans(grpc_at, compression=GRPC_COMPRESSION[compression]),
        "grpc logs": lambda compression: GrpcLogs(grpc_at, compression=GRPC_COMPRESSION[compression]),
        "http traces": lambda compression: HttpSpans(http_at + "traces", compression=HTTP_COMPRESSION[compression]),
        "http logs": lambda compression: HttpLogs(http_at + "logs", compression=HTTP_COMPRESSION[compression]),
    }


def export(exporter: Any) -> None:
    """Make one span, or one log record, and have it exported by the SDK."""
    if isinstance(exporter, GrpcSpans | HttpSpans):
        tracer_provider = TracerProvider()
        tracer_provider.add_span_processor(SimpleSpanProcessor(exporter))
        with tracer_provider.get_tracer("test").start_as_current_span("chat", attributes={"gen_ai.system": "x"}):
            pass
        tracer_provider.shutdown()
    else:
        logger_provider = LoggerProvider()
        logger_provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
        logger_provider.get_logger("test").emit(
            LogRecord(timestamp=1, trace_id=1, span_id=1, trace_flags=TraceFlags.get_default())
        )
        logger_provider.shutdown()


@pytest.fixture(autouse=True)
def _repeated_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exporters leave out a line that is like the last one, which may have been another test's."""
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("opentelemetry") and isinstance(logger, logging.Logger):
            monkeypatch.setattr(logger, "filters", [])


@pytest.mark.parametrize("compression", ["none", "gzip", "deflate"])
@pytest.mark.parametrize("kind", ["grpc traces", "grpc logs", "http traces", "http logs"])
def test_the_sdk_s_exporters_deliver(served: Served, kind: str, compression: str) -> None:
    """M6: the real clients, in each compression that they offer."""
    export(exporters(served)[kind](compression))

    protocol, signal = kind.split()
    assert served.counts.value("lanewatch_spans_received", signal, protocol) == 1
    assert served.sink.items == 1


@pytest.mark.parametrize("kind", ["grpc traces", "grpc logs", "http traces", "http logs"])
def test_the_sdk_s_exporters_come_back_after_an_overload(
    serve: Callable[..., Served], kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """M6: after the second that was asked for, not after their own backoff with its jitter; nothing is lost."""
    served = serve(admission=GATE, read_memory=passing_overload())
    export(exporters(served)[kind]("none"))

    assert "retrying in 1.00s" in caplog.text
    assert served.refused(RefusalReason.MEMORY_LIMIT) == 1
    assert served.sink.items == 1


@pytest.mark.parametrize("kind", ["grpc traces", "http traces"])
def test_the_sdk_s_exporters_do_not_send_again_what_is_undecodable(
    served: Served, kind: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M6: a fault of the data costs one request, not six."""
    exporter = exporters(served)[kind]("none")
    if kind == "grpc traces":
        damaged = exporter._channel.unary_unary(METHOD[Signal.TRACES], request_serializer=lambda _: b"\xff")
        monkeypatch.setattr(exporter._client, "Export", damaged)
    else:
        deliver = exporter._client.export
        monkeypatch.setattr(exporter._client, "export", lambda _: deliver(b"\xff"))
    export(exporter)

    assert "retrying" not in caplog.text
    assert served.refused(RefusalReason.UNDECODABLE) == 1


@pytest.mark.parametrize("kind", ["grpc traces", "http traces"])
def test_the_sdk_s_exporters_do_not_send_again_what_lacks_a_token(
    serve: Callable[..., Served], kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """M6: nor does a fault of the configuration, which sending again does not mend."""
    served = serve(token="secret")
    export(exporters(served)[kind]("none"))

    assert "retrying" not in caplog.text
    assert served.refused(RefusalReason.CREDENTIALS) == 1


@pytest.mark.parametrize("kind", ["grpc traces", "http traces"])
def test_the_sdk_s_exporters_send_a_token(
    serve: Callable[..., Served], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remedy of the refusal, as an operator would set it."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret")
    served = serve(token="secret")
    export(exporters(served)[kind]("none"))

    assert served.sink.items == 1
