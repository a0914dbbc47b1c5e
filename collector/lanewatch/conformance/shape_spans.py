"""A hand-made conversation as the spans of an agent that had it, so that Lanewatch's own reading is tried on it as well.

They are spans of OpenTelemetry's GenAI conventions, as OTLP/JSON: one for the agent, below it one for each answer of the
model, with all that was said before as its input, and one for each run of a tool. Each begins when the one before ended.
"""

import json
from typing import Any

Message = dict[str, Any]

TRACE, AGENT = "0af7651916cd43dd8448eb211c80319c", "00000000000000a0"
START, STEP = 1_750_000_000_000_000_000, 1_000_000


def shape_spans(chat: tuple[Message, ...]) -> dict[str, Any]:
    """The ExportTraceServiceRequest, as OTLP/JSON has it."""
    spans: list[dict[str, Any]] = []
    history: list[Message] = []
    asked: list[dict[str, Any]] = []
    for one in chat:
        if one.get("repeats"):
            history += history
        if one["role"] == "assistant":
            wrote = {**one, "tool_calls": one["raw_tool_calls"]} if "raw_tool_calls" in one else one
            spans.append(_model(len(spans), history, wrote))
            asked += one.get("tool_calls", ())
        elif one["role"] == "tool":
            call = next((call for call in asked if call["id"] == one["tool_call_id"]), None)
            if call is not None:  # else it is of a turn before this one, and told again
                asked.remove(call)
                spans.append(_run(len(spans), call, one["content"]))
        if one.get("together") and history[-1].get("together"):
            history[-1] = {**history[-1], "parts": [*history[-1]["parts"], *_message(one)["parts"]]}
        else:
            history.append(_message(one))
    spans += [_run(len(spans) + place, call, None) for place, call in enumerate(asked)]
    root = _span(0, "invoke_agent shape", {"gen_ai.operation.name": "invoke_agent"}, parent="", steps=len(spans) + 1)
    scope = {"scope": {"name": "lanewatch.conformance"}, "spans": [{**root, "spanId": AGENT}, *spans]}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}


def _model(place: int, history: list[Message], answer: Message) -> dict[str, Any]:
    finish = "tool_calls" if answer.get("tool_calls") else "stop"
    told = [{"role": one["role"], "parts": one["parts"]} for one in history]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "shape",
        "gen_ai.input.messages": json.dumps(told),
        "gen_ai.output.messages": json.dumps([{**_message(answer), "finish_reason": finish}]),
    }
    return _span(place, "chat shape", attributes)


def _run(place: int, call: dict[str, Any], result: str | None) -> dict[str, Any]:
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.arguments": "{}" if arguments in {"", "null"} else arguments,  # as a runtime takes them
    }
    if call["id"]:
        attributes["gen_ai.tool.call.id"] = call["id"]
    if result is not None:
        attributes["gen_ai.tool.call.result"] = result
    return _span(place, f"execute_tool {name}", attributes)


def _message(one: Message) -> Message:
    """Role and parts; arguments stay the text that the model wrote."""
    if one["role"] == "tool":
        content = [{"type": "text", "text": one["content"]}] if one.get("blocks") else one["content"]
        answer: Message = {"type": "tool_call_response", "response": content}
        if one["tool_call_id"]:
            answer["id"] = one["tool_call_id"]
        return {"role": "tool", "parts": [answer], "together": bool(one.get("together"))}
    parts: list[Message] = [{"type": "text", "content": one["content"]}] if one["content"] else []
    for call in one.get("tool_calls", ()):
        identified = {"id": call["id"]} if call["id"] else {}
        parts.append({"type": "tool_call", **identified, **call["function"]})
    return {"role": one["role"], "parts": parts}


def _span(place: int, name: str, attributes: dict[str, str], *, parent: str = AGENT, steps: int = 1) -> dict[str, Any]:
    start = START + place * STEP
    return {
        "traceId": TRACE,
        "spanId": f"{place + 1:016x}",
        "parentSpanId": parent,
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + steps * STEP),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }
