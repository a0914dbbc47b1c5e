"""An agent's run with a secret of its own in each field that holds text."""

import json
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Canaries:
    """Makes a secret of its own for each field that is written."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, around: str = "{}") -> str:
        """A text with a new secret in it."""
        self.made += 1
        return around.format(f"sk-proj-CANARY{self.made:02d}x9Zq7Lm2Pv8Rt4Ks6")


def add(span: Span, attributes: dict[str, Any]) -> None:
    """Give a span text attributes."""
    for key, value in attributes.items():
        span.attributes.add(key=key).value.string_value = value if isinstance(value, str) else json.dumps(value)


def leaking_trace(secret: Canaries) -> bytes:
    """An agent's run: model calls, a tool that fails, a retrieval; in each field that holds text stands a secret."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = secret("shop-{}")
    resource.resource.attributes.add(key="host.name").value.string_value = secret()
    scope = resource.scope_spans.add()
    scope.scope.name = "openinference.instrumentation.langchain"

    def span(number: int, name: str, parent: int = 0) -> Span:
        made: Span = scope.spans.add(
            trace_id=b"\x07" * 16, span_id=bytes([number]) * 8, parent_span_id=bytes([parent]) * 8 if parent else b"",
            name=name, start_time_unix_nano=10**18 + number, end_time_unix_nano=10**18 + 100 - number,
        )  # fmt: skip
        return made

    add(span(1, secret("agent {}")), {
        "openinference.span.kind": "AGENT", "session.id": secret("user-{}"), "user.id": secret(), "tag.tags": [secret()],
        "metadata": {secret("key {}"): secret()}, "input.value": secret("my key is {}"), "output.value": secret("it is {}"),
    })  # fmt: skip
    add(span(2, secret("ChatModel {}"), 1), {
        "openinference.span.kind": "LLM", "llm.model_name": secret("model {}"), "llm.invocation_parameters": {"a": secret()},
        "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": secret("You are {}"),
        "llm.input_messages.1.message.role": "user", "llm.input_messages.1.message.content": secret("Pay with {}"),
        "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": secret("Using {}"),
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": secret("call_{}"),
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": secret("pay_{}"),
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": {"note": secret(), secret("k {}"): 1},
        "llm.tools.0.tool.json_schema": {"function": {"name": "pay", "description": secret(), "parameters": {"type": "object", "required": [secret()]}}},
    })  # fmt: skip
    failed = span(3, secret("pay {}"), 1)
    add(failed, {
        "openinference.span.kind": "TOOL", "tool.name": secret("pay_{}"), "tool.description": secret(),
        "tool.parameters": {"note": secret("other {}")}, "input.value": {"note": secret("other {}")}, "output.value": secret('{{"error": "{}"}}'),
    })  # fmt: skip
    failed.status.code = failed.status.STATUS_CODE_ERROR
    failed.status.message = secret("refused {}")
    event = failed.events.add(name="exception")
    event.attributes.add(key="exception.message").value.string_value = secret("no access with {}")
    event.attributes.add(key="exception.stacktrace").value.string_value = secret("Traceback {}")
    event.attributes.add(key="exception.type").value.string_value = secret("Error_{}")
    add(span(4, secret("retriever {}"), 1), {
        "openinference.span.kind": "RETRIEVER", "input.value": secret("find {}"),
        "retrieval.documents.0.document.content": secret("content {}"), "retrieval.documents.0.document.id": secret("doc {}"),
        "retrieval.documents.0.document.metadata": {"source": secret()},
    })  # fmt: skip
    add(span(5, secret("ChatModel {}"), 1), {
        "openinference.span.kind": "LLM", "llm.model_name": secret("model {}"),
        "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": secret("What is {}"),
        "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": secret("The code {} is 17."),
    })  # fmt: skip
    body: bytes = request.SerializeToString()
    return body
