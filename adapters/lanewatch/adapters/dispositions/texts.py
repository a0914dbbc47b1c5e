"""What an answer's words tell: the weakest source, a guess that says which rule made it.

- No match is no answer: `judge` gives None, and the disposition stays undetermined. Lists of phrases that found all
  of the texts they were written for found none of others' (docs/decisions/0009), so silence proves nothing.
- A wrong alarm costs more trust than a missed sentence: what quotes, asks back, helps after all, or tells of a fault is
  left alone.
- The work is bounded: an excerpt, a few sentences of it, and of these only such as have a stem of the language.
"""

import re
from typing import NamedTuple

from lanewatch.adapters.dispositions import chinese, english, french, german, japanese, spanish
from lanewatch.adapters.dispositions.rules import Language
from lanewatch.adapters.records import Disposition

LENGTH = 1000  # characters; a longer answer that opens with a refusal usually goes on to help
EXCERPT = 600  # characters from the start that are looked at
TAIL = 200  # characters from the end that a report must not be taken back in
SENTENCES = 4
REST = 80  # characters that may follow an abstention in a language whose offers are not known
WORD = 12  # characters; a shorter sentence is a word of courtesy
SENTENCE = 300  # characters of one sentence

LATIN = (english.LANGUAGE, german.LANGUAGE, french.LANGUAGE, spanish.LANGUAGE)
CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
KANA = re.compile(r"[\u3040-\u30ff]")
FOLDED = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00a0": " ", "\u202f": " ", "*": None, "_": None}
)
QUOTED = re.compile(
    r'"[^"]{0,300}"|\u201c[^\u201d]{0,300}\u201d|\u201e[^\u201c\u201d"]{0,300}[\u201c\u201d"]|\u00ab[^\u00bb]{0,300}\u00bb'
    r"|\u300c[^\u300d]{0,300}\u300d|`[^`]{0,300}`"
)
END = re.compile(r"[.!?;](?=\s|$)|[\u3002\uff01\uff1f\n]+")
QUESTION = re.compile(r"[?\uff1f\uff1b]\W*$")
NUMBER = re.compile(r"\d")  # after what was refused: a fact that is given all the same
# A question that offers something else asks for nothing that is lacking.
REDIRECT = re.compile(r"\b(?:else|instead|how about|would you like|want (?:me|a|to)|shall we|rather)\b")
# What is written for somebody to send, or retells what somebody wrote, is no answer of the model's own.
RETOLD = re.compile(
    r"^\W*(?:subject|draft|translation|summary|template|dear|hi \w+|reply|re|from|to|quote)\b[^.\n]{0,30}[:,]|\b(?:template|letter|draft|reply"
    r"|email|e-mail|message|note) (?:now )?(?:reads|says|states|said)\b"
)


class Found(NamedTuple):
    """What a rule says of an answer, and the rule's id."""

    disposition: Disposition
    rule: str


def judge(text: str | None) -> Found | None:
    """What an answer's words tell, or None: no match is no answer."""
    if not text:
        return None
    head = text[:EXCERPT].partition("```")[0].lower().translate(FOLDED)
    languages = _languages(head)
    stemmed = [one for one in languages if _has_stem(head, one)] if len(text) <= LENGTH else []
    word = next(iter(head.split(None, 1)), "").strip(".,:;!")
    reporting = [one for one in languages if not one.openings or word in one.openings]
    if not stemmed and not reporting:
        return None  # most answers end here
    sentences = _sentences(head)
    for language in stemmed:
        found, settled = _negative(head, sentences, language)
        if settled:
            return found
    tail = text[EXCERPT:][-TAIL:].lower()
    return next((f for f in (_report(head, tail, sentences, one) for one in reporting) if f), None)


def _languages(head: str) -> tuple[Language, ...]:
    if head.isascii() or not CJK.search(head):
        return LATIN
    return (japanese.LANGUAGE,) if KANA.search(head) else (chinese.LANGUAGE,)


def _has_stem(text: str, language: Language) -> bool:
    for stem in language.stems:  # noqa: SIM110 - a generator takes three times as long
        if stem in text:
            return True
    return False


def _negative(head: str, sentences: list[str], language: Language) -> tuple[Found | None, bool]:
    """A refusal or abstention, and whether a rule held at all: one that the rest takes back settles it too."""
    if RETOLD.search(head):
        return None, False
    for place, sentence in enumerate(sentences[:SENTENCES]):
        if not _has_stem(sentence, language):
            continue
        rule = next((rule for rule in language.rules if rule.holds(sentence)), None)
        if rule is None:
            continue
        rest = " ".join(sentences[place + 1 :])
        asks = QUESTION.search(head) and not REDIRECT.search(head)
        abstains = rule.disposition is Disposition.ABSTAINED
        if abstains and _tells(sentences[place + 1 :], language):
            return None, True
        if asks or language.goes_on.search(f"{sentence} {rest}") or NUMBER.search(rest):
            return None, True
        return Found(rule.disposition, rule.id), True
    return None, False


def _tells(rest: list[str], language: Language) -> bool:
    """Whether an answer tells something beside what it can't: a part of the question is answered then."""
    if language.soft is None:
        return sum(map(len, rest)) > REST
    return any(language.soft.search(sentence) is None for sentence in rest if len(sentence) > WORD)


def _report(head: str, tail: str, sentences: list[str], language: Language) -> Found | None:
    """An answer that says what was done, or hands over what was asked for, and takes nothing of it back."""
    first = sentences[0] if sentences else ""
    rule = next((rule for rule in language.reports if rule.holds(first)), None)
    if rule is None or QUESTION.search(head) or language.doubt.search(f"{head} {tail}"):
        return None
    return Found(rule.disposition, rule.id)


def _sentences(head: str) -> list[str]:
    """Its sentences, without quotations and list marks."""
    plain = QUOTED.sub('""', head)
    return [cut for part in END.split(plain) if (cut := part.strip(" \t\r\n-#>\u2026")[:SENTENCE])]
