"""From a request's body to what is in it, or the reason why not: inflate and decode, with every error typed.

Pure and free of shared state, so that it runs on the event loop for a small body and on a worker thread for a big one.
"""

from collections.abc import Callable
from types import MappingProxyType

from lanewatch.collector.decode import DecodeLimits, Undecodable, decode_protobuf
from lanewatch.collector.decode_json import decode_json
from lanewatch.collector.inflate import CorruptBody, InflatedTooLarge, UnknownCoding, inflate
from lanewatch.collector.outcomes import RefusalReason, Refused
from lanewatch.collector.relevance import Relevance
from lanewatch.collector.responses import Media
from lanewatch.collector.spans import Decoded, Signal

Decode = Callable[[bytes, Signal, Relevance, DecodeLimits], Decoded]

_DECODERS: MappingProxyType[Media, Decode] = MappingProxyType(
    {Media.PROTOBUF: decode_protobuf, Media.JSON: decode_json}
)


def unpack(
    body: bytes,
    *,
    signal: Signal,
    media: Media,
    encoding: str,
    max_bytes: int,
    relevance: Relevance,
    limits: DecodeLimits,
) -> Decoded:
    """Inflate to at most `max_bytes` and decode; raises `Refused` for whatever the data can be guilty of."""
    plain = plain_body(body, encoding, max_bytes)
    try:
        return _DECODERS[media](plain, signal, relevance, limits)
    except Undecodable as error:
        raise Refused(RefusalReason.UNDECODABLE, str(error)) from None


def plain_body(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """The body inflated to at most `max_bytes`; raises `Refused`."""
    try:
        return inflate(body, encoding, max_bytes)
    except InflatedTooLarge:
        raise Refused(RefusalReason.TOO_LARGE_INFLATED, f"more than {max_bytes} bytes") from None
    except UnknownCoding:
        raise Refused(RefusalReason.CONTENT_CODING) from None
    except CorruptBody:
        raise Refused(RefusalReason.CORRUPT_COMPRESSION) from None
