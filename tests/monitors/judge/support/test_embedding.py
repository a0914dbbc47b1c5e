"""The sentences of an answer that lie near none of a context."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from lanewatch.monitors.embedding import EmbedderUnavailableError, Vectors, local_embedder
from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result
from lanewatch.monitors.judge.samples import Sample
from lanewatch.monitors.judge.support.embedding import MOST_SENTENCES, EmbeddingEvaluator, nearest_in_words

METRIC = BY_NAME["embedding_support"]


class ByLetter:
    """Texts that begin alike lie together, others at a right angle."""

    name, dimensions = "by letter", 26

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A unit vector of the first letter."""
        self.embedded += texts
        return np.eye(26, dtype=np.float32)[[ord(text[0].lower()) - ord("a") for text in texts]]


def judged(evaluator: EmbeddingEvaluator, answer: str, *contexts: str) -> Result:
    """What it says of an answer."""
    return asyncio.run(evaluator.evaluate(METRIC, Sample("t", 0, "shop", 0, answer=answer, contexts=contexts)))


def test_a_sentence_near_one_of_a_context_is_supported() -> None:
    """One of two is; the short one is not checked, and lowers the coverage."""
    result = judged(
        EmbeddingEvaluator(ByLetter()), "Apples grow on trees. Bears sleep in winter. Yes.", "Apricots too are fruit."
    )

    assert result.value == 0.5
    assert result.coverage == pytest.approx(2 / 3)
    assert result.explanation == "1 of 2 in no context: Bears sleep in winter."


def test_what_was_embedded_before_is_not_embedded_again() -> None:
    """Contexts come again with the next question."""
    embedder = ByLetter()
    evaluator = EmbeddingEvaluator(embedder)
    for answer in ("Apples grow on trees.", "Bears sleep in winter."):
        judged(evaluator, answer, "Apricots too are fruit. Apples are as well.")

    assert sorted(embedder.embedded) == sorted(set(embedder.embedded))


def test_without_a_sentence_or_in_another_language_there_is_no_value() -> None:
    """The model knows English."""
    evaluator = EmbeddingEvaluator(ByLetter())
    german = judged(evaluator, "Die Erstattung wird nicht auf das Konto gezahlt.", "Die Erstattung ist da und gut.")

    assert judged(evaluator, "Yes.", "Apricots too are fruit.").reason is Reason.NO_CLAIMS
    assert (german.outcome, german.reason) == (EvaluationOutcome.UNSUPPORTED, Reason.LANGUAGE)


def test_of_long_contexts_the_sentences_that_share_words_are_compared() -> None:
    """Bounded by what one core does in half a second, and deterministic."""
    context = " ".join(f"Number {at} is about nothing." for at in range(200)) + " Apples grow on trees in spring."

    found = nearest_in_words("Apples grow on trees.", [context])

    assert len(found) == MOST_SENTENCES
    assert found[-1] == "Apples grow on trees in spring."


def test_the_local_model_tells_an_invented_sentence() -> None:
    """With the extra installed: a paraphrase is near, another subject is not."""
    try:
        evaluator = EmbeddingEvaluator(local_embedder())
    except EmbedderUnavailableError as error:
        pytest.skip(str(error))
    result = judged(
        evaluator,
        "Money is returned to the customer's card in five days. Penguins can't fly at all.",
        "Refunds reach the card within five business days.",
    )

    assert result.value == 0.5
