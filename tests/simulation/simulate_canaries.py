"""How often a round of canaries is called shifted, of judges that have not changed and of some that have; prints the table of
docs/canaries.md: `python -m tests.simulation.simulate_canaries`.

56 anchors of four kinds. A score is its kind's level with normal noise, cut to 0 and 1; a verdict is right but for a share of flips.
"""

import sys
from collections.abc import Callable
from random import Random

from lanewatch.monitors.judge.canaries.shift import shifts

ITEMS = tuple(f"item-{at}" for at in range(56))
KINDS = {item: ("supported", "unsupported", "contradicted", "evasive")[at % 4] for at, item in enumerate(ITEMS)}
LEVELS = {"supported": 0.9, "unsupported": 0.1, "contradicted": 0.15, "evasive": 0.3}
BANDS = {item: (0.75, 1.0) if kind == "supported" else (0.0, 0.4) for item, kind in KINDS.items()}
MIDDLE = sum(LEVELS.values()) / len(LEVELS)
Scores = dict[str, float]
Judge = Callable[[Random], Scores]


def scores(noise: float, change: Callable[[float], float] = lambda value: value) -> Judge:
    """A judge with some noise, whose scores are changed."""
    return lambda rng: {
        item: min(1.0, max(0.0, change(min(1.0, max(0.0, rng.gauss(LEVELS[KINDS[item]], noise)))))) for item in ITEMS
    }


def verdicts(flips: float) -> Judge:
    """A judge of yes and no, wrong for a share of the anchors."""
    return lambda rng: {item: float((KINDS[item] == "supported") != (rng.random() < flips)) for item in ITEMS}


def found(before: Judge, now: Judge, n: int) -> float:
    """The share of n pairs of rounds that are called shifted."""
    rng = Random(1)
    return sum(any(one.is_shifted for one in shifts(before(rng), now(rng), KINDS, BANDS) or ()) for _ in range(n)) / n


def table(n: int) -> list[str]:
    """A row for each change, a column for each noise."""
    noises = (0.05, 0.15, 0.3)
    changes: tuple[tuple[str, Callable[[float], float]], ...] = (
        ("none", lambda value: value),
        ("0.1 milder", lambda value: value + 0.1),
        ("0.15 milder", lambda value: value + 0.15),
        ("0.2 milder", lambda value: value + 0.2),
        ("30 % nearer the middle", lambda value: 0.7 * value + 0.3 * MIDDLE),
        ("50 % nearer the middle", lambda value: 0.5 * value + 0.5 * MIDDLE),
    )
    rows = ["| change | noise 0.05 | 0.15 | 0.3 |", "|---|---|---|---|"]
    for name, change in changes:
        shares = (found(scores(noise), scores(noise, change), n) for noise in noises)
        rows.append(f"| {name} | " + " | ".join(f"{share:.1%}" for share in shares) + " |")
    rows += ["", "| wrong verdicts, before 5 % | |", "|---|---|"]
    rows += [f"| {share:.0%} | {found(verdicts(0.05), verdicts(share), n):.1%} |" for share in (0.05, 0.15, 0.3, 0.5)]
    return rows


if __name__ == "__main__":
    sys.stdout.write("\n".join(table(2000)) + "\n")
