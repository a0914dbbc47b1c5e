"""Model calls: a client library's own request and answer, as MLflow's autologging found them."""

import re
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.conventions.mlflow.marks import INPUTS, NAME, OUTPUTS, content_of, session
from lanewatch.adapters.conventions.mlflow.streams import streamed
from lanewatch.adapters.facts import LlmCall, Usage
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.json_text import parse_json_text
from lanewatch.adapters.langchain_values import is_message, message_of, messages_of
from lanewatch.adapters.message_shapes import read_completion, read_message, read_messages
from lanewatch.adapters.messages import Message, Text
from lanewatch.adapters.reading import State, dictionaries
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

CONVERSATIONS = ("messages", "input", "contents", "prompts", "prompt")
REFUSAL = re.compile(r'"refusal": ?"')
ANSWERS = ("text", "response", "output", "answer", "content")


def exported_call(span: Span, tree: SpanTree) -> LlmCall:
    """A model call of the GenAI export, whose tool calls of a stream are in the chunks as in MLflow's own spans."""
    call = replace(otel_genai.llm_call(span, tree, NAME), session_id=session(span))
    return _from_stream(call, is_stream=parse_json_text(span.attributes.get("stream")) is True)


def llm_call(span: Span) -> LlmCall:
    """A model call of MLflow's own spans."""
    attributes = span.attributes
    given, input_state = content_of(attributes.get(INPUTS))
    answered, state = content_of(attributes.get(OUTPUTS))
    output, output_state = _answer(answered, state)
    error = error_of(span)
    asked = given if isinstance(given, dict) else {}
    whole = answered if isinstance(answered, dict) else {}
    model, provider = (parse_json_text(attributes.get(f"mlflow.llm.{key}")) for key in ("model", "provider"))
    finish = next((message.finish_reason for message in output if message.finish_reason), None)
    finish = finish or next(
        (whole[key] for key in ("stop_reason", "stopReason") if isinstance(whole.get(key), str)), None
    )
    usage = parse_json_text(attributes.get("mlflow.chat.tokenUsage"))
    usage = usage if isinstance(usage, dict) else {}
    call = LlmCall(
        span,
        NAME,
        _conversation(given),
        output,
        input_state,
        output_state,
        finish,
        model if isinstance(model, str) else None,
        provider if isinstance(provider, str) else None,
        whole["id"] if isinstance(whole.get("id"), str) else None,
        Usage(_count(usage.get("input_tokens")), _count(usage.get("output_tokens"))),
        _offered(asked.get("tools")) or _offered(parse_json_text(attributes.get("mlflow.chat.tools"))),
        error,
        session(span),
    )
    return _from_stream(call, is_stream=asked.get("stream") is True and "choices" in whole)


def _from_stream(call: LlmCall, *, is_stream: bool) -> LlmCall:
    """The call with what its chunks tell. Where they are lost, an answer without calls may have had some."""
    found = streamed(call.span)
    if found is not None and found.is_whole:
        finish = next(
            (message.finish_reason for message in found.messages if message.finish_reason), call.finish_reason
        )
        return replace(call, output=found.messages, output_state=State.CAPTURED, finish_reason=finish)
    lost = found is not None or (is_stream and call.finish_reason in (None, "stop"))
    if lost and not any(message.calls for message in call.output):
        return replace(call, output_state=State.TRUNCATED)
    return call


def _conversation(value: Any) -> tuple[Message, ...]:
    if isinstance(value, dict):
        key = next((key for key in CONVERSATIONS if value.get(key) is not None), None)
        messages = _messages(value[key]) if key is not None else ()
        system = value.get("system", value.get("instructions"))
        if isinstance(system, str | list) and not any(message.role == "system" for message in messages):
            return (*read_messages([{"role": "system", "content": system}], "system"), *messages)
        return messages
    return _messages(value)


def _messages(value: Any) -> tuple[Message, ...]:
    if isinstance(value, str):
        return (Message("user", (Text(value),)),)
    if isinstance(value, list):
        flat = value[0] if len(value) == 1 and isinstance(value[0], list) else value
        if any(is_message(item) for item in dictionaries(flat)):
            return messages_of(flat)
    return read_messages(value)


def _answer(value: Any, state: State) -> tuple[tuple[Message, ...], State]:
    """A model's answer. What has no known shape may hide calls, so it is not captured."""
    if state is not State.CAPTURED:
        return (), state
    messages: tuple[Message, ...] = ()
    if isinstance(value, str):
        messages = (Message("assistant", (Text(value),)),)
    elif isinstance(value, list):
        texts = tuple(Message("assistant", (Text(item),)) for item in value if isinstance(item, str))
        messages = texts if len(texts) == len(value) else read_completion(value) or read_messages(value, "assistant")
    elif isinstance(value, dict):
        messages = _object(value)
    shown = any(message.parts or message.finish_reason for message in messages) or (
        isinstance(value, dict) and bool(messages) and "choices" in value  # LangChain's: an empty answer is one too
    )
    return messages, State.CAPTURED if shown or value == "" else State.ABSENT


def _object(value: dict[str, Any]) -> tuple[Message, ...]:
    output = value.get("output")
    if isinstance(output, dict) and isinstance(output.get("message"), dict):  # Bedrock's Converse
        return (read_message(output["message"], "assistant"),)
    messages = read_completion(value)
    if messages:
        return messages
    if is_message(value) or "tool_calls" in value:
        return (message_of(value, "assistant"),)
    text = next((value[key] for key in ANSWERS if isinstance(value.get(key), str)), None)
    return (Message("assistant", (Text(text),)),) if text is not None and set(value) <= {*ANSWERS, "metadata"} else ()


def buried_refusal(span: Span) -> str | None:
    """The refusal that ends a chain's messages, where LangChain's model span has an empty answer alone."""
    written = span.attributes.get(OUTPUTS)
    if not isinstance(written, str) or not REFUSAL.search(written):
        return None
    outputs = parse_json_text(written)
    listed = outputs.get("messages") if isinstance(outputs, dict) else outputs
    messages = messages_of(listed, "assistant")
    return messages[-1].refusal if messages else None


def _offered(value: Any) -> dict[str, Any] | None:
    tools: dict[str, Any] = {}
    for item in dictionaries(value):
        inner = item.get("function", item)
        if isinstance(inner, dict) and isinstance(inner.get("name"), str):
            tools[inner["name"]] = inner.get("parameters", inner.get("input_schema"))
    return tools or None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
