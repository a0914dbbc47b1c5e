"""Words as the signals compare them: what is remembered of them is bounded."""

from lanewatch.monitors.judge.support import words
from lanewatch.monitors.judge.support.words import LONGEST_KEPT, content_stems, folded, stem


def test_a_long_word_is_folded_and_stemmed_as_a_short_one() -> None:
    """Only what is remembered depends on the length."""
    long = "\u00c9" * LONGEST_KEPT + "tings's"

    assert folded(long) == "e" * LONGEST_KEPT + "tings"
    assert stem(folded(long)) == "e" * LONGEST_KEPT + "t"


def test_long_words_are_not_kept() -> None:
    """Words are traced content: 8,192 of any length would be kept for the life of the process."""
    words._known_folded.cache_clear()
    words._known_stem.cache_clear()
    content_stems(f"short {'x' * (LONGEST_KEPT + 1)} {'y' * 1_000_000}")

    assert words._known_folded.cache_info().currsize == 1
    assert words._known_stem.cache_info().currsize == 1
