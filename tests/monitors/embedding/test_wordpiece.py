"""Tokens are those of BERT's own tokenizer: the numbers here come from the reference implementation (tokenizers 0.23)."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.embedding import wordpiece
from lanewatch.monitors.embedding.wordpiece import END, START, tokens, vocabulary

# fmt: off
REFERENCE = [
    ("How do I rotate a key?", [101, 2129, 2079, 1045, 24357, 1037, 3145, 1029, 102]),
    ("don't pay $10^3 + `code` | <b>", [101, 2123, 1005, 1056, 3477, 1002, 2184, 1034, 1017, 1009, 1036, 3642, 1036, 1064, 1026, 1038, 1028, 102]),
    ("naïve Straße İstanbul", [101, 15743, 2358, 27807, 9960, 102]),
    ("\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3", [101, 1169, 29722, 29735, 29733, 29733, 29723, 29735, 29733, 102]),
    ("東京は日本の首都です。", [101, 1879, 1755, 1672, 1864, 1876, 1671, 100, 1961, 1665, 30184, 1636, 102]),
    ("안녕하세요", [101, 1463, 30006, 30021, 29992, 30010, 30025, 30005, 30006, 29997, 30009, 29999, 30013, 102]),
    ("नमस्ते दुनिया", [101, 1327, 29867, 29874, 29859, 1325, 29863, 29877, 29868, 29876, 102]),
    ("a\u200bb\x00c\xadd\ufffd", [101, 5925, 2094, 102]),
    ("😀 ok", [101, 100, 7929, 102]),
    ("…\u201cquotes\u201d\u2014dash", [101, 1529, 1523, 16614, 1524, 1517, 11454, 102]),
    ("x" * 101, [101, 100, 102]),
    ("", [101, 102]),
    ("  \t\n", [101, 102]),
]
# fmt: on


@pytest.mark.parametrize(("text", "numbers"), REFERENCE, ids=range(len(REFERENCE)))
def test_a_text_has_the_reference_implementations_tokens(text: str, numbers: list[int]) -> None:
    """Other numbers are another text to the model, and its vector a vector of nothing."""
    assert tokens(text, 256) == numbers


def test_the_names_of_special_tokens_in_a_text_are_text() -> None:
    """Whoever writes [SEP] into a question must not end it."""
    assert tokens("[CLS] [SEP]", 256)[1:-1].count(END) == 0
    assert START not in tokens("[CLS] [SEP]", 256)[1:]


def test_the_vocabulary_is_whole() -> None:
    """A line that is lost or doubled moves the number of every later token."""
    assert len(vocabulary()) == 30_522
    assert vocabulary()["[CLS]"] == START
    assert vocabulary()["##～"] == 30_521  # noqa: RUF001 - it is the last one


@given(st.text(max_size=300), st.integers(2, 40))
def test_no_text_gives_more_tokens_than_asked_for(text: str, most: int) -> None:
    """What a run of the model costs is bounded, and every text has a start and an end."""
    found = tokens(text, most)

    assert found[0] == START
    assert found[-1] == END
    assert len(found) <= most
    assert all(0 <= number < 30_522 for number in found)


def test_the_example_is_true() -> None:
    """A docstring that lies is worse than none."""
    assert doctest.testmod(wordpiece).failed == 0
