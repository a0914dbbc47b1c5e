"""Which language a text is in, as far as the support signals need to know: by its script and its function words.

None is an honest answer: a short text, or one of names and figures, has no function words. What a rule can't read it must
not judge, so each signal lists the languages it is written for.
"""

import re
from collections import Counter
from collections.abc import Iterable

from lanewatch.monitors.judge.plain_text import word_set

LENGTH = 4000  # characters that are looked at; the language of a text does not change after that
WORDS = 2  # function words that must be found: one may be a name ("Die", "Los")

_WORDS: dict[str, frozenset[str]] = {
    "en": word_set(
        "the and is are was were of to in that it for with this which from by as be been not has have at an on or its"
    ),
    "de": word_set(
        "der die das und ist sind war waren von zu im dem den ein eine einer nicht mit f\u00fcr auf wird werden bei nach am"
    ),
    "fr": word_set(
        "le la les et est sont dans des du une un pour que qui sur avec pas ne au aux ce cette par vous il elle en"
    ),
    "es": word_set(
        "el la los las y es son de del en una un para que con por no se su al como m\u00e1s est\u00e1 este esta lo"
    ),
    "it": word_set(
        "il lo la gli le e \u00e8 sono di del della nel una un per che con non si al come pi\u00f9 questo questa dei delle da"
    ),
    "pt": word_set(
        "o a os as e \u00e9 s\u00e3o de do da no na um uma para que com n\u00e3o se ao por mais este esta dos das em"
    ),
    "nl": word_set(
        "de het een en is zijn was van te in dat die voor met niet op aan door ook worden wordt bij naar uit er"
    ),
}
_WORD = re.compile(r"[^\W\d_]+")
# A kana decides for Japanese; Han without kana is taken for Chinese.
_SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),  # Cyrillic, whichever language
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("hi", re.compile(r"[\u0900-\u0dff]")),  # the scripts of India, whichever
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
)
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
UNCASED = frozenset({"ja", "ko", "zh", "ar", "he", "hi", "th"})  # scripts without capitals


def language_of(text: str) -> str | None:
    """A two-letter code, or None where it can't be told.

    >>> language_of("The refund is paid within five days."), language_of("42 EUR")
    ('en', None)
    """
    head = text[:LENGTH]
    n_latin = len(_LATIN.findall(head))
    for code, script in _SCRIPTS:
        # An ideograph stands for a word, a letter for a fifth of one.
        n_found = len(script.findall(head))
        if n_found and n_found * (5 if code in {"ja", "zh"} else 1) > n_latin:
            return code
    words = Counter(_WORD.findall(head.casefold()))
    counts = {code: sum(words[word] for word in known) for code, known in _WORDS.items()}
    best, second = sorted(counts, key=lambda code: counts[code], reverse=True)[:2]
    if counts[best] < WORDS or counts[best] == counts[second]:
        return None
    return best


def in_another_language(answer: str, contexts: Iterable[str]) -> bool:
    """Whether the answer's language can be told, and so can every context's, and none has the answer's."""
    mine = language_of(answer)
    its = {language_of(context) for context in contexts}
    return mine is not None and bool(its) and not its & {mine, None}
