"""Messages of these conventions, brought into a shape that is known: Genkit's parts, Gemini's chunks, lists of calls."""

from collections.abc import Iterable
from typing import Any

from lanewatch.adapters.message_parts import text_or_none
from lanewatch.adapters.message_shapes import read_completion, read_messages
from lanewatch.adapters.messages import Message, Text, ToolCall
from lanewatch.adapters.reading import dictionaries, is_placeholder, read_arguments, read_json

ENVELOPES = ("messages", "items", "contents", "request")


def inputs_of(value: Any) -> tuple[Message, ...]:
    """What a model was given."""
    if is_placeholder(value):
        return ()
    decoded = read_json(value)
    if isinstance(decoded, dict):
        decoded = next((decoded[key] for key in ENVELOPES if isinstance(decoded.get(key), list)), decoded)
    return read_messages([_plain(item) for item in dictionaries(decoded)], "user") if decoded else read_messages(value)


def answers_of(value: Any) -> tuple[Message, ...]:
    """What a model answered; chunks of one answer are one message."""
    if value is None or is_placeholder(value):
        return ()
    decoded = read_json(value)
    if isinstance(decoded, dict):
        inner = decoded.get("message")
        if isinstance(inner, dict):
            reason = decoded.get("finishReason", decoded.get("finish_reason"))
            read = read_messages([_plain(inner)], "assistant")
            return tuple(Message(m.role, m.parts, reason if isinstance(reason, str) else m.finish_reason) for m in read)
        if isinstance(decoded.get("text"), str):
            calls = calls_of(decoded.get("toolCalls", decoded.get("tool_calls")))
            return (Message("assistant", (*((Text(decoded["text"]),) if decoded["text"] else ()), *calls)),)
    if isinstance(decoded, dict | list):
        read = read_completion(decoded) or read_messages(
            [_plain(item) for item in dictionaries(decoded) if _is_message(item)], "assistant"
        )
        if read:
            parts = tuple(part for message in read for part in message.parts)
            return (Message("assistant", parts, next((m.finish_reason for m in read if m.finish_reason), None)),)
    return (Message("assistant", (Text(value),)),) if isinstance(value, str) else ()


def _is_message(item: dict[str, Any]) -> bool:
    return any(key in item for key in ("role", "parts", "content", "tool_calls"))


def calls_of(value: Any) -> tuple[ToolCall, ...]:
    """A list of calls: name, arguments and id under one of their names, each perhaps JSON text itself."""
    listed = read_json(value) if isinstance(value, str) else value
    if isinstance(listed, list):
        listed = [read_json(item) if isinstance(item, str) else item for item in listed]
    return tuple(_calls(dictionaries(listed)))


def _calls(items: Iterable[dict[str, Any]]) -> Iterable[ToolCall]:
    for item in items:
        function = item["function"] if isinstance(item.get("function"), dict) else item
        name = function.get("name", function.get("toolName"))
        if isinstance(name, str):
            keys = ("call_id", "id", "toolCallId", "tool_call_id")
            call_id = next((item[key] for key in keys if item.get(key)), None)
            arguments = next((function[key] for key in ("arguments", "args", "input") if key in function), None)
            yield ToolCall(name, text_or_none(call_id), read_arguments(arguments))


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """Genkit's `toolRequest` and `toolResponse` parts, and LiveKit's items, as parts that are known."""
    kind = message.get("type")
    if kind == "function_call" and "name" in message:
        call = {"type": "tool_call", "id": message.get("call_id"), "name": message["name"]}
        return {"role": "assistant", "content": [{**call, "arguments": message.get("arguments")}]}
    if kind == "function_call_output":
        told = {"type": "tool_result", "id": message.get("call_id"), "content": message.get("output")}
        return {"role": "tool", "content": [told]}
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [_part(part) if isinstance(part, dict) else part for part in content]}


def _part(part: dict[str, Any]) -> dict[str, Any]:
    asked, told = part.get("toolRequest"), part.get("toolResponse")
    if isinstance(asked, dict):
        return {"type": "tool_call", "id": asked.get("ref"), "name": asked.get("name"), "arguments": asked.get("input")}
    if isinstance(told, dict):
        return {"type": "tool_result", "id": told.get("ref"), "name": told.get("name"), "content": told.get("output")}
    return part
