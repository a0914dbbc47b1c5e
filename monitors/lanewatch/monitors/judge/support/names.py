"""The named things of a text: capitalised spans, codes and identifiers, addresses of mail and web.

A capital tells a name only in scripts that have them, and not in German, where every noun has one. The first word of a
sentence has one by position: it counts where the same word has a capital elsewhere, where a capitalised word follows, or a
possessive ending.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from lanewatch.monitors.judge.claims import Claim
from lanewatch.monitors.judge.plain_text import blanked, word_set
from lanewatch.monitors.judge.support.dates import MONTHS, dates, times
from lanewatch.monitors.judge.support.words import STOP_WORDS, folded

_ADDRESS = re.compile(
    r"https?://[^\s<>\"')\]]+|www\.[^\s<>\"')\]]+|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}|(?<![\w@.-])(?:[a-z0-9-]{1,63}\.){1,8}"
    r"(?:com|org|net|io|dev|gov|edu|info|de|fr|es|it|nl|uk|eu|co|ai|app)(?:/[^\s<>\"')\]]*)?(?![\w.])",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"(?<![\w.])(?:(?=[\w./#-]{0,80}\d)[A-Za-z][A-Za-z0-9]*(?:[-_./#][A-Za-z0-9]+)*"  # AB-1234, v2.3.1, GPT4
    r"|\d+(?:\.\d+){2,}"  # 10.0.0.1
    r"|\d+[-/]?[A-Za-z]+\d[\w-]*"  # 12ab34
    r"|[a-z][a-z0-9]*(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,}"  # snake_case, camelCase, CamelCase
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?![\w])"
)
_TICKS = re.compile(r"`([^`\n]{2,60})`")
_CAPITAL = r"[^\W\d_a-z\u00df-\u00f6\u00f8-\u00ff][^\W\d_]*(?:['-][^\W\d_]+)*"
_JOINT = r"(?:of|the|de|del|della|di|da|do|dos|van|von|der|den|la|le|du|des|el|y|al|bin|ibn|&|for|of the|de la)"
_SPAN = re.compile(rf"(?<!\w)(?<!\w[']){_CAPITAL}\.?(?:[ \u00a0](?:{_JOINT}[ \u00a0])?{_CAPITAL}\.?)*(?!\w)")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_LABEL = re.compile(r"(?:\*\*|__)?[^.!?:\n|*]{1,60}?(?:\*\*|__)?:(?:\*\*|__)?(?=\s)")
_TITLES = word_set(
    "mr mrs ms miss dr prof professor sir lady lord president king queen saint st mount mt lake river city"
)
_NO_NAMES = word_set(
    "i i'm i've i'll i'd ok okay yes no note important warning tip example summary answer question step source sources document"
    " documents context contexts according based however therefore additionally furthermore moreover finally first second"
    " third next please thank thanks sorry today tomorrow yesterday not must never always only all both each every"
)
_SHOUTED = word_set("not no must all only never always and or the is are do does can cannot will be if")
DAYS = {
    short: day
    for day in ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    for short in (day, day[:3], day + "s", day[:4])
}


class Name(msgspec.Struct, frozen=True):
    """A named thing: how it stands, where, and the words by which it is looked for."""

    text: str
    start: int
    end: int
    words: tuple[str, ...]
    exact: bool  # a code or an address: as a whole, and not word by word


def names(text: str, told: Sequence[Claim]) -> list[Name]:
    """The named things of a plain text's sentences, in order, none inside another."""
    found: list[Name] = []
    taken = bytearray(len(text))
    when = [(one.start, one.end) for one in dates(text)] + [(one.start, one.end) for one in times(text)]
    for start, end in when:
        taken[start:end] = b"\x01" * (end - start)
    capitalised = _capitalised(blanked(text, when), told)  # "5 PM ET" names a zone, and a time before it
    for name in [*_exact(text), *capitalised]:
        if not any(taken[name.start : name.end]):
            found.append(name)
            taken[name.start : name.end] = b"\x01" * (name.end - name.start)
    return sorted(found, key=lambda name: name.start)


def address_form(text: str) -> str:
    """An address without what two writings of it may differ in."""
    bare = re.sub(r"^https?://(?:www\.)?|^www\.", "", text.casefold())
    return bare.rstrip("/.,;:!?")


def _exact(text: str) -> Iterator[Name]:
    for match in _ADDRESS.finditer(text):
        written = match.group().rstrip(".,;:!?")
        yield Name(written, match.start(), match.start() + len(written), (address_form(written),), exact=True)
    for match in _TICKS.finditer(text):
        yield Name(match.group(1), match.start(), match.end(), (match.group(1).casefold(),), exact=True)
    for match in _CODE.finditer(text):
        yield Name(match.group(), match.start(), match.end(), (match.group().casefold(),), exact=True)


def _capitalised(text: str, told: Sequence[Claim]) -> Iterator[Name]:
    elsewhere = _capitals_inside(text, told)
    for claim in told:
        label = _LABEL.match(text, claim.start, claim.end)
        begin = label.end() if label else claim.start
        first = _WORD.search(text, begin, claim.end)
        for match in _SPAN.finditer(text, begin, claim.end):
            at_start = first is not None and match.start() == first.start()
            name = _name(text, match.start(), match.end(), at_start=at_start, elsewhere=elsewhere)
            if name is not None:
                yield name


def _name(text: str, start: int, end: int, *, at_start: bool, elsewhere: frozenset[str]) -> Name | None:
    """A capitalised span without the function words around it; None where nothing is left that must be a name."""
    parts = list(_WORD.finditer(text, start, end))
    while parts and _no_name(parts[0].group()):
        parts, at_start = parts[1:], False
    while parts and (_no_name(parts[-1].group()) or not parts[-1].group()[0].isupper()):
        parts = parts[:-1]
    if not parts:
        return None
    if at_start and len(parts) == 1:
        word = parts[0].group()
        if folded(word) not in elsewhere and not word.casefold().endswith("'s") and not _is_acronym(word):
            return None
    kept = [word for word in (part.group() for part in parts) if not _says_nothing(word)]
    words = tuple(DAYS.get(folded(word), folded(word)) for word in kept)
    if not words or all(word in MONTHS for word in words):
        return None
    return Name(text[parts[0].start() : parts[-1].end()], parts[0].start(), parts[-1].end(), words, exact=False)


def _no_name(word: str) -> bool:
    bare = word.casefold()
    return bare in _NO_NAMES or (folded(word) in STOP_WORDS and not _is_acronym(word))


def _says_nothing(word: str) -> bool:
    bare = folded(word)
    return bare in _TITLES or (bare in STOP_WORDS and not _is_acronym(word))


def _is_acronym(word: str) -> bool:
    return len(word) > 1 and word.isupper() and word.casefold() not in _SHOUTED


def _capitals_inside(text: str, told: Sequence[Claim]) -> frozenset[str]:
    """Words with a capital that no place in a sentence explains."""
    inside = set()
    for claim in told:
        for at, match in enumerate(_WORD.finditer(text, claim.start, claim.end)):
            if at and match.group()[0].isupper():
                inside.add(folded(match.group()))
    return frozenset(inside)
