"""Number support: the share of the answer's numbers, dates and times that some context holds.

What it can do: a number that no context has is found nearly always. What it can't: a number that is in a context beside
something else counts as supported, and a sum, a difference or a rounding that the text does not call one counts as not
supported: arithmetic is not made up to excuse a number. Numbers that the question gave are not the answer's claims, nor
are bare counts in words ("three options"), which may count what a context lists.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from lanewatch.monitors.judge.claims import Claim
from lanewatch.monitors.judge.languages import language_of
from lanewatch.monitors.judge.plain_text import plain_text
from lanewatch.monitors.judge.support.checked import Item
from lanewatch.monitors.judge.support.dates import dates, times
from lanewatch.monitors.judge.support.quantities import Kind, Quantity, quantities
from lanewatch.monitors.judge.support.units import same_currency

LEAST_YEAR, LAST_YEAR = 1000, 2999
LARGEST_COUNT = Decimal(12)
_SIGNLESS = {Kind.PERCENT, Kind.MONEY}  # "-5 %" is told as "fell by 5 %"


class Numbers:
    """All that a text counts, to be looked up by value: a table may hold thousands."""

    def __init__(self, text: str) -> None:
        plain = plain_text(text)
        self.quantities = quantities(plain, language_of(plain))
        self.dates, self.times = dates(plain), times(plain)
        self.years = {Decimal(year) for date in self.dates for year, _, _ in date.readings if year is not None}
        pairs = [(abs(value), one) for one in self.quantities for value in {*one.values, *one.counts}]
        self._sorted = sorted(pairs, key=lambda pair: pair[0])
        self._values = [value for value, _ in self._sorted]

    def near(self, value: Decimal, reach: Decimal) -> Iterator[Quantity]:
        """The quantities whose value, without its sign, is at most so far from another."""
        at = bisect_left(self._values, abs(value) - reach)
        while at < len(self._values) and self._values[at] <= abs(value) + reach:
            yield self._sorted[at][1]
            at += 1


def number_items(answer: str, contexts: Sequence[str], question: str | None, told: Sequence[Claim]) -> list[Item]:
    """The numbers of the answer's claims, each with whether some context has it."""
    mine, given = Numbers(answer), Numbers(question or "")
    there = [Numbers(context) for context in contexts]
    plain = plain_text(answer)
    items = []
    for quantity in mine.quantities:
        if quantity.from_word and quantity.kind is Kind.PLAIN and quantity.counts[0] <= LARGEST_COUNT:
            continue  # "one of them" counts nothing, "three options" may count what a context lists
        supported = any(_held(quantity, context) for context in there)
        if supported or not _held(quantity, given):
            items.append(Item(plain[quantity.start : quantity.end], quantity.start, quantity.end, supported))
    for date in mine.dates:
        supported = any(date.agrees(other) for context in there for other in context.dates)
        if supported or not any(date.agrees(other) for other in given.dates):
            items.append(Item(plain[date.start : date.end], date.start, date.end, supported))
    for time in mine.times:
        supported = any(time.agrees(other) for context in there for other in context.times)
        if supported or not any(time.agrees(other) for other in given.times):
            items.append(Item(plain[time.start : time.end], time.start, time.end, supported))
    return sorted(_in_claims(items, told), key=lambda item: item.start)


def _in_claims(items: Iterable[Item], told: Sequence[Claim]) -> list[Item]:
    return [item for item in items if any(claim.start <= item.start < claim.end for claim in told)]


def _held(mine: Quantity, there: Numbers) -> bool:
    """Whether a text has the number, in any reading of both."""
    if any(
        _same(mine, other) for value in {*mine.values, *mine.counts} for other in there.near(value, mine.rounded_to)
    ):
        return True
    years = {value for value in mine.values if mine.kind is Kind.PLAIN and LEAST_YEAR <= value <= LAST_YEAR}
    return not years.isdisjoint(there.years)


def _same(mine: Quantity, other: Quantity) -> bool:
    """Whether two numbers may count the same. A unit that one side leaves unsaid contradicts nothing: then the numbers are
    compared as they were written.
    """
    if mine.kind is other.kind:
        alike = same_currency(mine.unit, other.unit) if mine.kind is Kind.MONEY else mine.unit == other.unit
        return alike and _meet(mine.values, other.values, mine.rounded_to, signless=mine.kind in _SIGNLESS)
    if Kind.PLAIN not in {mine.kind, other.kind}:
        return False
    return _meet(mine.counts, other.counts, mine.rounded_to / mine.size, signless=True)


def _meet(mine: Iterable[Decimal], others: Iterable[Decimal], rounded_to: Decimal, *, signless: bool) -> bool:
    pairs = ((abs(one), abs(two)) if signless else (one, two) for one in mine for two in others)
    return any(one == two or (rounded_to and abs(one - two) <= rounded_to / 2) for one, two in pairs)
