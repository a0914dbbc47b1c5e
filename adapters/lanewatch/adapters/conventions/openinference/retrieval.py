"""Retrievals: documents from flattened keys, completed from the serialised output."""

from typing import Any

from lanewatch.adapters.conventions.openinference.marks import KIND, NAME, instrumentor, session, string
from lanewatch.adapters.documents import document_of
from lanewatch.adapters.facts import Document, Search, Step
from lanewatch.adapters.reading import (
    State,
    dictionaries,
    is_placeholder,
    read,
    read_json,
    unflatten,
)
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span


def search(span: Span, tree: SpanTree) -> Search | Step:
    """A RETRIEVER span, or a step where it only repeats the one above it."""
    attributes = span.attributes
    inner = instrumentor(span) == "llama_index" and span.name.rpartition(".")[2].startswith("_")
    above = tree.span(span.parent_id)
    if inner and above is not None and str(above.attributes.get(KIND)).upper() == "RETRIEVER":
        # LlamaIndex reports a retrieval twice: `aretrieve` with documents, `_retrieve` below it with their reprs.
        return Step(span, NAME, "retriever", session_id=session(span))
    documents, state = _documents(attributes)
    query = attributes.get("input.value")
    return Search(
        span, NAME, _query(query), documents, state, string(attributes.get("tool.name")) or span.name, session(span)
    )


def reranking(span: Span) -> Search:
    """A RERANKER span: its query and, under keys of its own, the documents that it gave, in their order."""
    documents, state = _of_items(_items(span.attributes, "reranker.output_documents."), [])
    query = string(span.attributes.get("reranker.query"))
    return Search(span, NAME, query, documents, state, span.name, session(span), reranks=True)


def _query(value: Any) -> str | None:
    """The query text; LlamaIndex writes a QueryBundle or a `{"str_or_query_bundle": ...}` object."""
    content = read(value)
    if content.state is not State.CAPTURED:
        return None
    if isinstance(content.value, dict):
        for key in ("query", "query_str", "str_or_query_bundle", "input", "question"):
            inner = content.value.get(key)
            if isinstance(inner, str):
                return inner
            if isinstance(inner, dict) and isinstance(inner.get("query_str"), str):
                return str(inner["query_str"])
    return content.text


def _documents(attributes: dict[str, Any]) -> tuple[tuple[Document, ...], State]:
    """Documents of a retrieval; ids and scores that LangChain leaves out stand in `output.value`."""
    items = _items(attributes, "retrieval.documents.")
    value = attributes.get("output.value")
    whole = read_json(value)
    listed = list(dictionaries(whole.get("documents") if isinstance(whole, dict) else whole))
    if not items:
        if is_placeholder(value):
            return (), State.REDACTED
        if not listed:
            reprs = isinstance(whole, list) and bool(whole)  # LlamaIndex' inner span
            return (), State.CAPTURED if isinstance(whole, list | dict) and not reprs else State.ABSENT
        items = [{} for _ in listed]
    return _of_items(items, listed)


def _items(attributes: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    flat = dictionaries(unflatten(attributes, prefix))
    return [item["document"] for item in flat if isinstance(item.get("document"), dict)]


def _of_items(items: list[dict[str, Any]], listed: list[dict[str, Any]]) -> tuple[tuple[Document, ...], State]:
    """Documents of flattened items, completed from serialised ones (`listed`) where these are as many."""
    documents = tuple(
        _document(rank, item, listed[rank] if len(listed) == len(items) else {}) for rank, item in enumerate(items)
    )
    hidden = any(is_placeholder(item.get("content")) for item in items)
    bare = all(document.content is None for document in documents)
    return documents, State.REDACTED if hidden else State.ABSENT if bare else State.CAPTURED


def _document(rank: int, flat: dict[str, Any], whole: dict[str, Any]) -> Document:
    """A document from its flattened keys; fields that these lack come from the serialised one."""
    whole = whole["kwargs"] if isinstance(whole.get("kwargs"), dict) else whole
    told = {key: value for key, value in flat.items() if key in ("id", "content", "score") and value is not None}
    metadata = read_json(flat.get("metadata"))
    other = {**whole, "metadata": metadata} if isinstance(metadata, dict) else whole
    document, rest = document_of(rank, told), document_of(rank, other)
    return Document(
        rank,
        document.id or rest.id,
        document.content if "content" in told else rest.content,
        document.score if document.score is not None else rest.score,
        document.score_kind if document.score is not None else rest.score_kind,
    )
