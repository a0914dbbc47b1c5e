"""Which vector of a trace is its question's, and that none is taken where nobody can tell."""

from typing import Any

import pytest
from lanewatch.adapters.query_embedding import query_embedding
from lanewatch.collector.spans import Span, Trace

from tests.monitors.records import record

QUESTION = {"type": "human", "content": "Where is my parcel?"}


def trace(*embeddings: dict[str, Any], kind: str = "EMBEDDING") -> Trace:
    """A trace with one span that embeds these."""
    attributes: dict[str, Any] = {"openinference.span.kind": kind}
    for number, one in enumerate(embeddings):
        attributes |= {f"embedding.embeddings.{number}.embedding.{key}": value for key, value in one.items()}
    return Trace(b"t" * 16, (Span(b"t" * 16, b"s" * 8, attributes=attributes),))


def test_the_vector_of_the_question_is_taken_among_those_of_documents() -> None:
    """Its text is the last question's, up to white space."""
    found = trace({"text": "a document", "vector": [0.0]}, {"text": "Where is my parcel? ", "vector": [1.0, 2.0]})

    assert query_embedding(found, record(messages=(QUESTION,))) == [1.0, 2.0]


def test_a_vector_without_a_text_is_taken_where_it_is_alone() -> None:
    """Instrumentors leave texts out where content is switched off."""
    assert query_embedding(trace({"vector": [1, 2.5]}), record(messages=(QUESTION,))) == [1, 2.5]
    assert query_embedding(trace({"vector": [1.0]}, {"vector": [2.0]}), record(messages=(QUESTION,))) is None


@pytest.mark.parametrize(
    "one",
    [
        {"text": "a document", "vector": [1.0]},
        {"text": QUESTION["content"], "vector": []},
        {"text": QUESTION["content"], "vector": "1,2"},
        {"text": QUESTION["content"], "vector": [1.0, None]},
        {"text": QUESTION["content"], "vector": [True]},
        {"text": QUESTION["content"], "vector": [0.0] * 9000},
        {"text": QUESTION["content"]},
    ],
)
def test_what_is_no_vector_of_the_question_is_none(one: dict[str, Any]) -> None:
    """Unknown is not a vector of zeros."""
    assert query_embedding(trace(one), record(messages=(QUESTION,))) is None


def test_only_embedding_spans_are_looked_at() -> None:
    """The same keys on another span mean nothing."""
    found = trace({"text": QUESTION["content"], "vector": [1.0]}, kind="CHAIN")

    assert query_embedding(found, record(messages=(QUESTION,))) is None
