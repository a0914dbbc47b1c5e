"""Text as the signals compare it: one form for each quotation mark, dash, space and full-width character.

Every character becomes one character, after composition (NFC), so that positions in the result stay positions.
"""

import unicodedata
from collections.abc import Iterable

_DOUBLE = "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\u300e\u300f"
_SINGLE = "\u2018\u2019\u201a\u201b\u2032\u00b4\u2039\u203a"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63"
_SPACES = "\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u200a\u205f\u3000\t"
_NARROW = "\u202f\u2009"  # what groups digits in French and in SI, beside U+00A0

_FORMS = {
    **dict.fromkeys(map(ord, _SINGLE), "'"),
    **dict.fromkeys(map(ord, _DASHES), "-"),
    **dict.fromkeys(map(ord, _SPACES), " "),
    **dict.fromkeys(map(ord, _NARROW), "\u00a0"),
    # U+FF01 to U+FF5E are ASCII made as wide as an ideograph; their full stop, exclamation and question mark end sentences
    # as they do elsewhere.
    **{wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)},
}
_QUOTES = dict.fromkeys(map(ord, _DOUBLE), '"')


def plain_text(text: str) -> str:
    """The text with one form a character; double quotation marks keep theirs, which say where a quote begins."""
    return unicodedata.normalize("NFC", text).translate(_FORMS)


def one_quote(text: str) -> str:
    """The text with straight double quotation marks alone."""
    return text.translate(_QUOTES)


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with some of its spans turned to U+0000, which no pattern matches; every position stays."""
    letters = list(text)
    for start, end in spans:
        letters[start:end] = "\x00" * (end - start)
    return "".join(letters)


def word_set(listed: str) -> frozenset[str]:
    """The words of a list that is written as a text, which reads better than so many quotation marks."""
    return frozenset(listed.split())
