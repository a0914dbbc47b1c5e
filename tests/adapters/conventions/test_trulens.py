"""TruLens: functions as spans, contexts as texts."""

import json
from typing import Any

import pytest
from lanewatch.adapters.facts import Shape
from lanewatch.adapters.records import Evidence
from lanewatch.collector.spans import Span

from tests.adapters.spans import record, span

BASE = "ai.observability."


def tru(label: str, kind: str, attributes: dict[str, Any] | None = None, **where: Any) -> Span:
    """A span of TruLens; keys that are given get its prefix unless they are GenAI's."""
    told = {key if key.startswith("gen_ai.") else BASE + key: value for key, value in (attributes or {}).items()}
    return span(label, {BASE + "span_type": kind, **told}, **where)


def test_contexts_are_documents_without_ids() -> None:
    """And without scores."""
    found = {
        "retrieval.query_text": "cats?",
        "retrieval.retrieved_contexts": ["cats", "dogs"],
        "retrieval.num_contexts": 2,
    }
    seen = record(tru("r", "retrieval", found))

    assert [(r.query, [(d.id, d.content) for d in r.documents]) for r in seen.retrievals] == [
        ("cats?", [(None, "cats"), (None, "dogs")])
    ]
    assert seen.evidence["retrievals"] is Evidence.COMPLETE


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ({"mcp.tool_name": "look", "gen_ai.tool.name": "_run"}, "look"),
        ({"gen_ai.tool.name": "invoke", "call.function": "langchain.tools.StructuredTool.invoke"}, "add"),
    ],
)
def test_a_tool_is_no_method(attributes: dict[str, Any], name: str) -> None:
    """`_run` and `invoke` are every tool's; the span may be named after the tool."""
    (dispatch,) = record(tru("t", "tool", attributes, name="add" if name == "add" else "x._run")).dispatches

    assert dispatch.name == name


def test_arguments_of_an_invocation_are_its_inputs() -> None:
    """Beside them stands a configuration."""
    given = {"call.kwargs.input": json.dumps({"city": "Lyon"}), "call.kwargs.config": "{}", "call.return": "sunny"}
    (dispatch,) = record(tru("t", "tool", given, name="look")).dispatches

    assert (dispatch.arguments, dispatch.result) == ({"city": "Lyon"}, "sunny")


def test_arguments_of_a_function_are_not_known_to_be_the_tools() -> None:
    """Their evidence is not complete."""
    seen = record(
        tru("t", "tool", {"call.kwargs.city": "Lyon", "call.kwargs.unit": "C", "call.kwargs.x": "1"}, name="look")
    )

    assert seen.dispatches[0].shape is Shape.TEXT
    assert seen.evidence["dispatches"] is Evidence.PARTIAL


def test_a_generation_answers_with_what_its_function_returned() -> None:
    """A repr of an object is no answer."""
    told = {"call.kwargs.prompt": "say", "call.return": "said", "gen_ai.operation.name": "chat"}
    seen = record(tru("g", "generation", told))
    unread = record(tru("g", "generation", {**told, "call.return": "content='said' additional_kwargs={}"}))

    assert [response.text for response in seen.responses] == ["said"]
    assert unread.evidence["requests"] is Evidence.ABSENT


def test_an_error_of_the_call_is_the_runs() -> None:
    """The status may be unset."""
    (dispatch,) = record(tru("t", "tool", {"call.error": "upstream down", "mcp.tool_name": "look"})).dispatches

    assert dispatch.error is not None
    assert dispatch.error.message == "upstream down"


def test_evaluations_are_steps() -> None:
    """They come later, as spans of their own."""
    assert record(tru("e", "eval_root", {"eval_root.score": 0.4})).generations == ()
