"""Recorded traffic of a shop's assistant as OTLP/JSON lines, seeded, with habits that a test can change.

Spans are OpenInference's, as an application's exporter would send them: a chain, a model call that asks for a tool, the
tool, a retriever, and the model call that answers.
"""

import json
import random
from pathlib import Path
from typing import Any

from tests.monitors.drift.traces import TOOLS, Habits

SERVICE = "shop"
TRACES_A_LINE = 50


def record_traffic(
    path: Path,
    seed: int,
    count: int,
    *,
    start: float,
    per_second: float,
    habits: Habits | None = None,
    service: str = SERVICE,
    timeless: bool = False,
) -> Path:
    """Write `count` traces that end from `start` (seconds since the epoch) on; returns the path."""
    rng, at, traces = random.Random(seed), start, []
    for number in range(count):
        at += rng.expovariate(per_second)
        traces.append(_spans(rng, number, 0.0 if timeless else at, habits or Habits()))
    with path.open("w") as stream:
        for first in range(0, count, TRACES_A_LINE):
            spans = [span for trace in traces[first : first + TRACES_A_LINE] for span in trace]
            resource = {"attributes": [_attribute("service.name", service)]}
            scope = {"name": "openinference.instrumentation.langchain"}
            body = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]}
            stream.write(json.dumps(body) + "\n")
    return path


def _spans(rng: random.Random, number: int, end: float, habits: Habits) -> list[dict[str, Any]]:
    trace_id, session = f"{rng.getrandbits(127) or 1:032x}", f"s{number // habits.session}"
    question = " ".join(rng.choices(habits.words, k=rng.randint(4, 14))) + "?"
    tool = rng.choices(TOOLS, habits.tools)[0]
    refused, failed = rng.random() < habits.refusals, rng.random() < habits.tool_errors
    answer = "I'm sorry, but I can't help with that." if refused else "x" * rng.randint(20, 400)
    seconds = rng.lognormvariate(0, 0.5) * habits.slower
    ids = [f"{rng.getrandbits(63) or 1:016x}" for _ in range(5)]
    call = f"call_{rng.getrandbits(60):x}"
    arguments = json.dumps({"q": question})
    asked = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": question,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": call,
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": tool,
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": arguments,
    }
    answered = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": question,
        "llm.input_messages.1.message.role": "assistant",
        "llm.input_messages.1.message.tool_calls.0.tool_call.id": call,
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": tool,
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": arguments,
        "llm.input_messages.2.message.role": "tool",
        "llm.input_messages.2.message.content": "found",
        "llm.input_messages.2.message.tool_call_id": call,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": answer,
    }
    documents: dict[str, Any] = {"input.value": question}
    for k in range(rng.randint(1, 6)):
        documents[f"retrieval.documents.{k}.document.id"] = f"d{k}"
        documents[f"retrieval.documents.{k}.document.content"] = "text"
        documents[f"retrieval.documents.{k}.document.score"] = rng.random()
    kinds: list[tuple[str, str, dict[str, Any]]] = [
        ("agent", "AGENT", {"session.id": session, "input.value": question, "output.value": answer}),
        ("llm", "LLM", {**asked, **_tokens(rng)}),
        (tool, "TOOL", {"tool.name": tool, "input.value": arguments, "output.value": "found", "tool_call.id": call}),
        ("search", "RETRIEVER", documents),
        ("llm", "LLM", {**answered, **_tokens(rng)}),
    ]
    spans = []
    for k, (name, kind, attributes) in enumerate(kinds):
        # One after the other within the trace's time; the root spans all of it.
        begin, finish = (0.0, 1.0) if k == 0 else ((k - 1) / 4, k / 4)
        spans.append(
            {
                "traceId": trace_id,
                "spanId": ids[k],
                "parentSpanId": "" if k == 0 else ids[0],
                "name": name,
                "kind": 1,
                "startTimeUnixNano": _time(end, seconds * (1 - begin)),
                "endTimeUnixNano": _time(end, seconds * (1 - finish)),
                "attributes": [
                    _attribute(key, value) for key, value in {"openinference.span.kind": kind, **attributes}.items()
                ],
                "status": {"code": 2, "message": "timed out"} if failed and kind == "TOOL" else {"code": 1},
            }
        )
    return spans


def _tokens(rng: random.Random) -> dict[str, int]:
    return {"llm.token_count.prompt": rng.randint(100, 900), "llm.token_count.completion": rng.randint(10, 300)}


def _time(end: float, before: float) -> str:
    return "0" if end == 0 else str(int((end - before) * 1e9))


def _attribute(key: str, value: object) -> dict[str, Any]:
    if isinstance(value, int):
        return {"key": key, "value": {"intValue": str(value)}}
    if isinstance(value, float):
        return {"key": key, "value": {"doubleValue": value}}
    return {"key": key, "value": {"stringValue": value}}
