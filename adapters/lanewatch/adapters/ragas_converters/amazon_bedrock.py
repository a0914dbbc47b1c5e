"""Ragas' Bedrock converter, fed with the trace events of a Bedrock agent.

As InvokeAgent streams them with traces on: before each answer a modelInvocationInput whose text is JSON of all messages
so far, an invocationInput for each action group call, an observation for its output, and one for the final response.
"""

import json
from typing import Any

from lanewatch.adapters.ragas_converters import Convert, need_converter


def load() -> Convert:
    """The converter for Bedrock's traces."""
    integration = need_converter("amazon_bedrock")

    def convert(chat: tuple[dict[str, Any], ...], _record: dict[str, Any]) -> Any:
        return integration.convert_to_ragas_messages(_traces(chat))

    return convert


def _traces(chat: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    traces: list[dict[str, Any]] = []
    history: list[dict[str, Any]] = []
    for one in chat:
        if one["role"] == "assistant":
            text = json.dumps({"system": "", "messages": history})
            traces.append(_step(modelInvocationInput={"text": text, "type": "ORCHESTRATION"}))
            traces.extend(_step(invocationInput=_invocation(call)) for call in one.get("tool_calls") or ())
            if not one.get("tool_calls"):
                traces.append(_step(observation={"type": "FINISH", "finalResponse": {"text": one["content"]}}))
        elif one["role"] == "tool":
            output = {"text": one["content"]}
            traces.append(_step(observation={"type": "ACTION_GROUP", "actionGroupInvocationOutput": output}))
        message = _converse(one)
        if one.get("together") and history[-1]["role"] == "user":
            history[-1]["content"] += message["content"]
        else:
            history.append(message)
    return traces


def _step(**content: Any) -> dict[str, Any]:
    return {"trace": {"orchestrationTrace": content}}


def _invocation(call: dict[str, Any]) -> dict[str, Any]:
    try:
        arguments = json.loads(call["function"]["arguments"])
    except ValueError:
        arguments = None
    parameters = [
        {"name": name, "type": type(value).__name__, "value": value if isinstance(value, str) else json.dumps(value)}
        for name, value in (arguments if isinstance(arguments, dict) else {}).items()
    ]
    group = {"actionGroupName": "tools", "function": call["function"]["name"], "parameters": parameters}
    return {"invocationType": "ACTION_GROUP", "actionGroupInvocationInput": group}


def _converse(one: dict[str, Any]) -> dict[str, Any]:
    """A message as Bedrock's Converse API has it: content in blocks, results in the user's role."""
    if one["role"] == "tool":
        result = {"toolUseId": one["tool_call_id"], "content": [{"text": one["content"]}]}
        return {"role": "user", "content": [{"toolResult": result}]}
    blocks: list[dict[str, Any]] = [{"text": one["content"]}] if one["content"] else []
    blocks.extend(
        {"toolUse": {"toolUseId": call["id"], "name": call["function"]["name"]}} for call in one.get("tool_calls") or ()
    )
    return {"role": one["role"], "content": blocks}
