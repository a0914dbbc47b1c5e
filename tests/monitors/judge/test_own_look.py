"""Lanewatch's own look at a text: one-sided, so that a judge is contradicted only where the text is plain."""

import pytest
from lanewatch.monitors.judge.canaries.items import Kind, canaries_of, shipped
from lanewatch.monitors.judge.own_look import is_firm, states_something

ANSWERS = canaries_of("answer_relevancy", shipped())


@pytest.mark.parametrize("canary", [one for one in ANSWERS if one.kind is Kind.EVASIVE], ids=lambda one: one.id)
def test_no_evasive_anchor_is_taken_for_one_that_tells_something(canary) -> None:  # type: ignore[no-untyped-def]
    """In five languages: of these the judge is believed."""
    assert not states_something(canary.answer)
    assert not is_firm(canary.answer)


def test_most_anchors_that_tell_something_are_seen_to() -> None:
    """Else a judge that stopped judging would be believed."""
    telling = [one.answer or "" for one in ANSWERS if one.kind is not Kind.EVASIVE]

    assert sum(map(states_something, telling)) >= 0.9 * len(telling)
    assert sum(map(is_firm, telling)) >= 0.8 * len(telling)


@pytest.mark.parametrize(
    "answer",
    [
        "I don't know when, perhaps in 1932.",
        "Vielleicht 1932.",
        "It might be 40 euros.",
        "As [12] says, it is so.",
        "I cannot help with that request. Call 555-0100.",
        "Was it in 1932?",
        "",
    ],
)
def test_a_figure_in_a_guess_a_citation_a_question_or_a_refusal_is_no_commitment(answer: str) -> None:
    """A judge may rightly call these evasive."""
    assert not is_firm(answer)


def test_an_answer_without_an_end_is_looked_at_to_a_bound() -> None:
    """The look is part of each answer's check."""
    assert not states_something("a" * 1_000_000 + ". It is 5. " * 9)
