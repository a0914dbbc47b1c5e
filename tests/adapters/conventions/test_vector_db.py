"""Vector stores: retrievals of last resort, and what they add to a retriever around them."""

from typing import Any

import pytest
from lanewatch.adapters.records import Evidence
from lanewatch.collector.spans import Event, Span

from tests.adapters.spans import oi, record, span, traceloop


def found(**fields: Any) -> Event:
    """A match of Chroma or Pinecone."""
    return Event("db.query.result", 0, {f"db.query.result.{key}": value for key, value in fields.items()})


def chroma(label: str, *events: Event, **where: Any) -> Span:
    """A query of Chroma, as OpenLLMetry's client writes it."""
    return span(
        label, {"db.system": "chroma", "db.operation": "query"}, **{"name": "chroma.query", "events": events, **where}
    )


def retriever(label: str, *contents: str, **where: Any) -> Span:
    """LangChain's retriever, which knows neither ids nor scores."""
    attributes: dict[str, Any] = {"input.value": "cats?"}
    for rank, content in enumerate(contents):
        attributes[f"retrieval.documents.{rank}.document.content"] = content
    return oi(label, "RETRIEVER", attributes, **where)


CATS = found(id="d1", document="cats", distance=0.2, metadata="{}")
DOGS = found(id="d2", document="dogs", distance=0.7, metadata="{}")


def test_without_a_retriever_a_query_is_a_retrieval_without_a_text() -> None:
    """Only vectors are known of the query; a distance is no score."""
    (retrieval,) = record(chroma("q", CATS, DOGS)).retrievals

    assert retrieval.query is None
    assert [(d.id, d.content, d.score, d.score_kind) for d in retrieval.documents] == [
        ("d1", "cats", 0.2, "distance"),
        ("d2", "dogs", 0.7, "distance"),
    ]


def test_a_retriever_around_it_gets_the_ids_and_distances() -> None:
    """One retrieval, not two."""
    seen = record(retriever("r", "cats", "dogs", at=(0, 9)), chroma("q", CATS, DOGS, under="r", at=(1, 2)))

    assert [(r.query, [(d.id, d.score) for d in r.documents]) for r in seen.retrievals] == [
        ("cats?", [("d1", 0.2), ("d2", 0.7)])
    ]


def test_a_retriever_that_filtered_the_matches_keeps_its_own() -> None:
    """What the store found besides is not what was retrieved."""
    seen = record(retriever("r", "dogs", at=(0, 9)), chroma("q", CATS, DOGS, under="r", at=(1, 2)))

    assert [[document.content for document in r.documents] for r in seen.retrievals] == [["dogs"]]


def test_a_segments_query_repeats_its_query() -> None:
    """Chroma reports both."""
    inner = chroma("s", CATS, name="chroma.query.segment._query", under="q", at=(1, 2))
    seen = record(chroma("q", CATS, at=(0, 3)), inner)

    assert len(seen.retrievals) == 1


def test_pinecones_scores_are_similarities() -> None:
    """It shows no contents."""
    seen = record(span("q", {"db.system": "Pinecone"}, name="pinecone.query", events=(found(id="d1", score=0.9),)))

    assert [(d.id, d.score, d.score_kind) for d in seen.retrievals[0].documents] == [("d1", 0.9, "similarity")]
    assert seen.evidence["retrievals"] is Evidence.PARTIAL


@pytest.mark.parametrize(("distance", "score"), [("0.25", 0.25), ("near", None)])
def test_milvus_writes_distances_as_text(distance: str, score: float | None) -> None:
    """What is no number is no distance."""
    match = Event("db.search.result", 0, {"db.search.result.id": "7", "db.search.result.distance": distance})
    seen = record(span("q", {"db.system": "milvus"}, name="milvus.search", events=(match,)))

    assert seen.retrievals[0].documents[0].score == score


@pytest.mark.parametrize("name", ["qdrant.query_points", "qdrant.search", "weaviate.collections.query.near_text"])
def test_a_search_that_shows_counts_alone_is_a_retrieval_nothing_is_known_of(name: str) -> None:
    """Its evidence says so."""
    seen = record(span("q", {"db.system": name.partition(".")[0].capitalize()}, name=name))

    assert [retrieval.documents for retrieval in seen.retrievals] == [()]
    assert seen.evidence["retrievals"] is Evidence.PARTIAL


@pytest.mark.parametrize("name", ["chroma.add", "pinecone.upsert", "qdrant.delete"])
def test_writing_is_no_retrieval(name: str) -> None:
    """Nor is reading by id."""
    assert record(span("q", {"db.system": name.partition(".")[0]}, name=name)).retrievals == ()


def test_other_databases_are_not_looked_at() -> None:
    """`db.system` is on every SQL span."""
    assert record(span("q", {"db.system": "postgresql", "db.operation": "query"})).conventions == ()


def test_a_stores_span_is_its_own_under_openllmetrys_keys_too() -> None:
    """The SDK writes its keys on every span of the process."""
    workflow = {"db.system": "chroma", "traceloop.entity.path": "x", "traceloop.workflow.name": "w"}
    seen = record(
        traceloop("w", "workflow", {"traceloop.entity.name": "w"}, at=(0, 9)),
        span("q", workflow, name="chroma.query", events=(CATS,), under="w", at=(1, 2)),
    )

    assert len(seen.retrievals) == 1
