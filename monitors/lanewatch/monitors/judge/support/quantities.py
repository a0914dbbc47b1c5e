"""The numbers of a text, typed and normalised: what was written, in every way it may be read.

"1.234" is a thousand or one and a bit: where the text's language does not decide, both readings stand. A number of a code
(AB-1234, v2.3.1), of a citation mark ([3]), of a link, or in front of a list's item is no quantity.
"""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from enum import StrEnum

import msgspec

from lanewatch.monitors.judge.plain_text import blanked
from lanewatch.monitors.judge.support.dates import dates, times
from lanewatch.monitors.judge.support.number_words import word_numbers
from lanewatch.monitors.judge.support.units import CURRENCIES, PERCENT, scale_of, unit_of

MAX_DIGITS = 30  # a longer run of digits is no quantity that anybody means
LEAST_DECADE = 1000  # "1990s" are no seconds
_BY_COMMA = frozenset({"en", "ja", "ko", "zh", "he", "th", "hi"})  # 1,234.5
_BY_POINT = frozenset({"de", "es", "it", "pt", "nl", "fr"})  # 1.234,5; French with a space

_NO_QUANTITY = re.compile(
    r"https?://\S+|www\.\S+|(?<![\w.+-])[\w.+-]{1,64}@[\w.-]{1,100}"
    r"|\[\d{1,3}(?:\s*[,-]\s*\d{1,3})*\]"  # citations
    r"|(?<![^\s(])(?:source|document|doc|chunk|passage|context|quelle|dokument)s?\s+\[?\d{1,3}\b(?!\s*%)"
    r"|(?<![\w.])(?!\d{1,3}(?:\.\d{3})+(?![\d.]*\d))\d+(?:\.\d+){2,}(?!\w)"  # versions, addresses
    r"|(?<!\w)(?=[\w./#-]{0,80}\d)[A-Za-z_]\w*(?:[-./#]\w+)*"  # codes that begin with a letter
    r"|(?<![\w.,])\d+[A-Za-z_]+\d\w*"  # and with a digit
    r"|^[^\S\n]*\(?\d{1,3}[.)](?=\s)",  # items
    re.MULTILINE | re.IGNORECASE,
)
_DIGITS = (
    r"(?<![^\W\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af])(?<!\d[.,])(?P<sign>[-+](?=[\d.]))?"
    r"(?P<digits>\d{1,3}(?:(?P<group>[,.'\u00a0])\d{3}(?:(?P=group)\d{3})*(?!\d))(?:[.,]\d+(?!\d))?"
    r"%s"
    r"|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?"  # lakh and crore
    r"|\d+(?:[.,]\d+)?|\.\d+)(?P<half>[\u00bd\u00bc\u00be])?|(?P<only>[\u00bd\u00bc\u00be])"
)
_NUMBER = re.compile(_DIGITS % "")
_SPACED = re.compile(_DIGITS % r"|\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?!\d)")  # "1 234,5", as no English text has it
_CODE = re.compile(r"(?!x\b)[A-Za-z]")  # 3D, 101b: what directly follows a number and is no unit
_HALVES = {"\u00bd": Decimal("0.5"), "\u00bc": Decimal("0.25"), "\u00be": Decimal("0.75")}
_BEFORE = re.compile(r"(US\$|A\$|C\$|[$\u20ac\u00a3\u00a5\u20b9\u20a9]|\b[A-Z]{3})[ \u00a0]?-?\Z")
_AFTER = re.compile(
    r"(?P<ordinal>st|nd|rd|th)\b|(?P<scale>[KkMB](?![\w/])|bn\b)|[ \u00a0-]?(?P<percent>%|\bper cent\b|pour cent\b|por ciento\b)"
    r"|[ \u00a0-]?(?P<word>[$\u20ac\u00a3\u00a5\u20b9\u20a9]|\u00b0?[^\W\d_](?:[^\W\d_]|[/\u00b2\u00b3])*\.?)"
)
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]+")
_TO = re.compile(r"\s*(?:-|to|bis|and|und|or|oder|\u00e0|a|y|et|\u301c|~)\s*\Z")
_HEDGE = re.compile(
    r"(?:about|around|roughly|approximately|approx\.?|nearly|almost|some|over|more than|less than|under|circa|ca\.?|~"
    r"|rund|etwa|ungef\u00e4hr|knapp|environ|pr\u00e8s de|unos|unas|cerca de|casi|\u7d04|\u7ea6|\u5927\u7ea6)\s*"
    r"(?:US\$|[$\u20ac\u00a3\u00a5])?\s*\Z",
    re.IGNORECASE,
)


class Kind(StrEnum):
    """What a number counts."""

    PLAIN = "plain"
    PERCENT = "percent"
    MONEY = "money"
    MEASURE = "measure"
    DATE = "date"
    TIME = "time"


class Quantity(msgspec.Struct, frozen=True):
    """A number of a text. `values` are its readings: of a measure in base units of `unit`, of money in `unit`; `counts` the
    same in the unit as it was written, for where the other side leaves the unit out.

    `rounded_to`: the value of its last written place where the text says that it is about right; 0 where it is exact.
    """

    start: int
    end: int
    kind: Kind
    values: tuple[Decimal, ...]
    counts: tuple[Decimal, ...]
    unit: str = ""
    rounded_to: Decimal = Decimal(0)
    size: Decimal = Decimal(1)  # base units in a unit
    from_word: bool = False


def quantities(text: str, language: str | None) -> list[Quantity]:
    """The quantities of a plain text (`plain_text`), in order, without its dates and times of day.

    >>> [(q.kind.value, q.values, q.unit) for q in quantities("5 km or $1,200.50", "en")]
    [('measure', (Decimal('5000'),), 'length'), ('money', (Decimal('1200.50'),), '$')]
    """
    hidden = _hidden(text)
    found = [*_digits(hidden, language), *_words(hidden, language)]
    return _with_shared_units(hidden, sorted(found, key=lambda one: one.start))


def _hidden(text: str) -> str:
    """The text with what is no quantity blanked out, every position kept."""
    spans = [*((date.start, date.end) for date in dates(text)), *((time.start, time.end) for time in times(text))]
    text = blanked(text, spans)
    return _NO_QUANTITY.sub(lambda match: "\x00" * len(match.group()), text)


def _digits(text: str, language: str | None) -> Iterator[Quantity]:
    for match in (_NUMBER if language == "en" else _SPACED).finditer(text):
        digits = match.group("digits") or ""
        if len(digits) > MAX_DIGITS:
            continue
        halves = _HALVES.get(match.group("half") or match.group("only") or "", Decimal(0))
        values = [value + halves for value in _readings(digits, match.group("group"), language)]
        if values:
            sign = -1 if match.group("sign") == "-" and not _is_range(text, match.start()) else 1
            one = _typed(text, match.start(), match.end(), [sign * value for value in values], _place(digits), language)
            if one.end > match.end() or not _CODE.match(text, match.end()):
                yield one


def _is_range(text: str, at: int) -> bool:
    return at > 0 and (text[at - 1].isalnum() or text[at - 1] in "%$\u20ac")


def _words(text: str, language: str | None) -> Iterator[Quantity]:
    for start, end, value in word_numbers(text, language):
        one = _typed(text, start, end, [value], Decimal(0), language)
        yield msgspec.structs.replace(one, from_word=True)


def _readings(digits: str, group: str | None, language: str | None) -> list[Decimal]:
    """What a run of digits may mean.

    >>> _readings("1.234", ".", None), _readings("1,234", ",", "en"), _readings("1.234,5", ".", "de")
    ([Decimal('1234'), Decimal('1.234')], [Decimal('1234')], [Decimal('1234.5')])
    """
    if not digits:
        return [Decimal(0)]
    marks = re.sub(r"\d", "", digits)
    try:
        if group is None and marks.strip(" ") in {"", ".", ","}:
            return [Decimal(digits.replace(" ", "").replace(",", "."))]
        if len(set(marks)) == 1 and marks[0] in ".,":
            grouped = Decimal(digits.replace(marks[0], ""))
            if len(marks) > 1:
                return [grouped]
            fraction = Decimal(digits.replace(",", "."))
            whole_first = language in (_BY_COMMA if marks == "," else _BY_POINT)
            other_way = language in (_BY_POINT if marks == "," else _BY_COMMA)
            return [grouped] if whole_first else [fraction] if other_way else [grouped, fraction]
        # Two kinds of marks: the last one is the decimal mark if it stands once, and the others group.
        last = marks[-1]
        if last in ".," and marks.count(last) == 1:
            whole, fraction_digits = digits.rsplit(last, 1)
            return [Decimal(re.sub(r"\D", "", whole) + "." + fraction_digits)]
        return [Decimal(re.sub(r"\D", "", digits))]
    except InvalidOperation:  # a script's digits that are no decimals
        return []


def _place(digits: str) -> Decimal:
    """The value of the last place that was written with intent: 0.1 of "3.1", 1000 of "45,000"."""
    fraction = re.search(r"[.,](\d{1,2}|\d{4,})\Z", digits)
    if fraction:
        return Decimal(1).scaleb(-len(fraction.group(1)))
    whole = re.sub(r"\D", "", digits)
    return Decimal(1).scaleb(len(whole) - len(whole.rstrip("0"))) if whole.strip("0") else Decimal(1)


def _typed(text: str, start: int, end: int, values: list[Decimal], place: Decimal, language: str | None) -> Quantity:
    """A number with its scale, unit, currency, and whether it is said to be about right."""
    begin, at, power = start, end, 0
    kind, unit, size = Kind.PLAIN, "", Decimal(1)
    money = _BEFORE.search(text, max(0, start - 5), start)
    if money and money.group(1) in CURRENCIES:
        begin, kind, unit = money.start(), Kind.MONEY, CURRENCIES[money.group(1)]
    for _ in range(3):  # a scale, a unit, and a second word of either
        after = _AFTER.match(text, at)
        if after is None or (at > end and after.group("ordinal")):
            break
        if after.group("ordinal"):
            at = after.end()
            break
        if after.group("percent"):
            kind, at = Kind.PERCENT, after.end()
            break
        if after.group("scale") and (kind is Kind.MONEY or after.group("scale") in {"k", "K", "bn"}) and not power:
            power, at = {"k": 3, "K": 3, "M": 6, "B": 9, "bn": 9}[after.group("scale")], after.end()
            continue
        word, stop = _word(text, after, at)
        if word is None:
            break
        scale = scale_of(word, language) or (6 if word == "m" and kind is Kind.MONEY else 0)
        if scale and not power:
            power, at = scale, stop
            continue
        currency = CURRENCIES.get(word) or CURRENCIES.get(word.casefold())
        if currency and kind is Kind.PLAIN:
            kind, unit, at = Kind.MONEY, currency, stop
            break
        measure = unit_of(word) or unit_of(word.partition("/")[0])
        if word == "s" and values[0] >= LEAST_DECADE:
            at = stop
            break
        if measure and kind is Kind.PLAIN:
            kind, (unit, size), at = Kind.MEASURE, measure, stop
            if unit == PERCENT:
                kind, unit = Kind.PERCENT, ""
        break
    hedged = bool(power) or _HEDGE.search(text, max(0, begin - 16), begin) is not None
    scaled = Decimal(10) ** power
    counts = tuple(dict.fromkeys(value * scaled for value in values))
    bases = tuple(count * size for count in counts)
    return Quantity(begin, at, kind, bases, counts, unit, place * scaled * size if hedged else Decimal(0), size)


def _word(text: str, after: re.Match[str], at: int) -> tuple[str | None, int]:
    """The word after a number; of ideographs, which have no spaces, the longest that is a unit or a scale."""
    word = after.group("word") or after.group("scale")
    if not word:
        return None, at
    begin = after.end() - len(word)
    run = _IDEOGRAPHS.match(text, begin)
    if run is None:
        bare = word.rstrip(".")
        return bare, begin + len(bare)
    for length in range(min(3, len(run.group())), 0, -1):
        part = run.group()[:length]
        if unit_of(part) or part in CURRENCIES or scale_of(part, "ja"):
            return part, begin + length
    return None, at


def _with_shared_units(text: str, found: list[Quantity]) -> list[Quantity]:
    """In "5-7 days" and "between 5 and 7 kg" the first number is of the second one's unit."""
    for place in range(len(found) - 2, -1, -1):
        first, second = found[place], found[place + 1]
        if (
            first.kind is Kind.PLAIN
            and second.kind in {Kind.MEASURE, Kind.PERCENT, Kind.MONEY}
            and _TO.fullmatch(text, first.end, second.start)
            and len(second.values) == 1
        ):
            values = tuple(count * second.size for count in first.counts)
            found[place] = msgspec.structs.replace(
                first, kind=second.kind, unit=second.unit, size=second.size, values=values
            )
    return found
