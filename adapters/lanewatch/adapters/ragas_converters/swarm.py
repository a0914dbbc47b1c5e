"""Ragas' Swarm converter, fed with the dictionaries of a Swarm run's history.

Swarm appends each answer as OpenAI's client dumps it, with `tool_calls` null where there are none, and each result as
`{"role": "tool", "tool_call_id", "tool_name", "content"}`. A message that a caller wrote by hand may have no such key.
"""

from typing import Any

from lanewatch.adapters.ragas_converters import Convert, need_converter


def load() -> Convert:
    """The converter for Swarm's dictionaries."""
    integration = need_converter("swarm")

    def convert(chat: tuple[dict[str, Any], ...], _record: dict[str, Any]) -> Any:
        return integration.convert_to_ragas_messages([_message(one) for one in chat])

    return convert


def _message(one: dict[str, Any]) -> dict[str, Any]:
    if one["role"] == "tool":
        return {
            "role": "tool",
            "tool_call_id": one["tool_call_id"],
            "tool_name": one["name"],
            "content": None if one.get("none") else one["content"],
        }
    if one["role"] != "assistant" or one.get("by_hand"):
        return {"role": one["role"], "content": one["content"]}
    content = [{"type": "text", "text": one["content"]}] if one.get("blocks") else one["content"] or None
    return {
        "role": "assistant",
        "content": content,
        "refusal": None,
        "function_call": None,
        "tool_calls": one.get("tool_calls"),
        "sender": "agent",
    }
