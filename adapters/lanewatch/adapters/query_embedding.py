"""The embedding of a trace's question, where a span carries it: OpenInference's EMBEDDING spans.

`embedding.embeddings.N.embedding.vector` beside `...N.embedding.text`. An application embeds documents as well, so a
vector counts where its text is the question or what was searched for; without any text, where the trace has one vector
alone. Otherwise nobody can tell, and there is none.
"""

from collections.abc import Iterator

from lanewatch.adapters.records import TraceRecord
from lanewatch.collector.spans import Attributes, Trace

KIND, EMBEDDING = "openinference.span.kind", "EMBEDDING"
PREFIX = "embedding.embeddings."
MAX_DIMENSIONS = 8192
MAX_VECTORS = 64  # of one trace that are looked at


def query_embedding(trace: Trace, record: TraceRecord) -> list[float] | None:
    """The vector, whose numbers may be anything a float can be; None where no span tells the question's."""
    found = list(_embeddings(trace))
    if not found:
        return None
    asked = _asked(record)
    for text, vector in found:
        if text is not None and text.strip() in asked:
            return vector
    return found[0][1] if len(found) == 1 and found[0][0] is None else None


def _asked(record: TraceRecord) -> set[str]:
    """The last question, and what was searched for."""
    last = next(
        (message.get("content") for message in reversed(record.messages) if message.get("type") == "human"), None
    )
    queries = (retrieval.query for retrieval in record.retrievals)
    return {text.strip() for text in (last, *queries) if isinstance(text, str) and text.strip()}


def _embeddings(trace: Trace) -> Iterator[tuple[str | None, list[float]]]:
    left = MAX_VECTORS
    for span in trace.spans:
        if span.attributes.get(KIND) == EMBEDDING:
            for one in _of_span(span.attributes):
                yield one
                left -= 1
                if left <= 0:
                    return


def _of_span(attributes: Attributes) -> Iterator[tuple[str | None, list[float]]]:
    for number in range(MAX_VECTORS):
        stem = f"{PREFIX}{number}.embedding."
        vector, text = attributes.get(f"{stem}vector"), attributes.get(f"{stem}text")
        if vector is None and text is None:
            return
        if isinstance(vector, list) and 0 < len(vector) <= MAX_DIMENSIONS and all(map(_is_number, vector)):
            yield (text if isinstance(text, str) else None), vector


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
