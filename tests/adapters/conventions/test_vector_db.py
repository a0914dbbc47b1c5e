"""Vector stores: retrievals of last resort, and what they add to a retriever around them."""

import math
from typing import Any

import pytest
from lanewatch.adapters.conventions import vector_db
from lanewatch.adapters.records import Evidence
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Event, Span

from tests.adapters.spans import oi, record, span, trace, traceloop


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
    assert [(d.id, d.score) for d in seen.retrievals[0].documents] == [("d2", 0.7)]


def test_documents_are_joined_by_what_they_say_and_never_by_their_place() -> None:
    """A retriever ranked them anew: each keeps its own id and distance."""
    seen = record(retriever("r", "dogs", "cats", at=(0, 9)), chroma("q", CATS, DOGS, under="r", at=(1, 2)))

    assert [(d.id, d.content, d.score) for d in seen.retrievals[0].documents] == [
        ("d2", "dogs", 0.7),
        ("d1", "cats", 0.2),
    ]
    assert seen.evidence["retrievals"] is Evidence.COMPLETE


def pinecone(*events: Event, **where: Any) -> Span:
    """A query of Pinecone."""
    return span("q", {"db.system": "Pinecone"}, name="pinecone.query", events=events, **where)


def test_the_text_in_a_match_s_metadata_tells_which_document_it_is() -> None:
    """Pinecone has no place for it, and frameworks keep it there."""
    matches = [found(id=name.lower(), score=0.9, metadata=str({"text": name})) for name in ("A", "B")]
    seen = record(retriever("r", "B", "A", at=(0, 9)), pinecone(*matches, under="r", at=(1, 2)))

    assert [(d.id, d.content) for d in seen.retrievals[0].documents] == [("b", "B"), ("a", "A")]
    assert [d.content for d in record(pinecone(*matches)).retrievals[0].documents] == ["A", "B"]


def test_what_nothing_tells_apart_is_left_apart_and_partial() -> None:
    """Ids on the one side and contents on the other: the same count proves nothing."""
    seen = record(
        retriever("r", "B", "A", at=(0, 9)),
        pinecone(found(id="a", score=0.9), found(id="b", score=0.8), under="r", at=(1, 2)),
    )

    assert [(d.id, d.content, d.score) for d in seen.retrievals[0].documents] == [(None, "B", None), (None, "A", None)]
    assert seen.evidence["retrievals"] is Evidence.PARTIAL


def test_equal_texts_of_documents_with_other_ids_are_not_one() -> None:
    """An id that both name contradicts what the text would say."""
    named = retriever("r", "cats", at=(0, 9))
    named.attributes["retrieval.documents.0.document.id"] = "x9"
    seen = record(named, chroma("q", CATS, under="r", at=(1, 2)))

    assert [(d.id, d.score) for d in seen.retrievals[0].documents] == [("x9", None)]


def chunks(*documents: tuple[str, str | None]) -> Span:
    """A retriever that gives each chunk its document's id."""
    attributes: dict[str, Any] = {"input.value": "cats?"}
    for rank, (name, content) in enumerate(documents):
        attributes[f"retrieval.documents.{rank}.document.id"] = name
        if content is not None:
            attributes[f"retrieval.documents.{rank}.document.content"] = content
    return oi("r", "RETRIEVER", attributes, at=(0, 9))


CHUNKS = (found(id="d1", document="dogs", distance=0.1), found(id="d1", document="cats", distance=0.9))


@pytest.mark.parametrize(
    ("given", "scores"),
    [
        ([("d1", "cats"), ("d1", "dogs")], [0.9, 0.1]),
        ([("d1", "cats")], [0.9]),
    ],
)
def test_chunks_that_share_their_documents_id_are_told_apart_by_their_text(
    given: list[tuple[str, str | None]], scores: list[float]
) -> None:
    """The id alone would give a chunk the distance of another one."""
    seen = record(chunks(*given), chroma("q", *CHUNKS, under="r", at=(1, 2)))

    assert [[document.score for document in r.documents] for r in seen.retrievals] == [scores]
    assert seen.evidence["retrievals"] is Evidence.COMPLETE


@pytest.mark.parametrize("given", [[("d1", "birds")], [("d1", None)], [("d1", "cats"), ("d1", "birds")]])
def test_a_shared_id_does_not_tell_which_chunk_it_is(given: list[tuple[str, str | None]]) -> None:
    """Without an equal text nobody knows the chunk: it is left as it is, and the evidence partial."""
    seen = record(chunks(*given), chroma("q", *CHUNKS, under="r", at=(1, 2)))

    (retrieval,) = seen.retrievals
    assert retrieval.documents[-1].score is None
    assert seen.evidence["retrievals"] is Evidence.PARTIAL


def test_a_retriever_that_says_it_gave_nothing_gave_nothing() -> None:
    """Whatever the store found for it."""
    empty = oi("r", "RETRIEVER", {"input.value": "cats?", "output.value": '{"documents": []}'}, at=(0, 9))

    assert [r.documents for r in record(empty, chroma("q", CATS, under="r", at=(1, 2))).retrievals] == [()]


def test_what_a_silent_retriever_s_store_found_may_not_be_all_that_it_gave() -> None:
    """The documents are told, and the evidence is partial."""
    seen = record(oi("r", "RETRIEVER", {"input.value": "cats?"}, at=(0, 9)), chroma("q", CATS, under="r", at=(1, 2)))

    assert [(r.query, [d.id for d in r.documents]) for r in seen.retrievals] == [("cats?", ["d1"])]
    assert seen.evidence["retrievals"] is Evidence.PARTIAL


def test_a_similarity_and_a_distance_never_stand_in_one_list() -> None:
    """The retriever's own scores count, also where it scored but the first."""
    scored = retriever("r", "cats", "dogs", at=(0, 9))
    scored.attributes["retrieval.documents.0.document.score"] = 0.9
    seen = record(scored, chroma("q", CATS, DOGS, under="r", at=(1, 2)))

    assert [(d.id, d.score, d.score_kind) for d in seen.retrievals[0].documents] == [
        ("d1", 0.9, "similarity"),
        ("d2", None, "unknown"),
    ]


BIRDS = found(id="d3", document="birds", distance=0.1, metadata="{}")
FISH = found(id="d4", document="fish", distance=0.4, metadata="{}")


def several(count: int, *events: Event) -> Span:
    """A query of Chroma for several vectors at once."""
    one = chroma("q", *events)
    one.attributes["db.chroma.query.embeddings_count"] = count
    return one


def test_a_search_for_several_vectors_is_as_many_retrievals() -> None:
    """Two of two matches each: each with ranks of its own."""
    seen = record(several(2, CATS, DOGS, BIRDS, FISH))

    assert [[(d.rank, d.id) for d in r.documents] for r in seen.retrievals] == [
        [(0, "d1"), (1, "d2")],
        [(0, "d3"), (1, "d4")],
    ]
    assert seen.evidence["retrievals"] is Evidence.COMPLETE


@pytest.mark.parametrize(
    "query",
    [several(2, CATS, DOGS, FISH), several(2, DOGS, CATS, BIRDS, FISH), chroma("q", CATS, DOGS, BIRDS, FISH)],
    ids=["not as many for each", "not ranked", "without a count"],
)
def test_matches_that_no_vector_can_be_told_of_are_partial(query: Span) -> None:
    """They stay together, and the evidence says that something is not known."""
    seen = record(query)

    assert len(seen.retrievals) == 1
    assert seen.evidence["retrievals"] is Evidence.PARTIAL


def test_a_bare_vector_is_no_search_for_each_of_its_dimensions() -> None:
    """Chroma takes `[0.1, 0.2, ...]` for one vector, and its instrumentation counts numbers."""
    seen = record(several(384, CATS, DOGS))

    assert [[d.id for d in r.documents] for r in seen.retrievals] == [["d1", "d2"]]
    assert seen.evidence["retrievals"] is Evidence.COMPLETE


def test_milvus_numbers_the_vectors() -> None:
    """Whatever order its matches are in."""
    events = [
        Event("db.search.result", 0, {"db.search.result.id": name, "db.search.query.id": number})
        for name, number in (("a", 0), ("b", 1), ("c", 0))
    ]
    seen = record(span("q", {"db.system": "milvus"}, name="milvus.search", events=tuple(events)))

    assert [[d.id for d in r.documents] for r in seen.retrievals] == [["a", "c"], ["b"]]


@pytest.mark.parametrize("number", [math.nan, [1], {"a": 1}, True, None])
def test_what_cannot_be_a_querys_number_is_none(number: Any) -> None:
    """All three matches stay, and the span is read."""
    events = tuple(
        Event("db.search.result", 0, {"db.search.query.id": number, "db.search.result.id": n}) for n in "abc"
    )
    seen = record(span("q", {"db.system": "milvus", "db.operation": "search"}, name="milvus.search", events=events))

    assert [[document.id for document in r.documents] for r in seen.retrievals] == [["a", "b", "c"]]


class Counted(dict[str, Any]):
    """A match's attributes that count how often the query's number is looked up."""

    looked = 0

    def __getitem__(self, key: str) -> Any:
        """The value, counted."""
        Counted.looked += key == "db.search.query.id"
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value, counted."""
        Counted.looked += key == "db.search.query.id"
        return super().get(key, default)


def test_matches_are_sorted_by_their_query_in_one_pass() -> None:
    """A thousand queries of one match each would take a million looks."""
    events = tuple(
        Event("db.search.result", 0, Counted({"db.search.query.id": n, "db.search.result.id": str(n)}))
        for n in range(100)
    )
    one = span("q", {"db.system": "milvus", "db.operation": "search"}, name="milvus.search", events=events)
    Counted.looked = 0
    facts = vector_db.read_span(one, SpanTree(trace(one)))

    assert len(facts) == len(events)
    assert Counted.looked == len(events)


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


@pytest.mark.parametrize(
    ("store", "written", "query"),
    [
        ("chroma", "texts=['What about Lisbon?']", "What about Lisbon?"),
        ("chroma", "texts=['one', 'two']", None),
        ("chroma", "embeddings=1 vectors", None),
        ("chroma", "no query provided", None),
        ("pinecone", "What about Lisbon?", "What about Lisbon?"),
        ("pinecone", "{'values': [0.1, 0.2]}", None),
        ("qdrant", "Document(text='x', model='m')", None),
        ("milvus", "[[0.1, 0.2]]", None),
        ("milvus", "['What about Lisbon?']", "What about Lisbon?"),
        ("milvus", "['cut off", None),
        ("qdrant", "[REDACTED]", None),
        ("qdrant", 7, None),
    ],
)
def test_openlit_writes_the_querys_text_or_the_repr_of_what_is_none(
    store: str, written: Any, query: str | None
) -> None:
    """A vector, a filter or an object is no text, and of two texts nobody knows whose the matches are."""
    attributes = {
        "gen_ai.operation.name": "vectordb",
        "db.system.name": store,
        "db.operation.name": "query",
        "db.query.text": written,
    }

    assert [r.query for r in record(span("q", attributes, scope="openlit")).retrievals] == [query]


def test_each_of_several_texts_is_of_its_own_retrieval() -> None:
    """As many of them as there are retrievals, in the order in which they were asked."""
    texts = {"db.system": "chroma", "db.chroma.query.texts_count": 2, "db.query.text": "texts=['cats?', 'dogs?']"}
    seen = record(span("q", texts, name="chroma.query", events=(CATS, DOGS)))

    assert [(r.query, [d.id for d in r.documents]) for r in seen.retrievals] == [("cats?", ["d1"]), ("dogs?", ["d2"])]
