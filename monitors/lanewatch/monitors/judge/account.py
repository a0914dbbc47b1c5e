"""One account of the budget, of dollars or of tokens that have no price: what was spent and is held by metric, beside its limits.

Invariants: hours and days are the last 60 and 1,440 minutes; what canaries have not taken yet of their part is no room for others.
"""

from collections.abc import Callable

from lanewatch.monitors.judge.canary_part import Bound, Kept
from lanewatch.monitors.judge.states import ALL, DAY, HOUR
from lanewatch.monitors.judge.store_calls import DAY_MINUTES, MINUTE

NEAR = 0.8  # of a limit: from here on strata of higher risk alone are judged
MINUTES = {HOUR: 60, DAY: DAY_MINUTES}

Minutes = dict[str, dict[int, float]]  # metric -> minute -> what was spent


class Account:
    """Belongs to one thread."""

    def __init__(
        self, now: Callable[[], float], kept: Kept, a_round: float, *, hour: float, day: float, total: float = 0.0
    ) -> None:
        """`now` in Unix seconds; a round of canaries of one metric takes `a_round`. `hour` and `day` are limits of each metric, `total` is
        that of a day of all; 0 is none.
        """
        self._now = now
        self._kept = kept
        self._a_round = a_round
        self._hour, self._day, self._total = hour, day, total
        self._spent: Minutes = {}
        self._of_canaries: Minutes = {}
        self._held: dict[str, float] = {}

    def hold(self, metric: str, n: float) -> None:
        """So much is reserved; where it is negative, so much is given back."""
        self._held[metric] = self._held.get(metric, 0.0) + n

    def spend(self, metric: str, minute: int, n: float, *, canary: bool = False) -> None:
        """So much was spent in a minute."""
        _count(self._spent, metric, minute, n)
        if canary:
            _count(self._of_canaries, metric, minute, n)

    def has_room(self, metric: str, n: float, *, canary: bool) -> bool:
        """Whether so much more goes beyond no limit."""
        return all(self._taken(bound) + n <= self._room(bound, canary=canary) for bound in self.bounds(metric))

    def is_near(self, metric: str) -> bool:
        """Whether there is little left of some limit for what is no canary."""
        return any(self._taken(bound) >= NEAR * self._room(bound, canary=False) for bound in self.bounds(metric))

    def spent(self, metric: str, period: str) -> float:
        """What was spent in the period so far; metric `all` is the sum."""
        return _sum(self._spent, metric, period, int(self._now() // MINUTE))

    def by_period(self) -> dict[tuple[str, str], float]:
        """What was spent by metric and period, with `all` for the sum."""
        return {(of, period): self.spent(of, period) for of in (*self._spent, ALL) for period in MINUTES}

    def bounds(self, metric: str) -> list[Bound]:
        """The limits that what this metric takes is held against."""
        bounds = ((metric, HOUR, self._hour), (metric, DAY, self._day), (ALL, DAY, self._total))
        return [bound for bound in bounds if bound[2]]

    def _taken(self, bound: Bound) -> float:
        of, period, _ = bound
        held = sum(self._held.values()) if of == ALL else self._held.get(of, 0.0)
        return self.spent(of, period) + held

    def _room(self, bound: Bound, *, canary: bool) -> float:
        of, period, limit = bound
        if canary:
            return limit
        took = _sum(self._of_canaries, of, period, int(self._now() // MINUTE))
        return limit - max(0.0, self._kept.of(self._a_round, bound) - took)


def _sum(book: Minutes, metric: str, period: str, now: int) -> float:
    return sum(_of(book.get(one, {}), period, now) for one in (tuple(book) if metric == ALL else (metric,)))


def _of(minutes: dict[int, float], period: str, now: int) -> float:
    for ahead in [minute for minute in minutes if minute > now]:  # the clock was set back: it is spent as of now
        minutes[now] = minutes.get(now, 0.0) + minutes.pop(ahead)
    return sum(n for minute, n in minutes.items() if minute > now - MINUTES[period])


def _count(book: Minutes, metric: str, minute: int, n: float) -> None:
    minutes = book.setdefault(metric, {})
    minutes[minute] = minutes.get(minute, 0.0) + n
    for old in [one for one in minutes if one <= minute - DAY_MINUTES]:
        del minutes[old]
