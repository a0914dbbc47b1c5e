"""OTLP over gRPC: TraceService and LogsService on raw bytes, and the health service.

The methods are registered as client-streaming ones, which on the wire is the same as unary for a client that sends one
message. This way our code runs before the message is read: an unauthenticated or unwelcome one is never buffered, the
message has a deadline to arrive in, and what gRPC's core refuses by itself (size, compression) is seen and counted. It
costs nothing that can be measured (docs/decisions/0003-otlp-http-without-a-framework.md).

Invariants:

- A call carries one message: a second one has the call refused, before anything of the first is taken.
- Decompression is the core's, which checks the size while it inflates (since grpcio 1.85; grpc/grpc#43012).
- A call's head is bounded here, too: the core counts anew with each CONTINUATION frame, so that heads of 3 MiB were seen to
  pass its limit of 32 KiB, 256 of them a connection.
- Overload is said twice, in the status details and in the trailer google.rpc.retryinfo-bin: Python's exporter obeys only
  the latter. The core's own caps are far above ours, since it answers without advice, which clients take as final.
- `stop` says NOT_SERVING to probes first, then refuses, then waits.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from types import MappingProxyType
from typing import Any

import grpc
import msgspec

from lanewatch.collector.admission import MiB
from lanewatch.collector.grpc_health import CHECK, Health
from lanewatch.collector.grpc_health import PREFIX as HEALTH
from lanewatch.collector.intake import Intake, Transport
from lanewatch.collector.outcomes import RefusalReason, Refused
from lanewatch.collector.responses import RETRY_INFO, Media, Receipt, encode_receipt, encode_status
from lanewatch.collector.spans import Signal

_SERVICES = "/opentelemetry.proto.collector."
EXPORT: MappingProxyType[str, Signal] = MappingProxyType(
    {
        _SERVICES + "trace.v1.TraceService/Export": Signal.TRACES,
        _SERVICES + "logs.v1.LogsService/Export": Signal.LOGS,
    }
)
METRICS_EXPORT = _SERVICES + "metrics.v1.MetricsService/Export"

_STATUS_CODES = MappingProxyType({code.value[0]: code for code in grpc.StatusCode})

Handler = Callable[[Any, grpc.aio.ServicerContext], Awaitable[bytes]]


class GrpcSettings(msgspec.Struct, frozen=True):
    """Where to listen, and the limits of connections; port 0 takes any free one."""

    host: str = "127.0.0.1"
    port: int = 4317
    max_connections: int = 1024
    request_deadline_seconds: float = 10.0
    max_header_bytes: int = 32 * 1024
    max_concurrent_streams: int = 256  # a connection; the last fence only
    max_idle_seconds: float = 600.0
    max_age_seconds: float = 3600.0
    keepalive_seconds: float = 60.0  # after so much silence the peer is asked whether it lives
    tls: grpc.ServerCredentials | None = None


class GrpcReceiver:
    """The OTLP/gRPC server. Belongs to the event loop that `start` runs on."""

    def __init__(self, intake: Intake, settings: GrpcSettings) -> None:
        self.health = Health()
        self._intake = intake
        self._settings = settings
        self._port: int | None = None
        self._server: grpc.aio.Server | None = None
        self._reading: set[asyncio.Timeout] = set()

    @property
    def port(self) -> int:
        """The port that is bound; raises RuntimeError before `start`."""
        if self._port is None:
            raise RuntimeError("the gRPC receiver is not started")
        return self._port

    @property
    def reading(self) -> int:
        """Calls whose message is still coming in."""
        return len(self._reading)

    async def start(self) -> None:
        """Bind and serve; raises RuntimeError where the port is taken."""
        settings = self._settings
        server = grpc.aio.server(options=_options(settings, self._intake.limits.max_request_bytes))
        methods = _Methods(self._handlers(), self._refuse_method, self._refuse_head, settings.max_header_bytes)
        server.add_generic_rpc_handlers((methods,))
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"{host}:{settings.port}"
        if settings.tls is None:
            self._port = server.add_insecure_port(address)
        else:
            self._port = server.add_secure_port(address, settings.tls)
        await server.start()
        self._server = server
        self.health.serving = True

    async def stop(self, grace_seconds: float) -> None:
        """Say so to probes, accept nothing more, let open calls finish for so long, cancel the rest."""
        self.health.serving = False
        if self._server is not None:
            await self._server.stop(grace_seconds)

    def refuse_unread(self) -> None:
        """End all calls whose message is still coming in: theirs is the memory that the byte budget can't see."""
        now = asyncio.get_running_loop().time()
        while self._reading:
            self._reading.pop().reschedule(now)

    def _handlers(self) -> dict[str, grpc.RpcMethodHandler]:
        handlers = {method: grpc.stream_unary_rpc_method_handler(self._export(EXPORT[method])) for method in EXPORT}
        handlers[METRICS_EXPORT] = grpc.stream_unary_rpc_method_handler(self._refuse_metrics)
        handlers[CHECK] = grpc.unary_unary_rpc_method_handler(self.health.check)
        return handlers

    def _export(self, signal: Signal) -> Handler:
        async def export(_: object, context: grpc.aio.ServicerContext) -> bytes:
            try:
                receipt = await self._take(signal, context)
            except Refused as refused:
                return await _abort(context, refused)
            return encode_receipt(receipt, signal, Media.PROTOBUF)

        return export

    async def _take(self, signal: Signal, context: grpc.aio.ServicerContext) -> Receipt:
        intake = self._intake
        lease = intake.open(_authorization(context) if intake.wants_credentials else None)
        body = await self._read(context)
        intake.grow(lease, len(body))
        receipt = intake.submit(body, signal=signal, media=Media.PROTOBUF, protocol=Transport.GRPC, lease=lease)
        return receipt if isinstance(receipt, Receipt) else await receipt

    async def _read(self, context: grpc.aio.ServicerContext) -> bytes:
        timeout = asyncio.timeout(self._settings.request_deadline_seconds)
        try:
            async with timeout:
                self._reading.add(timeout)
                body = await context.read()
                # A unary client ends its side with the message. One that goes on streaming must not be told that all is well.
                further = isinstance(body, bytes) and await context.read() is not grpc.aio.EOF
        except TimeoutError:
            late = timeout in self._reading
            reason = RefusalReason.REQUEST_TIMEOUT if late else RefusalReason.MEMORY_LIMIT
            raise self._intake.refuse(Refused(reason)) from None
        except asyncio.CancelledError:
            self._intake.refuse(Refused(RefusalReason.UNREADABLE_MESSAGE))
            raise
        finally:
            self._reading.discard(timeout)
        # Whether the core refused the message or the client went away can't be told apart: both end in EOF or, a turn of
        # the loop later, in a cancellation.
        if not isinstance(body, bytes):  # grpc.aio.EOF
            raise self._intake.refuse(Refused(RefusalReason.UNREADABLE_MESSAGE))
        if further:
            raise self._intake.refuse(Refused(RefusalReason.FURTHER_MESSAGE))
        return body

    async def _refuse_metrics(self, _: object, context: grpc.aio.ServicerContext) -> bytes:
        return await _abort(context, self._intake.refuse(Refused(RefusalReason.METRICS_NOT_TAKEN)))

    async def _refuse_method(self, _: object, context: grpc.aio.ServicerContext) -> bytes:
        return await _abort(context, self._intake.refuse(Refused(RefusalReason.UNKNOWN_PATH)))

    async def _refuse_head(self, _: object, context: grpc.aio.ServicerContext) -> bytes:
        return await _abort(context, self._intake.refuse(Refused(RefusalReason.HEADERS_TOO_LARGE)))


class _Methods:
    """A grpc.GenericRpcHandler: finds a method's handler, or the one that refuses with a remedy: unknown methods, and heads
    that are too large, whatever the method. What else a probe may ask of the health service is gRPC's own to answer
    (UNIMPLEMENTED): it is no request of an exporter, and counts as none.
    """

    def __init__(
        self, handlers: dict[str, grpc.RpcMethodHandler], unknown: Handler, too_large: Handler, max_header_bytes: int
    ) -> None:
        self._handlers = handlers
        self._unknown = grpc.stream_unary_rpc_method_handler(unknown)
        self._too_large = grpc.stream_unary_rpc_method_handler(too_large)
        self._max_header_bytes = max_header_bytes

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """The handler of the method that is called."""
        if _head_bytes(handler_call_details.invocation_metadata) > self._max_header_bytes:
            return self._too_large
        method = handler_call_details.method
        return self._handlers.get(method, None if method.startswith(HEALTH) else self._unknown)


def _head_bytes(metadata: Iterable[tuple[str, str | bytes]] | None) -> int:
    """What HTTP/2 takes a head for: names, values, and 32 for each (RFC 9113, 6.5.2)."""
    return sum(len(key) + len(value) + 32 for key, value in metadata or ())


async def _abort(context: grpc.aio.ServicerContext, refused: Refused) -> bytes:
    """Answer with the status of a refusal; raises what gRPC raises to end a call."""
    trailers: list[tuple[str, bytes]] = [("grpc-status-details-bin", encode_status(refused, Media.PROTOBUF))]
    if refused.outcome.retry:
        trailers.append(("google.rpc.retryinfo-bin", RETRY_INFO))
    await context.abort(_STATUS_CODES[refused.outcome.code], str(refused), tuple(trailers))
    return b""


def _authorization(context: grpc.aio.ServicerContext) -> str | None:
    values = [value for key, value in context.invocation_metadata() or () if key == "authorization"]
    return values[0] if len(values) == 1 else None


def _options(settings: GrpcSettings, max_request_bytes: int) -> list[tuple[str, int]]:
    def ms(seconds: float) -> int:
        return int(seconds * 1000)

    return [
        ("grpc.so_reuseport", 0),  # or two processes would share the port, and each see half of the traces
        ("grpc.max_receive_message_length", max_request_bytes),
        ("grpc.max_send_message_length", 4 * MiB),
        ("grpc.max_metadata_size", settings.max_header_bytes),
        ("grpc.absolute_max_metadata_size", settings.max_header_bytes),
        ("grpc.max_concurrent_streams", settings.max_concurrent_streams),
        ("grpc.max_allowed_incoming_connections", settings.max_connections),
        ("grpc.max_connection_idle_ms", ms(settings.max_idle_seconds)),
        ("grpc.max_connection_age_ms", ms(settings.max_age_seconds)),
        ("grpc.max_connection_age_grace_ms", ms(settings.request_deadline_seconds)),
        ("grpc.keepalive_time_ms", ms(settings.keepalive_seconds)),
        ("grpc.keepalive_timeout_ms", ms(settings.request_deadline_seconds)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", ms(10)),  # clients that ping oftener are sent away
    ]
