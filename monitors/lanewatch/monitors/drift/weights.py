"""What a sampled trace stands for: weights from OpenTelemetry's sampling threshold, and estimates that use them.

A weight is the inverse of the probability with which the trace was kept (Horvitz and Thompson 1952), so weighted sums
estimate what the full traffic would have given, however the sampling depends on the outcome.
"""

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike

MAX_WEIGHT = 1000.0  # one trace must not outvote a thousand others
HEX_DIGITS = 14
_SPAN = 1 << 56  # the threshold has 56 bits: tracestate-probability-sampling, "ot=th"


class WeightedRate(msgspec.Struct, frozen=True):
    """A rate from weighted trials: the Hajek estimate, Kish's n, the linearised variance, and the n which that is worth.

    The two effective sizes differ where the sampling depends on the outcome.
    """

    rate: float
    kish_n: float
    variance: float
    effective_n: float


def adjusted_count(threshold: str) -> float:
    """The weight 2^56/(2^56 - T) of OpenTelemetry's `ot=th:HEX`; T is the hex digits, right-padded to 14.

    Raises ValueError where it is no threshold.

    >>> adjusted_count("c"), adjusted_count("0")
    (4.0, 1.0)
    """
    if not 1 <= len(threshold) <= HEX_DIGITS or not threshold.isascii() or not threshold.isalnum():
        msg = f"a sampling threshold has 1 to {HEX_DIGITS} hex digits"
        raise ValueError(msg)
    return _SPAN / (_SPAN - int(threshold.ljust(HEX_DIGITS, "0"), 16))


def weight_of(tracestate: str | None) -> float | None:
    """The weight that a W3C tracestate tells, at least 1 and not capped; None where the sampling is unknown.

    >>> weight_of("vendor=x,ot=rv:1234;th:8"), weight_of("vendor=x")
    (2.0, None)
    """
    for member in (tracestate or "").split(","):
        vendor, _, fields = member.strip().partition("=")
        if vendor == "ot":
            for field in fields.split(";"):
                if field.startswith("th:"):
                    try:
                        return adjusted_count(field[3:])
                    except ValueError:
                        return None
    return None


def rounded_weight(weight: float, chance: float) -> float:
    """The weight rounded to a power of 2^(1/4), up or down by `chance` in [0, 1), so that its expectation stays.

    >>> rounded_weight(4.0, 0.5), round(rounded_weight(4.2, 0.9), 2)
    (4.0, 4.0)
    """
    low = 2 ** (math.floor(math.log2(weight) * 4) / 4)
    high = low * 2**0.25
    return high if (weight - low) / (high - low) > chance else low


def kish_n(weights: ArrayLike) -> float:
    """Effective sample size (sum w)^2 / sum w^2 (Kish 1965); 0 of nothing.

    >>> kish_n([1, 1, 1]), round(kish_n([10, 1, 1]), 2)
    (3.0, 1.41)
    """
    w = np.asarray(weights, float)
    squares = float(w @ w)
    return float(w.sum()) ** 2 / squares if squares > 0 else 0.0


def weighted_rate(event_weight: float, total_weight: float, event_squares: float, total_squares: float) -> WeightedRate:
    """The rate of weighted trials, from the sums of w and w^2 over events and over all trials.

    Hajek's ratio; variance sum w^2 (x - p)^2 / (sum w)^2 (Sarndal et al. 1992, 5.6). Raises ValueError without a trial.

    >>> round(weighted_rate(3, 53, 3, 503).rate, 4)
    0.0566
    """
    if not 0 < total_weight < math.inf:
        msg = "no rate without a trial"
        raise ValueError(msg)
    p = event_weight / total_weight
    variance = ((1 - p) ** 2 * event_squares + p * p * (total_squares - event_squares)) / total_weight**2
    kish = total_weight**2 / total_squares
    return WeightedRate(p, kish, variance, p * (1 - p) / variance if variance > 0 else kish)


def design_effect(cluster_size: float, icc: float) -> float:
    """How much clustering widens a variance: 1 + (m - 1) ICC, m requests a session (Kish 1965). Worth n/deff.

    >>> design_effect(5, 0.3)
    2.2
    """
    return 1 + (cluster_size - 1) * icc
