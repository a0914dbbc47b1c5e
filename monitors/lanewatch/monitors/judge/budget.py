"""What judging may still cost: money by hour and day, of each metric and in all, and tokens by minute.

Invariants: a call is reserved at its most before it is sent and settled at what it took, so that what is spent and held never
goes beyond a limit of money; hours and days are the last 60 and 1,440 minutes, since at the turn of a calendar's hour twice the
limit could go; the books are the store's, so that a restart forgets nothing. A model whose price nobody knows is bounded by
tokens alone, which is said: unknown is not free.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from lanewatch.monitors.efficiency import MILLION, Price
from lanewatch.monitors.judge.calls import Estimate, Reservation, Usage
from lanewatch.monitors.judge.results import Reason
from lanewatch.monitors.judge.settings import Budgets
from lanewatch.monitors.judge.states import ALL, DAY, HOUR
from lanewatch.monitors.judge.store_calls import MINUTE, Spent

NEAR = 0.8  # of a limit: from here on strata of higher risk alone are judged
MINUTES = {HOUR: 60, DAY: 24 * 60}
UNPRICED_TOKENS = 60_000  # a minute, where neither a price nor a limit of tokens is known


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
    ) -> None:
        """`now` in Unix seconds; `before` is what the books have of the last day."""
        self._limits = limits
        self._price_of = price_of
        self._books = books
        self._now = now
        self._minutes: dict[str, dict[int, float]] = {}
        self._held: dict[str, float] = {}
        self._open: dict[int, tuple[float | None, int]] = {}
        minute = int(now() // MINUTE)
        self._tokens = float(limits.tokens_per_minute or UNPRICED_TOKENS)
        self._filled = now()
        self._unpriced = False  # whether a model whose price nobody knows was asked
        for spent in before:
            self._add(spent)
            if minute - spent.minute <= 1:
                self._tokens -= spent.tokens

    def reserve(self, metric: str, estimate: Estimate) -> Reservation | Reason:
        """Hold what a call may take; `Reason.MONEY` or `Reason.TOKENS` where there is no room for it."""
        price = self._price_of(estimate.model)
        tokens = estimate.input_tokens + estimate.output_tokens
        dollars = None if price is None else _dollars(price, estimate.input_tokens, estimate.output_tokens)
        self._unpriced = self._unpriced or price is None
        cap = self._cap(price)
        # A sample that was begun may borrow a minute's tokens: half of its calls, paid for nothing, would be a waste.
        if cap and (tokens > cap or self._level() - tokens < -cap):
            return Reason.TOKENS
        if dollars is not None and any(
            self._taken(of, period) + dollars > limit for of, period, limit in self._bounds(metric)
        ):
            return Reason.MONEY
        number = self._books.hold(metric, dollars, tokens)
        self._open[number] = (dollars, tokens)
        self._held[metric] = self._held.get(metric, 0.0) + (dollars or 0.0)
        self._tokens -= tokens
        return Reservation(metric, estimate, number)

    def settle(self, reservation: Reservation, usage: Usage) -> float | None:
        """Give back what was not taken; the dollars that were, None where the price is not known."""
        held = self._open.pop(reservation.number, None)
        price = self._price_of(reservation.estimate.model)
        dollars = None if price is None else _dollars(price, usage.input_tokens, usage.output_tokens)
        tokens = usage.input_tokens + usage.output_tokens
        spent = Spent(int(self._now() // MINUTE), reservation.metric, dollars or 0.0, tokens)
        self._books.settle(reservation.number, spent)
        self._add(spent)
        if held is not None:
            self._held[reservation.metric] -= held[0] or 0.0
            self._tokens += held[1] - tokens
        return dollars

    def may_begin(self) -> bool:
        """Whether tokens are left for a further sample; else it waits for the minute to pass."""
        return not (self._limits.tokens_per_minute or self._unpriced) or self._level() > 0

    def near(self, metric: str) -> bool:
        """Whether so little money is left that strata of higher risk alone are to be judged."""
        return any(self._taken(of, period) >= NEAR * limit for of, period, limit in self._bounds(metric))

    def spent(self) -> dict[tuple[str, str], float]:
        """Dollars by metric and period, with `all` for the sum."""
        found = {(metric, period): self._spent(metric, period) for metric in self._minutes for period in MINUTES}
        for period in MINUTES:
            found[ALL, period] = sum(dollars for (_, of), dollars in found.items() if of == period)
        return found

    def limits(self, metrics: Iterable[str]) -> dict[tuple[str, str], float]:
        """The limits there are, of these metrics and of all."""
        return {(of, period): limit for metric in metrics for of, period, limit in self._bounds(metric)}

    def _bounds(self, metric: str) -> list[tuple[str, str, float]]:
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

    def _taken(self, metric: str, period: str) -> float:
        metrics = self._minutes.keys() | self._held.keys() if metric == ALL else {metric}
        return sum(self._spent(one, period) + self._held.get(one, 0.0) for one in metrics)

    def _spent(self, metric: str, period: str) -> float:
        now, minutes = int(self._now() // MINUTE), self._minutes.get(metric, {})
        for ahead in [minute for minute in minutes if minute > now]:  # the clock was set back: it is spent as of now
            minutes[now] = minutes.get(now, 0.0) + minutes.pop(ahead)
        return sum(dollars for minute, dollars in minutes.items() if minute > now - MINUTES[period])

    def _add(self, spent: Spent) -> None:
        minutes = self._minutes.setdefault(spent.metric, {})
        minutes[spent.minute] = minutes.get(spent.minute, 0.0) + spent.dollars
        oldest = spent.minute - MINUTES[DAY]
        for minute in [minute for minute in minutes if minute <= oldest]:
            del minutes[minute]


def _dollars(price: Price, input_tokens: int, output_tokens: int) -> float:
    return (input_tokens * price.input + output_tokens * price.output) / MILLION
