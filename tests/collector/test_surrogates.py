"""Halves of surrogate pairs: whatever JSON escapes, what is decoded can be written as UTF-8."""

import json

from hypothesis import given
from hypothesis import strategies as st
from lanewatch.collector.surrogates import repaired, repaired_text

PIECES = ("\\\\", "\\ud83d", "\\ude42", "\\uD83D\\uDE42", "a", '\\"', "\\u00e9", "ud83d", "\\udc00", "\\n", "é")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=9).map(lambda pieces: '"' + "".join(pieces) + '"')


@given(TEXTS)
def test_what_is_decoded_can_be_written(text: str) -> None:
    """And where it could be before, nothing has changed."""
    before, after = json.loads(text), json.loads(repaired_text(text))

    assert after.encode().decode() == after
    assert after == before or before != before.encode("utf-8", "ignore").decode()


@given(TEXTS)
def test_bytes_are_repaired_as_text_is(text: str) -> None:
    """One rule for documents and for what stands in them."""
    assert repaired(text.encode()).decode() == repaired_text(text)


@given(TEXTS)
def test_each_half_becomes_one_replacement_character(text: str) -> None:
    """Whole pairs and everything else stay where they were."""
    expected = json.loads(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    assert json.loads(repaired_text(text)).replace("\ufffd", "") == expected.replace("\ufffd", "")


def test_a_long_run_of_backslashes_takes_no_time() -> None:
    """A pattern that goes back and forth over it would hang here."""
    text = "\\" * 400_000 + "\\ud"

    assert repaired_text(text) == text
