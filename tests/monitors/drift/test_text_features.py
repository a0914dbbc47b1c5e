"""Surface features of a question: what each reads, on any text."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.drift.text_features import (
    TEXT_FEATURES,
    TextFitting,
    feature_columns,
    fitted_features,
    read_text,
)


def features(question: str) -> dict[str, float]:
    """The features that need no model, by name."""
    return dict(zip((name for name, _, fitted in TEXT_FEATURES if not fitted), read_text(question).plain, strict=True))


@pytest.mark.parametrize(
    ("question", "feature", "value"),
    [
        ("How do I pay 42?", "words", 5),
        ("ab12", "digit_share", 0.5),
        ("é1", "non_ascii_share", 0.5),
        ("日本ab", "cjk_share", 0.5),
        ("ABcd", "upper_share", 0.5),
        ("really??", "question_marks", 2),
        ("ab abcd", "word_length", 3),
    ],
)
def test_a_feature_reads_what_it_says(question: str, feature: str, value: float) -> None:
    """Shares of characters, counts, and means."""
    assert features(question)[feature] == pytest.approx(value)


@given(st.text())
def test_any_text_can_be_read(question: str) -> None:
    """Shares within 0 and 1 or NaN; never an error."""
    read = features(question)

    assert all(math.isnan(read[name]) or 0 <= read[name] <= 1 for name in read if name.endswith("_share"))
    assert all(place < 4096 for place in read_text(question).trigrams)


def test_unknown_words_and_odd_letters_stand_out() -> None:
    """After a hundred questions, their own words are known and others are not."""
    fitting = TextFitting()
    for k in range(100):
        fitting.add(read_text(f"please refund order number {k} to the customer"))
    model = fitting.model()
    known = fitted_features(read_text("refund the customer"), model.words, model.surprisals())
    other = fitted_features(read_text("zygote xylem quagga"), model.words, model.surprisals())

    assert known[0] == 0
    assert other[0] == 1
    assert other[1] > known[1]
    assert math.isnan(fitted_features(read_text(""), model.words, model.surprisals())[0])


def test_a_model_holds_no_text() -> None:
    """Bits and counts only."""
    fitting = TextFitting()
    fitting.add(read_text("my secret number is 4711"))
    model = fitting.model()

    assert b"secret" not in model.words
    assert sum(byte.bit_count() for byte in model.words) == 5


@given(st.lists(st.text(max_size=30) | st.text("ab1A?é東 \n", max_size=9), min_size=1, max_size=9))
def test_questions_that_are_read_together_are_read_as_one_by_one(questions: list[str]) -> None:
    """To the last digit: a question must not change its bin by being read with others."""
    fitting = TextFitting()
    fitting.add(read_text("How do I rotate a key?"))
    model = fitting.model()
    surprisals = model.surprisals()
    together = feature_columns(questions, model.words, surprisals)

    for k, question in enumerate(questions):
        read = read_text(question)
        alone = (*read.plain, *fitted_features(read, model.words, surprisals))
        assert np.array_equal([column[k] for column in together], alone, equal_nan=True)
