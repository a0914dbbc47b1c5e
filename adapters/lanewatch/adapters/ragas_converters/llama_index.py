"""Ragas' LlamaIndex converter, fed with the events of an agent workflow.

As a `FunctionAgent` streams them: AgentInput with all messages before each answer of the model, AgentOutput with its
calls, and a ToolCallResult each, in the order in which the tools came to their end.
"""

import json
from typing import Any

from lanewatch.adapters.ragas_converters import Convert, need, need_converter

INSTALL = "llama-index-core"
AGENT = "agent"


def load() -> Convert:
    """The converter for the events of llama-index-core."""
    need("llama_index.core", INSTALL)
    integration = need_converter("llama_index", whole=True)
    events = need("llama_index.core.agent.workflow", INSTALL)
    types = need("llama_index.core.llms", INSTALL)
    tools = need("llama_index.core.tools", INSTALL)

    def convert(chat: tuple[dict[str, Any], ...], record: dict[str, Any]) -> Any:
        return integration.convert_to_ragas_messages(_events(chat, record, events, types, tools))

    return convert


def _events(chat: tuple[dict[str, Any], ...], record: dict[str, Any], events: Any, types: Any, tools: Any) -> list[Any]:
    made: list[Any] = []
    history: list[Any] = []
    results: list[tuple[int, Any]] = []
    arguments: dict[str, dict[str, Any]] = {}
    ended = {run.get("call_id"): run.get("end_ns", 0) for run in record.get("dispatches", ())}
    for index, one in enumerate(chat):
        if one["role"] == "tool":
            call_id = one["tool_call_id"]
            output = tools.ToolOutput(
                content=one["content"],
                tool_name=one["name"],
                raw_input=arguments.get(call_id, {}),
                raw_output=one["content"],
                is_error=one.get("status") == "error",
            )
            result = events.ToolCallResult(
                tool_name=one["name"],
                tool_kwargs=arguments.get(call_id, {}),
                tool_id=call_id,
                tool_output=output,
                return_direct=bool(one.get("return_direct")),
            )
            results.append((ended.get(call_id, index), result))
            history.append(types.ChatMessage(role="tool", content=one["content"]))
            continue
        made += _in_order(results)
        results = []
        if one["role"] != "assistant":
            history.append(types.ChatMessage(role=one["role"], content=one["content"]))
            continue
        calls = [_selection(call, tools) for call in one.get("tool_calls") or ()]
        arguments |= {call.tool_id: call.tool_kwargs for call in calls}
        answer = types.ChatMessage(role="assistant", content=one["content"])
        if history or one.get("unasked"):
            again = 1 + bool(index and chat[index - 1].get("repeats"))  # a step that the workflow takes once more
            made += [events.AgentInput(input=list(history), current_agent_name=AGENT)] * again
        made.append(events.AgentOutput(response=answer, tool_calls=calls, current_agent_name=AGENT))
        history.append(answer)
    return made + _in_order(results)


def _in_order(results: list[tuple[int, Any]]) -> list[Any]:
    return [result for _, result in sorted(results, key=lambda one: one[0])]


def _selection(call: dict[str, Any], tools: Any) -> Any:
    """LlamaIndex's own models parse partial JSON into what could be read of it, or nothing."""
    text = call["function"]["arguments"]
    try:
        arguments: Any = json.loads(text) if text else {}
    except ValueError:
        arguments = {}
    return tools.ToolSelection(
        tool_id=call["id"],
        tool_name=call["function"]["name"],
        tool_kwargs=arguments if isinstance(arguments, dict) else {},
    )
