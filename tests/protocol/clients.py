"""Three ways to send one request, with one form of answer, so that a check is one row for both receivers."""

import http.client
import socket
import struct
import time
from enum import StrEnum
from typing import Any, Self

import grpc
import h2.config
import h2.connection
import h2.events
import msgspec
from google.protobuf import json_format  # type: ignore[import-untyped,unused-ignore]
from google.rpc import error_details_pb2 as error_details  # reading a Status's details as JSON needs their types
from google.rpc.status_pb2 import Status
from lanewatch.collector.spans import Signal
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.protocol.export_requests import as_json, compressed
from tests.protocol.served import Served

Request = ExportTraceServiceRequest | ExportLogsServiceRequest

METHOD = {
    Signal.TRACES: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    Signal.LOGS: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}
RESPONSE: dict[Signal, Any] = {Signal.TRACES: ExportTraceServiceResponse, Signal.LOGS: ExportLogsServiceResponse}
CONTENT_TYPE = {"http-protobuf": "application/x-protobuf", "http-json": "application/json"}
OK = 0
HTTP_OK = 200
DETAILS = {error_details.RetryInfo.DESCRIPTOR.full_name, error_details.BadRequest.DESCRIPTOR.full_name}


class Via(StrEnum):
    """How a request is sent."""

    HTTP_PROTOBUF = "http-protobuf"
    HTTP_JSON = "http-json"
    GRPC = "grpc"


class Answer(msgspec.Struct):
    """What came back. `code` is google.rpc.Code, 0 for success; `status` is HTTP's, 0 over gRPC."""

    code: int
    message: str = ""
    rejected: int = 0
    partial: bool = False  # partial_success is set
    status: int = 0
    headers: dict[str, str | bytes] = {}
    details: list[str] = []
    raw: bytes = b""


def encode(request: Request, via: Via) -> bytes:
    """The request as this way writes it down."""
    return as_json(request) if via is Via.HTTP_JSON else request.SerializeToString()


def signal_of(request: Request) -> Signal:
    """The signal that a request is of."""
    return Signal.LOGS if isinstance(request, ExportLogsServiceRequest) else Signal.TRACES


def send(served: Served, via: Via, request: Request, *, encoding: str = "", token: str | None = None) -> Answer:
    """Send a whole request."""
    raw, signal = encode(request, via), signal_of(request)
    if via is Via.GRPC:
        return call(served, raw, signal, encoding=encoding, token=token)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if encoding:
        headers["Content-Encoding"] = encoding
    return post(served, compressed(raw, encoding), signal=signal, content_type=CONTENT_TYPE[via], headers=headers)


def post(
    served: Served,
    body: bytes,
    *,
    signal: Signal = Signal.TRACES,
    content_type: str | None = "application/x-protobuf",
    headers: dict[str, str] | None = None,
    method: str = "POST",
    path: str | None = None,
) -> Answer:
    """One HTTP request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", served.http.port, timeout=20)
    try:
        given = {"Content-Type": content_type} if content_type is not None else {}
        connection.request(method, path or f"/v1/{signal}", body, {**given, **(headers or {})})
        return read_answer(connection.getresponse(), signal)
    finally:
        connection.close()


def read_answer(response: http.client.HTTPResponse, signal: Signal = Signal.TRACES) -> Answer:
    """Read an HTTP response as an OTLP client does: by its own content type."""
    raw = response.read()
    headers: dict[str, str | bytes] = {name.lower(): value for name, value in response.getheaders()}
    message = RESPONSE[signal]() if response.status == HTTP_OK else Status()
    if headers["content-type"] == "application/json":
        json_format.Parse(raw or b"{}", message)
    else:
        message.ParseFromString(raw)
    return _answer(message, status=response.status, headers=headers, raw=raw)


def call(
    served: Served, raw: bytes, signal: Signal = Signal.TRACES, *, encoding: str = "", token: str | None = None
) -> Answer:
    """One gRPC call of raw bytes by grpcio's own client."""
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    compression = {"": None, "gzip": grpc.Compression.Gzip, "deflate": grpc.Compression.Deflate}[encoding]
    with grpc.insecure_channel(
        f"127.0.0.1:{served.grpc.port}", options=[("grpc.max_send_message_length", -1), ("grpc.enable_retries", 0)]
    ) as channel:
        try:
            answer = channel.unary_unary(METHOD[signal])(raw, timeout=20, metadata=metadata, compression=compression)
        except grpc.RpcError as error:
            return _refused(error.code().value[0], error.details() or "", dict(error.trailing_metadata() or ()))
    return _answer(RESPONSE[signal].FromString(answer), raw=answer)


def deliver_raw(served: Served, via: Via, raw: bytes, signal: Signal = Signal.TRACES) -> Answer:
    """Send bytes as they are."""
    return (
        call(served, raw, signal)
        if via is Via.GRPC
        else post(served, raw, signal=signal, content_type=CONTENT_TYPE[via])
    )


def call_raw(
    served: Served,
    data: bytes,
    *,
    encoding: str | None = None,
    path: str = METHOD[Signal.TRACES],
    end: bool = True,
    timeout: float = 20,
) -> Answer:
    """One gRPC call by a bare HTTP/2 client, which may say what grpcio's client never would.

    `data` is what DATA frames hold, length prefix included. With `end` False the client falls silent after it.
    """
    h2c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
    h2c.initiate_connection()
    headers = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost")]
    headers += [("content-type", "application/grpc"), ("te", "trailers")]
    h2c.send_headers(1, [*headers, *([("grpc-encoding", encoding)] if encoding else [])])
    got: dict[str, str] = {}
    message = b""
    deadline = time.monotonic() + timeout
    with socket.create_connection(("127.0.0.1", served.grpc.port), timeout=timeout) as sock:
        sent = 0
        while time.monotonic() < deadline:
            room = min(h2c.local_flow_control_window(1), h2c.max_outbound_frame_size, len(data) - sent)
            if room:
                h2c.send_data(1, data[sent : sent + room], end_stream=end and sent + room == len(data))
                sent += room
                sock.sendall(h2c.data_to_send())
                continue
            sock.sendall(h2c.data_to_send())
            received = sock.recv(65536)
            for event in h2c.receive_data(received):
                if isinstance(event, h2.events.ResponseReceived | h2.events.TrailersReceived):
                    got.update(event.headers)  # type: ignore[arg-type]
                elif isinstance(event, h2.events.DataReceived):
                    message += event.data
            if "grpc-status" in got or not received:
                break
    code = int(got["grpc-status"])
    return (
        _refused(code, got.get("grpc-message", ""), {})
        if code
        else _answer(ExportTraceServiceResponse.FromString(message[5:]))
    )


def framed(message: bytes, *, flag: int = 0, claimed: int | None = None) -> bytes:
    """A gRPC message with its prefix; `claimed` is the length that the prefix tells."""
    return struct.pack(">BI", flag, len(message) if claimed is None else claimed) + message


def talk(served: Served, *parts: bytes, timeout: float = 20) -> bytes:
    """Send bytes to the HTTP port, and read until the server closes."""
    with socket.create_connection(("127.0.0.1", served.http.port), timeout=timeout) as sock:
        for part in parts:
            sock.sendall(part)
        return read_all(sock)


def read_all(sock: socket.socket) -> bytes:
    """Everything until the server closes."""
    received = b""
    while part := sock.recv(65536):
        received += part
    return received


def _answer(
    message: Any, *, status: int = 0, headers: dict[str, str | bytes] | None = None, raw: bytes = b""
) -> Answer:
    headers = headers or {}
    if isinstance(message, Status):
        details = [detail.TypeName() for detail in message.details]
        assert set(details) <= DETAILS
        return Answer(message.code, message.message, status=status, headers=headers, details=details, raw=raw)
    partial = message.partial_success
    rejected = getattr(partial, "rejected_spans", None)
    return Answer(
        OK,
        partial.error_message,
        partial.rejected_log_records if rejected is None else rejected,
        message.HasField("partial_success"),
        status,
        headers,
        [],
        raw,
    )


def _refused(code: int, message: str, trailers: dict[str, str | bytes]) -> Answer:
    raw = trailers.get("grpc-status-details-bin", b"")
    assert isinstance(raw, bytes)
    status = Status.FromString(raw)
    if raw:
        assert (status.code, status.message) == (code, message)
    return Answer(code, message, headers=trailers, details=[detail.TypeName() for detail in status.details], raw=raw)


class Keeping:
    """One connection, or one channel, for many requests."""

    def __init__(self, served: Served, via: Via, headers: dict[str, str] | None = None) -> None:
        self._via = via
        self._headers = {"Content-Type": CONTENT_TYPE.get(via, ""), **(headers or {})}
        self._http = http.client.HTTPConnection("127.0.0.1", served.http.port, timeout=20)
        self._channel = grpc.insecure_channel(f"127.0.0.1:{served.grpc.port}", options=[("grpc.enable_retries", 0)])
        self._export = self._channel.unary_unary(METHOD[Signal.TRACES])

    def deliver(self, raw: bytes) -> Answer:
        """Send bytes as they are, as traces."""
        if self._via is not Via.GRPC:
            self._http.request("POST", "/v1/traces", raw, self._headers)
            return read_answer(self._http.getresponse())
        try:
            answer = self._export(raw, timeout=20)
        except grpc.RpcError as error:
            return Answer(error.code().value[0], error.details() or "")
        return _answer(ExportTraceServiceResponse.FromString(answer), raw=answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()
        self._channel.close()
