"""Tools that are retrievers: a run of one is a dispatch and a retrieval as well.

Which tools these are is configured, since nothing in a span tells a search of documents from another call. The query is
the argument that is named like one, or the only text argument; the documents are the list in the result; a tool's entry
may say where either stands.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from lanewatch.adapters.documents import document_of
from lanewatch.adapters.identity import fold, name_keys
from lanewatch.adapters.reading import dictionaries, read_json
from lanewatch.adapters.records import EVIDENCE_ORDER, Document, Evidence, Executed, Retrieval, TraceRecord

QUERY_KEYS = ("query", "q", "question", "search_query", "search", "input", "text", "topic")
LIST_KEYS = ("documents", "results", "nodes", "matches", "hits", "chunks", "passages", "items", "data", "result")


class Retriever(msgspec.Struct, frozen=True):
    """Where a retriever tool has its query (keys into its arguments) and documents (keys into its result). None: as
    results usually have them.
    """

    query: tuple[str, ...] | None = None
    documents: tuple[str, ...] | None = None


AS_USUAL = Retriever()


def with_tool_retrievals(record: TraceRecord, tools: Mapping[str, Retriever]) -> TraceRecord:
    """The record with a retrieval for each run of one of these tools (by folded name). Runs whose result does not show
    documents make the evidence of retrievals partial.
    """
    if not tools:
        return record
    named = (
        (run, next((tools[key] for key in name_keys(run.name) if key in tools), None)) for run in record.dispatches
    )
    runs = [(run, retriever) for run, retriever in named if retriever is not None and run.executed is not Executed.NO]
    if not runs:
        return record
    found = [(run, retriever, documents_in(run.result, retriever)) for run, retriever in runs]
    retrievals = [
        Retrieval(query_in(run.arguments, retriever), documents, run.name, run.span_id, run.start_ns, run.end_ns)
        for run, retriever, documents in found
        if documents is not None
    ]
    states = [Evidence.COMPLETE if _whole(documents) else Evidence.PARTIAL for _, _, documents in found]
    if record.retrievals:
        states.append(record.evidence["retrievals"])
    evidence = {**record.evidence, "retrievals": max(states, key=EVIDENCE_ORDER.index)}
    ordered = sorted((*record.retrievals, *retrievals), key=lambda retrieval: retrieval.start_ns)
    return replace(record, retrievals=tuple(ordered), evidence=evidence)


def retrievers(tools: Iterable[str]) -> dict[str, Retriever]:
    """Retrievers of which only the names are known, as they are compared: without case and punctuation."""
    return {fold(tool): AS_USUAL for tool in tools}


def query_in(arguments: Any, retriever: Retriever = AS_USUAL) -> str | None:
    """The query among a retriever tool's arguments."""
    if retriever.query is not None:
        query = _at(arguments, retriever.query)
        return query if isinstance(query, str) else None
    if not isinstance(arguments, dict):
        return None
    texts = {key.lower(): value for key, value in arguments.items() if isinstance(key, str) and isinstance(value, str)}
    for key in QUERY_KEYS:
        if key in texts:
            return texts[key]
    return next(iter(texts.values())) if len(texts) == 1 else None


def documents_in(result: Any, retriever: Retriever = AS_USUAL) -> tuple[Document, ...] | None:
    """The documents of a result: a list of objects or texts, or such a list under a known key; None for anything else."""
    value = read_json(result) if isinstance(result, str) else result
    if retriever.documents is not None:
        value = _at(value, retriever.documents)
    elif isinstance(value, dict):
        value = next((value[key] for key in LIST_KEYS if isinstance(value.get(key), list)), None)
    if not isinstance(value, list):
        return None
    if all(isinstance(item, str) for item in value):
        return tuple(Document(rank, content=item) for rank, item in enumerate(value))
    objects = list(dictionaries(value))
    return tuple(document_of(rank, item) for rank, item in enumerate(objects)) if len(objects) == len(value) else None


def _at(value: Any, keys: tuple[str, ...]) -> Any:
    """The value at these keys; None where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _whole(documents: tuple[Document, ...] | None) -> bool:
    return documents is not None and all(document.content is not None for document in documents)
