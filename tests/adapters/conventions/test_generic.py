"""GenAI keys without an operation: as little as they prove."""

import json

import pytest
from lanewatch.adapters.records import Evidence

from tests.adapters.spans import asking, call, record, span, text


def test_an_answer_with_a_response_is_a_model_call() -> None:
    """LiteLLM leaves the operation out with content off."""
    told = {"gen_ai.response.id": "r1", "gen_ai.output.messages": json.dumps([asking(call("look", {"a": 1}))])}
    seen = record(span("a", told))

    assert [request.name for request in seen.requests] == ["look"]


def test_a_span_around_others_only_repeats_them() -> None:
    """Agents put their messages on their own span."""
    told = {"gen_ai.output.messages": json.dumps([asking(text("Hi."))])}
    seen = record(span("a", told, at=(0, 9)), span("b", {**told, "gen_ai.request.model": "m"}, under="a", at=(1, 2)))

    assert len(seen.generations) == 1


def test_a_tools_name_alone_is_no_run() -> None:
    """Model calls carry it too."""
    assert record(span("a", {"gen_ai.tool.name": "look"})).dispatches == ()


@pytest.mark.parametrize("key", ["arguments", "result"])
def test_a_tools_name_with_arguments_or_a_result_is_one(key: str) -> None:
    """Only a run has them."""
    seen = record(span("a", {"gen_ai.tool.name": "look", f"gen_ai.tool.call.{key}": '{"a": 1}'}))

    assert [dispatch.name for dispatch in seen.dispatches] == ["look"]


def test_documents_are_a_retrieval() -> None:
    """By their key."""
    seen = record(span("a", {"gen_ai.retrieval.documents": '[{"id": "d1", "content": "cats"}]'}))

    assert [document.id for document in seen.retrievals[0].documents] == ["d1"]


def test_other_keys_prove_nothing() -> None:
    """The trace is known to be an agent's, and no more."""
    seen = record(span("a", {"gen_ai.agent.name": "x"}))

    assert seen.conventions == ("generic",)
    assert set(seen.evidence.values()) == {Evidence.ABSENT}
