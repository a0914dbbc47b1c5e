"""Builders of small records, so that a test names only what it is about."""

from typing import Any

from lanewatch.adapters.facts import ErrorInfo, ErrorKind, Executed, Shape, ToolKind, Usage
from lanewatch.adapters.records import (
    RECORD_KINDS,
    Dispatch,
    Disposition,
    DispositionSource,
    Document,
    Evidence,
    Generation,
    IdQuality,
    Outcome,
    Response,
    Retrieval,
    ToolRequest,
    TraceRecord,
)


def request(name: str = "refund", arguments: Any = None, **fields: Any) -> ToolRequest:
    """A request that was dispatched, with an object for arguments."""
    values: dict[str, Any] = {
        "name": name,
        "call_id": "call_1",
        "call_id_quality": IdQuality.REAL,
        "arguments": {"id": 1} if arguments is None else arguments,
        "arguments_raw": None,
        "arguments_state": "captured",
        "turn": 0,
        "position": 0,
        "span_id": "aa" * 8,
        "outcome": Outcome.DISPATCHED,
    }
    return ToolRequest(**{**values, **fields})


def dispatch(name: str = "refund", arguments: Any = None, **fields: Any) -> Dispatch:
    """A run of a tool that succeeded and answers the first request."""
    values: dict[str, Any] = {
        "name": name,
        "call_id": "call_1",
        "arguments": {"id": 1} if arguments is None else arguments,
        "arguments_state": "captured",
        "shape": Shape.OBJECT,
        "result": {"ok": True},
        "executed": Executed.YES,
        "error": None,
        "attempt": 1,
        "match_rule": "R1",
        "request": 0,
        "span_id": "bb" * 8,
        "start_ns": 1,
        "end_ns": 2,
        "kind": ToolKind.FUNCTION,
    }
    return Dispatch(**{**values, **fields})


def failure(kind: ErrorKind = ErrorKind.FAILURE) -> ErrorInfo:
    """An error of a tool."""
    return ErrorInfo("TimeoutError", kind, "upstream timed out")


def generation(**fields: Any) -> Generation:
    """A model call that succeeded."""
    return Generation(**{
        "span_id": "aa" * 8, "model": "m", "provider": None, "response_id": None, "finish_reason": "stop",
        "usage": Usage(), "start_ns": 0, "end_ns": 1, **fields,
    })  # fmt: skip


def answer(text: str = "Done.", *, refusal: bool = False) -> Response:
    """An answer that ends a turn."""
    if refusal:
        return Response(text, "stop", Disposition.REFUSED, DispositionSource.FIELD)
    return Response(text, "stop", Disposition.ANSWERED, DispositionSource.TEXT, "answered.report.en")


def undetermined(text: str = "Blue.") -> Response:
    """An answer of which nothing is told."""
    return Response(text, "stop")


def abstention(text: str = "The documents do not say.") -> Response:
    """An answer that the documents do not tell."""
    return Response(text, "stop", Disposition.ABSTAINED, DispositionSource.TEXT, "abstained.evidence.en")


def retrieval(*contents: str) -> Retrieval:
    """A retrieval with these documents."""
    documents = tuple(Document(rank, f"d{rank}", content) for rank, content in enumerate(contents))
    return Retrieval("a question", documents, "policies", "cc" * 8, 0, 1)


def record(**fields: Any) -> TraceRecord:
    """A trace with one model call and one answer; evidence is complete for what is given as `seen`."""
    values: dict[str, Any] = {
        "trace_id": "0f" * 16,
        "session_id": None,
        "service": "shop",
        "revision": 0,
        "start_ns": 0,
        "end_ns": 10,
        "conventions": ("otel_genai",),
        "requests": (),
        "dispatches": (),
        "retrievals": (),
        "generations": (generation(),),
        "responses": (answer(),),
        "messages": (),
        "evidence": {},
    }
    values |= fields
    complete = dict.fromkeys(RECORD_KINDS, Evidence.COMPLETE)
    if not values["retrievals"]:
        complete["retrievals"] = Evidence.ABSENT
    values["evidence"] = {**complete, **values["evidence"]}
    return TraceRecord(**values)
