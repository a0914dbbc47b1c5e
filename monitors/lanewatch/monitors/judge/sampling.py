"""Which traces are judged: a draw by the hash of the trace's id, at a rate that its stratum sets and a cap lowers.

Invariants: a trace's number is the same on every replica and in every replay, so where no cap lowers a rate the decision
is too; the probability that a trace had when it was drawn depends on what came before it and never on its own number, so
1 / probability is an unbiased weight whatever the cap did (Horvitz and Thompson 1952; for rates that follow the past the
same holds by taking expectations one trace at a time).

All metrics of a trace share its number, so those that can be asked more seldom are asked of a part of the same traces: a sample is
redacted once, its scores can be read together, and what is not drawn costs a hash. Traces of a session are drawn each by itself, since each is judged by itself.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from math import inf

import msgspec

from lanewatch.monitors.judge.settings import Rates
from lanewatch.monitors.judge.strata import DESTRUCTIVE, DIVERGING, FAILING, REFUSING, RISK_BITS, STRATA, priority_of

# The id's own bits are what samplers upstream decide by (OpenTelemetry's `ot=th`): what they left is no uniform number.
_SALTED = blake2b(digest_size=8, key=b"lanewatch judge draw 1")
_UNIT = 2.0**-53
MINUTE = 60.0
STEPS = 8  # beyond the cap the rate is halved at each eighth of it, so that twice the cap is hardly ever reached
ORDINARY_SHARE = (
    1 / 8
)  # of a cap, that usual traces keep beside a flood of risky ones: what is never judged is in no mean
UNKNOWN_PACE = 20  # samples in a minute, before it is known how many the judge can take


class Draw(msgspec.Struct, frozen=True):
    """A trace that was drawn, and with what probability. `throttled`: it is not judged all the same, which no weight mends."""

    probability: float
    throttled: bool = False


class Sampler:
    """Draws, and keeps to so many drawn traces a minute, which is as many samples of one metric. Belongs to one thread.

    The coming minute's rates come from the last one's arrivals. Where these would go beyond the cap, usual traces give way to
    risky ones, and of each kind the strata share what there is so that those that ask for least get all they ask for (max-min
    fairness): a flood is thinned, and what is rare keeps its rate.
    """

    def __init__(
        self,
        rates: Rates,
        clock: Callable[[], float],
        kept: Callable[[float], None] = lambda _: None,
        pace: Callable[[], float] | None = None,
    ) -> None:
        """`clock` in seconds. `kept` is told at the first trace of a minute which share the cap leaves of what the rates ask for,
        by the last minute's arrivals; `pace` says then how many samples a minute can be judged, where that may be fewer than the
        cap. Raises ValueError for a cap below 1 or a rate outside of 0 to 1.
        """
        self._kept = kept
        self._rates = [rate_of(stratum, rates) for stratum in STRATA]
        if rates.per_minute < 1 or any(not 0 <= rate <= 1 for rate in self._rates):
            msg = "rates are 0 to 1, and a cap is at least 1 a minute"
            raise ValueError(msg)
        self._risky = [priority_of(stratum) > 0 for stratum in STRATA]
        self._cap = rates.per_minute
        self._pace = pace
        self._burst = self._cap if pace is None else min(self._cap, UNKNOWN_PACE)
        self._clock = clock
        self._ends = clock() + MINUTE
        self._probabilities = list(self._rates)
        self._arrived = [0] * len(STRATA)
        self._drawn = [0, 0]  # in all, and risky ones
        self._lowered = [1.0, 1.0]  # of usual ones, and of risky ones

    def draw(self, trace_id: str, stratum: int) -> Draw | None:
        """The draw of a trace; None where it was left out."""
        now = self._clock()
        if now >= self._ends:
            self._begin_minute(now)
        self._arrived[stratum] += 1
        probability = self._probabilities[stratum] * self._lowered[self._risky[stratum]]
        if probability < 1 and randomness(trace_id) >= probability:
            return None
        return self._take(probability, self._risky[stratum])

    def _take(self, probability: float, risky: bool) -> Draw:
        # A flood of usual traces lowers their own rate alone: risky ones are held against how many risky ones there were.
        drawn, burst = self._drawn, self._burst
        if drawn[risky] >= 2 * burst:
            return Draw(probability, throttled=True)
        drawn[0] += 1
        drawn[1] += risky
        for kind, n in enumerate(drawn):
            if n >= burst:
                self._lowered[kind] = 0.5 ** (1 + (n - burst) * STEPS // burst)
        return Draw(probability)

    def _begin_minute(self, now: float) -> None:
        # After a pause nothing is known of what comes.
        arrived = self._arrived if now < self._ends + MINUTE else [0] * len(STRATA)
        wanted = [n * rate for n, rate in zip(arrived, self._rates, strict=True)]
        pace = inf if self._pace is None else self._pace()
        self._burst = int(min(self._cap, max(UNKNOWN_PACE, 2 * pace)))
        given = kept_shares(wanted, self._risky, min(self._cap, pace))
        self._kept(sum(given) / sum(wanted) if any(wanted) else 1.0)
        self._probabilities = [
            rate if got >= asked else rate * got / asked
            for rate, asked, got in zip(self._rates, wanted, given, strict=True)
        ]
        self._ends = self._ends + MINUTE if now < self._ends + MINUTE else now + MINUTE
        self._arrived, self._drawn, self._lowered = [0] * len(STRATA), [0, 0], [1.0, 1.0]


def rate_of(stratum: int, rates: Rates) -> float:
    """The share of a stratum's traces that is to be judged: of several kinds that a trace is of, the highest."""
    told = [rates.rate]
    told += [rates.destructive_rate] * (stratum & RISK_BITS == DESTRUCTIVE)
    told += [rates.diverging_rate] * bool(stratum & DIVERGING)
    told += [rates.failing_rate] * bool(stratum & FAILING)
    told += [rates.refusing_rate] * bool(stratum & REFUSING)
    return max(told)


def randomness(trace_id: str) -> float:
    """The trace's own number in [0, 1), uniform over traces and the same everywhere.

    >>> 0 <= randomness("0f" * 16) < 1, randomness("0f" * 16) == randomness("0f" * 16)
    (True, True)
    """
    salted = _SALTED.copy()
    salted.update(trace_id.encode())
    return (int.from_bytes(salted.digest(), "big") >> 11) * _UNIT


def kept_shares(wanted: Sequence[float], risky: Sequence[bool], cap: float) -> list[float]:
    """A cap shared so that usual ones give way first, down to their part of it.

    >>> kept_shares([400, 30, 10], [False, True, True], 80)
    [40.0, 30, 10]
    >>> kept_shares([400, 900, 10], [False, True, True], 80)
    [10.0, 60.0, 10]
    """
    usual = sum(n for n, is_risky in zip(wanted, risky, strict=True) if not is_risky)
    for_risky = min(sum(wanted) - usual, cap - min(usual, ORDINARY_SHARE * cap))
    of_risky = shares([n * is_risky for n, is_risky in zip(wanted, risky, strict=True)], for_risky)
    of_usual = shares([n * (not is_risky) for n, is_risky in zip(wanted, risky, strict=True)], cap - for_risky)
    return [one if is_risky else other for one, other, is_risky in zip(of_risky, of_usual, risky, strict=True)]


def shares(wanted: Sequence[float], cap: float) -> list[float]:
    """A cap shared max-min fairly (Bertsekas and Gallager 1992, 6.5.2): whoever wants no more than an equal part gets it.

    >>> shares([1, 40, 100], 60)
    [1, 29.5, 29.5]
    """
    given = list(wanted)
    left = cap
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for place, index in enumerate(order):
        given[index] = min(wanted[index], left / (len(order) - place))
        left -= given[index]
    return given
