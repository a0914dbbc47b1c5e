"""What a request's head asks for: signal, encodings, or the refusal; and the head of the answer.

Names of content types and codings are compared without case and parameters (RFC 9110, 8.3.1). Paths are compared as
they are: `/v1/traces/` is not `/v1/traces`, as in every other OTLP receiver.
"""

from http import HTTPStatus
from types import MappingProxyType

import msgspec

from lanewatch.collector.outcomes import RefusalReason, Refused
from lanewatch.collector.responses import Media
from lanewatch.collector.spans import Signal

PATHS: MappingProxyType[bytes, Signal] = MappingProxyType({b"/v1/traces": Signal.TRACES, b"/v1/logs": Signal.LOGS})
METRICS_PATH = b"/v1/metrics"
ARTIFACTS_PATH = b"/v1/artifacts"
OUTCOMES_PATH = b"/v1/outcomes"

_MEDIA = MappingProxyType({media.value.encode(): media for media in Media})
_REASON_PHRASE = MappingProxyType({status.value: status.phrase.encode() for status in HTTPStatus})


class Route(msgspec.Struct, frozen=True):
    """Where a request goes. `encoding` is a lower-case content coding, empty for none; `signal` None is an artifact, or what
    is told of an outcome.
    """

    signal: Signal | None
    media: Media
    encoding: str = ""
    outcome: bool = False


def media_of(content_type: bytes | None) -> Media | None:
    """The encoding that a content type names; None where it is missing or another one."""
    if content_type is None:
        return None
    return _MEDIA.get(content_type) or _MEDIA.get(content_type.partition(b";")[0].strip().lower())


def route(method: bytes, target: bytes, media: Media | None, content_encoding: bytes | None) -> Route:
    """Raises `Refused` for a path, method or media type that isn't OTLP's; codings are judged by who inflates."""
    signal = PATHS.get(target) or PATHS.get(_path(target))
    path = _path(target)
    pushed = signal is None and path in (ARTIFACTS_PATH, OUTCOMES_PATH)
    if signal is None and not pushed:
        metrics = path == METRICS_PATH
        raise Refused(RefusalReason.METRICS_NOT_TAKEN if metrics else RefusalReason.UNKNOWN_PATH)
    if method != b"POST":
        raise Refused(RefusalReason.METHOD)
    if media is None or (pushed and media is not Media.JSON):
        raise Refused(RefusalReason.MEDIA_TYPE)
    encoding = content_encoding.decode("latin-1").strip().lower() if content_encoding else ""
    return Route(signal, media, "" if encoding == "identity" else encoding, path == OUTCOMES_PATH)


def response_head(
    status: int, date: bytes, media: Media, n_bytes: int, extra: tuple[tuple[str, str], ...], *, close: bool
) -> bytes:
    """Status line and headers, down to the empty line."""
    head = b"HTTP/1.1 %d %b\r\nDate: %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n" % (
        status,
        _REASON_PHRASE[status],
        date,
        media.encode(),
        n_bytes,
    )
    for name, value in extra:
        head += f"{name}: {value}\r\n".encode()
    return head + (b"Connection: close\r\n\r\n" if close else b"\r\n")


def _path(target: bytes) -> bytes:
    """The path of a request target in origin form (`/p?q`) or absolute form (`http://host/p?q`)."""
    path = target.partition(b"?")[0]
    if b"://" in path:
        _, slash, rest = path.partition(b"://")[2].partition(b"/")
        return slash + rest
    return path
