"""Resources and scopes that come again with each request."""

from lanewatch.collector.decode import decode_protobuf
from lanewatch.collector.limits import DecodeLimits
from lanewatch.collector.relevance import Relevance
from lanewatch.collector.repeated import PART_BYTES, PARTS, Repeated
from lanewatch.collector.spans import Decoded, Signal
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

LIMITS = DecodeLimits()
RELEVANCE = Relevance(keys=(b"gen_ai.",))


def decoded(limits: DecodeLimits = LIMITS, *, service: str = "shop", scope: str = "agents") -> Decoded:
    """A request of one span, decoded."""
    request = ExportTraceServiceRequest()
    block = request.resource_spans.add()
    block.resource.attributes.add(key="service.name").value.string_value = service
    part = block.scope_spans.add()
    part.scope.name = scope
    span = part.spans.add(trace_id=b"t" * 16, span_id=b"s" * 8)
    span.attributes.add(key="gen_ai.operation.name").value.string_value = "chat"
    return decode_protobuf(request.SerializeToString(), Signal.TRACES, RELEVANCE, limits)


def test_what_comes_again_is_decoded_once() -> None:
    """Two requests with the same bytes share one resource and one scope."""
    first, again = decoded().spans[0], decoded().spans[0]

    assert again.resource is first.resource
    assert again.scope is first.scope


def test_other_bytes_are_another_resource_and_another_scope() -> None:
    """What differs in a byte is never taken for what came before."""
    first, other = decoded().spans[0], decoded(service="till", scope="bills").spans[0]

    assert (first.resource.service, first.scope.name) == ("shop", "agents")
    assert (other.resource.service, other.scope.name) == ("till", "bills")


def test_what_was_read_within_other_limits_is_read_anew() -> None:
    """A limit cuts a value though the whole one is remembered, and the cut one is not remembered."""
    long = "s" * 100
    decoded(service=long)
    limits = DecodeLimits(max_value_bytes=40)
    cut, again = decoded(limits, service=long).spans[0], decoded(limits, service=long).spans[0]

    assert cut.resource.service == again.resource.service == "s" * 40
    assert cut.resource is not again.resource


def test_what_is_remembered_is_bounded() -> None:
    """Neither ever new parts nor large ones take up memory."""
    repeated: Repeated[str] = Repeated()
    for number in range(PARTS + 1):
        repeated.keep(str(number), b"%d" % number, LIMITS)
    repeated.keep("large", bytes(PART_BYTES + 1), LIMITS)

    assert repeated.find(b"0", LIMITS) is None
    assert repeated.find(b"%d" % PARTS, LIMITS) == str(PARTS)
    assert repeated.find(bytes(PART_BYTES + 1), LIMITS) is None
