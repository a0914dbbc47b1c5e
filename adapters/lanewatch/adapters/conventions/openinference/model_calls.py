"""Model calls: flattened messages, completed from the provider's whole answer where they leave something out."""

import re
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions.openinference.marks import NAME, integer, session, string
from lanewatch.adapters.facts import (
    LlmCall,
    Usage,
)
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.message_shapes import read_completion, read_message, read_messages
from lanewatch.adapters.messages import Message, Refusal, Text, ToolCall
from lanewatch.adapters.reading import (
    EMPTY_OBJECT,
    State,
    dictionaries,
    is_placeholder,
    read_json,
    unflatten,
)
from lanewatch.collector.spans import Span


def llm_call(span: Span) -> LlmCall:
    """A model call from `llm.*` keys and, where these fall short, `input.value` and `output.value`."""
    attributes = span.attributes
    output, output_state = _output(span)
    input_, input_state = _side(span, "llm.input_messages.", "input.value")
    finish = attributes.get("llm.finish_reason") or next((m.finish_reason for m in output if m.finish_reason), None)
    model = attributes.get("llm.response.model_name") or attributes.get("llm.model_name")
    return LlmCall(
        span,
        NAME,
        input_,
        output,
        input_state,
        output_state,
        finish if isinstance(finish, str) else None,
        model if isinstance(model, str) else None,
        string(attributes.get("llm.provider") or attributes.get("llm.system")),
        _response_id(attributes.get("output.value")),
        Usage(integer(attributes.get("llm.token_count.prompt")), integer(attributes.get("llm.token_count.completion"))),
        _offered_tools(attributes) if not span.dropped_attributes else None,
        error_of(span),
        session(span),
    )


def _flat_messages(attributes: dict[str, Any], prefix: str, role: str) -> tuple[Message, ...]:
    tree = unflatten(attributes, prefix)
    return tuple(
        read_message(_unwrapped(item["message"]), role)
        for item in dictionaries(tree)
        if isinstance(item.get("message"), dict)
    )


def _prompts(attributes: dict[str, Any]) -> tuple[Message, ...]:
    """Prompts of the completions API."""
    tree = unflatten(attributes, "llm.prompts.")
    return _texts((item.get("prompt") for item in dictionaries(tree)), "user")


def _completions(attributes: dict[str, Any]) -> tuple[Message, ...]:
    """Answers of the completions API."""
    tree = unflatten(attributes, "llm.choices.")
    return _texts((item.get("completion") for item in dictionaries(tree)), "assistant")


def _texts(items: Iterable[Any], role: str) -> tuple[Message, ...]:
    texts = (item.get("text") for item in items if isinstance(item, dict))
    return tuple(Message(role, (Text(text),)) for text in texts if isinstance(text, str) and not is_placeholder(text))


def _unwrapped(message: dict[str, Any]) -> dict[str, Any]:
    """`contents.M.message_content.{type,text}` as a plain content list. `contents.M.tool_call` repeats a call of
    `tool_calls`, so it is read only where there are none.
    """
    contents = message.get("contents")
    if not isinstance(contents, list):
        return _with_legacy_call(message)
    listed = [item for item in dictionaries(contents) if not ("tool_calls" in message and _is_call(item))]
    blocks = [block for item in listed if isinstance(block := item.get("tool_call", item.get("message_content")), dict)]
    plain = {key: value for key, value in message.items() if key != "contents"}
    if blocks or "content" not in plain:
        plain["content"] = [{**block, "type": "tool_call"} if "function" in block else block for block in blocks]
    return _with_legacy_call(plain)


def _is_call(item: dict[str, Any]) -> bool:
    content = item.get("message_content")
    kind = content.get("type") if isinstance(content, dict) else None
    return "tool_call" in item or kind in ("tool_use", "tool_call")


def _with_legacy_call(message: dict[str, Any]) -> dict[str, Any]:
    if "function_call_name" not in message or "tool_calls" in message:
        return message
    call = {"name": message["function_call_name"], "arguments": message.get("function_call_arguments_json")}
    return {**message, "function_call": call}


def _captured_calls(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Arguments that an LLM span leaves out are empty: the attribute is omitted for `{}`, "" and None alike."""
    return tuple(
        replace(
            message,
            parts=tuple(
                replace(part, arguments=EMPTY_OBJECT)
                if isinstance(part, ToolCall) and part.arguments.state is State.ABSENT and not part.by_provider
                else part
                for part in message.parts
            ),
        )
        for message in messages
    )


def _side(span: Span, prefix: str, value_key: str) -> tuple[tuple[Message, ...], State]:
    messages = _captured_calls(_flat_messages(span.attributes, prefix, "user") or _prompts(span.attributes))
    value = span.attributes.get(value_key)
    if messages:
        return messages, State.CAPTURED
    if is_placeholder(value):
        return (), State.REDACTED
    if value is None:
        return (), State.ABSENT
    return read_messages(value), State.CAPTURED


def _output(span: Span) -> tuple[tuple[Message, ...], State]:
    """What the model answered. The flattened messages come first; the provider's whole answer in `output.value` fills
    in what they leave out: refusals, invalid calls, and streamed answers (OpenAI Agents over chat completions).
    """
    value = span.attributes.get("output.value")
    flat = _captured_calls(_flat_messages(span.attributes, "llm.output_messages.", "assistant"))
    flat = flat or _completions(span.attributes)
    whole: tuple[Message, ...] = ()
    empty = not any(message.parts for message in flat)
    if isinstance(value, str) and (empty or '"refusal"' in value) and not is_placeholder(value):
        whole = read_completion(value)
        if empty and not any(message.parts for message in whole) and not flat:
            whole = whole or (
                (Message("assistant", (Text(value),)),) if not value.lstrip().startswith(("{", "[")) else ()
            )
    if empty:
        if any(message.parts for message in whole):
            return whole, State.CAPTURED
        if is_placeholder(value):
            return (), State.REDACTED
        return (flat or whole), State.CAPTURED if (flat or whole) else State.ABSENT
    refusal = next((message.refusal for message in whole if message.refusal is not None), None)
    if refusal is not None:
        return (
            Message("assistant", (Refusal(refusal), *(p for m in flat for p in m.parts if not isinstance(p, Text)))),
        ), State.CAPTURED
    return flat, State.CAPTURED


def _response_id(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    found = re.search(r'"id": ?"((?:chatcmpl|resp|msg|gen)[-_][^"]+)"', value)
    return found.group(1) if found else None


def _offered_tools(attributes: dict[str, Any]) -> dict[str, Any] | None:
    """Tools offered to the model, flattened or (CrewAI) as one JSON text; None where some may be missing."""
    listed = read_json(attributes.get("llm.tools"))
    tools: dict[str, Any] = {}
    for item in dictionaries(unflatten(attributes, "llm.tools.") or listed):
        tool = item.get("tool", item)
        schema = read_json(tool.get("json_schema", tool)) if isinstance(tool, dict) else None
        inner = schema.get("function", schema) if isinstance(schema, dict) else None
        if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
            continue
        tools[inner["name"]] = inner.get("parameters", inner.get("input_schema"))
    return tools or None
