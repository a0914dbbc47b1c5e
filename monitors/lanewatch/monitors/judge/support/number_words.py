"""Numbers written as words: all that English composes below a thousand, and two to twelve in six more languages.

"One" is a pronoun more often than a count ("one of them"), and other small ones count what a text lists: what they are worth is
for `number.py` to say.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ENGLISH = {word: at for at, word in enumerate(_SMALL.split())} | {
    word: 20 + 10 * at for at, word in enumerate(_TENS.split())
}
_OTHERS: dict[str, tuple[str, ...]] = {
    "de": ("zwei", "drei", "vier", "f\u00fcnf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zw\u00f6lf"),
    "fr": ("deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze"),
    "es": ("dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce"),
    "it": ("due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove", "dieci", "undici", "dodici"),
    "pt": ("dois", "tr\u00eas", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez", "onze", "doze"),
    "nl": ("twee", "drie", "vier", "vijf", "zes", "zeven", "acht", "negen", "tien", "elf", "twaalf"),
}
_VERBS = {"it": {"sei"}}  # "you are" before it is six
_ANY = "|".join(sorted(_ENGLISH, key=len, reverse=True))
_COMPOSED = re.compile(
    rf"(?<![\w-])(?:(?P<hundreds>{_ANY}|a) hundred(?: and)?(?: (?P<rest>(?:{_ANY})(?:-(?:{_ANY}))?))?"
    rf"|(?P<tens>{'|'.join(_TENS.split())})[- ](?P<ones>{'|'.join(_SMALL.split()[1:10])})|(?P<word>{_ANY}))(?!\w)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")


def word_numbers(text: str, language: str | None) -> Iterator[tuple[int, int, Decimal]]:
    """(start, end, value) of each number in words. A text of a language that is not known is read as English.

    >>> [str(value) for _, _, value in word_numbers("twenty-five of two hundred and six", "en")]
    ['25', '206']
    """
    if language in {"en", None}:
        yield from ((match.start(), match.end(), Decimal(_composed(match))) for match in _COMPOSED.finditer(text))
        return
    known = {word: at for at, word in enumerate(_OTHERS.get(language, ()), 2)}
    for match in _WORD.finditer(text):
        word = match.group().casefold()
        if word in known and word not in _VERBS.get(language, ()):
            yield match.start(), match.end(), Decimal(known[word])


def _composed(match: re.Match[str]) -> int:
    hundreds, rest, tens, ones, word = match.group("hundreds", "rest", "tens", "ones", "word")
    if hundreds:
        return 100 * _ENGLISH.get(hundreds.casefold(), 1) + sum(_ENGLISH[one] for one in _parts(rest))
    if tens:
        return _ENGLISH[tens.casefold()] + _ENGLISH[ones.casefold()]
    return _ENGLISH[word.casefold()]


def _parts(rest: str | None) -> list[str]:
    return rest.casefold().split("-") if rest else []
