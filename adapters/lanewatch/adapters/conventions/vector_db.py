"""Vector databases: what a store itself reports of a search, as OpenLLMetry's and OpenLIT's clients write it.

Ids and distances are there, the query's text never is. Where a retriever's span is around, the store's only completes it.
"""

from typing import Any

from lanewatch.adapters.documents import document_of
from lanewatch.adapters.facts import Document, Fact, Search, Step
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.reading import State
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
    documents = tuple(_document(rank, event) for rank, event in enumerate(e for e in span.events if e.name in RESULTS))
    shown = bool(documents) and all(document.content is not None for document in documents)
    state = State.CAPTURED if shown else State.ABSENT
    return (Search(span, NAME, None, documents, state, store_of(span), low_level=True),)


def _document(rank: int, event: Event) -> Document:
    """One match. Distances may be written as text; lower ones are better, so they are no scores."""
    prefix = RESULTS[event.name]
    fields: dict[str, Any] = {
        key.removeprefix(prefix): value for key, value in event.attributes.items() if key.startswith(prefix)
    }
    item = {"id": fields.get("id"), "content": fields.get("document"), "score": fields.get("score")}
    if item["score"] is None:
        item["distance"] = _number(fields.get("distance"))
    return document_of(rank, item)


def _number(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None
