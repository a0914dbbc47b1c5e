"""Vector databases: what a store itself reports of a search, as OpenLLMetry's and OpenLIT's clients write it.

OpenLLMetry writes ids and distances and never the query's text, OpenLIT the text where the store was asked by text. Where
a retriever's span is around, the store's only completes it. One span may search for several vectors: each is a
retrieval of its own, with ranks of its own. Where the matches do not tell which vector they are of, they stay together,
and the evidence is partial.
"""

import re
from itertools import pairwise
from typing import Any

from lanewatch.adapters.documents import document_of
from lanewatch.adapters.facts import Document, Fact, Search, Step
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.reading import State, is_placeholder, parse_literal, read
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Event, Span

NAME = "vector_db"
STORES = ("chroma", "chromadb", "pinecone", "qdrant", "weaviate", "milvus", "lancedb", "marqo")
# Values rather than keys: `db.system` is on every SQL span too.
KEYS = (
    b"chroma", b"pinecone", b"Pinecone", b"qdrant", b"Qdrant", b"weaviate", b"milvus", b"lancedb", b"marqo",
)  # fmt: skip
SCOPES: tuple[str, ...] = ()

SYSTEM_KEYS = ("db.system", "db.system.name")
OPERATION_KEYS = ("db.operation", "db.operation.name")
SEARCHES = ("query", "search", "similarity", "hybrid", "near_", "bm25", "get_nearest")
PART = ".segment."  # Chroma reports a query's segment below the query
QUERY_ID = "db.search.query.id"
COUNTS = (".query.embeddings_count", ".query.texts_count")  # vectors, or texts, of one call
TEXTS = ("text", "page_content", "content")  # LangChain's and LlamaIndex' keys of a document's text in the metadata
NO_TEXT = re.compile(r"embeddings=\d+ vectors$|no query provided$|None$|[{(<]|[A-Za-z_][A-Za-z_.]*\(")
RESULTS = {"db.query.result": "db.query.result.", "db.search.result": "db.search.result."}


def matches(span: Span) -> bool:
    """Whether the span is a vector store's."""
    return store_of(span) in STORES


def store_of(span: Span) -> str:
    """The database that a span names, lower case."""
    attributes = span.attributes
    for key in SYSTEM_KEYS:
        if key in attributes:
            return str(attributes[key]).lower()
    return ""


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:  # noqa: ARG001 - a convention's signature
    """The facts that a span states: a retrieval where it searches, else a step."""
    named = next((str(span.attributes[key]) for key in OPERATION_KEYS if key in span.attributes), span.name).lower()
    if PART in span.name or not any(word in named or word in span.name.lower() for word in SEARCHES):
        return (Step(span, NAME, "vector_db", error=error_of(span)),)
    matches = [event for event in span.events if event.name in RESULTS]
    queries = _by_query(span, matches)
    source = store_of(span)
    if queries is None:
        return (Search(span, NAME, None, _documents(matches), State.AMBIGUOUS, source, low_level=True),)
    asked = _texts(span.attributes.get("db.query.text"))
    texts = asked if len(asked) == len(queries) else [None] * len(queries)
    return tuple(_search(span, text, documents, source) for text, documents in zip(texts, queries, strict=True))


def _search(span: Span, query: str | None, documents: tuple[Document, ...], source: str) -> Search:
    shown = bool(documents) and all(document.content is not None for document in documents)
    return Search(span, NAME, query, documents, State.CAPTURED if shown else State.ABSENT, source, low_level=True)


def _texts(value: Any) -> list[str | None]:
    """The texts that were searched for, of OpenLIT's `db.query.text` (openlit 1.45.0, instrumentation/*/utils.py).

    Chroma's is `texts=[...]` as a Python repr; others have the text itself, or the repr of a vector, a filter or an object
    where there was none.
    """
    if not isinstance(value, str) or is_placeholder(value) or not value or NO_TEXT.match(value):
        return []
    listed = value.removeprefix("texts=")
    if listed[:1] == "[":
        try:
            found = parse_literal(listed)
        except ValueError:
            return []
        return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else []
    return [value]


def _by_query(span: Span, matches: list[Event]) -> list[tuple[Document, ...]] | None:
    """The documents of each vector that was searched for; None where nobody can tell them apart.

    Milvus numbers them. Chroma writes as many for each, best first, one vector after the other: N times K matches
    (opentelemetry-instrumentation-chromadb 0.62.4, wrapper.py). A single vector that is given bare counts as as many as it
    has dimensions.
    """
    numbered: dict[str | int, list[Event]] = {}
    for event in matches:
        number = event.attributes.get(QUERY_ID)
        if isinstance(number, (str, int)) and not isinstance(number, bool):  # NaN equals nothing, a list is no id
            numbered.setdefault(number, []).append(event)
    if numbered and sum(map(len, numbered.values())) == len(matches):
        return [_documents(found) for found in numbered.values()]
    counts = [value for key, value in span.attributes.items() if key.endswith(COUNTS) and isinstance(value, int)]
    vectors = max(counts, default=1)
    if vectors > len(matches):
        vectors = 1
    each, left = divmod(len(matches), max(vectors, 1))
    if left:
        return None
    queries = (
        [_documents(matches[at : at + each]) for at in range(0, len(matches), each)] if each else [_documents(matches)]
    )
    return queries if all(map(_is_ranked, queries)) else None


def _is_ranked(documents: tuple[Document, ...]) -> bool:
    """Whether no match is better than one before it, as of one search."""
    scores = [(one.score if one.score_kind == "distance" else -one.score) for one in documents if one.score is not None]
    return all(a <= b for a, b in pairwise(scores))


def _documents(matches: list[Event]) -> tuple[Document, ...]:
    return tuple(_document(rank, event) for rank, event in enumerate(matches))


def _document(rank: int, event: Event) -> Document:
    """One match. Distances may be written as text; lower ones are better, so they are no scores. Frameworks keep a
    document's text in the metadata where the store has no place for it.
    """
    prefix = RESULTS[event.name]
    fields: dict[str, Any] = {
        key.removeprefix(prefix): value for key, value in event.attributes.items() if key.startswith(prefix)
    }
    item = {"id": fields.get("id"), "content": fields.get("document"), "score": fields.get("score")}
    if item["score"] is None:
        item["distance"] = _number(fields.get("distance"))
    if item["content"] is None:
        metadata = read(fields.get("metadata"), literal=True).value
        item["content"] = (
            next((metadata[key] for key in TEXTS if key in metadata), None) if isinstance(metadata, dict) else None
        )
    return document_of(rank, item)


def _number(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None
