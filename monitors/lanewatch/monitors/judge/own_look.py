"""Lanewatch's own look at a text, held against a judge that finds nothing in it: deterministic, and sure only of what is plain.

A judge that says of every answer that it claims nothing, or evades, leaves no score, and with that no mean that could fall. What
is seen here in so few words as a figure, or in several sentences, can't be nothing: such a verdict is invalid, and no absence. The look is
one-sided: of a text without figures and of one or two sentences it says nothing, and the judge is believed. Of the 14 evasive anchors
none is taken for one that tells something, in any of five languages.
"""

import re

from lanewatch.adapters.dispositions.texts import judge as disposition_of
from lanewatch.adapters.records import Disposition
from lanewatch.monitors.judge.claims import claims

SEVERAL = 3  # sentences: evasions have one or two, and a judge that splits text finds statements in any that have more
MOST_CHARACTERS = 20_000  # that are looked at: the first sentences tell it
# A number, a date, a sum, a code; not the mark of a citation, which claims nothing.
_FIGURE = re.compile(r"(?<![\w\[(,-])[^\W\d_]{0,3}[-/]?\d")
_CITED = re.compile(r"\[\d{1,3}(?:\s*[,-]\s*\d{1,3})*\]")
# Words with which an answer with a figure may still be no commitment, in the languages of the anchors.
_HEDGE = re.compile(
    r"\b(?:perhaps|maybe|might|possibly|probably|depends?|unsure|unclear|unknown|not sure|not certain|guess"
    r"|(?:do not|don't|don\u2019t|can't|can\u2019t|cannot|could not|couldn't) (?:know|say|tell|find|confirm|help|assist|provide|share)"
    r"|vielleicht|eventuell|vermutlich|wei\u00df nicht|unklar|peut-\u00eatre|sans doute|ne sais pas|quiz\u00e1s?|tal vez|no s\u00e9)\b"
    r"|\u304b\u3082\u3057\u308c|\u308f\u304b\u308a\u307e\u305b\u3093|\u308f\u304b\u3089\u306a\u3044",
    re.IGNORECASE,
)
_WITHHELD = frozenset({Disposition.REFUSED, Disposition.ABSTAINED})


def states_something(text: str) -> bool:
    """Whether a text surely claims something: a sentence with a figure, or several sentences.

    >>> states_something("It was built in 1932."), states_something("Bridges are impressive. Each has a story.")
    (True, False)
    """
    found = claims(text[:MOST_CHARACTERS])
    return len(found) >= SEVERAL or any(_has_figure(claim.text) for claim in found)


def is_firm(text: str) -> bool:
    """Whether an answer surely commits itself: a sentence with a figure, and no hedge, refusal or abstention.

    >>> is_firm("It was built in 1932."), is_firm("I don't know when, perhaps in 1932."), is_firm("It depends. Much does. So it is.")
    (True, False, False)
    """
    looked = text[:MOST_CHARACTERS]
    if _HEDGE.search(looked) or not any(_has_figure(claim.text) for claim in claims(looked)):
        return False
    found = disposition_of(looked)
    return found is None or found.disposition not in _WITHHELD


def _has_figure(sentence: str) -> bool:
    return _FIGURE.search(_CITED.sub("", sentence)) is not None
