"""The parts of a message in every known shape: text, calls, results, refusals, and what stays opaque.

GenAI parts, OpenAI and Anthropic blocks, Bedrock's and Gemini's, Vercel's and Azure's nested ones differ in the names of
the same few fields; they are told apart by what is in them.
"""

from collections.abc import Iterable
from typing import Any

from lanewatch.adapters.messages import REDACTED_TEXT, Opaque, Part, Reasoning, Refusal, Text, ToolCall, ToolResult
from lanewatch.adapters.reading import (
    NO_CONTENT,
    Content,
    State,
    dictionaries,
    is_placeholder,
    read,
    read_arguments,
)

MISSING = object()
# Tools that the model's provider runs itself: no dispatch follows. OpenInference writes them as ordinary calls.
PROVIDER_TOOLS = frozenset(
    {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call",
     "mcp_list_tools", "server_tool_call", "server_tool_use", "mcp_tool_use"},
)  # fmt: skip
TEXTS = ("text", "output_text", "input_text", "message_content")
CALLS = ("tool_call", "tool_use", "function_call")
RESULTS = ("tool_call_response", "tool_result", "tool_call_output")
TAGS = ("text", "json", "error-text", "error-json", "content", "execution-denied")
NESTED_CALLS = ("function_call", "tool_call")


def text_or_none(value: Any) -> str | None:
    """A string that is no placeholder."""
    return value if isinstance(value, str) and not is_placeholder(value) else None


def arguments_of(value: Any) -> Content:
    """A call's arguments; MISSING stands for a field that is not there."""
    return NO_CONTENT if value is MISSING else read_arguments(value)


def joined_text(content: Any) -> str | None:
    """The text of a list of text blocks, or None where it is anything else."""
    if isinstance(content, list) and content and all(isinstance(block, dict) for block in content):
        texts = [block.get("text", block.get("content")) for block in content]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(texts)
    return None


def read_parts(content: Any, role: str) -> Iterable[Part]:
    """The parts of a message's content: one text, one block, or a list of both."""
    if isinstance(content, str):
        if is_placeholder(content):
            return [Opaque("redacted")]
        return [Text(content)] if content else []
    parts: list[Part] = []
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            parts.append(Text(block))
        elif isinstance(block, dict):
            parts.append(_part(block, role))
    return parts


def _part(block: dict[str, Any], role: str) -> Part:
    kind = block.get("type", block.get("kind"))  # kind: Pydantic AI's events
    kind = kind.replace("-", "_") if isinstance(kind, str) else None
    if block.get("thought") is True:  # Gemini
        return Reasoning("")
    if kind in TEXTS or (kind is None and "text" in block):
        text = block.get("content", block.get("text"))
        if is_placeholder(text):
            return Opaque(REDACTED_TEXT)
        return Text(text) if isinstance(text, str) else Opaque("text")
    if kind == "refusal":
        return Refusal(str(block.get("content") or block.get("refusal") or ""))
    if kind in ("reasoning", "thinking"):
        return Reasoning("")
    if kind in PROVIDER_TOOLS:
        return ToolCall(str(block.get("name") or kind), text_or_none(block.get("id")), NO_CONTENT, by_provider=True)
    if kind in CALLS or "toolUse" in block or "functionCall" in block:
        return _call_part(block)
    if kind in RESULTS or "toolResult" in block or "functionResponse" in block:
        return _result_part(block)
    for key in NESTED_CALLS:
        if isinstance(block.get(key), dict):
            return _call_part(block[key])
    if isinstance(block.get("function_response"), dict):
        return _result_part(block["function_response"])
    if block.get("block_type") == "text" and isinstance(block.get("text"), str):
        return Text(block["text"])
    return Opaque(kind or role)


def _inner(block: dict[str, Any], *keys: str) -> dict[str, Any]:
    return next((block[key] for key in keys if isinstance(block.get(key), dict)), block)


def _call_part(block: dict[str, Any]) -> Part:
    block = _inner(block, "toolUse", "functionCall")
    inner = block.get("content")
    if isinstance(inner, dict) and isinstance(inner.get("function"), dict):  # Azure AI Projects nests OpenAI's shape
        block = {"id": inner.get("id"), **inner["function"]}
    elif isinstance(block.get("function"), dict) and "name" not in block:
        block = {**block, **block["function"]}
    arguments = next((block[key] for key in ("arguments", "input", "args", "tool_kwargs") if key in block), MISSING)
    if arguments is MISSING and block.get("type") == "tool_use":
        arguments = {}
    if isinstance(arguments, dict) and set(arguments) == {"_raw"} and isinstance(arguments["_raw"], str):
        content = Content(None, arguments["_raw"], State.CAPTURED)  # Traceloop's openai-agents for cut JSON
    else:
        content = arguments_of(arguments)
    name = str(block.get("name") or block.get("toolName") or block.get("tool_name") or "")
    ids = ("id", "toolUseId", "toolCallId", "tool_call_id", "call_id")
    call_id = next((block[key] for key in ids if key in block), None)
    provider = bool(block.get("builtin")) or bool(block.get("providerExecuted")) or name in PROVIDER_TOOLS
    return ToolCall(name, text_or_none(call_id), content, by_provider=provider)


def _result_part(block: dict[str, Any]) -> Part:
    block = _inner(block, "toolResult", "functionResponse")
    value = next((block[key] for key in ("response", "result", "output", "content") if key in block), MISSING)
    is_error = True in (block.get("is_error"), block.get("isError")) or block.get("status") == "error"
    if isinstance(value, dict) and str(value.get("type", "")).startswith(("error", "execution-denied")):
        is_error = True
    value = _untagged(value)
    joined = joined_text(value)
    content = NO_CONTENT if value is MISSING else read(joined if joined is not None else value)
    ids = ("id", "toolUseId", "toolCallId", "tool_use_id", "tool_call_id")
    call_id = next((block[key] for key in ids if key in block), None)
    return ToolResult(
        text_or_none(call_id), text_or_none(block.get("name") or block.get("toolName")), content, is_error
    )


def _untagged(value: Any) -> Any:
    """A result out of the tags that frameworks put on it: Vercel's `{type: "json", value}`, Bedrock's `[{json}]`."""
    if isinstance(value, dict) and value.get("type") in TAGS and ("value" in value or "reason" in value):
        return value.get("value", value.get("reason"))
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and set(value[0]) == {"json"}:
        return value[0]["json"]
    return value


def openai_calls(item: dict[str, Any]) -> list[ToolCall]:
    """The calls of an OpenAI chat message: `tool_calls`, or the older `function_call` without an id."""
    if "tool_calls" not in item and "function_call" not in item:
        return []
    calls: list[ToolCall] = []
    for call in dictionaries(item.get("tool_calls")):
        function = call.get("tool_call", call)
        inner = function.get("function", function) if isinstance(function, dict) else None
        if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
            continue
        arguments = arguments_of(inner.get("arguments", inner.get("args", MISSING)))
        provider = inner["name"] in PROVIDER_TOOLS
        calls.append(ToolCall(inner["name"], text_or_none(function.get("id")), arguments, by_provider=provider))
    legacy = item.get("function_call")
    if isinstance(legacy, dict) and isinstance(legacy.get("name"), str) and not calls:
        calls.append(ToolCall(legacy["name"], None, arguments_of(legacy.get("arguments", MISSING))))
    return calls
