"""The names of an answer that no context names."""

import pytest
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason

from tests.monitors.judge.support.asking import ask, value


@pytest.mark.parametrize(
    ("answer", "context"),
    [
        ("It was founded by Marie Curie.", "Marie Curie founded it."),
        ("It was founded by Curie.", "Marie Curie founded it."),
        ("It was led by Anna Maria Schmidt.", "Schmidt, Dr. Anna Maria (director)"),
        ("It was set by the WHO.", "The World Health Organization set it."),
        ("It was set by the World Health Organization.", "WHO guideline of May"),
        ("It opens on Mondays.", "Open on Mon and Tue"),
        ("He met Zoë Müller's team.", "the team of Zoe Muller"),
        ("It opens at 9:00 AM ET.", "Open from 9am Eastern Time."),
        ("Write to Help@Acme.com.", "mail help@acme.com"),
        ("See https://www.acme.com/help/.", "see acme.com/help"),
        ("It is error E-4012 of `set_timeout`.", "e-4012 is raised by set_timeout"),
    ],
)
def test_a_name_in_another_form_is_the_same_name(answer: str, context: str) -> None:
    """Parts of a name, acronyms, days, accents, possessives and case make no other name."""
    assert value("entity_support", answer, context) == 1


@pytest.mark.parametrize(
    ("answer", "context"),
    [
        ("It was founded by Marie Curry.", "Marie Curie founded it."),
        ("It was founded in Lyon.", "It was founded in Paris."),
        ("It opens on Monday.", "It opens on Tuesday."),
        ("It is error E-4013.", "It is error E-4012."),
        ("Write to sales@acme.com.", "mail help@acme.com"),
        ("It calls `get_timeout`.", "it calls set_timeout"),
        ("It runs on Windows Server.", "It runs on Linux. The server has a window."),
    ],
)
def test_another_name_is_not_supported(answer: str, context: str) -> None:
    """A name must stand in one context whole."""
    assert value("entity_support", answer, context) == 0


@pytest.mark.parametrize(
    "answer", ["Refunds take long.", "The policy applies. I think so.", "**Refund Policy:** it is free."]
)
def test_a_capital_that_place_explains_is_no_name(answer: str) -> None:
    """The first word of a sentence, a label, and "I"."""
    result = ask("entity_support", answer, "nothing of the kind")

    assert (result.outcome, result.reason) == (EvaluationOutcome.NOT_APPLICABLE, Reason.NO_CLAIMS)


def test_a_name_of_the_question_is_no_claim_of_the_answer() -> None:
    """Whoever asks about Acme gave that name."""
    assert value("entity_support", "For Acme it is Ben.", "Ben does it.", question="Who does it for Acme?") == 1


@pytest.mark.parametrize(
    ("answer", "context"),
    [
        ("Die Erstattung ist in Berlin und nicht in Bonn.", "Die Erstattung ist in Berlin."),
        ("返金はカードに支払われます。", "返金はカードに"),
        ("It is paid in Munich by the bank.", "Die Zahlung ist in München und nicht in der Bank."),
    ],
)
def test_where_capitals_tell_no_names_the_signal_says_so(answer: str, context: str) -> None:
    """German nouns, scripts without capitals, and names that may have been translated."""
    result = ask("entity_support", answer, context)

    assert (result.outcome, result.reason) == (EvaluationOutcome.UNSUPPORTED, Reason.LANGUAGE)
