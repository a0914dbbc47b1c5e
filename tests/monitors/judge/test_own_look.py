"""Lanewatch's own look at a text: one-sided, so that a judge is contradicted only where the text is plain."""

import pytest
from lanewatch.monitors.judge.answers import checked
from lanewatch.monitors.judge.canaries.items import Canary, Kind, canaries_of, shipped
from lanewatch.monitors.judge.failures import InvalidAnswer
from lanewatch.monitors.judge.own_look import states_something
from pydantic import BaseModel

ANSWERS = canaries_of("answer_relevancy", shipped())
TELLING = [one.answer or "" for one in ANSWERS if one.kind is not Kind.EVASIVE]
# With figures, and yet a sound judge may find an evasion in each, or nothing that is claimed.
FIGURES = [
    "I am an AI model whose knowledge ends in 2023.",
    "Please contact our support at 1-800-555-0199.",
    "Your ticket #48213 has been created, an agent will reply.",
    "Error 500: please try again.",
]


class AnswerRelevanceOutput(BaseModel):
    """As Ragas has it."""

    question: str
    noncommittal: int


class StatementGeneratorOutput(BaseModel):
    """As Ragas has it."""

    statements: list[str]


@pytest.mark.parametrize("canary", [one for one in ANSWERS if one.kind is Kind.EVASIVE], ids=lambda one: one.id)
def test_no_evasive_anchor_is_taken_for_one_that_tells_something(canary: Canary) -> None:
    """In five languages: of these the judge is believed."""
    assert not states_something(canary.answer or "")


@pytest.mark.parametrize("count", [3, 5])
def test_several_sentences_of_anchors_are_seen_to_tell_something(count: int) -> None:
    """In five languages. Else a judge that stopped judging would be believed."""
    texts = [" ".join(TELLING[at : at + count]) for at in range(len(TELLING) - count)]

    assert sum(map(states_something, texts)) >= 0.95 * len(texts)


@pytest.mark.parametrize("answer", FIGURES)
def test_a_judge_that_finds_an_evasion_or_nothing_in_a_text_with_a_figure_is_believed(answer: str) -> None:
    """A sound verdict that is refused is a score that is missing."""
    evasive = checked(AnswerRelevanceOutput, {"question": "What is it?", "noncommittal": 1}, {"response": answer})
    nothing = checked(StatementGeneratorOutput, {"statements": []}, {"answer": answer})

    assert evasive.noncommittal == 1
    assert nothing.statements == []


@pytest.mark.parametrize(
    "text",
    [
        "Could you please give me your order number? Then I can look. Thanks!",
        "Hello! Good to see you. Bye for now!",
        "I can't help with that request. The rules that I follow do not allow it. Please ask somebody else about it.",
        "",
    ],
)
def test_questions_courtesies_and_refusals_tell_nothing(text: str) -> None:
    """However many sentences they have."""
    assert not states_something(text)


def test_no_statements_of_a_text_of_several_sentences_are_no_answer() -> None:
    """Faithfulness of it would be an absence that nobody counts."""
    with pytest.raises(InvalidAnswer):
        checked(StatementGeneratorOutput, {"statements": []}, {"answer": " ".join(TELLING[:3])})


def test_an_answer_without_an_end_is_looked_at_to_a_bound() -> None:
    """The look is part of each answer's check."""
    assert not states_something("a" * 1_000_000 + ". It is five and not six, as told. " * 9)
