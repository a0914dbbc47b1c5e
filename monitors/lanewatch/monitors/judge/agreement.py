"""How two lists of numbers go together: Cohen's kappa of yes and no, and Spearman's rank correlation, each with an interval.

None is said where nothing can be: too few pairs, or one side that never varies, which is no agreement and no correlation of 0.
"""

import math
from collections.abc import Sequence

from lanewatch.monitors.judge.estimates import Z95, Interval

FEWEST = 20  # pairs; below that an interval spans most of its range
HALF = 0.5  # a score from here on is a yes

Pairs = Sequence[tuple[float, float]]


def kappa(pairs: Pairs) -> Interval | None:
    """Cohen's kappa (1960) of both sides' yes and no: (po - pe) / (1 - pe).

    The interval is Wilson's of the agreement po, with the agreement by chance pe taken as it is: unlike the usual one it is not
    of no width where all agree.

    >>> kappa([(1.0, 1.0), (0.0, 0.0)] * 15).value
    1.0
    """
    n = len(pairs)
    if n < FEWEST:
        return None
    yes = [sum(side >= HALF for side in sides) / n for sides in zip(*pairs, strict=True)]
    by_chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    if by_chance >= 1:
        return None  # both always say the same one thing: nothing tells whether they would agree on the other
    agreed = sum((a >= HALF) == (b >= HALF) for a, b in pairs) / n
    centre = (agreed + Z95**2 / 2 / n) / (1 + Z95**2 / n)
    reach = Z95 / (1 + Z95**2 / n) * math.sqrt(agreed * (1 - agreed) / n + Z95**2 / 4 / n**2)
    value, low, high = ((one - by_chance) / (1 - by_chance) for one in (agreed, centre - reach, centre + reach))
    return Interval(value, max(-1.0, low), min(1.0, high))


def rank_correlation(pairs: Pairs) -> Interval | None:
    """Spearman's, with tied values at their mean rank; the interval by Fisher's z with variance (1 + r^2 / 2) / (n - 3) (Bonett
    and Wright 2000).
    """
    n = len(pairs)
    if n < FEWEST:
        return None
    one, other = (_ranks(side) for side in zip(*pairs, strict=True))
    centre = (n + 1) / 2
    spread = math.sqrt(sum((a - centre) ** 2 for a in one) * sum((b - centre) ** 2 for b in other))
    if spread == 0:
        return None
    r = sum((a - centre) * (b - centre) for a, b in zip(one, other, strict=True)) / spread
    r = max(-1.0, min(1.0, r))
    z = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, r)))
    reach = Z95 * math.sqrt((1 + r * r / 2) / (n - 3))
    return Interval(r, math.tanh(z - reach), math.tanh(z + reach))


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in range(start, end + 1):
            ranks[order[place]] = (start + end) / 2 + 1
        start = end + 1
    return ranks
