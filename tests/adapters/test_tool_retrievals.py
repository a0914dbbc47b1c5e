"""Tools that are retrievers: configured by name, counted as both."""

from pathlib import Path

import pytest
from lanewatch.adapters.records import Evidence, Executed
from lanewatch.adapters.tool_retrievals import Retriever, documents_in, query_in, retrievers, with_tool_retrievals
from lanewatch.config.keys import Config, Retrieval
from lanewatch.replaying.playback import replay

from tests.monitors.records import dispatch, record

CORPUS = Path(__file__).parent.parent / "corpus"
DOCUMENTS = [{"id": "p-1", "content": "Refunds take five days.", "score": 0.7}]
RETRIEVERS = retrievers(["search_policy"])


def test_a_run_of_a_retriever_is_both() -> None:
    """The dispatch stays, and its documents are a retrieval."""
    run = dispatch("search_policy", {"query": "refunds", "top_k": 3}, result=DOCUMENTS)
    read = with_tool_retrievals(record(dispatches=(run,)), RETRIEVERS)

    assert read.dispatches == (run,)
    assert [(r.query, [d.id for d in r.documents], r.source) for r in read.retrievals] == [
        ("refunds", ["p-1"], "search_policy")
    ]
    assert read.evidence["retrievals"] is Evidence.COMPLETE


@pytest.mark.parametrize("result", [None, "Refunds take five days.", {"answer": 1}, [1, 2]])
def test_a_result_that_shows_no_documents_is_partial_evidence(result: object) -> None:
    """It retrieved something, and what is not shown."""
    read = with_tool_retrievals(record(dispatches=(dispatch("search_policy", result=result),)), RETRIEVERS)

    assert read.retrievals == ()
    assert read.evidence["retrievals"] is Evidence.PARTIAL


def test_a_run_that_never_happened_retrieved_nothing() -> None:
    """A blocked search is no empty retrieval."""
    run = dispatch("search_policy", result=DOCUMENTS, executed=Executed.NO)

    assert with_tool_retrievals(record(dispatches=(run,)), RETRIEVERS).retrievals == ()


@pytest.mark.parametrize(
    ("arguments", "query"),
    [({"q": "a", "k": 3}, "a"), ({"term": "a"}, "a"), ({"x": "a", "y": "b"}, None), ({}, None), ("text", None)],
)
def test_the_query_is_the_argument_named_like_one(arguments: object, query: str | None) -> None:
    """Or the only text; of two unknown names neither is guessed."""
    assert query_in(arguments) == query


@pytest.mark.parametrize(
    "result",
    [DOCUMENTS, {"results": DOCUMENTS}, '{"documents": [{"id": "p-1", "text": "Refunds take five days."}]}'],
)
def test_documents_are_found_where_tools_put_them(result: object) -> None:
    """A list, a list under a known key, or JSON text of either."""
    documents = documents_in(result)

    assert documents is not None
    assert [(d.id, d.content) for d in documents] == [("p-1", "Refunds take five days.")]


def test_a_configured_tool_of_a_recording_is_a_retrieval() -> None:
    """By its name in the configuration, end to end."""
    capture = CORPUS / "pydantic-ai-fmt6" / "01_right_tool"
    (plain,) = replay(capture, Config()).observations
    (read,) = replay(capture, Config(retrieval=Retrieval(tools="search_policy"))).observations

    assert plain.record.retrievals == ()
    assert [retrieval.source for retrieval in read.record.retrievals] == ["search_policy"]
    assert read.record.dispatches == plain.record.dispatches


def test_an_entry_says_where_query_and_documents_stand() -> None:
    """A result whose list has a name of its own, below another key."""
    retriever = Retriever(query=("filter", "words"), documents=("payload", "found"))
    result = {"payload": {"found": [{"id": "p-9", "content": "x"}]}, "results": [{"id": "no"}]}

    assert query_in({"filter": {"words": "refunds"}, "q": "no"}, retriever) == "refunds"
    assert [document.id for document in documents_in(result, retriever) or ()] == ["p-9"]
    assert documents_in({"results": [{"id": "no"}]}, retriever) is None


def test_a_server_s_prefix_hides_no_retriever() -> None:
    """MCP tools are told as server and tool in one name."""
    run = dispatch("mcp__docs__search_policy", {"query": "refunds"}, result=DOCUMENTS)

    assert len(with_tool_retrievals(record(dispatches=(run,)), RETRIEVERS).retrievals) == 1
