"""Every shape in which producers write a list of messages, read into one form.

The shapes under one key vary by producer and version, so they are told apart by what is in them, never by who wrote
them: GenAI parts, OpenAI chat messages, OpenAI Responses items, Anthropic and Bedrock blocks, Gemini contents, Vercel
parts, and LangChain's serialised messages. What has no known shape is kept as text or as an opaque part.
"""

from collections.abc import Iterable
from typing import Any

from lanewatch.adapters.messages import (
    Message,
    Opaque,
    Part,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    ToolResult,
    role_of,
)
from lanewatch.adapters.reading import (
    NO_CONTENT,
    Content,
    State,
    dictionaries,
    dump,
    is_placeholder,
    parse_json,
    read,
    read_arguments,
)

MISSING = object()
SERVER_CALLS = ("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call")


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
        if not isinstance(decoded, dict | list):
            return (Message(role, (Text(value),)),)
        value = decoded
    if isinstance(value, dict):
        value = value["messages"] if isinstance(value.get("messages"), list) else [value]
    if not isinstance(value, list):
        return ()
    if len(value) == 1 and isinstance(value[0], list):
        value = value[0]  # LangChain writes a batch of conversations
    messages: list[Message] = []
    for item in value:
        if isinstance(item, str):
            messages.append(Message(role, (Text(item),)))
        elif isinstance(item, dict):
            _append(messages, read_message(item, role), merge=_is_item(item))
    return tuple(messages)


def _append(messages: list[Message], message: Message, *, merge: bool) -> None:
    last = messages[-1] if messages else None
    if merge and last is not None and last.role == message.role == "assistant":
        messages[-1] = Message("assistant", last.parts + message.parts, message.finish_reason or last.finish_reason)
    else:
        messages.append(message)


def _is_item(item: dict[str, Any]) -> bool:
    """Whether this is an item of OpenAI's Responses API rather than a message."""
    kind = item.get("type")
    return isinstance(kind, str) and ("call_id" in item or kind in ("reasoning", *SERVER_CALLS)) and "parts" not in item


def read_message(item: dict[str, Any], role: str = "user") -> Message:
    """One message of any known shape."""
    if "lc" in item and isinstance(item.get("kwargs"), dict):
        kind = str((item.get("id") or [""])[-1]) if isinstance(item.get("id"), list) else ""
        return _langchain(item["kwargs"], role_of(item["kwargs"].get("type") or kind.removesuffix("Message"), role))
    if isinstance(item.get("data"), dict) and isinstance(item.get("type"), str) and "role" not in item:
        return _langchain(item["data"], role_of(item["type"], role))
    if _is_item(item):
        return _responses_item(item)
    if isinstance(item.get("message"), dict) and "role" not in item:  # a choice
        inner = read_message(item["message"], "assistant")
        return Message(inner.role, inner.parts, _reason(item) or inner.finish_reason)
    speaker = role_of(item.get("role"), role)
    parts: list[Part] = []
    for key in ("parts", "contents", "content"):
        if key in item:
            parts.extend(_parts(item[key], speaker))
            break
    if isinstance(item.get("refusal"), str):
        parts.append(Refusal(item["refusal"]))
    seen = {part.call_id for part in parts if isinstance(part, ToolCall) and part.call_id}
    parts.extend(call for call in _openai_calls(item) if call.call_id not in seen or not call.call_id)
    if speaker == "tool" and not any(isinstance(part, ToolResult) for part in parts):
        content = _tool_content(item)
        parts = [ToolResult(_text(item.get("tool_call_id") or item.get("id")), _text(item.get("name")), content)]
    return Message(speaker, tuple(parts), _reason(item))


def _reason(item: dict[str, Any]) -> str | None:
    reason = item.get("finish_reason")
    return reason if isinstance(reason, str) and reason else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and not is_placeholder(value) else None


def _tool_content(item: dict[str, Any]) -> Content:
    content = item.get("content", MISSING)
    if content is MISSING:
        content = item.get("contents", MISSING)
    if content is MISSING:
        return NO_CONTENT
    joined = joined_text(content)
    return read(joined if joined is not None else content)


def joined_text(content: Any) -> str | None:
    """The text of a list of text blocks, or None where it is anything else."""
    if isinstance(content, list) and content and all(isinstance(block, dict) for block in content):
        texts = [block.get("text", block.get("content")) for block in content]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(texts)
    return None


def _openai_calls(item: dict[str, Any]) -> list[ToolCall]:
    calls: list[ToolCall] = []
    for call in dictionaries(item.get("tool_calls")):
        function = call.get("tool_call", call)
        inner = function.get("function", function) if isinstance(function, dict) else {}
        if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
            continue
        arguments = inner.get("arguments", inner.get("args", MISSING))
        calls.append(ToolCall(inner["name"], _text(function.get("id")), _arguments(arguments)))
    legacy = item.get("function_call")
    if isinstance(legacy, dict) and isinstance(legacy.get("name"), str) and not calls:
        calls.append(ToolCall(legacy["name"], None, _arguments(legacy.get("arguments", MISSING))))
    return calls


def _arguments(value: Any) -> Content:
    return NO_CONTENT if value is MISSING else read_arguments(value)


def _parts(content: Any, role: str) -> Iterable[Part]:
    if isinstance(content, str):
        if is_placeholder(content):
            return [Opaque("redacted")]
        return [Text(content)] if content else []
    parts: list[Part] = []
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            parts.append(Text(block))
        elif isinstance(block, dict):
            part = _part(block, role)
            if part is not None:
                parts.append(part)
    return parts


def _part(block: dict[str, Any], role: str) -> Part | None:
    kind = block.get("type")
    kind = kind.replace("-", "_") if isinstance(kind, str) else None
    if kind in ("text", "output_text", "input_text", "message_content") or (kind is None and "text" in block):
        text = block.get("content", block.get("text"))
        return Text(text) if isinstance(text, str) and not is_placeholder(text) else Opaque("text")
    if kind == "refusal":
        return Refusal(str(block.get("content") or block.get("refusal") or ""))
    if kind in ("reasoning", "thinking"):
        return Reasoning("")
    if kind in ("tool_call", "tool_use", "function_call") or "toolUse" in block or "functionCall" in block:
        return _call_part(block)
    if kind == "server_tool_call":
        return ToolCall(str(block.get("name") or kind), _text(block.get("id")), NO_CONTENT, by_provider=True)
    if kind in ("tool_call_response", "tool_result", "tool_call_output") or "toolResult" in block:
        return _result_part(block)
    if isinstance(block.get("function_call"), dict):
        return _call_part(block["function_call"])
    if isinstance(block.get("function_response"), dict):
        return _result_part(block["function_response"])
    if isinstance(block.get("tool_call"), dict):
        return _call_part(block["tool_call"])
    return Opaque(kind or role)


def _call_part(block: dict[str, Any]) -> Part:
    block = block.get("toolUse") or block.get("functionCall") or block
    inner = block.get("content")
    if isinstance(inner, dict) and "function" in inner:  # Azure AI Projects nests OpenAI's shape
        block = {"id": inner.get("id"), **inner["function"]} if isinstance(inner["function"], dict) else block
    arguments: Any = MISSING
    for key in ("arguments", "input", "args", "tool_kwargs"):
        if key in block:
            arguments = block[key]
            break
    if arguments is MISSING and block.get("type") == "tool_use":
        arguments = {}
    if isinstance(arguments, dict) and set(arguments) == {"_raw"} and isinstance(arguments["_raw"], str):
        content = Content(None, arguments["_raw"], State.CAPTURED)  # Traceloop's openai-agents for cut JSON
    else:
        content = _arguments(arguments)
    name = block.get("name") or block.get("toolName") or block.get("tool_name")
    call_id = block.get("id", block.get("toolUseId", block.get("toolCallId", block.get("tool_call_id"))))
    provider = bool(block.get("builtin")) or bool(block.get("providerExecuted"))
    return ToolCall(str(name or ""), _text(call_id), content, by_provider=provider)


def _result_part(block: dict[str, Any]) -> Part:
    block = block.get("toolResult") or block
    value: Any = MISSING
    for key in ("response", "result", "output", "content"):
        if key in block:
            value = block[key]
            break
    joined = joined_text(value)
    content = NO_CONTENT if value is MISSING else read(joined if joined is not None else value)
    is_error = block.get("is_error") is True or block.get("status") == "error"
    if isinstance(value, dict) and str(value.get("type", "")).startswith("error"):
        is_error = True
    call_id = block.get("id", block.get("toolUseId", block.get("toolCallId", block.get("tool_use_id"))))
    return ToolResult(_text(call_id), _text(block.get("name") or block.get("toolName")), content, is_error)


def _responses_item(item: dict[str, Any]) -> Message:
    kind = str(item.get("type"))
    call_id = _text(item.get("call_id"))
    if kind.endswith("_output"):
        return Message("tool", (ToolResult(call_id, _text(item.get("name")), read(item.get("output"))),))
    if kind in ("function_call", "custom_tool_call"):
        aliases = (item["id"],) if isinstance(item.get("id"), str) else ()
        arguments = _arguments(item.get("arguments", item.get("input", MISSING)))
        return Message("assistant", (ToolCall(str(item.get("name") or ""), call_id, arguments, aliases=aliases),))
    if kind == "reasoning":
        return Message("assistant", (Reasoning(""),))
    return Message("assistant", (ToolCall(kind, _text(item.get("id")), NO_CONTENT, by_provider=True),))


def _langchain(data: dict[str, Any], role: str) -> Message:
    """LangChain's own message: `tool_calls` with parsed `args`, and `invalid_tool_calls` with text that is no JSON."""
    if role == "tool":
        content = _tool_content(data)
        is_error = data.get("status") == "error"
        return Message(
            "tool", (ToolResult(_text(data.get("tool_call_id")), _text(data.get("name")), content, is_error),)
        )
    parts: list[Part] = [part for part in _parts(data.get("content"), role) if not isinstance(part, ToolCall)]
    extra = data.get("additional_kwargs")
    refusal = extra.get("refusal") if isinstance(extra, dict) else None
    if isinstance(refusal, str):
        parts.append(Refusal(refusal))
    listed = (*dictionaries(data.get("tool_calls")), *dictionaries(data.get("invalid_tool_calls")))
    parts.extend(
        ToolCall(call["name"], _text(call.get("id")), _arguments(call.get("args", MISSING)))
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


def describe(message: Message) -> str:
    """A digestible form of a message for telling repeated history; reasoning is left out."""
    words = [message.role]
    for part in message.parts:
        if isinstance(part, Text | Refusal):
            words.append(part.text)
        elif isinstance(part, ToolCall):
            words.append(f"{part.name}{dump(part.arguments.value)}")
        elif isinstance(part, ToolResult):
            words.append(part.content.text or "")
    return "\x1f".join(words)
