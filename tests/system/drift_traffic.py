"""Traffic made of recorded captures: each trace anew, with ids and times of its own, and habits that a test can change."""

import random
from collections.abc import Iterator

from google.protobuf.message import Message  # type: ignore[import-untyped,unused-ignore]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tests.system.captures import bodies

STACK = "openai_oi"
SERVICE = "demo-openai-oi"
USUAL = {"01_right_tool": 0.5, "03_parallel": 0.3, "10_rag_only": 0.2}
EVERY = 5.0  # seconds between traces
BATCH = 25


class Traffic:
    """Recorded traces, one every five seconds, from a time on."""

    def __init__(self, start: float, seed: int = 0) -> None:
        """`start` is in seconds since the epoch."""
        self.at = start
        self._rng = random.Random(seed)
        self._recorded = {
            name: [ExportTraceServiceRequest.FromString(body) for _, body in bodies(f"{STACK}/{name}")]
            for name in USUAL
        }

    def requests(self, count: int, *, tool_errors: float = 0.02, hidden: float = 0.0) -> Iterator[bytes]:
        """So many traces as bodies of export requests; a part of the tools' runs fails, a part hides what models said."""
        for first in range(0, count, BATCH):
            body = ExportTraceServiceRequest()
            for _ in range(first, min(first + BATCH, count)):
                self._add(body, tool_errors, hidden)
            yield body.SerializeToString()

    def _add(self, body: ExportTraceServiceRequest, tool_errors: float, hidden: float) -> None:
        rng = self._rng
        self.at += EVERY
        name = rng.choices(list(USUAL), list(USUAL.values()))[0]
        parts = self._recorded[name]
        spans = [
            span
            for part in parts
            for block in part.resource_spans
            for scope in block.scope_spans
            for span in scope.spans
        ]
        ids = {span.span_id: rng.randbytes(8) for span in spans}
        trace_id, suffix = rng.randbytes(16), f"{rng.getrandbits(40):010x}"
        begin = min(span.start_time_unix_nano for span in spans)
        slower = rng.lognormvariate(0, 0.3)
        fails, hides = rng.random() < tool_errors, rng.random() < hidden
        for part in parts:
            for block in part.resource_spans:
                copy = body.resource_spans.add()
                copy.CopyFrom(block)
                for scope in copy.scope_spans:
                    for span in scope.spans:
                        span.trace_id, span.span_id = trace_id, ids[span.span_id]
                        span.parent_span_id = ids.get(span.parent_span_id, b"")
                        for field in ("start_time_unix_nano", "end_time_unix_nano"):
                            after = (getattr(span, field) - begin) * slower
                            setattr(span, field, int(self.at * 1e9 + after))
                        kinds = [a.value.string_value for a in span.attributes if a.key == "openinference.span.kind"]
                        if fails and kinds == ["TOOL"]:
                            _fail(span)
                        if hides:
                            _hide(span)
                        for attribute in span.attributes:
                            if attribute.value.string_value:
                                text = attribute.value.string_value
                                attribute.value.string_value = text.replace("call_", f"call_{suffix}_")


def _hide(span: Message) -> None:
    """As OpenInference's instrumentation does where it is told to hide outputs."""
    for attribute in span.attributes:
        if attribute.key.startswith(("llm.output_messages.", "output.value")) and attribute.value.string_value:
            attribute.value.string_value = "__REDACTED__"


def _fail(span: Message) -> None:
    """As an SDK writes down an exception that left the tool's body."""
    span.status.code = 2
    span.status.message = "RuntimeError: the service is down"
    event = span.events.add()
    event.name, event.time_unix_nano = "exception", span.end_time_unix_nano
    for key, value in (("exception.type", "RuntimeError"), ("exception.message", "the service is down")):
        event.attributes.append(KeyValue(key=key, value=AnyValue(string_value=value)))
