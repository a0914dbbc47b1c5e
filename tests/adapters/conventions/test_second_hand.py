"""Conventions that are a row of a table: each row reads a request, its run, and the answer."""

import json
from typing import Any

import pytest
from lanewatch.adapters.conventions.second_hand.rows import ROWS
from lanewatch.adapters.records import Evidence, Executed, Outcome
from lanewatch.collector.spans import Event, Span

from tests.adapters.spans import record, span


def claude(label: str, kind: str, attributes: dict[str, Any] | None = None, **where: Any) -> Span:
    """A span of Claude Code."""
    return span(label, {"span.type": f"claude_code.{kind}", **(attributes or {})}, name=f"claude_code.{kind}", **where)


def genkit(label: str, kind: str, given: Any, made: Any, **where: Any) -> Span:
    """A Genkit action."""
    told = {"genkit:metadata:subtype": kind, "genkit:name": where.pop("named", kind)}
    values = {"genkit:input": json.dumps(given), "genkit:output": json.dumps(made)}
    return span(label, {**told, **values}, scope="genkit-tracer", **where)


def test_a_models_text_counts_as_recorded_only_where_no_tool_ran_on_it() -> None:
    """Claude Code shows a text alone: what follows tells whether calls are missing from it."""
    seen = record(
        claude("i", "interaction", {"user_prompt": "weather?"}, at=(0, 100)),
        claude("a", "llm_request", {"response.model_output": "I look.", "input_tokens": 3}, under="i", at=(1, 2)),
        claude("t", "tool", {"tool_name": "Bash", "tool_input": '{"command": "ls"}'}, under="i", at=(3, 4)),
        claude("b", "llm_request", {"response.model_output": "Done."}, under="i", at=(5, 6)),
    )

    assert [response.text for response in seen.responses] == ["Done."]
    assert [(d.name, d.arguments, d.executed) for d in seen.dispatches] == [("Bash", {"command": "ls"}, Executed.YES)]
    assert seen.evidence["requests"] is Evidence.PARTIAL


def test_claude_codes_results_are_in_an_event() -> None:
    """Under one of three keys."""
    event = Event("tool.output", 0, {"content": "a.txt"})
    (dispatch,) = record(claude("t", "tool", {"tool_name": "Read"}, events=(event,))).dispatches

    assert (dispatch.name, dispatch.result, dispatch.arguments) == ("Read", "a.txt", None)


def test_a_tools_main_argument_alone_is_cut_arguments() -> None:
    """Claude Code shows a file's path where inputs are off."""
    seen = record(claude("t", "tool", {"tool_name": "Read", "file_path": "/a"}))

    assert seen.evidence["dispatches"] is Evidence.TRUNCATED


def test_redacted_content_is_no_content() -> None:
    """Claude Code's default."""
    seen = record(
        claude("a", "llm_request", {"response.model_output": "<REDACTED>"}),
        claude("t", "tool", {"tool_name": "Bash", "tool_input": "<REDACTED>"}),
    )

    assert seen.dispatches[0].arguments is None
    assert seen.evidence["dispatches"] is Evidence.REDACTED
    assert seen.responses == ()


def test_claude_codes_kind_may_be_bare() -> None:
    """Then the span's name has the prefix."""
    named = span("t", {"span.type": "tool", "tool_name": "Bash"}, name="claude_code.tool")

    assert [dispatch.name for dispatch in record(named).dispatches] == ["Bash"]


def test_genkits_requests_and_results_are_parts() -> None:
    """A model's call has a reference, which the tool's action does not repeat."""
    asked = {
        "message": {
            "role": "model",
            "content": [{"toolRequest": {"ref": "c1", "name": "look", "input": {"city": "Lyon"}}}],
        }
    }
    history = {
        "messages": [{"role": "tool", "content": [{"toolResponse": {"ref": "c1", "name": "look", "output": "sunny"}}]}]
    }
    said = {"message": {"role": "model", "content": [{"text": "Sunny."}]}, "finishReason": "stop"}
    seen = record(
        genkit("a", "model", {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}, asked, at=(1, 2)),
        genkit("t", "tool", {"city": "Lyon"}, "sunny", named="look", at=(3, 4)),
        genkit("b", "model", history, said, at=(5, 6)),
    )

    assert [(r.call_id, r.arguments, r.outcome) for r in seen.requests] == [
        ("c1", {"city": "Lyon"}, Outcome.DISPATCHED)
    ]
    assert seen.requests[0].observed_result == "sunny"
    assert seen.dispatches[0].result == "sunny"
    assert [(r.text, r.finish_reason) for r in seen.responses] == [("Sunny.", "stop")]


def test_genkits_retrievers_wrap_texts() -> None:
    """The query and each document are lists of parts."""
    given, made = (
        {"query": {"content": [{"text": "cats?"}]}},
        {"documents": [{"content": [{"text": "cats"}], "metadata": {"id": "d1"}}]},
    )
    seen = record(genkit("r", "retriever", given, made))

    assert [(r.query, [(d.id, d.content) for d in r.documents]) for r in seen.retrievals] == [
        ("cats?", [("d1", "cats")])
    ]


def test_livekits_calls_stand_beside_the_text() -> None:
    """In a list of their own, and the run has the id."""
    calls = json.dumps([{"call_id": "c1", "name": "look", "arguments": '{"city": "Lyon"}'}])
    told = {"lk.response.text": "I look.", "lk.response.function_calls": calls, "lk.chat_ctx": '{"items": []}'}
    run = {
        "lk.function_tool.name": "look",
        "lk.function_tool.id": "c1",
        "lk.function_tool.arguments": '{"city": "Lyon"}',
        "lk.function_tool.output": "no",
        "lk.function_tool.is_error": True,
    }
    seen = record(span("a", told, name="llm_node", at=(1, 2)), span("t", run, name="function_tool", at=(3, 4)))

    assert [(d.match_rule, d.result) for d in seen.dispatches] == [("R1", "no")]
    assert seen.dispatches[0].error is not None


def test_geminis_chunks_are_one_answer() -> None:
    """Each is a content of its own; a tool's request is around its arguments."""
    chunks = [{"role": "model", "parts": [{"text": "Sun"}]}, {"role": "model", "parts": [{"text": "ny."}]}]
    base = {"gen_ai.agent.name": "gemini-cli"}
    told = {**base, "gen_ai.operation.name": "llm_call", "gen_ai.output.messages": json.dumps(chunks)}
    ran = {
        **base,
        "gen_ai.operation.name": "tool_call",
        "gen_ai.tool.name": "look",
        "gen_ai.input.messages": json.dumps({"callId": "c1", "name": "look", "args": {"city": "Lyon"}}),
    }
    seen = record(span("a", told, at=(1, 2)), span("t", ran, at=(3, 4)))

    assert [response.text for response in seen.responses] == ["Sunny."]
    assert [dispatch.arguments for dispatch in seen.dispatches] == [{"city": "Lyon"}]


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ({"lmnr.span.type": "TOOL", "lmnr.span.input": '{"city": "Lyon"}', "lmnr.span.output": '"sunny"'}, "look"),
        (
            {"voltagent.operation_id": "x", "span.type": "tool", "entity.type": "agent", "tool.name": "look",
             "input": '{"city": "Lyon"}', "output": "sunny"},
            "span",
        ),
        (
            {"spring.ai.kind": "tool_call", "spring.ai.tool.definition.name": "look", "gen_ai.operation.name": "framework",
             "spring.ai.tool.call.arguments": '{"city": "Lyon"}', "spring.ai.tool.call.result": "sunny"},
            "span",
        ),
        ({"flue.tool.name": "look", "flue.tool.arguments": '{"city": "Lyon"}', "flue.tool.result": "sunny"}, "span"),
    ],
    ids=["laminar", "voltagent", "spring_ai", "flue"],
)  # fmt: skip
def test_a_run_is_read_by_the_rows_keys(attributes: dict[str, Any], name: str) -> None:
    """Name, arguments and result, whatever they are called."""
    (dispatch,) = record(span("t", attributes, name=name)).dispatches

    assert (dispatch.name, dispatch.arguments, dispatch.result) == ("look", {"city": "Lyon"}, "sunny")


def test_a_child_of_a_voltagent_agent_is_no_agent() -> None:
    """It inherits the entity's type; its own kind comes first."""
    told = {"voltagent.operation_id": "x", "span.type": "llm", "entity.type": "agent", "output": "Hi."}
    parent = {"voltagent.operation_id": "x", "entity.type": "agent"}
    seen = record(span("agent", parent, at=(0, 9)), span("a", told, under="agent", at=(1, 2)))

    assert [response.text for response in seen.responses] == ["Hi."]


def test_rows_have_names_of_their_own() -> None:
    """Facts are counted by them."""
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_a_record_names_the_convention_of_its_spans_as_the_table_of_the_docs_does() -> None:
    """The label of a metric says who hides content: the name of a module says nothing."""
    seen = record(
        claude("a", "llm_request", {"response.model_output": "Done."}, at=(1, 2)),
        genkit("m", "model", {}, {}, at=(3, 4)),
    )

    assert seen.conventions == ("claude_code", "genkit")
