"""What judging may still cost: money by hour and day, of each metric and in all, and tokens by minute.

Invariants: a call is reserved at its most before it is sent and settled at what it took, so that what is spent and held never
goes beyond a limit of money; hours and days are the last 60 and 1,440 minutes, since at the turn of a calendar's hour twice the
limit could go; the books are the store's, so that a restart forgets nothing. A model whose price nobody knows is bounded by
tokens alone, of a minute, an hour and a day, which is said: unknown is not free, and not 0 dollars. What rounds of canaries take is
kept back from all others (`canary_part`).
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from lanewatch.monitors.efficiency import Price
from lanewatch.monitors.judge.account import Account
from lanewatch.monitors.judge.calls import ANCHOR, Estimate, Reservation, Usage
from lanewatch.monitors.judge.canary_part import NOTHING_KEPT, Kept
from lanewatch.monitors.judge.results import Reason
from lanewatch.monitors.judge.settings import Budgets
from lanewatch.monitors.judge.store_calls import MINUTE, Spent

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
        kept: Kept = NOTHING_KEPT,
    ) -> None:
        """`now` in Unix seconds; `before` is what the books have of the last day: which of it was for canaries they do not tell, so
        that after a restart somewhat more is kept than is needed.
        """
        self._limits = limits
        self._price_of = price_of
        self._books = books
        self._now = now
        self._dollars = Account(
            now, kept, kept.dollars or 0.0,
            hour=limits.dollars_per_hour, day=limits.dollars_per_day, total=limits.total_dollars_per_day,
        )  # fmt: skip
        # Tokens whose price is not known.
        self._unpriced = Account(
            now, kept, kept.tokens, hour=limits.unpriced_tokens_per_hour, day=limits.unpriced_tokens_per_day
        )
        self._open: dict[int, tuple[Account, float, int]] = {}  # what is held of an account, and of a minute's tokens
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
        dollars = None if price is None else price.dollars(estimate.input_tokens, estimate.output_tokens)
        self._has_unpriced = self._has_unpriced or price is None
        cap = self._cap(price)
        # A sample that was begun may borrow a minute's tokens: half of its calls, paid for nothing, would be a waste.
        if cap and (tokens > cap or self._level() - tokens < -cap):
            return Reason.TOKENS
        account, n = (self._unpriced, float(tokens)) if dollars is None else (self._dollars, dollars)
        if not account.has_room(metric, n, canary=ANCHOR.get()):
            return Reason.TOKENS if dollars is None else Reason.MONEY
        number = self._books.hold(metric, dollars, tokens)
        self._open[number] = account, n, tokens
        account.hold(metric, n)
        self._tokens -= tokens
        return Reservation(metric, estimate, number)

    def settle(self, reservation: Reservation, usage: Usage) -> float | None:
        """Give back what was not taken; the dollars that were, None where the price is not known."""
        held = self._open.pop(reservation.number, None)
        price = self._price_of(reservation.estimate.model)
        dollars = None if price is None else price.dollars(usage.input_tokens, usage.output_tokens)
        tokens = usage.input_tokens + usage.output_tokens
        unpriced = tokens if dollars is None else 0
        spent = Spent(int(self._now() // MINUTE), reservation.metric, dollars or 0.0, tokens, unpriced)
        self._books.settle(reservation.number, spent)
        self._add(spent, canary=ANCHOR.get())
        if held is not None:
            account, n, n_tokens = held
            account.hold(reservation.metric, -n)
            self._tokens += n_tokens - tokens
        return dollars

    def may_begin(self) -> bool:
        """Whether tokens are left for a further sample; else it waits for the minute to pass."""
        return not (self._limits.tokens_per_minute or self._has_unpriced) or self._level() > 0

    def near(self, metric: str) -> Reason | None:
        """What there is so little left of that strata of higher risk alone are to be judged; None while there is enough."""
        if self._dollars.is_near(metric):
            return Reason.MONEY
        return Reason.TOKENS if self._unpriced.is_near(metric) else None

    def spent(self) -> dict[tuple[str, str], float]:
        """Dollars by metric and period, with `all` for the sum. Absent where all that was spent is at a price that nobody knows."""
        return {
            key: dollars
            for key, dollars in self._dollars.by_period().items()
            if dollars or not self._unpriced.spent(*key)
        }

    def unpriced(self) -> dict[tuple[str, str], float]:
        """Tokens by metric and period whose price is not known: they are in no dollars."""
        return self._unpriced.by_period()

    def limits(self, metrics: Iterable[str]) -> dict[tuple[str, str], float]:
        """The limits there are, of these metrics and of all."""
        return {(of, period): limit for metric in metrics for of, period, limit in self._dollars.bounds(metric)}

    def _cap(self, price: Price | None) -> int:
        return self._limits.tokens_per_minute or (UNPRICED_TOKENS if price is None else 0)

    def _level(self) -> float:
        """Tokens that are left: a bucket of a minute's, filled steadily."""
        cap, now = self._limits.tokens_per_minute or UNPRICED_TOKENS, self._now()
        self._tokens = min(float(cap), self._tokens + max(0.0, now - self._filled) * cap / MINUTE)
        self._filled = now
        return self._tokens

    def _add(self, spent: Spent, *, canary: bool = False) -> None:
        self._dollars.spend(spent.metric, spent.minute, spent.dollars, canary=canary)
        if spent.unpriced_tokens:
            self._unpriced.spend(spent.metric, spent.minute, spent.unpriced_tokens, canary=canary)
