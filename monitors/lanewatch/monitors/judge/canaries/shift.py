"""Whether a round of anchors differs from the first one beyond chance, and by enough to matter.

The same anchors are judged in both rounds, so that differences are taken anchor by anchor: what is hard about an anchor falls out.
Scores of two values (0 and 1) have McNemar's exact interval, others Student's. The mean alone would miss a judge that
gives everything the middle mark, or tosses coins, for then supported anchors fall and the others rise; so each kind of anchor is
tested too, how far scores lie outside their bands, and how many anchors the judge itself ends without a score, all at one confidence
together (Bonferroni). Who calls every answer empty or evasive has no scores that could move, and is found by the last of these.
Sources: McNemar (1947); Clopper and Pearson (1934); the quantile of t by Hill's expansion (Abramowitz and Stegun 26.7.5).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist, fmean, stdev

import msgspec

# Of all intervals of a round together: of 1,000 rounds of an unchanged judge 1 is called shifted. Four rounds a day of a dozen metrics
# make one in three weeks, less what SMALLEST holds back.
CONFIDENCE = 0.999
SMALLEST = 0.05  # of a mean score; a smaller shift is real at times, and moves no decision
LEAST_SCORED = 20  # anchors with a score in both rounds
LEAST_SHARE = 0.75  # of those that the judge ended in the first: what the endpoint fails at is no random part
LEAST_OF_KIND = 8
EVERYTHING = "all"
ERROR = "error"  # the distance of a score to its anchor's band
MISSING = "missing"  # 1 where the judge ended an anchor without a score, 0 where with one
Ends = Mapping[str, float | None]  # by the anchor's id; None where the judge itself gave no score


class Shift(msgspec.Struct, frozen=True):
    """The mean difference of a group of anchors (a kind, or `all`) against the first round, with its interval; of `error` that of
    all anchors' distances to their bands, of `missing` that of the shares without a score.
    """

    group: str
    n: int
    mean: float
    low: float
    high: float

    @property
    def is_shifted(self) -> bool:
        """Beyond its interval, and beyond what matters."""
        return (self.low > 0 or self.high < 0) and abs(self.mean) >= SMALLEST


def shifts(
    anchor: Ends, now: Ends, kinds: Mapping[str, str], bands: Mapping[str, tuple[float, float]]
) -> tuple[Shift, ...] | None:
    """The shift of all anchors, then of each kind, of the error, and of the share without a score, by anchors that the judge ended in
    both rounds. `bands` are those of a sound judge. None where the anchors are too few to tell: unknown, and not unchanged.
    """
    ended = sorted(anchor.keys() & now.keys())
    n_scored = sum(value is not None for value in anchor.values())
    if n_scored < LEAST_SCORED or len(ended) < LEAST_SHARE * len(anchor):
        return None
    scores = ((item, anchor[item], now[item]) for item in ended)
    scored = {item: (old, new) for item, old, new in scores if old is not None and new is not None}
    groups = {EVERYTHING: list(scored.values())}
    for kind in sorted({kinds[item] for item in scored if item in kinds}):
        groups[kind] = [pair for item, pair in scored.items() if kinds.get(item) == kind]
    groups[ERROR] = [
        (_outside(before, bands[item]), _outside(after, bands[item]))
        for item, (before, after) in scored.items()
        if item in bands
    ]
    groups[MISSING] = [(float(anchor[item] is None), float(now[item] is None)) for item in ended]
    tested = {group: pairs for group, pairs in groups.items() if len(pairs) >= LEAST_OF_KIND}
    confidence = 1 - (1 - CONFIDENCE) / len(tested)
    found = tuple(Shift(group, len(pairs), *_interval(pairs, confidence)) for group, pairs in tested.items())
    # Some that the judge gives no score any more are neither a shift for certain, nor a random part that may be left out.
    is_enough = len(scored) >= max(LEAST_SCORED, LEAST_SHARE * n_scored)
    return found if is_enough or any(one.group == MISSING and one.is_shifted for one in found) else None


def _outside(value: float, band: tuple[float, float]) -> float:
    return max(band[0] - value, value - band[1], 0.0)


def _interval(pairs: Sequence[tuple[float, float]], confidence: float) -> tuple[float, float, float]:
    differences = [now - before for before, now in pairs]
    labels = all(value in {0.0, 1.0} for pair in pairs for value in pair)
    return (_by_signs if labels else _by_student)(differences, confidence)


def _by_student(differences: Sequence[float], confidence: float) -> tuple[float, float, float]:
    mean = fmean(differences)
    n = len(differences)
    half = student_quantile((1 + confidence) / 2, n - 1) * stdev(differences) / math.sqrt(n)
    return mean, mean - half, mean + half


def _by_signs(differences: Sequence[float], confidence: float) -> tuple[float, float, float]:
    """Of those that changed, the share that went up, exactly; the rest stands still."""
    n_up = sum(difference > 0 for difference in differences)
    n_changed = n_up + sum(difference < 0 for difference in differences)
    if not n_changed:
        return 0.0, 0.0, 0.0
    low, high = binomial_interval(n_up, n_changed, confidence)
    scale = n_changed / len(differences)
    return (2 * n_up / n_changed - 1) * scale, (2 * low - 1) * scale, (2 * high - 1) * scale


def student_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t, to 0.1 % from 7 degrees of freedom on at up to 0.9999.

    >>> round(student_quantile(0.975, 20), 3)
    2.086
    """
    z = NormalDist().inv_cdf(probability)
    z2 = z * z
    terms = (
        1.0,
        (z2 + 1) / 4,
        ((5 * z2 + 16) * z2 + 3) / 96,
        (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384,
        ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160,
    )
    return float(z * sum(term / degrees**power for power, term in enumerate(terms)))


def binomial_interval(k: int, n: int, confidence: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share k / n.

    >>> tuple(round(bound, 3) for bound in binomial_interval(5, 10, 0.95))
    (0.187, 0.813)
    """
    tail = (1 - confidence) / 2
    low = 0.0 if k == 0 else _solve(lambda p: _at_least(k, n, p) - tail)
    high = 1.0 if k == n else 1 - _solve(lambda p: _at_least(n - k, n, p) - tail)
    return low, high


def _at_least(k: int, n: int, p: float) -> float:
    return math.fsum(math.comb(n, j) * math.pow(p, j) * math.pow(1 - p, n - j) for j in range(k, n + 1))


def _solve(rises: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rises(middle) > 0 else (middle, high)
    return (low + high) / 2
