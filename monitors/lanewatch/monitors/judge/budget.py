"""What judging may still cost: money by hour and day, of each metric and in all, and tokens by minute.

Invariants: a call is reserved at its most before it is sent and settled at what it took, so that what is spent and held never
goes beyond a limit of money; hours and days are the last 60 and 1,440 minutes, since at the turn of a calendar's hour twice the
limit could go; the books are the store's, so that a restart forgets nothing. A model whose price nobody knows is bounded by
tokens alone, of a minute, an hour and a day, which is said: unknown is not free, and not 0 dollars. What rounds of canaries take is
kept back from all others (`Kept`): a judge that is watched only while there is money to spare is not watched.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from lanewatch.monitors.efficiency import MILLION, Price
from lanewatch.monitors.judge.calls import ANCHOR, Estimate, Reservation, Usage
from lanewatch.monitors.judge.forecast import CANARY_ROUND, kept_back, rounds_an_hour
from lanewatch.monitors.judge.results import Reason
from lanewatch.monitors.judge.settings import DAY_SECONDS, Budgets
from lanewatch.monitors.judge.states import ALL, DAY, HOUR
from lanewatch.monitors.judge.store_calls import MINUTE, Spent

NEAR = 0.8  # of a limit: from here on strata of higher risk alone are judged
MINUTES = {HOUR: 60, DAY: 24 * 60}
UNPRICED_TOKENS = 60_000  # a minute, where neither a price nor a limit of tokens is known

Minutes = dict[str, dict[int, float]]  # metric -> minute -> what was spent
Bound = tuple[str, str, float]  # metric or `all`, period, limit


class Kept(msgspec.Struct, frozen=True):
    """What a round of canaries of one metric takes, how many there are a day, and of how many metrics. `dollars` None: not known."""

    tokens: int = 0
    dollars: float | None = None
    rounds_a_day: float = 0.0
    n_metrics: int = 1

    def of(self, one: float, bound: Bound) -> float:
        """What is to be kept back of a limit, where a round takes `one`."""
        metric, period, limit = bound
        rounds = self.rounds_a_day if period == DAY else rounds_an_hour(self.rounds_a_day)
        return kept_back(limit, one * rounds * (self.n_metrics if metric == ALL else 1))


NOTHING_KEPT = Kept()


def kept_for_canaries(price: Price | None, every_seconds: float, n_metrics: int) -> Kept:
    """What is to be kept back for rounds of so many metrics, of the length that a forecast reckons with."""
    if not every_seconds:
        return NOTHING_KEPT
    dollars = None if price is None else _dollars(price, *CANARY_ROUND)
    return Kept(sum(CANARY_ROUND), dollars, DAY_SECONDS / every_seconds, n_metrics)


class Books(Protocol):
    """Where reservations and spending survive a restart."""

    def hold(self, metric: str, dollars: float | None, tokens: int) -> int:
        """Reserve; the reservation's number."""

    def settle(self, number: int, spent: Spent) -> None:
        """Put what was spent in its place."""


class Budget:
    """`calls.Purse`. Belongs to one thread."""

    def __init__(
        self,
        limits: Budgets,
        price_of: Callable[[str], Price | None],
        books: Books,
        now: Callable[[], float],
        before: Iterable[Spent] = (),
        kept: Kept = NOTHING_KEPT,
    ) -> None:
        """`now` in Unix seconds; `before` is what the books have of the last day: which of it was for canaries they do not tell, so
        that after a restart somewhat more is kept than is needed.
        """
        self._limits = limits
        self._price_of = price_of
        self._books = books
        self._now = now
        self._kept = kept
        self._dollars: Minutes = {}
        self._unpriced: Minutes = {}  # tokens whose price is not known
        self._of_canaries: tuple[Minutes, Minutes] = ({}, {})  # of dollars and of tokens
        self._held: dict[str, float] = {}
        self._held_unpriced: dict[str, float] = {}
        self._open: dict[int, tuple[float | None, int]] = {}
        minute = int(now() // MINUTE)
        self._tokens = float(limits.tokens_per_minute or UNPRICED_TOKENS)
        self._filled = now()
        self._has_unpriced = False  # whether a model whose price nobody knows was asked
        for spent in before:
            self._add(spent)
            if minute - spent.minute <= 1:
                self._tokens -= spent.tokens

    def reserve(self, metric: str, estimate: Estimate) -> Reservation | Reason:
        """Hold what a call may take; `Reason.MONEY` or `Reason.TOKENS` where there is no room for it."""
        price = self._price_of(estimate.model)
        tokens = estimate.input_tokens + estimate.output_tokens
        dollars = None if price is None else _dollars(price, estimate.input_tokens, estimate.output_tokens)
        self._has_unpriced = self._has_unpriced or price is None
        cap = self._cap(price)
        # A sample that was begun may borrow a minute's tokens: half of its calls, paid for nothing, would be a waste.
        if cap and (tokens > cap or self._level() - tokens < -cap):
            return Reason.TOKENS
        if dollars is None and any(
            self._tokens_taken(b) + tokens > self._token_room(b, canary=ANCHOR.get())
            for b in self._token_bounds(metric)
        ):
            return Reason.TOKENS
        if dollars is not None and any(
            self._taken(b) + dollars > self._dollar_room(b, canary=ANCHOR.get()) for b in self._bounds(metric)
        ):
            return Reason.MONEY
        number = self._books.hold(metric, dollars, tokens)
        self._open[number] = (dollars, tokens)
        self._hold(metric, dollars, tokens)
        self._tokens -= tokens
        return Reservation(metric, estimate, number)

    def _hold(self, metric: str, dollars: float | None, tokens: int) -> None:
        held, n = (self._held_unpriced, tokens) if dollars is None else (self._held, dollars)
        held[metric] = held.get(metric, 0.0) + n

    def settle(self, reservation: Reservation, usage: Usage) -> float | None:
        """Give back what was not taken; the dollars that were, None where the price is not known."""
        held = self._open.pop(reservation.number, None)
        price = self._price_of(reservation.estimate.model)
        dollars = None if price is None else _dollars(price, usage.input_tokens, usage.output_tokens)
        tokens = usage.input_tokens + usage.output_tokens
        unpriced = tokens if dollars is None else 0
        spent = Spent(int(self._now() // MINUTE), reservation.metric, dollars or 0.0, tokens, unpriced)
        self._books.settle(reservation.number, spent)
        self._add(spent)
        if ANCHOR.get():
            for book, n in zip(self._of_canaries, (spent.dollars, float(unpriced)), strict=True):
                _count(book, spent.metric, spent.minute, n)
        if held is not None:
            self._hold(reservation.metric, None if held[0] is None else -held[0], -held[1])
            self._tokens += held[1] - tokens
        return dollars

    def may_begin(self) -> bool:
        """Whether tokens are left for a further sample; else it waits for the minute to pass."""
        return not (self._limits.tokens_per_minute or self._has_unpriced) or self._level() > 0

    def near(self, metric: str) -> Reason | None:
        """What there is so little left of that strata of higher risk alone are to be judged; None while there is enough."""
        if any(self._taken(bound) >= NEAR * self._dollar_room(bound, canary=False) for bound in self._bounds(metric)):
            return Reason.MONEY
        if any(self._tokens_taken(b) >= NEAR * self._token_room(b, canary=False) for b in self._token_bounds(metric)):
            return Reason.TOKENS
        return None

    def spent(self) -> dict[tuple[str, str], float]:
        """Dollars by metric and period, with `all` for the sum. Absent where all that was spent is at a price that nobody knows."""
        return {
            key: dollars
            for key, dollars in self._by_period(self._dollars).items()
            if dollars or not self._sum(self._unpriced, *key)
        }

    def unpriced(self) -> dict[tuple[str, str], float]:
        """Tokens by metric and period whose price is not known: they are in no dollars."""
        return self._by_period(self._unpriced)

    def _by_period(self, book: Minutes) -> dict[tuple[str, str], float]:
        return {(of, period): self._sum(book, of, period) for of in (*book, ALL) for period in MINUTES}

    def limits(self, metrics: Iterable[str]) -> dict[tuple[str, str], float]:
        """The limits there are, of these metrics and of all."""
        return {(of, period): limit for metric in metrics for of, period, limit in self._bounds(metric)}

    def _bounds(self, metric: str) -> list[Bound]:
        limits = self._limits
        bounds = [(metric, HOUR, limits.dollars_per_hour), (metric, DAY, limits.dollars_per_day)]
        return [bound for bound in (*bounds, (ALL, DAY, limits.total_dollars_per_day)) if bound[2]]

    def _cap(self, price: Price | None) -> int:
        return self._limits.tokens_per_minute or (UNPRICED_TOKENS if price is None else 0)

    def _level(self) -> float:
        """Tokens that are left: a bucket of a minute's, filled steadily."""
        cap, now = self._limits.tokens_per_minute or UNPRICED_TOKENS, self._now()
        self._tokens = min(float(cap), self._tokens + max(0.0, now - self._filled) * cap / MINUTE)
        self._filled = now
        return self._tokens

    def _token_bounds(self, metric: str) -> list[Bound]:
        """Of what has no price; they are of one metric."""
        limits = self._limits
        bounds = [(metric, HOUR, limits.unpriced_tokens_per_hour), (metric, DAY, limits.unpriced_tokens_per_day)]
        return [(of, period, float(limit)) for of, period, limit in bounds if limit]

    def _taken(self, bound: Bound) -> float:
        of, period, _ = bound
        return self._sum(self._dollars, of, period) + _total(self._held, of)

    def _tokens_taken(self, bound: Bound) -> float:
        of, period, _ = bound
        return self._sum(self._unpriced, of, period) + _total(self._held_unpriced, of)

    def _dollar_room(self, bound: Bound, *, canary: bool) -> float:
        return (
            bound[2] if canary else bound[2] - self._still_kept(self._kept.dollars or 0.0, self._of_canaries[0], bound)
        )

    def _token_room(self, bound: Bound, *, canary: bool) -> float:
        return bound[2] if canary else bound[2] - self._still_kept(self._kept.tokens, self._of_canaries[1], bound)

    def _still_kept(self, one: float, took: Minutes, bound: Bound) -> float:
        return max(0.0, self._kept.of(one, bound) - self._sum(took, *bound[:2]))

    def _sum(self, book: Minutes, metric: str, period: str) -> float:
        return sum(self._of(book, one, period) for one in (tuple(book) if metric == ALL else (metric,)))

    def _of(self, book: Minutes, metric: str, period: str) -> float:
        now, minutes = int(self._now() // MINUTE), book.get(metric, {})
        for ahead in [minute for minute in minutes if minute > now]:  # the clock was set back: it is spent as of now
            minutes[now] = minutes.get(now, 0.0) + minutes.pop(ahead)
        return sum(n for minute, n in minutes.items() if minute > now - MINUTES[period])

    def _add(self, spent: Spent) -> None:
        _count(self._dollars, spent.metric, spent.minute, spent.dollars)
        if spent.unpriced_tokens:
            _count(self._unpriced, spent.metric, spent.minute, spent.unpriced_tokens)


def _total(held: dict[str, float], metric: str) -> float:
    return sum(held.values()) if metric == ALL else held.get(metric, 0.0)


def _count(book: Minutes, metric: str, minute: int, n: float) -> None:
    minutes = book.setdefault(metric, {})
    minutes[minute] = minutes.get(minute, 0.0) + n
    for old in [one for one in minutes if one <= minute - MINUTES[DAY]]:
        del minutes[old]


def _dollars(price: Price, input_tokens: int, output_tokens: int) -> float:
    return (input_tokens * price.input + output_tokens * price.output) / MILLION
