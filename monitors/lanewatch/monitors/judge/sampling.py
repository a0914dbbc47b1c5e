"""Which traces are judged: a draw by the hash of the trace's id, at a rate that its stratum sets and a cap lowers.

Invariants: a trace's number is the same on every replica and in every replay, so where no cap lowers a rate the decision
is too; the probability that a trace had when it was drawn depends on what came before it and never on its own number, so
1 / probability is an unbiased weight whatever the cap did (Horvitz and Thompson 1952; for rates that follow the past the
same holds by taking expectations one trace at a time).

All metrics of a trace share one draw: its sample is redacted once, its scores can be read together, and what is not drawn
costs one hash. Traces of a session are drawn each by itself, since each is judged by itself.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b

import msgspec

from lanewatch.monitors.judge.settings import Rates
from lanewatch.monitors.judge.strata import DESTRUCTIVE, DIVERGING, FAILING, REFUSING, RISK_BITS, STRATA

# The id's own bits are what samplers upstream decide by (OpenTelemetry's `ot=th`): what they left is no uniform number.
_SALTED = blake2b(digest_size=8, key=b"lanewatch judge draw 1")
_UNIT = 2.0**-53
MINUTE = 60.0
STEPS = 8  # beyond the cap the rate is halved at each eighth of it, so that twice the cap is hardly ever reached


class Draw(msgspec.Struct, frozen=True):
    """A trace that was drawn, and with what probability. `throttled`: it is not judged all the same, which no weight mends."""

    probability: float
    throttled: bool = False


class Sampler:
    """Draws, and keeps to so many drawn traces a minute, which is as many samples of one metric. Belongs to one thread.

    The coming minute's rates come from the last one's arrivals. Where these would go beyond the cap, the strata share it so
    that those that ask for least get all they ask for (max-min fairness): a flood is thinned, and what is rare keeps its rate.
    """

    def __init__(
        self, rates: Rates, clock: Callable[[], float], kept: Callable[[float], None] = lambda _: None
    ) -> None:
        """`clock` in seconds. `kept` is told at the first trace of a minute which share the cap leaves of what the rates ask for,
        by the last minute's arrivals. Raises ValueError for a cap below 1 or a rate outside of 0 to 1.
        """
        self._kept = kept
        self._rates = [rate_of(stratum, rates) for stratum in STRATA]
        if rates.per_minute < 1 or any(not 0 <= rate <= 1 for rate in self._rates):
            msg = "rates are 0 to 1, and a cap is at least 1 a minute"
            raise ValueError(msg)
        self._cap = rates.per_minute
        self._clock = clock
        self._ends = clock() + MINUTE
        self._probabilities = list(self._rates)
        self._arrived = [0] * len(STRATA)
        self._drawn = 0
        self._lowered = 1.0

    def draw(self, trace_id: str, stratum: int) -> Draw | None:
        """The draw of a trace; None where it was left out."""
        now = self._clock()
        if now >= self._ends:
            self._begin_minute(now)
        self._arrived[stratum] += 1
        probability = self._probabilities[stratum] * self._lowered
        if probability < 1 and randomness(trace_id) >= probability:
            return None
        return self._take(probability)

    def _take(self, probability: float) -> Draw:
        if self._drawn >= 2 * self._cap:
            return Draw(probability, throttled=True)
        self._drawn += 1
        if self._drawn >= self._cap:
            self._lowered = 0.5 ** (1 + (self._drawn - self._cap) * STEPS // self._cap)
        return Draw(probability)

    def _begin_minute(self, now: float) -> None:
        # After a pause nothing is known of what comes.
        arrived = self._arrived if now < self._ends + MINUTE else [0] * len(STRATA)
        wanted = [n * rate for n, rate in zip(arrived, self._rates, strict=True)]
        given = shares(wanted, self._cap)
        self._kept(sum(given) / sum(wanted) if any(wanted) else 1.0)
        self._probabilities = [
            rate if got >= asked else rate * got / asked
            for rate, asked, got in zip(self._rates, wanted, given, strict=True)
        ]
        self._ends = self._ends + MINUTE if now < self._ends + MINUTE else now + MINUTE
        self._arrived, self._drawn, self._lowered = [0] * len(STRATA), 0, 1.0


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
