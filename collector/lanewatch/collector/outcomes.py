"""The one table of what can happen to a request: what the client is told, what is counted, and what to do about it.

Invariants, from the OTLP specification 1.11.0 and from what clients really do with an answer:

- A fault of the data is never a 5xx: older releases of Python's HTTP exporter send what met a 500 again, up to six times.
- Overload is 503 and UNAVAILABLE, never 429 and never RESOURCE_EXHAUSTED: those releases don't retry a 429.
- Only outcomes that time heals carry retry advice, and it is one second: Python's exporters give a batch ten seconds in
  all and drop it at once when the advised wait is longer than what is left of them.
- A reason's value is the label of `lanewatch_requests_refused_total`, the log field, and the row in docs/refused-requests.md.
- A message names the thing and the remedy, never content, and is at most 1 KiB (an answer must stay below 4 MiB).
"""

from enum import IntEnum, StrEnum
from types import MappingProxyType

import msgspec

RETRY_AFTER_SECONDS = 1
MAX_MESSAGE_BYTES = 1024


class Code(IntEnum):
    """`google.rpc.Code`, as far as it is used here."""

    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


class RefusalReason(StrEnum):
    """Why a whole request was refused. Rejected spans of an accepted request have reasons of their own."""

    UNDECODABLE = "undecodable"
    CORRUPT_COMPRESSION = "corrupt_compression"
    TOO_LARGE = "too_large"
    TOO_LARGE_INFLATED = "too_large_inflated"
    UNREADABLE_MESSAGE = "unreadable_message"
    FURTHER_MESSAGE = "further_message"
    MEDIA_TYPE = "media_type"
    CONTENT_CODING = "content_coding"
    METHOD = "method"
    UNKNOWN_PATH = "unknown_path"
    METRICS_NOT_TAKEN = "metrics_not_taken"
    NO_ARTIFACT = "no_artifact"
    NO_OUTCOME = "no_outcome"
    CREDENTIALS = "credentials"
    MALFORMED_HTTP = "malformed_http"
    HEADERS_TOO_LARGE = "headers_too_large"
    REQUEST_TIMEOUT = "request_timeout"
    IN_FLIGHT_LIMIT = "in_flight_limit"
    MEMORY_LIMIT = "memory_limit"
    CONNECTION_LIMIT = "connection_limit"
    STOPPING = "stopping"
    ABANDONED = "abandoned"
    INTERNAL = "internal"


class Outcome(msgspec.Struct, frozen=True):
    """What one reason means on the wire and to an operator. `retry`: the client is asked to come back after a second."""

    http_status: int
    code: Code
    summary: str
    remedy: str
    retry: bool = False
    close: bool = False  # the HTTP connection can't be used any further
    headers: tuple[tuple[str, str], ...] = ()


OUTCOMES: MappingProxyType[RefusalReason, Outcome] = MappingProxyType(
    {
        RefusalReason.UNDECODABLE: Outcome(
            400,
            Code.INVALID_ARGUMENT,
            "the body is not an OTLP export request",
            "check that the exporter speaks OTLP and that its content type names what it sends",
        ),
        RefusalReason.CORRUPT_COMPRESSION: Outcome(
            400,
            Code.INVALID_ARGUMENT,
            "the body can't be decompressed",
            "check what the client or a proxy does to the body; compression none rules it out",
        ),
        RefusalReason.TOO_LARGE: Outcome(
            413,
            Code.RESOURCE_EXHAUSTED,
            "the request is larger than the limit",
            "lower the exporter's batch size, or raise max_request_bytes",
            close=True,
        ),
        RefusalReason.TOO_LARGE_INFLATED: Outcome(
            413,
            Code.RESOURCE_EXHAUSTED,
            "the decompressed request is larger than the limit",
            "lower the exporter's batch size, or raise max_request_bytes",
        ),
        # gRPC's core answers these before our code sees a byte: RESOURCE_EXHAUSTED for the size, INTERNAL for the rest.
        RefusalReason.UNREADABLE_MESSAGE: Outcome(
            413,
            Code.RESOURCE_EXHAUSTED,
            "gRPC could not hand the message over: it is too large or its compression is corrupt, or the client went away",
            "lower the exporter's batch size, raise max_request_bytes, or raise the exporter's timeout",
        ),
        RefusalReason.FURTHER_MESSAGE: Outcome(
            400,
            Code.INVALID_ARGUMENT,
            "a call of Export carries one message, and another one came behind it; none of them was taken",
            "send each export request in a call of its own: the method is unary",
        ),
        RefusalReason.MEDIA_TYPE: Outcome(
            415,
            Code.INVALID_ARGUMENT,
            "the content type is missing or unknown",
            "send application/x-protobuf or application/json",
        ),
        RefusalReason.CONTENT_CODING: Outcome(
            415,
            Code.UNIMPLEMENTED,
            "the content coding is unknown",
            "send gzip, deflate or no compression (OTEL_EXPORTER_OTLP_COMPRESSION)",
            headers=(("Accept-Encoding", "gzip, deflate"),),
        ),
        RefusalReason.METHOD: Outcome(
            405,
            Code.UNIMPLEMENTED,
            "OTLP is sent by POST",
            "point an OTLP exporter here, not a browser, scraper or probe",
            headers=(("Allow", "POST"),),
        ),
        RefusalReason.UNKNOWN_PATH: Outcome(
            404,
            Code.UNIMPLEMENTED,
            "nothing is served here",
            "export to /v1/traces or /v1/logs, or over gRPC to TraceService or LogsService",
        ),
        RefusalReason.METRICS_NOT_TAKEN: Outcome(
            404,
            Code.UNIMPLEMENTED,
            "Lanewatch takes traces and logs",
            "point OTEL_EXPORTER_OTLP_METRICS_ENDPOINT elsewhere or set OTEL_METRICS_EXPORTER=none",
        ),
        RefusalReason.NO_ARTIFACT: Outcome(
            400,
            Code.INVALID_ARGUMENT,
            "the body is no artifact",
            "send JSON with `producer`, `trace_id` or `session_id`, and Ragas' `messages`",
        ),
        RefusalReason.NO_OUTCOME: Outcome(
            400,
            Code.INVALID_ARGUMENT,
            "the body tells no outcome",
            "send JSON with `name`, `trace_id` or `session_id`, and `status` or both `expected` and `observed`",
        ),
        RefusalReason.CREDENTIALS: Outcome(
            401,
            Code.UNAUTHENTICATED,
            "the bearer token is missing or wrong",
            "set OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20<token>",
            headers=(("WWW-Authenticate", "Bearer"),),
        ),
        RefusalReason.MALFORMED_HTTP: Outcome(
            400,
            Code.INVALID_ARGUMENT,
            "this is not HTTP/1.1",
            "send gRPC to the gRPC port (4317 by default) and OTLP/HTTP without TLS here",
            close=True,
        ),
        RefusalReason.HEADERS_TOO_LARGE: Outcome(
            431,
            Code.INVALID_ARGUMENT,
            "the request's headers are larger than the limit",
            "send fewer headers (OTEL_EXPORTER_OTLP_HEADERS, or those that a proxy adds)",
            close=True,
        ),
        RefusalReason.REQUEST_TIMEOUT: Outcome(
            408,
            Code.DEADLINE_EXCEEDED,
            "the request did not arrive in time",
            "look at the network between the exporter and Lanewatch, or raise request_deadline_seconds",
            close=True,
        ),
        RefusalReason.IN_FLIGHT_LIMIT: Outcome(
            503,
            Code.UNAVAILABLE,
            "too many bytes are in flight",
            "nothing while it passes; else send less, or raise max_in_flight_bytes",
            retry=True,
        ),
        RefusalReason.MEMORY_LIMIT: Outcome(
            503,
            Code.UNAVAILABLE,
            "memory is above the soft limit",
            "nothing while it passes; else lower max_open_bytes, or give the process more memory and raise memory_soft_bytes",
            retry=True,
        ),
        RefusalReason.CONNECTION_LIMIT: Outcome(
            503,
            Code.UNAVAILABLE,
            "too many connections are open",
            "share one exporter a process, or raise max_connections",
            retry=True,
            close=True,
        ),
        RefusalReason.STOPPING: Outcome(
            503,
            Code.UNAVAILABLE,
            "Lanewatch is stopping",
            "nothing: the exporter comes back, to the next process or another replica",
            retry=True,
            close=True,
        ),
        # Never sent, since nobody is there to read it; counted so that requests add up.
        RefusalReason.ABANDONED: Outcome(
            408,
            Code.DEADLINE_EXCEEDED,
            "the client went away before its request was complete",
            "look at the exporter's timeout and at restarts of the application",
            close=True,
        ),
        RefusalReason.INTERNAL: Outcome(
            500,
            Code.INTERNAL,
            "a fault of Lanewatch's own",
            "report it with the log line that names the place",
        ),
    }
)


class Refused(Exception):  # noqa: N818 - an outcome with a row in the table, not only an error
    """A request was refused as a whole. `str()` is the message for the client: summary, detail, remedy; at most 1 KiB."""

    def __init__(self, reason: RefusalReason, detail: str = "") -> None:
        self.reason = reason
        self.outcome = OUTCOMES[reason]
        text = f"{self.outcome.summary}{f' ({detail})' if detail else ''}: {self.outcome.remedy}"
        super().__init__(capped(text))


def capped(message: str) -> str:
    """The message cut to `MAX_MESSAGE_BYTES` bytes of UTF-8, on a character's border."""
    raw = message.encode("utf-8", "backslashreplace")
    return raw[:MAX_MESSAGE_BYTES].decode("utf-8", "ignore")
