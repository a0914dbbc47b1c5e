"""Dates and times of day as texts write them, each with all of its readings where the order of its parts is not told."""

import re

import msgspec

_MONTHS = (
    "january jan januar enero janvier gennaio janeiro januari",
    "february feb februar febrero f\u00e9vrier febbraio fevereiro februari",
    "march mar m\u00e4rz marzo mars mar\u00e7o maart",
    "april apr abril avril aprile",
    "may mai mayo maggio maio mei",
    "june jun juni junio juin giugno junho",
    "july jul juli julio juillet luglio julho",
    "august aug agosto ao\u00fbt augustus",
    "september sep sept septiembre septembre settembre setembro",
    "october oct oktober okt octubre octobre ottobre outubro",
    "november nov noviembre novembre novembro",
    "december dec dezember dez diciembre d\u00e9cembre dicembre dezembro",
)
MONTHS: dict[str, int] = {name: at for at, names in enumerate(_MONTHS, 1) for name in names.split()}
_NAME = "(" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th|\.|er|\u00ba)?"
_YEAR = r"(\d{4})"
_OF = r"(?:\s+(?:of|de|del|di))?\s*"
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (form, re.compile(pattern, re.IGNORECASE))
    for form, pattern in (
        ("ymd", r"(?<![\w.-])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?![\d-]|[/.]\d)"),
        ("cjk", r"(?<!\d)(?:(\d{4})\u5e74)?(\d{1,2})\u6708(?:(\d{1,2})\u65e5)?"),
        ("xxy", r"(?<![\w.-])(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?![\d-]|[/.]\d)"),
        ("dny", rf"(?<![\w.]){_DAY}{_OF}{_NAME}(?:,?{_OF}{_YEAR}(?!\d))?"),
        ("ndy", rf"(?<!\w){_NAME}\s+{_DAY}(?!\d|[.,]\d)(?:,?\s+{_YEAR}(?!\d))?"),
        ("ny", rf"(?<!\w){_NAME}{_OF},?\s*{_YEAR}(?!\d)"),
    )
)
_TIME = re.compile(
    r"(?<![\w:.])(\d{1,2})[:h](\d{2})(?::(\d{2}))?(?![\d:])(?:\s*([ap])\.?m\b\.?)?|(?<![\w:.])(\d{1,2})\s*([ap])\.?m\b\.?",
    re.IGNORECASE,
)
_VERBS = frozenset({"may", "march", "mar", "set"})  # "5 may apply": as months they have a capital, or a longer form
_LAST_MONTH, _LAST_DAY, _NOON, _LAST_HOUR, _LAST_MINUTE = 12, 31, 12, 23, 59


class Date(msgspec.Struct, frozen=True):
    """A date with what it tells: (year, month, day), None where a part is not told; several where the order isn't."""

    start: int
    end: int
    readings: tuple[tuple[int | None, int | None, int | None], ...]

    def agrees(self, other: "Date") -> bool:
        """Whether no part that both tell differs, and they share at least two parts."""
        return any(_agree(mine, its) for mine in self.readings for its in other.readings)


class Time(msgspec.Struct, frozen=True):
    """A time of day in minutes; two readings where the half of the day is not told."""

    start: int
    end: int
    readings: tuple[int, ...]

    def agrees(self, other: "Time") -> bool:
        """Whether they may be the same time."""
        return not set(self.readings).isdisjoint(other.readings)


def dates(text: str) -> list[Date]:
    """The dates of a text, none inside another. Numbers that can be no date ("32.13.2026") are none.

    >>> [date.readings for date in dates("due 03/04/2026, sent May 5, 2026")]
    [((2026, 3, 4), (2026, 4, 3)), ((2026, 5, 5),)]
    """
    found: list[Date] = []
    taken = bytearray(len(text))
    for form, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if any(taken[match.start() : match.end()]):
                continue
            readings = tuple(reading for reading in _readings(form, match) if _possible(reading))
            if readings and not _VERBS.intersection(match.group().split()):
                found.append(Date(match.start(), match.end(), tuple(dict.fromkeys(readings))))
                taken[match.start() : match.end()] = b"\x01" * (match.end() - match.start())
    return sorted(found, key=lambda date: date.start)


def times(text: str) -> list[Time]:
    """The times of day of a text."""
    found = []
    for match in _TIME.finditer(text):
        hour, minute = int(match.group(1) or match.group(5)), int(match.group(2) or 0)
        half = (match.group(4) or match.group(6) or "").casefold()
        if hour > _LAST_HOUR or minute > _LAST_MINUTE or (half and hour > _NOON):
            continue
        hours = {hour}
        if half:
            hours = {hour % _NOON + (_NOON if half == "p" else 0)}
        elif 0 < hour <= _NOON:
            hours = {hour % _NOON, hour % _NOON + _NOON}  # "3:30" may be either; 15:30 is one
        found.append(Time(match.start(), match.end(), tuple(sorted(hour * 60 + minute for hour in hours))))
    return found


def _readings(form: str, match: re.Match[str]) -> list[tuple[int | None, int | None, int | None]]:
    part = [None if group is None or not group.isdecimal() else int(group) for group in match.groups()]
    if form == "ymd":
        return [(part[0], part[2], part[3])]
    if form == "cjk":
        return [(part[0], part[1], part[2])]
    if form == "xxy":
        # Dots are day first wherever they are used; slashes may be either.
        orders = [(part[3], part[2], part[0])] if match.group(2) == "." else [(part[3], part[0], part[2])]
        return orders if match.group(2) == "." else [*orders, (part[3], part[2], part[0])]
    if form == "dny":
        return [(part[2], MONTHS[match.group(2).casefold()], part[0])]
    month = MONTHS[match.group(1).casefold()]
    return [(part[2], month, part[1])] if form == "ndy" else [(part[1], month, None)]


def _possible(reading: tuple[int | None, int | None, int | None]) -> bool:
    _, month, day = reading
    if sum(part is not None for part in reading) == 1:
        return False
    return (month is None or 1 <= month <= _LAST_MONTH) and (day is None or 1 <= day <= _LAST_DAY)


def _agree(one: tuple[int | None, ...], other: tuple[int | None, ...]) -> bool:
    both = [(mine, its) for mine, its in zip(one, other, strict=True) if mine is not None and its is not None]
    return len(both) > 1 and all(mine == its for mine, its in both)
