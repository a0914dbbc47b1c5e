"""What an answer claims, sentence by sentence."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.judge.claims import MAX_CLAIMS, claims, sentences
from lanewatch.monitors.judge.plain_text import plain_text


def told(text: str) -> list[str]:
    """The texts of an answer's claims."""
    return [claim.text for claim in claims(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Ito paid 3.5 EUR. It was late.", ["Dr. Ito paid 3.5 EUR.", "It was late."]),
        ("It is e.g. Friday, i.e. No. 5. So be it.", ["It is e.g. Friday, i.e. No. 5.", "So be it."]),
        ("He lives in the U.S. He is well.", ["He lives in the U.S.", "He is well."]),
        ("It flew at 11,000 m. All left.", ["It flew at 11,000 m.", "All left."]),
        ("Hier wohnt M. Dupont. Voici.", ["Hier wohnt M. Dupont.", "Voici."]),
        ("J. K. Rowling wrote it. It sold.", ["J. K. Rowling wrote it.", "It sold."]),
        ("That was in 1999. Then came 2000.", ["That was in 1999.", "Then came 2000."]),
        ("See example.com/a.b for v1.2.3. Done.", ["See example.com/a.b for v1.2.3.", "Done."]),
        ("Am 3. Oktober wurde z. B. gefeiert. Es regnete.", ["Am 3. Oktober wurde z. B. gefeiert.", "Es regnete."]),
        ('He said "Go." Then he left.', ['He said "Go."', "Then he left."]),
        ("Yahoo! is old. Wait... what? Yes!", ["Yahoo! is old.", "Yes!"]),
        ("It is free; it needs no key.", ["It is free", "it needs no key."]),
        ("東京は首都です。人口は多い！大きい。", ["東京は首都です。", "人口は多い!", "大きい。"]),  # noqa: RUF001
        ("यह सही है। वह गलत है।", ["यह सही है।", "वह गलत है।"]),
        ("It sold well.[1] It was read [2, 3]. Good.", ["It sold well.[1]", "It was read [2, 3].", "Good."]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    """Abbreviations, initials, decimals, dates and names with a full stop end nothing."""
    assert told(text) == expected


def test_list_items_rows_and_hard_wrapped_lines_are_one_claim_each() -> None:
    """A line ends no sentence, a list item and a row of a table do; the row that names the columns claims nothing."""
    text = "Steps:\n\n1. Open the app\n2. Tap it\n   twice.\n\n| name | price |\n|---|---:|\n| plan | 5 EUR |\n\nA wrapped\nline. - no item"

    assert told(text) == ["Open the app", "Tap it\n   twice.", "| plan | 5 EUR |", "A wrapped\nline.", "no item"]


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "Is that right?", "# Refunds", "**Refunds**", "Here are the steps:", "```py\nx = 1\n```", "---", "1.",
        "Great question!", "Let me know if you need anything else!", "Sure, here is the summary of the document.",
    ],
)  # fmt: skip
def test_what_claims_nothing_is_no_claim(text: str) -> None:
    """Questions, headings, lead-ins, code and courtesies have nothing that a context could hold."""
    assert told(text) == []


def test_an_answer_beyond_the_limit_loses_no_text() -> None:
    """What follows the last claim that is split is part of it."""
    found = claims("It is so. " * (2 * MAX_CLAIMS))

    assert len(found) == MAX_CLAIMS
    assert found[-1].text.count("It is so.") == MAX_CLAIMS + 1


@given(st.text(alphabet=st.sampled_from("ab1 .!?;:\n-*#|。！「」\"'()[]Ä"), max_size=200))  # noqa: RUF001
def test_claims_are_in_order_apart_and_where_they_say(text: str) -> None:
    """Positions are of the plain text; nothing is claimed twice."""
    plain = plain_text(text)
    found = sentences(text)

    assert all(plain[one.start : one.end] == one.text for one in found if "`" not in text)
    assert all(first.end <= second.start for first, second in pairwise(found))


@given(st.text(alphabet=st.sampled_from("ab1 .\n-*。"), max_size=200))
def test_no_letter_is_in_no_sentence(text: str) -> None:
    """Splitting loses marks and space, never a letter (digits may be the numbers of a list)."""
    kept = "".join(one.text for one in sentences(text))

    assert [letter for letter in kept if letter in "ab"] == [letter for letter in text if letter in "ab"]
