"""Retrievals of frameworks: documents and query out of a task's serialised input and output."""

from typing import Any

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.conventions.traceloop.marks import NAME, SESSION_KEYS
from lanewatch.adapters.documents import document_of
from lanewatch.adapters.facts import Search
from lanewatch.adapters.reading import State, dictionaries, read, read_json
from lanewatch.collector.spans import Span

QUERY_KEYS = ("query", "str_or_query_bundle", "query_bundle", "query_str", "question", "q")


def retrieves(span: Span) -> bool:
    """Whether a task or workflow is a retriever (LlamaIndex, `@task`): by its name, and by what it puts out."""
    name = str(span.attributes.get("traceloop.entity.name") or "")
    return "retriev" in name.lower() and bool(_listed(span.attributes))


def search(span: Span) -> Search:
    """A retrieval."""
    attributes = span.attributes
    items = [
        item["kwargs"] if "lc" in item and isinstance(item.get("kwargs"), dict) else item
        for item in _listed(attributes)
    ]
    documents = tuple(document_of(rank, item) for rank, item in enumerate(items))
    output = read(attributes.get("traceloop.entity.output"))
    state = output.state if output.structured or output.state is not State.CAPTURED else State.TRUNCATED
    name = attributes.get("traceloop.entity.name")
    session = otel_genai.session_of(span, SESSION_KEYS)
    return Search(span, NAME, _query(attributes), documents, state, name if isinstance(name, str) else None, session)


def _listed(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    decoded = read_json(attributes.get("traceloop.entity.output"))
    if isinstance(decoded, dict):
        decoded = decoded.get("documents", decoded.get("nodes"))
    if isinstance(decoded, list):
        decoded = [read_json(item) if isinstance(item, str) else item for item in decoded]  # LlamaIndex writes texts
    return [item for item in dictionaries(decoded) if _is_document(item)]


def _is_document(item: dict[str, Any]) -> bool:
    inner = item.get("kwargs") if isinstance(item.get("kwargs"), dict) and "lc" in item else item.get("node", item)
    return isinstance(inner, dict) and any(
        isinstance(inner.get(key), str) for key in ("page_content", "content", "text")
    )


def _query(attributes: dict[str, Any]) -> str | None:
    """The query under one of its names, or the only text among the arguments."""
    decoded = read_json(attributes.get("traceloop.entity.input"))
    if not isinstance(decoded, dict):
        return None
    given = decoded["kwargs"] if isinstance(decoded.get("kwargs"), dict) else {}
    row = decoded["args"] if isinstance(decoded.get("args"), list) else []
    for source in (decoded, given):
        for key in QUERY_KEYS:
            text = _query_text(source.get(key))
            if text is not None:
                return text
    texts = [text for value in (*row, *given.values()) if (text := _query_text(value)) is not None]
    return texts[0] if len(texts) == 1 else None


def _query_text(value: Any) -> str | None:
    """A text, or LlamaIndex' bundle of one."""
    if isinstance(value, dict):
        value = value.get("query_str")
    return value if isinstance(value, str) else None
