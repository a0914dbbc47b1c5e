"""The usual artifact, told at a glance: every request in order, as it was asked, with the results as they were recorded.

Such an artifact can't differ at the artifact boundary: a call that is told as asked is right, whatever became of it. The
glance compares by identity and plain text, so it costs 1 microsecond a call where the whole comparison costs 100.
"""

from collections import defaultdict, deque
from typing import Any

from lanewatch.adapters.records import Executed, ToolRequest, TraceRecord
from lanewatch.monitors.redaction.comparing import conceals_within, has_hole


def is_as_asked(record: TraceRecord, messages: tuple[dict[str, Any], ...]) -> bool:
    """Whether messages tell exactly the record's requests and recorded results. False means: compare, as where a value
    is hidden, which nobody can tell from another.
    """
    results: dict[int, list[Any]] = defaultdict(list)  # by request
    for run in record.dispatches:
        if run.request is not None and run.executed is Executed.YES:
            results[run.request].append(run.result)
            if run.error is not None:
                results[run.request].append(run.error.message)
    waiting: deque[tuple[ToolRequest, list[Any]]] = deque()
    index = 0
    for message in messages:
        if message["type"] == "tool":
            if not _is_next_result(message, waiting):
                return False
        elif message["type"] == "ai" and message["tool_calls"]:
            asked = record.requests[index : index + len(message["tool_calls"])]
            if any(_is_known(*one) for one in waiting) or not _are_told(asked, message):
                return False
            waiting = deque((request, results[at]) for at, request in enumerate(asked, index))
            index += len(asked)
    return index == len(record.requests) and not any(_is_known(*one) for one in waiting)


def _are_told(asked: tuple[ToolRequest, ...], message: dict[str, Any]) -> bool:
    """Whether a message has just these calls, and says nothing of them but their ids."""
    calls = message["tool_calls"]
    return (
        len(asked) == len(calls)
        and (message["metadata"] or {}).keys() == {"tool_call_ids"}
        and all(
            call["name"] == request.name
            and call["args"] is request.arguments
            and not conceals_within(request.arguments)
            for call, request in zip(calls, asked, strict=True)
        )
    )


def _is_next_result(message: dict[str, Any], waiting: deque[tuple[ToolRequest, list[Any]]]) -> bool:
    """Whether a tool message tells the recorded result of the next call that has one; takes that call."""
    metadata, content = message["metadata"] or {}, message["content"]
    while waiting:
        request, results = waiting.popleft()
        if request.call_id == metadata.get("tool_call_id") and (
            content is request.observed_result or any(content is result for result in results)
        ):
            return not metadata.keys() - {"tool_call_id", "status"} and not has_hole(content)
        if _is_known(request, results):
            return False
    return False


def _is_known(request: ToolRequest, results: list[Any]) -> bool:
    return request.observed_result is not None or any(result is not None for result in results)
