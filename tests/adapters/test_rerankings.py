"""Rerankers: a retrieval's documents are those that the model got, and the list before is never told as them."""

import json
from typing import Any

import pytest
from lanewatch.adapters.records import Evidence, Retrieval, TraceRecord
from lanewatch.collector.spans import Event, Span

from tests.adapters.spans import oi, record, span

FOUND = (("a", "alpha", 0.9), ("b", "beta", 0.8), ("c", "gamma", 0.7))
Told = tuple[tuple[str | None, str | None, float | None], ...]


def flat(prefix: str, documents: Told) -> dict[str, Any]:
    """Documents as OpenInference flattens them."""
    return {
        f"{prefix}.{rank}.document.{key}": value
        for rank, one in enumerate(documents)
        for key, value in zip(("id", "content", "score"), one, strict=True)
        if value is not None
    }


def retriever(label: str = "find", documents: Told = FOUND, at: tuple[float, float] = (1, 2), under: str = "") -> Span:
    """A RETRIEVER span."""
    told = {"input.value": "letters", **flat("retrieval.documents", documents)}
    return oi(label, "RETRIEVER", told, at=at, under=under)


def reranker(documents: Told, label: str = "rank", at: tuple[float, float] = (3, 4), under: str = "") -> Span:
    """A RERANKER span."""
    told = {"reranker.query": "letters", **flat("reranker.output_documents", documents)}
    return oi(label, "RERANKER", told, at=at, under=under)


def told(retrieval: Retrieval) -> Told:
    """What a retrieval's documents say, in order."""
    assert [one.rank for one in retrieval.documents] == list(range(len(retrieval.documents)))
    return tuple((one.id, one.content, one.score) for one in retrieval.documents)


def evidence(found: TraceRecord) -> Evidence:
    """What is known of the retrievals."""
    return found.evidence["retrievals"]


def test_what_one_reranker_made_of_one_retrieval_is_the_retrieval() -> None:
    """Its order and its scores; ids that it leaves out are those of the same texts."""
    found = record(retriever(), reranker(((None, "gamma", 0.99), (None, "alpha", 0.5))))
    (retrieval,) = found.retrievals

    assert told(retrieval) == (("c", "gamma", 0.99), ("a", "alpha", 0.5))
    assert (retrieval.query, evidence(found)) == ("letters", Evidence.COMPLETE)


def test_a_retrievers_scores_are_not_carried_over() -> None:
    """A list that something else ordered has that one's scores, or none."""
    (retrieval,) = record(retriever(), reranker((("b", "beta", None), ("a", "alpha", None)))).retrievals

    assert told(retrieval) == (("b", "beta", None), ("a", "alpha", None))


def test_a_list_that_a_reranker_does_not_show_is_not_known() -> None:
    """The list before it stays, as something that may not be what the model got."""
    found = record(retriever(), reranker(()))

    assert told(found.retrievals[0]) == FOUND
    assert evidence(found) is Evidence.PARTIAL


def test_a_reranker_behind_a_reranker_has_the_last_word() -> None:
    """As a filter and a ranker that follow each other."""
    first = reranker((("a", "alpha", 0.4), ("b", "beta", 0.3)))
    second = reranker((("b", "beta", 0.8),), "again", at=(5, 6))

    assert [told(one) for one in record(retriever(), first, second).retrievals] == [(("b", "beta", 0.8),)]


def test_each_reranker_takes_the_retrieval_before_it() -> None:
    """A conversation of two turns."""
    spans = (
        retriever(),
        reranker((("b", "beta", 0.5),)),
        retriever("more", at=(5, 6)),
        reranker((("c", "gamma", 0.6),), "again", at=(7, 8)),
    )

    assert [told(one) for one in record(*spans).retrievals] == [(("b", "beta", 0.5),), (("c", "gamma", 0.6),)]


@pytest.mark.parametrize(
    "spans",
    [
        (retriever(), retriever("more", (("d", "delta", 0.9),)), reranker((("d", "delta", 0.6),))),
        (retriever(), reranker((("x", "not found there", 0.6),))),
        (reranker((("a", "alpha", 0.6),)),),
    ],
    ids=["joins two", "from elsewhere", "alone"],
)
def test_a_reranker_of_nobody_knows_which_documents_is_a_retrieval_of_its_own(spans: tuple[Span, ...]) -> None:
    """What was found before it stands beside it, as it was."""
    retrievals = record(*spans).retrievals

    assert len(retrievals) == len(spans)
    assert [one.source for one in retrievals if one.source == "reranker"] == ["reranker"]
    assert [told(one) for one in retrievals if one.source != "reranker"] == [
        told(one) for one in record(*spans[:-1]).retrievals
    ]


def test_a_retriever_around_its_own_reranker_gave_the_final_list() -> None:
    """What its reranker was asked in between is not what came out of it."""
    outer = retriever("both", FOUND[:1], at=(0, 10))

    assert [told(one) for one in record(outer, reranker(FOUND, under="both")).retrievals] == [FOUND[:1]]


def test_llama_index_own_spans() -> None:
    """Nodes in an event at its end."""
    nodes = [{"node": {"id_": i, "text": text}, "score": score} for i, text, score in (FOUND[2], FOUND[0])]
    begun = Event("ReRankStartEvent", 0, {"query.query_str": "letters", "top_n": 2, "model_name": "m"})
    events = (begun, Event("ReRankEndEvent", 0, {"nodes": json.dumps(nodes)}))
    ranked = span("LLMRerank.postprocess_nodes", at=(3, 4), scope="llamaindex.opentelemetry.tracer", events=events)

    assert [told(one) for one in record(retriever(), ranked).retrievals] == [(FOUND[2], FOUND[0])]
    assert [(one.query, one.source) for one in record(ranked).retrievals] == [("letters", "reranker")]


def test_haystack_rankers() -> None:
    """A component whose type ends in Ranker."""
    made = {"documents": [{"id": "b", "content": "beta", "score": 0.7}]}
    attributes = {
        "haystack.component.type": "TransformersSimilarityRanker",
        "haystack.component.input": json.dumps({"query": "letters", "documents": []}),
        "haystack.component.output": json.dumps(made),
    }
    ranked = span("ranker", attributes, name="haystack.component.run", at=(3, 4))

    assert [told(one) for one in record(retriever(), ranked).retrievals] == [(("b", "beta", 0.7),)]


@pytest.mark.parametrize(
    ("operation", "ranking"),
    [
        ("ai.rerank.doRerank", [{"index": 1, "relevanceScore": 0.9}, {"index": 0, "relevanceScore": 0.2}]),
        ("ai.rerank", [{"originalIndex": 1, "score": 0.9}, {"originalIndex": 0, "score": 0.2}]),
    ],
)
def test_vercel_rerank(operation: str, ranking: list[dict[str, Any]]) -> None:
    """Places in the list of what was given, each item a JSON text."""
    attributes = {
        "ai.operationId": operation,
        "ai.documents": [json.dumps("alpha"), json.dumps({"id": "b", "title": "beta"})],
        "ai.ranking.type": "text",
        "ai.ranking": [json.dumps(one) for one in ranking],
    }
    (retrieval,) = record(span("rank", attributes)).retrievals

    assert told(retrieval) == (("b", '{"id": "b", "title": "beta"}', 0.9), (None, "alpha", 0.2))
    assert retrieval.source == "reranker"


def test_vercel_rerank_without_outputs_and_around_the_call() -> None:
    """The list is not known; the span around a call that has the ranking says nothing by itself."""
    hidden = record(span("rank", {"ai.operationId": "ai.rerank.doRerank", "ai.documents": ['"alpha"']}))

    assert [told(one) for one in hidden.retrievals] == [()]
    assert evidence(hidden) is Evidence.PARTIAL
    assert record(span("rank", {"ai.operationId": "ai.rerank", "ai.documents": ['"alpha"']})).retrievals == ()
