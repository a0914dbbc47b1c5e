"""A trace's turn as a framework would hold it: chat messages in OpenAI's form, rebuilt from the record.

They are what adapters are fed with, so they keep what a framework's own messages keep: ids, arguments as the model wrote
them, whether a result is an error, and by whose API the model answered (Anthropic's and OpenAI's Responses give content
as a list of blocks). Only this trace's turn is in them, never repeated history.
"""

from itertools import islice
from typing import Any

from lanewatch.adapters.json_text import dump
from lanewatch.adapters.records import Generation, ToolRequest, TraceRecord

BLOCK_PROVIDERS = ("anthropic", "bedrock", "openai.responses")


def chat_messages(record: TraceRecord) -> tuple[dict[str, Any], ...]:
    """`{"role": "user" | "assistant" | "tool", "content": text, ...}` in order.

    An assistant's message with calls has `tool_calls` as OpenAI writes them (`arguments` is JSON text) and, where the
    model's API answers in blocks, `"blocks": true`. A tool's message has `tool_call_id`, `name` and `status`.
    """
    requests = iter(record.requests)
    waiting: list[ToolRequest] = []
    chat: list[dict[str, Any]] = []
    for message in record.messages:
        match message["type"]:
            case "human":
                chat.append({"role": "user", "content": message["content"]})
            case "ai":
                waiting = list(islice(requests, len(message["tool_calls"] or ())))
                chat.append(_assistant(message["content"], waiting, record.generations))
            case "tool":
                chat.append(_tool(message, waiting))
    return tuple(chat)


def _assistant(content: str, requests: list[ToolRequest], generations: tuple[Generation, ...]) -> dict[str, Any]:
    made: dict[str, Any] = {"role": "assistant", "content": content}
    if requests:
        made["tool_calls"] = [
            {
                "id": request.call_id or "",
                "type": "function",
                "function": {"name": request.name, "arguments": _written(request)},
            }
            for request in requests
        ]
    turn = requests[0].turn if requests else 0
    if turn < len(generations) and _answers_in_blocks(generations[turn]):
        made["blocks"] = True
    return made


def _answers_in_blocks(generation: Generation) -> bool:
    provider = (generation.provider or "").lower()
    return (generation.response_id or "").startswith("resp_") or any(name in provider for name in BLOCK_PROVIDERS)


def _written(request: ToolRequest) -> str:
    """Arguments as the model wrote them; as JSON where only their value is known."""
    if request.arguments_raw is not None:
        return request.arguments_raw
    return dump(request.arguments) if request.arguments is not None else "{}"


def _tool(message: dict[str, Any], waiting: list[ToolRequest]) -> dict[str, Any]:
    call_id = (message["metadata"] or {}).get("tool_call_id")
    of = next((request for request in waiting if request.call_id == call_id), None)
    if of is not None:
        waiting.remove(of)  # ids may be empty, or one id may be given twice
    return {
        "role": "tool",
        "tool_call_id": call_id or "",
        "name": of.name if of is not None else "",
        "content": message["content"],
        "status": (message["metadata"] or {}).get("status", "success"),
    }
