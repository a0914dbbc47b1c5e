"""Ragas' LangGraph converter, fed with LangChain's messages.

As LangChain writes them since 1.0, calls stand in `tool_calls` and, where they can't be parsed, in `invalid_tool_calls`;
`additional_kwargs` has none. Older chat models also left the provider's raw calls there (`legacy`); where middleware or a
person edits a call of theirs before it runs, the raw one stays as it was. What was streamed and never made into a message
is held in chunks.
"""

import json
from typing import Any

from lanewatch.adapters.ragas_converters import Convert, need, need_converter
from lanewatch.adapters.ragas_messages import EXTRA


def load() -> Convert:
    """The converter for messages of current LangChain."""
    return _load(legacy=False)


def load_legacy() -> Convert:
    """The converter for messages with the provider's raw calls in `additional_kwargs`."""
    return _load(legacy=True)


def _load(*, legacy: bool) -> Convert:
    integration = need_converter("langgraph")
    langchain = need("langchain_core.messages", EXTRA)

    def convert(chat: tuple[dict[str, Any], ...], _record: dict[str, Any]) -> Any:
        messages: list[Any] = []
        for one in chat:
            if one.get("repeats"):  # a state without a reducer of messages, whose nodes return the whole of it
                messages += messages
            messages.append(_message(one, langchain, legacy=legacy))
        return integration.convert_to_ragas_messages(messages)

    return convert


def _message(one: dict[str, Any], langchain: Any, *, legacy: bool) -> Any:
    content = one["content"]
    match one["role"]:
        case "user":
            return langchain.HumanMessage(content)
        case "system":
            return langchain.SystemMessage(content)
        case "tool" if one.get("function"):
            return langchain.FunctionMessage(content, name=one["name"])
        case "tool":
            made = langchain.ToolMessageChunk if one.get("chunks") else langchain.ToolMessage
            return made(
                [{"type": "text", "text": content}] if one.get("blocks") else content,
                tool_call_id=one["tool_call_id"],
                name=one["name"],
                status=one.get("status", "success"),
            )
    raw = one.get("tool_calls") or []
    if one.get("function"):
        return langchain.AIMessage(content, additional_kwargs={"function_call": raw[0]["function"]})
    calls, invalid = _parsed(raw)
    if one.get("blocks"):
        content = [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []
        content += [{"type": "function_call", "call_id": call["id"], **call["function"]} for call in raw]
    left = one.get("raw_tool_calls") or (raw if legacy else [])
    kwargs: dict[str, Any] = {"tool_calls": left} if left else {}
    if one.get("chunks"):
        return _streamed(content, raw, kwargs, langchain)
    return langchain.AIMessage(content, tool_calls=calls, invalid_tool_calls=invalid, additional_kwargs=kwargs)


def _streamed(content: Any, raw: list[dict[str, Any]], kwargs: dict[str, Any], langchain: Any) -> Any:
    """The sum of two chunks, with each half of the arguments in one of them."""
    first: list[dict[str, Any]] = []
    second: list[dict[str, Any]] = []
    for index, call in enumerate(raw):
        text = call["function"]["arguments"]
        middle = len(text) // 2
        name = call["function"]["name"]
        first.append({"name": name, "args": text[:middle], "id": call["id"], "index": index})
        second.append({"name": None, "args": text[middle:], "id": None, "index": index})
    begun = langchain.AIMessageChunk(content, tool_call_chunks=first, additional_kwargs=kwargs)
    return begun + langchain.AIMessageChunk("", tool_call_chunks=second)


def _parsed(raw: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Calls whose arguments are a JSON object, and the others; no arguments at all are an empty object to LangChain."""
    calls: list[dict[str, Any]] = []
    invalid: list[dict[str, Any]] = []
    for call in raw:
        name, text = call["function"]["name"], call["function"]["arguments"]
        try:
            arguments = json.loads(text) if text else {}
        except ValueError:
            arguments = None
        if isinstance(arguments, dict):
            calls.append({"name": name, "args": arguments, "id": call["id"], "type": "tool_call"})
        else:
            invalid.append({"name": name, "args": text, "id": call["id"], "error": None, "type": "invalid_tool_call"})
    return calls, invalid
