"""Words as the signals compare them: folded, without accents and possessives, and English ones without common endings."""

import re
import unicodedata
from functools import lru_cache

from lanewatch.monitors.judge.plain_text import word_set

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_ENDINGS = (
    ("ications", "ic"), ("ication", "ic"), ("ations", "at"), ("ation", "at"), ("ments", ""), ("ment", ""), ("ingly", ""),
    ("edly", ""), ("ness", ""), ("ings", ""), ("ing", ""), ("ies", "y"), ("ied", "y"), ("ers", ""), ("er", ""),
    ("sses", "ss"), ("ed", ""), ("es", ""), ("ly", ""), ("s", ""),
)  # fmt: skip
LONGEST_KEPT = 64  # characters of a word that is remembered: words are traced content, of which 8,192 are kept
_SHORT = 4  # what an ending leaves must be at least as long: "red" is no past tense

STOP_WORDS = word_set(
    "a an the and or but if then else of to in on at by for from with without as is are was were be been being am it its this"
    " that these those there here he she they them his her their we you your our i my me us who whom which what when where"
    " why how do does did done have has had having will would shall should can could may might must not no nor so than too very"
    " just also into onto over under about after before between during through per via up down out off again any all some each"
    " every both either neither such only own same other another more most less least much many few"
)
NEGATORS = word_set(
    "not no never none nobody nothing neither nor cannot without hardly n't isn't aren't wasn't weren't don't doesn't didn't"
    " won't wouldn't can't couldn't shouldn't hasn't haven't hadn't mustn't needn't"
)


def folded(word: str) -> str:
    """A word without case, accents and a possessive ending.

    >>> folded("Zo\u00eb's"), folded("STRASSE"), folded("Stra\u00dfe")
    ('zoe', 'strasse', 'strasse')
    """
    return _known_folded(word) if len(word) <= LONGEST_KEPT else _folded(word)


def _folded(word: str) -> str:
    letters = unicodedata.normalize("NFD", word.casefold())
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return bare.removesuffix("'s").removesuffix("'")


_known_folded = lru_cache(maxsize=8192)(_folded)


def words_of(text: str) -> list[str]:
    """The words of a plain text, folded, in order. "well-known" is two words."""
    return [part for found in _WORD.finditer(text) for part in folded(found.group()).split("-") if part]


def stem(word: str) -> str:
    """A word without one common English ending; crude, and the same for both sides of a comparison."""
    return _known_stem(word) if len(word) <= LONGEST_KEPT else _stem(word)


def _stem(word: str) -> str:
    for ending, put in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORT - len(put):
            bare = word[: -len(ending)] + put
            return bare[:-1] if len(bare) > _SHORT and bare[-1] == bare[-2] and bare[-1] not in "ls" else bare
    return word.removesuffix("e") if len(word) > _SHORT else word


_known_stem = lru_cache(maxsize=8192)(_stem)


def content_stems(text: str) -> list[str]:
    """Stems of the words that carry content, in order, with repetitions; negators are no content."""
    return [stem(word) for word in words_of(text) if word not in STOP_WORDS and word not in NEGATORS]
