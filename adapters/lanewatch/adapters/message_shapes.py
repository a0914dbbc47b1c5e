"""Every shape in which producers write a list of messages, read into one form.

The shapes under one key vary by producer and version, so they are told apart by what is in them, never by who wrote
them: GenAI messages, OpenAI chat messages, OpenAI Responses items, Gemini contents, LangChain's and LlamaIndex'
serialised messages. What has no known shape is kept as text or as an opaque part.
"""

from typing import Any

import msgspec

from lanewatch.adapters.json_text import is_too_deep, names_twice, parse_json, parse_members
from lanewatch.adapters.message_parts import (
    MISSING,
    PROVIDER_TOOLS,
    arguments_of,
    joined_text,
    openai_calls,
    read_parts,
    text_or_none,
)
from lanewatch.adapters.messages import Message, Part, Reasoning, Refusal, Text, ToolCall, ToolResult, role_of
from lanewatch.adapters.reading import NO_CONTENT, Content, dictionaries, is_placeholder, read


def read_messages(value: Any, role: str = "user") -> tuple[Message, ...]:
    """Messages of an attribute, event or log body; `role` where a message names none.

    Text that is no JSON is one message of text. OpenAI's Responses items that belong to one turn (several calls in a
    row) become one message, as chat completions would have it.
    """
    if isinstance(value, str):
        if not value or is_placeholder(value):
            return ()
        try:
            decoded = parse_json(value)
        except ValueError:
            return (Message(role, (Text(value),)),)
        return messages_of_json(value, decoded, role)
    listed = _listed(value)
    return _messages(listed, role) if not is_too_deep(listed) else ()


class _Piece(msgspec.Struct, frozen=True):
    message: Message
    is_message: bool
    is_item: bool


def repeated_messages(text: str, role: str, memo: dict[object, Any]) -> tuple[Message, ...] | None:
    """Messages of a JSON list, each of which is read once for all lists that repeat it; `memo` keeps them. A conversation's
    history stands in each of its calls. None for anything but a list of objects, which `read_messages` may read.
    """
    try:
        listed = split_list(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    messages: list[Message] = []
    known = not listed
    for raw in listed:
        key = (role, bytes(raw))
        piece: _Piece | None = memo.get(key)
        if piece is None:
            try:
                piece = memo[key] = _piece(key[1].decode(), role)
            except ValueError:
                return None
        known = known or piece.is_message
        _append(messages, piece.message, merge=piece.is_item)
    return tuple(messages) if known else (Message(role, (Text(text),)),)  # an answer may be JSON itself


def _piece(text: str, role: str) -> _Piece:
    value = parse_json(text)
    if not isinstance(value, dict):
        raise ValueError("no object")  # noqa: TRY004 - told apart from a fault of the program
    message = read_message(value, role)
    if message.calls and names_twice(text, value):
        message = read_message(parse_members(text), role)
    return _Piece(message, _looks_like_message(value), _is_item(value))


def messages_of_json(text: str, decoded: Any, role: str) -> tuple[Message, ...]:
    """Messages of a text that was decoded already: an answer may be JSON itself, and is then one message of that text."""
    listed = _listed(decoded)
    if decoded != [] and not any(map(_looks_like_message, listed)):
        return (Message(role, (Text(text),)),)
    messages = _messages(listed, role)
    if any(message.calls for message in messages) and names_twice(text, decoded):
        return _messages(_listed(parse_members(text)), role)
    return messages


def _messages(listed: list[Any], role: str) -> tuple[Message, ...]:
    messages: list[Message] = []
    for item in listed:
        if isinstance(item, str):
            messages.append(Message(role, (Text(item),)))
        elif isinstance(item, dict):
            _append(messages, read_message(item, role), merge=_is_item(item))
    return tuple(messages)


split_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
MESSAGE_KEYS = frozenset(
    {"role", "parts", "content", "contents", "message", "tool_calls", "function_call", "refusal", "lc", "data", "type"}
)


def _listed(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = value["messages"] if isinstance(value.get("messages"), list) else [value]
    if not isinstance(value, list):
        return []
    return value[0] if len(value) == 1 and isinstance(value[0], list) else value  # LangChain writes a batch


def _looks_like_message(item: Any) -> bool:
    return isinstance(item, dict) and not MESSAGE_KEYS.isdisjoint(item)


def _append(messages: list[Message], message: Message, *, merge: bool) -> None:
    last = messages[-1] if messages else None
    if merge and last is not None and last.role == message.role == "assistant":
        messages[-1] = Message("assistant", last.parts + message.parts, message.finish_reason or last.finish_reason)
    else:
        messages.append(message)


def _is_item(item: dict[str, Any]) -> bool:
    """Whether this is an item of OpenAI's Responses API rather than a message."""
    kind = item.get("type")
    return (
        isinstance(kind, str) and ("call_id" in item or kind in ("reasoning", *PROVIDER_TOOLS)) and "parts" not in item
    )


def read_message(item: dict[str, Any], role: str = "user") -> Message:
    """One message of any known shape."""
    if "lc" in item and isinstance(item.get("kwargs"), dict):
        kind = str((item.get("id") or [""])[-1]) if isinstance(item.get("id"), list) else ""
        return _langchain(item["kwargs"], role_of(item["kwargs"].get("type") or kind.removesuffix("Message"), role))
    if "data" in item and isinstance(item["data"], dict) and isinstance(item.get("type"), str) and "role" not in item:
        return _langchain(item["data"], role_of(item["type"], role))
    if "type" in item and _is_item(item):
        return _responses_item(item)
    if "message" in item and isinstance(item["message"], dict) and "role" not in item:  # a choice
        inner = read_message(item["message"], "assistant")
        return Message(inner.role, inner.parts, _reason(item) or inner.finish_reason)
    speaker = role_of(item.get("role"), role)
    parts: list[Part] = []
    for key in ("parts", "contents", "content"):
        if key in item:
            parts.extend(read_parts(item[key], speaker))
            break
    if "refusal" in item and isinstance(item["refusal"], str):
        parts.append(Refusal(item["refusal"]))
    calls = openai_calls(item)
    if calls:
        seen = {part.call_id for part in parts if isinstance(part, ToolCall) and part.call_id}
        parts.extend(call for call in calls if call.call_id not in seen or not call.call_id)
    if speaker == "tool" and not any(isinstance(part, ToolResult) for part in parts):
        content = _tool_content(item)
        parts = [
            ToolResult(
                text_or_none(item.get("tool_call_id") or item.get("id")), text_or_none(item.get("name")), content
            )
        ]
    return Message(speaker, tuple(parts), _reason(item) if "finish_reason" in item else None)


def _reason(item: dict[str, Any]) -> str | None:
    reason = item.get("finish_reason")
    return reason if isinstance(reason, str) and reason else None


def _tool_content(item: dict[str, Any]) -> Content:
    content = item.get("content", MISSING)
    if content is MISSING:
        content = item.get("contents", item.get("parts", MISSING))
    if content is MISSING:
        return NO_CONTENT
    joined = joined_text(content)
    return read(joined if joined is not None else content)


def _responses_item(item: dict[str, Any]) -> Message:
    kind = str(item.get("type"))
    call_id = text_or_none(item.get("call_id"))
    if kind.endswith("_output"):
        return Message("tool", (ToolResult(call_id, text_or_none(item.get("name")), read(item.get("output"))),))
    if kind in ("function_call", "custom_tool_call"):
        aliases = (item["id"],) if isinstance(item.get("id"), str) else ()
        arguments = arguments_of(item.get("arguments", item.get("input", MISSING)))
        return Message("assistant", (ToolCall(str(item.get("name") or ""), call_id, arguments, aliases=aliases),))
    if kind == "reasoning":
        return Message("assistant", (Reasoning(""),))
    return Message("assistant", (ToolCall(kind, text_or_none(item.get("id")), NO_CONTENT, by_provider=True),))


def _langchain(data: dict[str, Any], role: str) -> Message:
    """LangChain's own message: `tool_calls` with parsed `args`, and `invalid_tool_calls` with text that is no JSON."""
    if role == "tool":
        content = _tool_content(data)
        is_error = data.get("status") == "error"
        return Message(
            "tool",
            (ToolResult(text_or_none(data.get("tool_call_id")), text_or_none(data.get("name")), content, is_error),),
        )
    parts: list[Part] = [part for part in read_parts(data.get("content"), role) if not isinstance(part, ToolCall)]
    extra = data.get("additional_kwargs")
    refusal = extra.get("refusal") if isinstance(extra, dict) else None
    if isinstance(refusal, str):
        parts.append(Refusal(refusal))
    listed = (*dictionaries(data.get("tool_calls")), *dictionaries(data.get("invalid_tool_calls")))
    parts.extend(
        ToolCall(call["name"], text_or_none(call.get("id")), arguments_of(call.get("args", MISSING)))
        for call in listed
        if isinstance(call.get("name"), str)
    )
    metadata = data.get("response_metadata")
    return Message(role, tuple(parts), _reason(metadata) if isinstance(metadata, dict) else None)


def read_completion(value: Any) -> tuple[Message, ...]:
    """Messages of a provider's whole answer: chat completion, Responses object, LangChain generations, or messages."""
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            return ()
    if isinstance(value, list):
        found: tuple[Message, ...] = ()
        for item in dictionaries(value):
            found += read_completion(item)
        return found
    if not isinstance(value, dict):
        return ()
    if isinstance(value.get("choices"), list):
        return tuple(read_message(choice, "assistant") for choice in dictionaries(value["choices"]))
    if isinstance(value.get("output"), list) and value.get("object", "response") == "response":
        return read_messages(value["output"], "assistant")
    if isinstance(value.get("generations"), list):
        batches = [b for b in value["generations"] if isinstance(b, list)]
        flat = [g for batch in batches for g in dictionaries(batch)]
        return tuple(read_message(g["message"], "assistant") for g in flat if isinstance(g.get("message"), dict))
    if isinstance(value.get("candidates"), list):
        contents = [c["content"] for c in dictionaries(value["candidates"]) if isinstance(c.get("content"), dict)]
        return tuple(read_message(content, "assistant") for content in contents)
    if "role" in value or "lc" in value or ("type" in value and "data" in value):
        return (read_message(value, "assistant"),)
    return ()
