"""The quotations of an answer that stand in no context."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason

from tests.monitors.judge.support.asking import ask, value

SOURCE = "Refunds take five business\ndays. The customer doesn\u2019t pay\u2014ever. They are sent to the card that was used."


@pytest.mark.parametrize(
    "answer",
    [
        'It says "refunds take five business days".',
        "It says \u201cRefunds take five  business days.\u201d",
        "It says \u00abThe customer doesn't pay-ever\u00bb.",
        'It says "They are sent ... that was used."',
        'It says "Refunds take [...] days".',
        'It says "[Refunds] are sent to the card".',
        'It says "The [buyer] doesn\'t pay".',
        "It says:\n> Refunds take five business days.\n> The customer doesn't pay",
    ],
)
def test_typography_ellipses_and_marked_changes_leave_a_quotation_true(answer: str) -> None:
    """White space, quotation marks, dashes, the first letter's case and the last mark may differ."""
    assert value("quote_support", answer, SOURCE) == 1


def test_ideographs_are_counted_by_letters_and_have_no_word_ends() -> None:
    """A quotation may begin and end inside what has no spaces."""
    assert value("quote_support", "「五日かかります」とある。", "返金は五日かかりますが、早い。") == 1
    assert value("quote_support", "「六日かかります」とある。", "返金は五日かかりますが、早い。") == 0


@pytest.mark.parametrize(
    "answer",
    [
        'It says "refunds take six business days".',
        'It says "refunds take five days".',
        'It says "days ... refunds take five".',
        'It says "the customer does not pay".',
        'It says "They are sent to the car".',
        'It says "efunds take five business days".',
        'It says "refunds take FIVE business days".',
    ],
)
def test_a_word_more_less_or_other_makes_a_quotation_false(answer: str) -> None:
    """A quotation is exact or it is none; words are whole and in order."""
    assert value("quote_support", answer, SOURCE) == 0


@pytest.mark.parametrize(
    "answer", ["It is free.", 'The "fast lane" is free.', "It's the user's 5\" screen, isn't it \"so\"?"]
)
def test_without_a_quotation_there_is_no_value(answer: str) -> None:
    """Neither 1 nor 0: a term in quotation marks, apostrophes and inches are no quotations."""
    result = ask("quote_support", answer, SOURCE)

    assert (result.outcome, result.reason) == (EvaluationOutcome.NOT_APPLICABLE, Reason.NO_QUOTES)


def test_a_translated_quotation_is_not_called_false() -> None:
    """It can't be exact, and may be right."""
    result = ask(
        "quote_support",
        'It says "the refund takes five days" and that is it.',
        "Die Erstattung ist in fünf Tagen und nicht",
    )

    assert (result.outcome, result.reason) == (EvaluationOutcome.UNSUPPORTED, Reason.LANGUAGE)


def test_a_quotation_of_the_question_is_no_claim_of_the_answer() -> None:
    """What the user said may be repeated."""
    answer = 'You wrote "my parcel never came". The policy says "refunds take five business days".'
    result = ask("quote_support", answer, SOURCE, question="My parcel never came, what now?")

    assert result.value == 1


@given(st.integers(0, 14), st.integers(3, 8))
def test_every_run_of_a_contexts_words_is_a_true_quotation(begin: int, length: int) -> None:
    """Wherever it begins and ends."""
    words = SOURCE.split()
    quoted = " ".join(words[begin : begin + length])

    assert value("quote_support", f'It says "{quoted}" there.', SOURCE) in (
        {1.0} if begin + 3 <= len(words) else {1.0, None}
    )
