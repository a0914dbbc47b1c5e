"""Retrieved documents in the spellings of all conventions."""

from typing import Any

from lanewatch.adapters.facts import Document
from lanewatch.adapters.reading import is_placeholder


def number(value: Any) -> float | None:
    """A number that is no bool, as a float, or None."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _first(keys: tuple[str, ...], *sources: dict[str, Any]) -> Any:
    return next((source[key] for source in sources for key in keys if source.get(key) is not None), None)


def document_of(rank: int, item: dict[str, Any]) -> Document:
    """A document of any known spelling: LangChain's, LlamaIndex' node with a score, or plain fields."""
    node = item["node"] if isinstance(item.get("node"), dict) else item
    metadata = node["metadata"] if isinstance(node.get("metadata"), dict) else {}
    identity = _first(("id", "id_", "document_id", "doc_id"), node, metadata)
    content = _first(("content", "text", "page_content"), node)
    score = number(_first(("score", "relevance_score"), item, metadata))
    distance = number(_first(("distance",), item, metadata))
    kind = "similarity" if score is not None else "distance" if distance is not None else "unknown"
    return Document(
        rank,
        str(identity) if isinstance(identity, str | int) else None,
        content if isinstance(content, str) and not is_placeholder(content) else None,
        score if score is not None else distance,
        kind,
    )
