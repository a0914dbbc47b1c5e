"""Ragas' AG-UI converter, fed with the events of a run as they stream, or with one snapshot of its messages."""

from collections.abc import Iterator
from typing import Any

from lanewatch.adapters.ragas_converters import Convert, need, need_converter

INSTALL = "ag-ui-protocol"


def load() -> Convert:
    """The converter for a stream of events."""
    core, integration = _modules()

    def convert(chat: tuple[dict[str, Any], ...], _record: dict[str, Any]) -> Any:
        return integration.convert_to_ragas_messages(list(_events(chat, core)))

    return convert


def load_snapshot() -> Convert:
    """The converter for a snapshot of all messages."""
    core, integration = _modules()

    def convert(chat: tuple[dict[str, Any], ...], _record: dict[str, Any]) -> Any:
        messages = [_message(index, one, core) for index, one in enumerate(chat)]
        return integration.convert_messages_snapshot(core.MessagesSnapshotEvent(messages=messages))

    return convert


def _modules() -> tuple[Any, Any]:
    core = need("ag_ui.core", INSTALL)
    return core, need_converter("ag_ui", whole=True)


def _events(chat: tuple[dict[str, Any], ...], core: Any) -> Iterator[Any]:
    yield core.RunStartedEvent(thread_id="thread", run_id="run")
    for index, one in enumerate(chat):
        message_id = f"message-{index}"
        if one.get("repeats"):  # what a client that joins late is sent
            yield core.MessagesSnapshotEvent(messages=[_message(i, said, core) for i, said in enumerate(chat[:index])])
        if one["role"] == "tool":
            yield core.ToolCallResultEvent(
                message_id=message_id, tool_call_id=one["tool_call_id"], content=one["content"]
            )
            continue
        if one.get("chunks"):
            yield from _chunks(one, message_id, core)
            continue
        if one["content"]:
            yield core.TextMessageStartEvent(message_id=message_id, role=one["role"])
            yield core.TextMessageContentEvent(message_id=message_id, delta=one["content"])
            yield core.TextMessageEndEvent(message_id=message_id)
        for call in one.get("tool_calls") or ():
            function = call["function"]
            yield core.ToolCallStartEvent(
                tool_call_id=call["id"], tool_call_name=function["name"], parent_message_id=message_id
            )
            if function["arguments"]:
                yield core.ToolCallArgsEvent(tool_call_id=call["id"], delta=function["arguments"])
            yield core.ToolCallEndEvent(tool_call_id=call["id"])
    yield core.RunFinishedEvent(thread_id="thread", run_id="run")


def _chunks(one: dict[str, Any], message_id: str, core: Any) -> Iterator[Any]:
    """The events that stand for start, content and end; a call's name is in the first alone."""
    for delta in _halves(one["content"]):
        yield core.TextMessageChunkEvent(message_id=message_id, role=one["role"], delta=delta)
    for call in one.get("tool_calls") or ():
        name: str | None = call["function"]["name"]
        for delta in _halves(call["function"]["arguments"]):
            yield core.ToolCallChunkEvent(
                tool_call_id=call["id"], tool_call_name=name, delta=delta, parent_message_id=message_id
            )
            name = None


def _halves(text: str) -> tuple[str, ...]:
    middle = len(text) // 2
    return tuple(filter(None, (text[:middle], text[middle:])))


def _message(index: int, one: dict[str, Any], core: Any) -> Any:
    name = f"message-{index}"
    match one["role"]:
        case "user":
            return core.UserMessage(id=name, role="user", content=one["content"])
        case "system":
            return core.SystemMessage(id=name, role="system", content=one["content"])
        case "tool":
            return core.ToolMessage(id=name, role="tool", content=one["content"], tool_call_id=one["tool_call_id"])
    calls = [
        core.ToolCall(id=call["id"], function=core.FunctionCall(**call["function"]))
        for call in one.get("tool_calls") or ()
    ]
    return core.AssistantMessage(id=name, role="assistant", content=one["content"] or None, tool_calls=calls or None)
