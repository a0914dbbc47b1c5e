"""MLflow's own spans and its GenAI export: JSON in every attribute, streams, LangChain, refusals in chains."""

import json
from typing import Any

import pytest
from lanewatch.adapters.facts import ErrorKind, Executed
from lanewatch.adapters.records import Evidence, Outcome, TraceRecord
from lanewatch.collector.spans import Event, Span
from lanewatch.monitors.divergence import find_divergences
from msgspec.structs import replace

from tests.adapters.spans import asking, call, raised, record, span, span_id, text
from tests.corpus.known import captures, verdicts

TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
ASKED = {"messages": [{"role": "user", "content": "Weather?"}], "tools": TOOLS, "model": "m"}
SCOPE = "mlflow.tracing.provider"


def own(label: str, kind: str, given: Any = None, answered: Any = None, **where: Any) -> Span:
    """A span of MLflow's own: every value is JSON."""
    attributes = {"mlflow.spanType": json.dumps(kind)}
    attributes |= {"mlflow.spanInputs": json.dumps(given), "mlflow.spanOutputs": json.dumps(answered)}
    attributes |= {key: json.dumps(value) for key, value in where.pop("extra", {}).items()}
    return span(label, attributes, **{"scope": SCOPE, "status": 1, "under": "root", "at": (30, 40), **where})


def completion(*calls: tuple[str, str, str], content: str | None = None, **fields: Any) -> dict[str, Any]:
    """A chat completion that asks for (id, name, raw arguments)."""
    listed = [
        {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
        for identity, name, arguments in calls
    ]
    message: dict[str, Any] = {"role": "assistant", "content": content, "tool_calls": listed or None, **fields}
    reason = "tool_calls" if calls else "stop"
    return {"id": "chatcmpl-1", "choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def model(answered: Any, given: Any = ASKED, **where: Any) -> Span:
    """A model call."""
    return own("llm", "CHAT_MODEL", given, answered, **{"at": (10, 20), **where})


def traced(*spans: Span) -> TraceRecord:
    """The record of these spans below an agent."""
    return record(own("root", "AGENT", {"q": 1}, "fine", at=(0, 100), under=""), *spans)


def chunks(*deltas: dict[str, Any], finish: str | None = "tool_calls", first: int = 0) -> tuple[Event, ...]:
    """A chat stream's chunks as span events, the last one with the finish reason."""
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    values = [json.dumps({"object": "chat.completion.chunk", "choices": [choice]}) for choice in choices]
    return tuple(
        Event(f"mlflow.chunk.item.{index}", 0, {"mlflow.chunk.value": value})
        for index, value in enumerate(values)
        if index >= first
    )


def piece(arguments: str, name: str | None = None, call_id: str | None = None, index: int = 0) -> dict[str, Any]:
    """A delta of one call."""
    return {"tool_calls": [{"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}]}


STREAM = (piece("", "look_up", "call_1"), piece('{"city": '), piece("", "look_up", "call_2", 1), piece('"Lyon"}'),
          piece("{}", index=1))  # fmt: skip
SUM = completion(content="")  # what MLflow's own sum of a stream shows


@pytest.mark.parametrize("capture", captures("mlflow-openai"))
def test_every_capture_is_exact(capture: str) -> None:
    """Recordings of mlflow 3.17.2 with OpenAI's client, against their truth."""
    seen = verdicts(capture)

    assert {seen[facet] for facet in seen if facet != "divergence"} == {"exact"}
    assert seen["divergence"] in ("hit", "quiet")


def test_a_tool_without_an_id_is_paired_by_its_arguments() -> None:
    """`@mlflow.trace` binds arguments by name; the span's name is the tool's."""
    seen = traced(
        model(completion(("call_1", "look_up", '{"city": "Lyon"}'))),
        own("look_up", "TOOL", {"city": "Lyon"}, {"sky": "blue"}),
    )

    (dispatch,) = seen.dispatches
    assert (dispatch.match_rule, dispatch.result, dispatch.call_id) == ("R5", {"sky": "blue"}, "call_1")
    assert (seen.tools, seen.generations[0].response_id) == ({"look_up": {"type": "object"}}, "chatcmpl-1")
    assert (seen.evidence["requests"], seen.evidence["dispatches"]) == (Evidence.COMPLETE, Evidence.COMPLETE)


@pytest.mark.parametrize("exported", [False, True])
def test_calls_of_a_stream_are_put_together_from_its_chunks(exported: bool) -> None:
    """MLflow's sum has no calls and may say `stop`, in its own spans and in the GenAI export."""
    events = chunks(*STREAM)
    if exported:
        keys = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps([asking()])}
        streamed = span("llm", {**keys, "stream": "true"}, scope=SCOPE, at=(10, 20), under="root", events=events)
    else:
        streamed = model(SUM, {**ASKED, "stream": True}, events=events)
    seen = traced(streamed)

    assert [(one.call_id, one.arguments) for one in seen.requests] == [("call_1", {"city": "Lyon"}), ("call_2", {})]
    assert seen.generations[0].finish_reason == "tool_calls"


@pytest.mark.parametrize("events", [chunks(*STREAM, first=2), chunks(*STREAM, finish=None), ()])
def test_a_stream_whose_chunks_are_lost_is_not_complete(events: tuple[Event, ...]) -> None:
    """An SDK keeps 128 events of a span; what is left may lack a call's start, and the sum never shows calls."""
    seen = traced(model(SUM, {**ASKED, "stream": True}, events=events))

    assert seen.requests == ()
    assert seen.evidence["requests"] is Evidence.TRUNCATED


def test_text_and_refusal_of_a_stream_are_read() -> None:
    """Both come in pieces."""
    seen = traced(model(SUM, events=chunks({"content": "Sun"}, {"content": "ny."}, finish="stop")))
    refused = traced(model(SUM, events=chunks({"refusal": "I "}, {"refusal": "can't."}, finish="stop")))

    assert [response.text for response in seen.responses] == ["Sunny."]
    assert [(response.text, response.disposition_source) for response in refused.responses] == [("I can't.", "field")]


def test_a_stream_of_the_responses_api_ends_with_the_whole_response() -> None:
    """That one is read."""
    item = {"type": "function_call", "call_id": "call_1", "id": "fc_1", "name": "look_up", "arguments": "{}"}
    done = {"type": "response.completed", "response": {"object": "response", "output": [item]}}
    event = Event("mlflow.chunk.item.7", 0, {"mlflow.chunk.value": json.dumps(done)})
    seen = traced(model(None, {"input": "Weather?", "tools": TOOLS}, events=(event,)))

    assert [(one.call_id, one.aliases) for one in seen.requests] == [("call_1", ("fc_1",))]


@pytest.mark.parametrize(
    ("answered", "finish"),
    [
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "look_up", "input": {"a": 1}}],
          "stop_reason": "tool_use"}, "tool_use"),
        ({"output": {"message": {"role": "assistant", "content": [
            {"toolUse": {"toolUseId": "c", "name": "look_up", "input": {"a": 1}}}]}}, "stopReason": "tool_use"},
         "tool_use"),
        ({"candidates": [{"content": {"role": "model", "parts": [
            {"functionCall": {"name": "look_up", "args": {"a": 1}}}]}}]}, None),
        ([{"type": "function_call", "call_id": "c", "name": "look_up", "arguments": '{"a": 1}'}], None),
        ({"content": "", "type": "ai", "tool_calls": [{"name": "look_up", "args": {"a": 1}, "id": "c"}]}, None),
    ],
)  # fmt: skip
def test_answers_of_every_client_are_read(answered: Any, finish: str | None) -> None:
    """Anthropic, Bedrock's Converse, Gemini, OpenAI's agents, LangChain."""
    seen = traced(model(answered))

    assert [(one.name, one.arguments) for one in seen.requests] == [("look_up", {"a": 1})]
    assert seen.generations[0].finish_reason == finish


def test_langchains_call_id_is_an_attribute_and_its_text_a_bare_value() -> None:
    """The handler writes keywords as JSON, and what `ast.literal_eval` makes of the input."""
    seen = traced(
        model(completion(("call_1", "look_up", '{"city": "Lyon"}'))),
        own("look_up", "TOOL", "Lyon", {"type": "tool", "content": "blue", "tool_call_id": "call_1"},
            extra={"tool_call_id": "call_1", "metadata": {"thread_id": "s1"}}),
    )  # fmt: skip

    (dispatch,) = seen.dispatches
    assert (dispatch.match_rule, dispatch.arguments, dispatch.result) == ("R1", {"city": "Lyon"}, "blue")
    assert seen.session_id == "s1"


@pytest.mark.parametrize(
    ("metadata", "outcome"), [({"langgraph_node": "tools"}, Outcome.NOT_DISPATCHED), ({}, Outcome.UNKNOWN)]
)
def test_a_call_that_ran_nowhere_was_dropped_where_tools_are_reported(metadata: Any, outcome: Outcome) -> None:
    """LangChain's handler reports each tool; by hand an application may trace some tools only."""
    seen = traced(
        own("graph", "CHAIN", {}, {}, at=(1, 99), extra={"metadata": metadata}),
        model(completion(("call_1", "look_up", "{}")), under="graph"),
        replace(model(completion(content="ok"), under="graph", at=(30, 40)), span_id=span_id("again")),
    )

    assert seen.requests[0].outcome is outcome


def test_a_refusal_that_only_the_chain_shows_is_found() -> None:
    """LangChain's model span has an empty answer; the graph's last message has the field. Earlier refusals don't count."""
    refused = {"type": "ai", "content": "", "additional_kwargs": {"refusal": "I can't help with that."}}
    answered = {"type": "ai", "content": "Sunny.", "additional_kwargs": {"refusal": None}}
    seen = traced(own("graph", "CHAIN", {}, {"messages": [refused]}), model(completion(content="")))
    later = traced(own("graph", "CHAIN", {}, {"messages": [refused, answered]}), model(completion(content="Sunny.")))

    assert [(response.text, response.refusal) for response in seen.responses] == [("I can't help with that.", True)]
    assert [(response.text, response.refusal) for response in later.responses] == [("Sunny.", False)]


def test_a_call_with_the_wrong_arguments_never_ran() -> None:
    """`@mlflow.trace` writes a span whose inputs are null when the arguments can't be bound."""
    error = raised("TypeError", "make.<locals>.look_up() got an unexpected keyword argument 'force'")
    seen = traced(
        model(completion(("call_1", "look_up", '{"force": true}'))), own("look_up", "TOOL", status=2, events=(error,))
    )

    (dispatch,) = seen.dispatches
    assert dispatch.error is not None
    assert (dispatch.executed, dispatch.error.kind) == (Executed.NO, ErrorKind.VALIDATION)
    assert seen.requests[0].outcome is Outcome.INVALID


@pytest.mark.parametrize(("name", "expected"), [("look_up_1", "look_up"), ("other_1", "other_1")])
def test_a_number_that_old_releases_added_to_a_name_is_dropped(name: str, expected: str) -> None:
    """But only where a tool of the bare name was offered."""
    seen = traced(model(completion(("call_1", "look_up", "{}"))), own(name, "TOOL", {}, "fine"))

    assert [dispatch.name for dispatch in seen.dispatches] == [expected]


def test_a_wrapper_around_a_client_is_no_second_call() -> None:
    """`@mlflow.trace(span_type="LLM")` around an autologged call."""
    inner = model(completion(content="Sunny."), under="outer")

    assert len(traced(own("outer", "LLM", {"q": 1}, "Sunny.", at=(5, 25)), inner).generations) == 1


def test_documents_come_with_the_query() -> None:
    """A list of objects, with ids and scores where the application gave them."""
    found = [{"page_content": "abc", "metadata": {"score": 0.5}, "id": "d1"}]
    (retrieval,) = traced(own("docs", "RETRIEVER", {"query": "why?"}, found)).retrievals

    assert (retrieval.query, retrieval.documents[0].id, retrieval.documents[0].score) == ("why?", "d1", 0.5)


def exported(label: str, operation: str, attributes: dict[str, Any], **where: Any) -> Span:
    """A span of the GenAI export, which keeps MLflow's scope alone."""
    keys = {"gen_ai.operation.name": operation, **attributes}
    return span(label, keys, **{"scope": SCOPE, "status": 1, "under": "root", "at": (30, 40), **where})


def test_the_genai_export_is_read() -> None:
    """Arguments and results are JSON, a text is quoted; documents and query are gone."""
    keys = {"gen_ai.tool.name": "look_up", "gen_ai.tool.call.arguments": '{"city": "Lyon"}',
            "gen_ai.tool.call.result": '"blue"'}  # fmt: skip
    answer = {"gen_ai.output.messages": json.dumps([asking(call("look_up", {"city": "Lyon"}))])}
    seen = record(
        exported("root", "invoke_agent", {"gen_ai.agent.name": "support"}, at=(0, 100), under=""),
        exported("chat m", "chat", answer, at=(10, 20)),
        exported("execute_tool look_up", "execute_tool", keys),
        exported("RETRIEVER", "RETRIEVER", {}, at=(1, 2)),
    )

    (dispatch,) = seen.dispatches
    assert (dispatch.match_rule, dispatch.arguments, dispatch.result) == ("R5", {"city": "Lyon"}, "blue")
    assert (seen.conventions, seen.evidence["retrievals"]) == (("mlflow",), Evidence.PARTIAL)
    assert seen.evidence["dispatches"] is Evidence.COMPLETE


def test_an_empty_answer_of_the_export_is_not_complete() -> None:
    """The export drops refusals: `parts` is empty and the reason `stop`."""
    told = {"gen_ai.output.messages": json.dumps([{**asking(), "finish_reason": "stop"}])}
    seen = traced(exported("chat m", "chat", told, at=(10, 20)))

    assert seen.evidence["responses"] is Evidence.PARTIAL


def test_a_cut_value_is_truncated_and_an_unknown_one_not_complete() -> None:
    """Neither may hide a call."""
    cut = span(
        "llm", {"mlflow.spanType": '"LLM"', "mlflow.spanOutputs": '{"choices": [{"mess'}, under="root", at=(1, 2)
    )
    unknown = model({"weird": {"a": 1}})

    assert traced(cut).evidence["requests"] is Evidence.TRUNCATED
    assert traced(unknown).evidence["requests"] is not Evidence.COMPLETE
    assert traced(exported("chat m", "chat", {"gen_ai.output.messages": json.dumps([asking(text("Hi"))])})).responses


@pytest.mark.parametrize(
    ("asked", "streamed", "name"),
    [
        (("c1", "look_up", "{}"), False, "look_up"),
        (("c1", "look_up", "{}"), True, "look_up"),
        (("c1", "look_up_1", "{}"), False, "look_up_1"),
        (("c1", "other", '{"look_up": 1}'), False, "look_up_1"),
    ],
    ids=["asked", "asked in a stream", "the numbered one", "another"],
)
def test_a_request_makes_a_tool_known_where_no_offer_was_recorded(
    asked: tuple[str, str, str], streamed: bool, name: str
) -> None:
    """A word in the arguments does not."""
    given = {"messages": [{"role": "user", "content": "Weather?"}]}
    call_id, tool, arguments = asked
    events = chunks(piece(arguments, tool, call_id)) if streamed else ()
    seen = traced(
        model(SUM if streamed else completion(asked), {**given, "stream": streamed}, events=events),
        own("look_up_1", "TOOL", {}, "sun"),
    )

    assert [run.name for run in seen.dispatches] == [name]
    assert [one.kind for one in find_divergences(seen) if one.kind == "name"] == []
