"""LangChain's messages, tool outputs and documents, as its callback handlers serialise them.

Langfuse, LangSmith and MLflow hang on the same callbacks and dump the same objects, each with an encoder of its own:
`{"lc": 1, "kwargs": {...}}`, `{"type": "tool", "data": {...}}`, or the object's fields alone (`{"type": "tool",
"content": ...}`, `{"role": "assistant", "tool_calls": [{"name", "args", "id"}], "additional_kwargs": {...}}`).
"""

from typing import Any

from lanewatch.adapters.documents import document_of
from lanewatch.adapters.facts import Document
from lanewatch.adapters.message_shapes import read_message
from lanewatch.adapters.messages import Message, ToolResult
from lanewatch.adapters.reading import NO_CONTENT, Content, dictionaries, read

OWN_KEYS = frozenset({"additional_kwargs", "invalid_tool_calls", "response_metadata"})
ROLE_TYPES = frozenset({"human", "ai", "tool", "system", "function", "AIMessageChunk"})


def is_message(item: dict[str, Any]) -> bool:
    """Whether these are the fields of a LangChain message (not of OpenAI's, which lacks parsed arguments)."""
    if not OWN_KEYS.isdisjoint(item):
        return True
    kind = item.get("type")
    if isinstance(kind, str) and kind in ROLE_TYPES and "content" in item and "role" not in item:
        return True
    calls = item.get("tool_calls")
    return isinstance(calls, list) and any("args" in call for call in dictionaries(calls))


def message_of(item: dict[str, Any], role: str = "user") -> Message:
    """A message in LangChain's shape or any other."""
    if "lc" not in item and "data" not in item and is_message(item):
        kind = item.get("role") or item.get("type") or role
        return read_message({"type": str(kind).removesuffix("MessageChunk").lower(), "data": item}, role)
    return read_message(item, role)


def messages_of(value: Any, role: str = "user") -> tuple[Message, ...]:
    """The messages of a list, or of a batch that holds one list."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    return tuple(message_of(item, role) for item in dictionaries(value))


def tool_output(value: Any) -> tuple[Content, str | None, bool]:
    """(result, call id, whether it calls itself an error) of what a tool put out: a ToolMessage in any serialisation,
    a Command that carries one, or a plain value.
    """
    found = _tool_message(value)
    if found is None:
        return (NO_CONTENT if value is None else read(value)), None, False
    return found.content, found.call_id, found.is_error


def _tool_message(value: Any) -> ToolResult | None:
    if not isinstance(value, dict):
        return None
    update = value.get("update")
    if isinstance(update, dict) and ("goto" in value or "graph" in value):  # LangGraph's Command: a handoff, as a rule
        told = [result for item in dictionaries(update.get("messages")) for result in message_of(item, "tool").results]
        return told[0] if len(told) == 1 else None
    if (
        "tool_call_id" in value
        or "lc" in value
        or (value.get("type") == "tool" and isinstance(value.get("data"), dict))
    ):
        return next(iter(message_of(value, "tool").results), None)
    return None


def documents_of(value: Any) -> tuple[Document, ...]:
    """Retrieved documents: LangChain's, plain fields, or texts alone."""
    if isinstance(value, dict):
        value = next(
            (value[key] for key in ("documents", "output", "results") if isinstance(value.get(key), list)), None
        )
    if not isinstance(value, list):
        return ()
    return tuple(
        Document(rank, None, item) if isinstance(item, str) else document_of(rank, _fields(item))
        for rank, item in enumerate(value)
        if isinstance(item, str | dict)
    )


def _fields(item: dict[str, Any]) -> dict[str, Any]:
    inner = item.get("kwargs")
    return inner if "lc" in item and isinstance(inner, dict) else item
