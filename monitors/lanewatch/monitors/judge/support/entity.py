"""Entity support: the share of the answer's named things that some context names.

Found: a name, code or address that no context has. Not found: one that stands in a context in another role ("Ada hired Ben" for
"Ben hired Ada"), and a single name at the head of a sentence, which may be any noun there. What the question named is no
claim of the answer. Capitals mean nothing in German and in scripts without them: there the signal is unsupported.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence

from lanewatch.monitors.judge.claims import Claim, sentences
from lanewatch.monitors.judge.languages import UNCASED, in_another_language, language_of
from lanewatch.monitors.judge.plain_text import plain_text
from lanewatch.monitors.judge.support.checked import Item, Unread
from lanewatch.monitors.judge.support.names import DAYS, Name, address_form, names
from lanewatch.monitors.judge.support.words import words_of

CAPITAL_NOUNS = frozenset({"de"})
SHORT = 2  # letters of the shortest acronym
NEAR = 3  # words that may stand between two words of a name: "Schmidt, Dr. Anna Maria"


def entity_items(answer: str, contexts: Sequence[str], question: str | None, told: Sequence[Claim]) -> list[Item]:
    """The names of the answer's claims, each with whether some context has it.

    Raises Unread for a language without telling capitals, and where answer and contexts are in two languages: names are
    translated too ("Munich", "M\u00fcnchen").
    """
    plain = plain_text(answer)
    if language_of(plain) in UNCASED | CAPITAL_NOUNS or in_another_language(plain, contexts):
        raise Unread
    there = [_Looked(context) for context in contexts]
    asked = _Looked(question or "")
    items = []
    for name in names(plain, told):
        supported = any(context.has(name) for context in there)
        if supported or not asked.has(name):
            items.append(Item(name.text, name.start, name.end, supported))
    return items


class _Looked:
    """A text in which names are looked for."""

    def __init__(self, text: str) -> None:
        plain = plain_text(text)
        self._folded = plain.casefold()
        self._places: dict[str, list[int]] = {}
        for at, word in enumerate(part for one in words_of(plain) for part in one.split("'")):
            self._places.setdefault(_day(word), []).append(at)
        self._acronyms = _acronyms(plain)

    def has(self, name: Name) -> bool:
        """Whether the text names it: all its words together, or its acronym, or what its acronym stands for."""
        if name.exact:
            return name.words[0] in self._folded or address_form(name.words[0]) in self._folded
        if self._together(name.words):
            return True
        if len(name.words) == 1:
            return len(name.words[0]) >= SHORT and name.text.isupper() and name.words[0] in self._acronyms
        return "".join(word[0] for word in name.words) in self._places and len(name.words) > SHORT

    def _together(self, words: tuple[str, ...]) -> bool:
        parts = [_day(part) for word in words for part in re.split("[-']", word) if part]
        reach = len(parts) + NEAR
        for begin in self._places.get(parts[0], ()):
            if all(_near(self._places.get(part, ()), begin, reach) for part in parts[1:]):
                return True
        return False


def _near(places: Sequence[int], begin: int, reach: int) -> bool:
    """Whether one of the sorted places is at most so far away."""
    at = bisect_left(places, begin - reach)
    return at < len(places) and places[at] <= begin + reach


def _day(word: str) -> str:
    return DAYS.get(word, word)


def _acronyms(plain: str) -> frozenset[str]:
    """The initials of each run of capitalised words: "who" of "World Health Organization"."""
    return frozenset(
        "".join(word[0] for word in name.words) for name in names(plain, sentences(plain)) if len(name.words) > 1
    )
