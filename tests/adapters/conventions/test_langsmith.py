"""LangSmith's OTel export: kinds, whole inputs and outputs, hidden content, errors as text."""

import json
from typing import Any

import pytest
from lanewatch.adapters.facts import ErrorKind, Executed
from lanewatch.adapters.records import Evidence, Outcome, TraceRecord
from lanewatch.collector.spans import Span

from tests.adapters.spans import raised, record, span
from tests.corpus.known import captures, verdicts

ASKED = {"messages": [[{"lc": 1, "id": ["langchain", "HumanMessage"], "kwargs": {"content": "Hi", "type": "human"}}]]}
FRAME = '\n\n\n  File "/srv/agents/app.py", line 3, in {}\n    raise e\n\n\n'
RAISED_IN_BODY = f"Traceback (most recent call last):{FRAME.format('look_up')}"
REFUSED_BEFORE = f"Traceback (most recent call last):{FRAME.format('_parse_input')}"


def run(label: str, kind: str, given: Any = None, answered: Any = None, **where: Any) -> Span:
    """A run; the operation is what the exporter makes of its kind."""
    operation = {"llm": "chat", "tool": "execute_tool", "retriever": "embeddings", "prompt": "chat"}.get(kind, kind)
    attributes: dict[str, Any] = {
        "langsmith.span.kind": kind,
        "gen_ai.operation.name": operation,
        "gen_ai.system": "langchain",
        "langsmith.metadata.thread_id": "s1",
    }
    for key, value in (("gen_ai.prompt", given), ("gen_ai.completion", answered)):
        if value is not None:
            attributes[key] = value if isinstance(value, str) else json.dumps(value)
    attributes |= where.pop("extra", {})
    return span(label, attributes, **{"scope": "langsmith", "status": 1, "at": (30, 40), "under": "root", **where})


def generated(**fields: Any) -> dict[str, Any]:
    """LangChain's generations of one message."""
    message = {"lc": 1, "id": ["langchain", "schema", "messages", "AIMessage"], "kwargs": {"type": "ai", **fields}}
    return {"generations": [[{"text": "", "message": message}]], "llm_output": {"id": "chatcmpl-1"}}


def wants(arguments: Any, call_id: str = "call_1") -> dict[str, Any]:
    """A call with parsed arguments."""
    return {"name": "look_up", "args": arguments, "id": call_id, "type": "tool_call"}


def model(answered: Any, given: Any = ASKED, **where: Any) -> Span:
    """A model call."""
    extra = {"gen_ai.request.model": "gpt-4o-mini", **where.pop("extra", {})}
    return run("llm", "llm", given, answered, extra=extra, **{"at": (10, 20), **where})


def tool(given: Any, answered: Any = None, **where: Any) -> Span:
    """A run of the tool."""
    extra = {"gen_ai.tool.name": "look_up", "gen_ai.tool.call.id": "call_1", **where.pop("extra", {})}
    return run("look_up", "tool", given, answered, extra=extra, **where)


def traced(*spans: Span, asked: Any = None) -> TraceRecord:
    """The record of these spans below a chain."""
    return record(run("root", "chain", {"q": 1} if asked is None else asked, {"a": 1}, at=(0, 100), under=""), *spans)


@pytest.mark.parametrize("capture", captures("langsmith-otel"))
def test_every_capture_is_exact_but_the_hidden_one(capture: str) -> None:
    """Recordings of langsmith 0.15.1 with LangChain, against their truth."""
    seen = verdicts(capture)
    hidden = capture.endswith("15_no_content")

    assert {seen[facet] for facet in seen if facet != "divergence"} == ({"flagged"} if hidden else {"exact"})
    assert seen["divergence"] in ("hit", "quiet")


def test_calls_are_read_out_of_the_generations_and_paired_by_id() -> None:
    """The whole run stands under two keys; the id is an attribute."""
    told = {"output": {"type": "tool", "content": '{"sky": "blue"}', "tool_call_id": "call_1", "status": "success"}}
    seen = traced(model(generated(content="", tool_calls=[wants({"city": "Lyon"})])), tool({"city": "Lyon"}, told))

    (dispatch,) = seen.dispatches
    assert (dispatch.match_rule, dispatch.arguments, dispatch.result) == ("R1", {"city": "Lyon"}, {"sky": "blue"})
    assert (seen.session_id, seen.generations[0].response_id) == ("s1", "chatcmpl-1")
    assert (seen.evidence["requests"], seen.evidence["dispatches"]) == (Evidence.COMPLETE, Evidence.COMPLETE)


def test_the_kind_beats_the_operation() -> None:
    """A retriever's operation is `embeddings`, a prompt template's is `chat`."""
    found = {"documents": [{"page_content": "abc", "metadata": {"id": "d1", "score": 0.5}, "type": "Document"}]}
    seen = traced(run("docs", "retriever", {"query": "why?"}, found), run("prompt", "prompt", {"a": 1}, {"b": 2}))

    (retrieval,) = seen.retrievals
    assert (retrieval.query, retrieval.documents[0].id, retrieval.documents[0].score) == ("why?", "d1", 0.5)
    assert seen.generations == ()


def test_hidden_content_is_redacted() -> None:
    """LANGSMITH_HIDE_INPUTS and _OUTPUTS write `{}`."""
    seen = traced(model("{}", "{}"), tool("{}", "{}"), run("docs", "retriever", "{}", "{}"), asked={})

    assert seen.dispatches[0].arguments is None
    assert seen.evidence["requests"] is seen.evidence["dispatches"] is seen.evidence["retrievals"] is Evidence.REDACTED


def test_a_call_without_arguments_is_no_hidden_one() -> None:
    """Its inputs are `{}` too, but a model's are not."""
    seen = traced(model(generated(content="", tool_calls=[wants({})])), tool("{}", {"output": "fine"}))

    assert seen.dispatches[0].arguments == {}
    assert seen.evidence["dispatches"] is Evidence.COMPLETE


def test_inputs_alone_may_be_hidden() -> None:
    """Then a tool's `{}` says nothing, while its result is shown."""
    seen = traced(
        model(generated(content="", tool_calls=[wants({"city": "Lyon"})]), "{}"),
        tool("{}", {"output": "fine"}),
        asked={},
    )

    assert (seen.dispatches[0].arguments, seen.dispatches[0].result) == (None, "fine")
    assert seen.evidence["dispatches"] is Evidence.REDACTED


FAILED = (f"PermissionError('403'){RAISED_IN_BODY}PermissionError: 403", ErrorKind.FAILURE, Executed.YES)
INVALID = "1 validation error for look_up\ncity\n  Field required"
REFUSED = (f"{INVALID}{REFUSED_BEFORE}pydantic_core.ValidationError: {INVALID}", ErrorKind.VALIDATION, Executed.NO)


@pytest.mark.parametrize(
    ("text", "kind", "executed", "error"),
    [(*FAILED, "PermissionError"), (*REFUSED, "pydantic_core.ValidationError")],
)
def test_an_errors_text_tells_its_type(text: str, kind: ErrorKind, executed: Executed, error: str) -> None:
    """The exception event always says `Exception`; the text is a repr with a traceback behind it."""
    event = raised("Exception", text, f"Exception: {text}")
    seen = traced(
        model(generated(content="", tool_calls=[wants({"city": "Lyon"})])),
        tool({"city": "Lyon"}, "{}", status=2, events=(event,)),
    )

    (dispatch,) = seen.dispatches
    assert dispatch.error is not None
    assert (dispatch.error.type, dispatch.error.kind, dispatch.executed) == (error, kind, executed)


@pytest.mark.parametrize(
    ("written", "shape"), [("{'city': 'Lyon'}", {"city": "Lyon"}), ("Lyon", {"city": "Lyon"}), ("x", None)]
)
def test_old_inputs_are_texts(written: str, shape: dict[str, str] | None) -> None:
    """LangChain's older tracer wrote the repr of the arguments, or the only one's value, under `input`."""
    seen = traced(
        model(generated(content="", tool_calls=[wants({"city": "Lyon"})])), tool({"input": written}, {"output": "fine"})
    )

    assert seen.dispatches[0].arguments == (shape or {"city": "x"})


def test_a_tools_own_object_is_its_result() -> None:
    """`@traceable` writes an object as it is, and anything else under `output`."""
    whole = traced(tool({"city": "Lyon"}, {"sky": "blue", "output": 1})).dispatches[0]
    wrapped = traced(tool({"city": "Lyon"}, {"output": [1]})).dispatches[0]

    assert (whole.result, wrapped.result) == ({"sky": "blue", "output": 1}, [1])


@pytest.mark.parametrize(
    "answered",
    [
        {"choices": [{"message": {"role": "assistant", "content": "Sunny."}, "finish_reason": "stop"}]},
        {"output": "Sunny."},
        {"role": "assistant", "content": [{"type": "text", "text": "Sunny."}]},
        {"generations": [[{"text": "Sunny.", "type": "Generation"}]]},
        {"message": {"role": "assistant", "content": "Sunny."}},
    ],
)
def test_answers_of_wrapped_clients_are_read(answered: dict[str, Any]) -> None:
    """OpenAI's, a traced function's, Anthropic's, a completion model's, and a bare message."""
    assert [response.text for response in traced(model(answered)).responses] == ["Sunny."]


def test_tools_that_a_wrapped_client_was_given_are_known() -> None:
    """They stand in its inputs alone."""
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
    given = {"messages": [{"role": "user", "content": "Hi"}], "model": "m", "tools": tools}
    call = {"id": "c", "type": "function", "function": {"name": "other", "arguments": "{}"}}
    answer = {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    seen = traced(model(answer, given), tool({}, {"output": "fine"}, extra={"gen_ai.tool.call.id": "d"}, at=(50, 60)))

    assert seen.tools == {"look_up": {"type": "object"}}
    assert seen.requests[0].outcome is Outcome.INVALID


def test_an_answer_of_no_known_shape_is_not_complete() -> None:
    """It may hold calls."""
    assert traced(model({"weird": {"a": 1}})).evidence["requests"] is not Evidence.COMPLETE
