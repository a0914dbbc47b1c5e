"""What of a budget nobody but canaries may take: a judge that is watched only while there is money to spare is not watched.

Invariant: it is never more than half of a limit, so that a budget which one round would spend still judges traffic.
"""

import msgspec

from lanewatch.monitors.efficiency import Price
from lanewatch.monitors.judge.settings import DAY_SECONDS
from lanewatch.monitors.judge.states import ALL, DAY

# (input, output) tokens of a round by one metric: a ninth of what all nine that ask a model were measured to take together.
CANARY_ROUND = (120_000, 4_000)
MOST_KEPT = 0.5  # of a limit

Bound = tuple[str, str, float]  # metric or `all`, period, limit


class Kept(msgspec.Struct, frozen=True):
    """What a round of canaries of one metric takes, how many there are a day, and of how many metrics. `dollars` None: not known."""

    tokens: int = 0
    dollars: float | None = None
    rounds_a_day: float = 0.0
    n_metrics: int = 1

    def of(self, one: float, bound: Bound) -> float:
        """What is to be kept back of a limit, where a round takes `one`; an hour has one round where a day has fewer than 24."""
        metric, period, limit = bound
        a_day = self.rounds_a_day
        rounds = a_day if period == DAY else min(a_day, max(1.0, a_day / 24))
        return min(MOST_KEPT * limit, one * rounds * (self.n_metrics if metric == ALL else 1))


NOTHING_KEPT = Kept()


def kept_for_canaries(price: Price | None, every_seconds: float, n_metrics: int) -> Kept:
    """What is to be kept back for rounds of so many metrics; nothing where there are no rounds."""
    if not every_seconds:
        return NOTHING_KEPT
    dollars = None if price is None else price.dollars(*CANARY_ROUND)
    return Kept(sum(CANARY_ROUND), dollars, DAY_SECONDS / every_seconds, n_metrics)
