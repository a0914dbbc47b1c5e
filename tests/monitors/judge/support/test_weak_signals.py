"""The two signals that are advice: shared words, and negators."""

import pytest
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason
from lanewatch.monitors.judge.support.checked import ADVICE
from lanewatch.monitors.judge.support.negation import negated

from tests.monitors.judge.support.asking import ask, value

CONTEXT = "The warranty covers the battery for two years. It does not cover scratches on the screen."


def test_lexical_support_counts_sentences_whose_words_stand_together() -> None:
    """One sentence is about the context, the other about something else."""
    result = ask("lexical_support", "The battery is covered for two years. Penguins swim faster than ducks.", CONTEXT)

    assert result.value == 0.5
    assert result.coverage == 1
    assert result.flags == (ADVICE,)


def test_lexical_support_passes_a_contradiction_which_is_why_it_is_advice() -> None:
    """Every word is there; only what it says is turned round."""
    assert value("lexical_support", "The warranty does not cover the battery for two years.", CONTEXT) == 1


def test_negation_agreement_compares_a_sentence_with_its_counterpart_alone() -> None:
    """A flipped negation is told; a sentence that no context words alike is not checked."""
    flipped = ask("negation_agreement", "The warranty covers scratches on the screen. Ducks can't swim fast.", CONTEXT)
    kept = ask("negation_agreement", "The warranty doesn't cover scratches on the screen.", CONTEXT)

    assert (flipped.value, flipped.coverage, flipped.flags) == (0, 0.5, (ADVICE,))
    assert kept.value == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is not open.", True),
        ("It isn\u2019t open.", True),
        ("It cannot be opened without a key.", False),
        ("Not only is it open.", False),
        ("It opens no later than nine.", False),
        ("It is open.", False),
    ],
)
def test_an_odd_number_of_negators_negates(text: str, expected: bool) -> None:
    """Two of them undo each other; "not only" and "no later than" deny nothing."""
    from lanewatch.monitors.judge.plain_text import plain_text  # noqa: PLC0415

    assert negated(plain_text(text)) is expected


@pytest.mark.parametrize("metric", ["lexical_support", "negation_agreement"])
def test_another_language_than_english_is_unsupported(metric: str) -> None:
    """Stop words, stems and negators are English."""
    result = ask(metric, "Die Garantie gilt nicht für das Display.", "Die Garantie gilt für das Display und den Akku.")

    assert (result.outcome, result.reason) == (EvaluationOutcome.UNSUPPORTED, Reason.LANGUAGE)
