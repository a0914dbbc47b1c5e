"""Rerankers: the documents that a model really got are those that the last one gave, in its order and with its scores.

Invariants:

- Where one reranker follows one retriever, its list is the retrieval's. Where it does not show its list, the retrieval keeps
  the one before and its evidence is partial: the earlier list is never told as what the model got.
- Where nobody can tell whose documents it was given, it is a retrieval of its own, with the source `reranker`.
- A score is of whoever gave it: what a retriever scored is not carried over to a list that another one ordered.
"""

from msgspec.structs import replace

from lanewatch.adapters.duplicates import began, doubted
from lanewatch.adapters.facts import Document, Search
from lanewatch.adapters.reading import State
from lanewatch.adapters.span_tree import SpanTree

SOURCE = "reranker"


def with_rerankings(found: list[Search], rerankings: list[Search], tree: SpanTree) -> list[Search]:
    """Retrievals in order of start, each with its final documents; both lists are folded and in order of start."""
    if not rerankings:
        return found
    kept = list(found)
    places = {search.span.span_id: place for place, search in enumerate(kept)}
    above = tree.nearest_above({search.span.span_id for search in (*found, *rerankings)})
    taken: set[int] = set()
    alone: list[Search] = []
    for one in rerankings:
        tree.work.spend(1 + len(kept))
        outer = places.get(above.get(one.span.span_id, b""))
        if outer is not None:  # a retriever that ranks what it found, and gave what came of it
            if not kept[outer].documents:
                kept[outer] = _final(kept[outer], one)
            continue
        before = [place for place, search in enumerate(kept) if search.span.end_ns <= one.span.start_ns]
        fresh = [place for place in before if place not in taken] or before  # or a second one behind the first
        if len(fresh) == 1 and _may_come_of(one, kept[fresh[0]]):
            kept[fresh[0]] = _final(kept[fresh[0]], one)
            taken.add(fresh[0])
        else:
            alone.append(replace(one, source=SOURCE))
    return sorted([*kept, *alone], key=lambda search: began(search.span))


def _may_come_of(reranking: Search, retrieval: Search) -> bool:
    """Whether nothing tells that some of its documents are from elsewhere."""
    return not retrieval.documents or all(
        _source(document, retrieval.documents) is not None
        or not all(_comparable(document, one) for one in retrieval.documents)
        for document in reranking.documents
    )


def _final(retrieval: Search, reranking: Search) -> Search:
    """The retrieval with the reranked list; ids and texts that this one leaves out are those of the same documents."""
    if not reranking.documents and reranking.state is not State.CAPTURED:
        return replace(retrieval, query=retrieval.query or reranking.query, state=doubted(retrieval.state))
    documents = tuple(_named(document, retrieval.documents) for document in reranking.documents)
    whole = all(document.content is not None for document in documents)
    state = State.CAPTURED if whole and reranking.state is State.ABSENT else reranking.state
    return replace(retrieval, query=retrieval.query or reranking.query, documents=documents, state=state)


def _named(document: Document, before: tuple[Document, ...]) -> Document:
    source = _source(document, before)
    if source is None:
        return document
    return replace(document, id=document.id or source.id, content=document.content or source.content)


def _source(document: Document, before: tuple[Document, ...]) -> Document | None:
    """The one document of an earlier list that it is: by id, else by its text."""
    for field in ("id", "content"):
        value = getattr(document, field)
        same = [one for one in before if value is not None and getattr(one, field) == value]
        if same:
            return same[0] if len(same) == 1 else None
    return None


def _comparable(a: Document, b: Document) -> bool:
    """Whether both have an id, or both a text."""
    return (a.id is not None and b.id is not None) or (a.content is not None and b.content is not None)
