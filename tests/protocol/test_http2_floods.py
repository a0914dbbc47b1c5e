"""Heads of gRPC calls that are cut into many frames, each of them below the core's limit (L6)."""

from collections.abc import Callable

import pytest
from lanewatch.collector.outcomes import RefusalReason
from lanewatch.collector.receive_grpc import METRICS_EXPORT, GrpcSettings

from tests.protocol.clients import OK, Via, send
from tests.protocol.export_requests import span, traces
from tests.protocol.http2_floods import EXPORT, flood, large_heads
from tests.protocol.served import Served

CALLS = 10
HEALTH = "/grpc.health.v1.Health/Check"


@pytest.mark.parametrize("path", [EXPORT, METRICS_EXPORT, HEALTH, "/nothing"])
def test_a_head_in_many_frames_is_as_bounded_as_one_in_a_single_frame(served: Served, path: str) -> None:
    """L6: the core counts each frame for itself. Every call is refused at once, whatever it calls, and none waits with its
    head for a message that does not come.
    """
    seen = flood(served.grpc.port, large_heads(CALLS, 100_000, path))

    assert served.refused_in_the_end(CALLS, RefusalReason.HEADERS_TOO_LARGE)
    assert seen.resets == CALLS
    assert served.grpc.reading == 0
    assert send(served, Via.GRPC, traces(span())).code == OK


def test_a_head_below_the_limit_is_taken(serve: Callable[..., Served]) -> None:
    """The limit is the one of the settings, not the core's: here the same heads pass."""
    served = serve(grpc=GrpcSettings(port=0, max_header_bytes=200_000, request_deadline_seconds=0.1))
    flood(served.grpc.port, large_heads(CALLS, 100_000))

    assert served.refused(RefusalReason.HEADERS_TOO_LARGE) == 0
    assert served.refused_in_the_end(CALLS, RefusalReason.REQUEST_TIMEOUT, RefusalReason.UNREADABLE_MESSAGE)
