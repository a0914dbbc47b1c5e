"""Retrievals: documents from flattened keys, completed from the serialised output."""

from typing import Any

from lanewatch.adapters.conventions.openinference.marks import KIND, NAME, instrumentor, session, string
from lanewatch.adapters.facts import (
    Document,
    Fact,
    Search,
    Step,
)
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


def search(span: Span, tree: SpanTree) -> Fact:
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
    flat = unflatten(attributes, "retrieval.documents.")
    value = attributes.get("output.value")
    whole = read_json(value)
    listed = list(dictionaries(whole.get("documents") if isinstance(whole, dict) else whole))
    items = [item["document"] for item in dictionaries(flat) if isinstance(item.get("document"), dict)]
    if not items:
        if is_placeholder(value):
            return (), State.REDACTED
        if not listed:
            return (), State.CAPTURED if isinstance(whole, list | dict) else State.ABSENT
        items = [{} for _ in listed]
    documents = tuple(
        _document(rank, item, listed[rank] if len(listed) == len(items) else {}) for rank, item in enumerate(items)
    )
    hidden = any(is_placeholder(item.get("content")) for item in items)
    bare = all(document.content is None for document in documents)
    return documents, State.REDACTED if hidden else State.ABSENT if bare else State.CAPTURED


def _document(rank: int, flat: dict[str, Any], whole: dict[str, Any]) -> Document:
    whole = whole["kwargs"] if isinstance(whole.get("kwargs"), dict) else whole
    metadata = read_json(flat.get("metadata")) or whole.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    identity = flat.get("id", whole.get("id"))
    content = flat.get("content", whole.get("page_content", whole.get("text")))
    score = flat.get("score", whole.get("score", metadata.get("score", metadata.get("relevance_score"))))
    return Document(
        rank,
        str(identity) if isinstance(identity, str | int) else None,
        content if isinstance(content, str) and not is_placeholder(content) else None,
        float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None,
        "similarity" if isinstance(score, int | float) else "unknown",
    )
