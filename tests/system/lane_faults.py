"""One recorded turn of an agent that retrieves, calls a tool and answers, as several services, some with a fault in one lane.

A service is called after the lane that its fault is in; CONTROL names one without a fault that gets as many turns at the same
times, so whatever differs between the two is the fault.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.system.captures import bodies

CAPTURE = "openai_oi/01_right_tool"
HEALTHY, USUAL = "healthy", "usual"  # the second one has a reference of drift
KIND = "openinference.span.kind"
HIDDEN = "__REDACTED__"


def no_documents(span: Span) -> None:
    """The index is empty."""
    if _kind(span) == "RETRIEVER":
        kept = [one for one in span.attributes if not one.key.startswith("retrieval.documents")]
        del span.attributes[:]
        span.attributes.extend(kept)
        span.attributes.add(key="output.value").value.string_value = "[]"


def hidden_answer(span: Span) -> None:
    """The instrumentation hides what the model answered."""
    said = [one for one in span.attributes if one.key == "llm.output_messages.0.message.content"]
    if said or _kind(span) == "AGENT":
        for one in (*said, *(one for one in span.attributes if one.key == "output.value")):
            one.value.string_value = HIDDEN


def rewritten(span: Span) -> None:
    """The runtime runs the call with another argument."""
    if _kind(span) == "TOOL":
        for one in span.attributes:
            if one.key in ("input.value", "tool.parameters"):
                one.value.string_value = one.value.string_value.replace("period_end", "now")


def as_it_is(_: Span) -> None:
    """Nothing; of the outcome somebody tells that it is wrong."""


# By service: what is done to each span.
FAULTS: Mapping[str, Callable[[Span], None]] = {
    HEALTHY: as_it_is,
    USUAL: as_it_is,
    "retrieval": no_documents,
    "generation": hidden_answer,
    "tools": rewritten,
    "outcome": as_it_is,
}
APART = 1.2  # seconds; a turn takes less
CONTROL = {"retrieval": HEALTHY, "generation": HEALTHY, "tools": USUAL, "outcome": HEALTHY}


def turns(service: str, times: Iterable[float], *, faulty: bool) -> Iterator[tuple[str, bytes]]:
    """(trace id, body) of a turn of a service at each time, in seconds since the epoch."""
    change = FAULTS[service] if faulty else as_it_is
    # Turns that begin at the same nanosecond would be taken for parts of one.
    apart = APART * list(FAULTS).index(service)
    for at in times:
        slower = random.Random(at).lognormvariate(0, 0.3)  # of all services alike
        yield turn(CAPTURE, service, at + apart, slower=slower, change=change)


def turn(
    capture: str, service: str, at: float, *, slower: float = 1.0, change: Callable[[Span], None] = as_it_is
) -> tuple[str, bytes]:
    """(trace id, body) of a recorded turn as a service's own at this time, with ids of its own; `change` is done to each span."""
    rng = random.Random(f"{service} {at}")
    body = ExportTraceServiceRequest()
    for part in _recorded(capture):
        body.MergeFrom(part)
    trace_id = rng.randbytes(16)
    _renew(body, service, trace_id, rng, at, slower)
    for span in _spans(body):
        change(span)
    return trace_id.hex(), body.SerializeToString()


@cache
def _recorded(capture: str) -> list[ExportTraceServiceRequest]:
    return [ExportTraceServiceRequest.FromString(body) for _, body in bodies(capture)]


def _spans(body: ExportTraceServiceRequest) -> list[Span]:
    return [span for block in body.resource_spans for scope in block.scope_spans for span in scope.spans]


def _renew(
    body: ExportTraceServiceRequest, service: str, trace_id: bytes, rng: random.Random, at: float, slower: float
) -> None:
    spans = _spans(body)
    ids = {span.span_id: rng.randbytes(8) for span in spans}
    begin, suffix = min(span.start_time_unix_nano for span in spans), trace_id.hex()[:10]
    for span in spans:
        span.trace_id, span.span_id = trace_id, ids[span.span_id]
        span.parent_span_id = ids.get(span.parent_span_id, b"")
        span.start_time_unix_nano = int(at * 1e9 + (span.start_time_unix_nano - begin) * slower)
        span.end_time_unix_nano = int(at * 1e9 + (span.end_time_unix_nano - begin) * slower)
        for attribute in span.attributes:
            if attribute.value.string_value:
                attribute.value.string_value = attribute.value.string_value.replace("call_", f"call_{suffix}_")
    for block in body.resource_spans:
        for attribute in block.resource.attributes:
            if attribute.key == "service.name":
                attribute.value.string_value = service


def _kind(span: Span) -> str:
    return next((one.value.string_value for one in span.attributes if one.key == KIND), "")
