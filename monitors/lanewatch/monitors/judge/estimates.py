"""What weighted scores say of all traffic: the mean, how sure it is, and how many equal observations it is worth.

A weight is 1 / inclusion probability. Everything is made of six sums that add up over replicas, so that Prometheus works
out the same figures as this does (judge.rules.yml). Sources: Horvitz and Thompson (1952); Hajek's ratio and its linearised
variance in Sarndal, Swensson and Wretman (1992), 5.7 and 5.8; Kish (1965) for n.
"""

import math

import msgspec

Z95 = 1.959963984540054


class Sums(msgspec.Struct):
    """Sums over scores x of weight w. They are all that an estimate needs, and add up."""

    n: int = 0
    weight: float = 0.0  # w
    weighted: float = 0.0  # w x
    weighted_squares: float = 0.0  # w x^2
    squares: float = 0.0  # w^2
    squares_values: float = 0.0  # w^2 x
    squares_squares: float = 0.0  # w^2 x^2

    def add(self, value: float, weight: float = 1.0) -> None:
        """One score."""
        squared = weight * weight
        self.n += 1
        self.weight += weight
        self.weighted += weight * value
        self.weighted_squares += weight * value * value
        self.squares += squared
        self.squares_values += squared * value
        self.squares_squares += squared * value * value

    def with_(self, other: "Sums") -> "Sums":
        """Those of both."""
        return Sums(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class Interval(msgspec.Struct, frozen=True):
    """A value and where it lies with 95 % confidence."""

    value: float
    low: float
    high: float


def total(sums: Sums) -> float:
    """Horvitz-Thompson: the sum of x over all traffic."""
    return sums.weighted


def mean(sums: Sums) -> float | None:
    """Hajek: the mean of x over all traffic; None of nothing."""
    return sums.weighted / sums.weight if sums.weight > 0 else None


def n_eff(sums: Sums) -> float:
    """How many observations of equal weight the weights are worth (Kish); 0 of nothing."""
    return sums.weight**2 / sums.squares if sums.squares > 0 else 0.0


def traffic_error(sums: Sums) -> float:
    """Standard error of the mean as one of just this traffic: sum w (w - 1) (x - m)^2 / W^2, for independent draws.

    It is 0 where every trace was judged: then nothing was left to chance.
    """
    m = mean(sums)
    if m is None:
        return math.nan
    of_squares = sums.squares_squares - 2 * m * sums.squares_values + m * m * sums.squares
    of_weights = sums.weighted_squares - 2 * m * sums.weighted + m * m * sums.weight
    return math.sqrt(max(0.0, of_squares - of_weights)) / sums.weight


def total_error(sums: Sums) -> float:
    """Standard error of the Horvitz-Thompson total, for independent draws: sum w (w - 1) x^2."""
    return math.sqrt(max(0.0, sums.squares_squares - sums.weighted_squares))


def interval(sums: Sums, low: float = 0.0, high: float = 1.0) -> Interval | None:
    """The mean, and where the mean of what makes such traffic lies; None of nothing.

    Unlike `traffic_error` it also counts that traffic itself is chance, since it is for telling one hour from another. One
    observation at each end of the range, of an average weight, is added first: without these, five scores of 1 would be an
    interval of no width. Of equal weights and scores of 0 and 1 that is within 0.025 of Wilson's interval from n = 30.
    """
    m = mean(sums)
    if m is None:
        return None
    average = sums.squares / sums.weight  # as weights count, so that exactly two observations are added
    wide = sums.with_(Sums(2, 2 * average, average * (low + high), 0, 2 * average**2,
                           average**2 * (low + high), average**2 * (low**2 + high**2)))  # fmt: skip
    centre = wide.weighted / wide.weight
    spread = wide.squares_squares - 2 * centre * wide.squares_values + centre**2 * wide.squares
    reach = Z95 * math.sqrt(max(0.0, spread)) / wide.weight
    # The mean is never more than half of an average weight's share from the centre, and `reach` at least 1.4 of them.
    return Interval(m, max(low, centre - reach), min(high, centre + reach))
