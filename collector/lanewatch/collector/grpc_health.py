"""The gRPC health service, for probes: `grpc.health.v1.Health/Check`.

Two messages of one field each are written by hand: grpcio-health-checking would bring generated code, and tie protobuf's
version to its own release. `Watch` is left unimplemented, which the protocol allows and clients take for "always
healthy": it would keep a stream open for each client, and the probes of Kubernetes only call `Check`.
https://github.com/grpc/grpc/blob/master/doc/health-checking.md
"""

import grpc

PREFIX = "/grpc.health.v1.Health/"
CHECK = PREFIX + "Check"
SERVICES = frozenset(
    {
        b"",
        b"opentelemetry.proto.collector.trace.v1.TraceService",
        b"opentelemetry.proto.collector.logs.v1.LogsService",
    }
)

_SERVING = b"\x08\x01"
_NOT_SERVING = b"\x08\x02"


class Health:
    """Answers probes; `serving` is what it says of every service it knows."""

    def __init__(self) -> None:
        self.serving = False

    async def check(self, request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        """HealthCheckRequest{service} to HealthCheckResponse{status}; NOT_FOUND for a service it doesn't know."""
        if _service(request) not in SERVICES:
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return _SERVING if self.serving else _NOT_SERVING


def _service(request: bytes) -> bytes | None:
    """Field 1, a string of less than 128 bytes; None for anything else, as no service here has a longer name."""
    if not request:
        return b""
    if len(request) >= 2 and request[0] == 0x0A and request[1] == len(request) - 2:  # noqa: PLR2004 - tag, length
        return request[2:]
    return None
