"""Contexts in another order, and what two orders' scores come to: a score that depends on the order is none.

Judges favour what stands first (Wang et al. 2023, arXiv 2305.17926; Zheng et al. 2023, arXiv 2306.05685), and the rank of a document is no part of whether it supports
an answer. Two orders show it: where they agree, their mean is the score; where not, there is none.
"""

import hashlib
from collections.abc import Sequence

# One step of one of two judges' ratings (0, 1, 2) moves their mean, of 0 to 1, by 0.25: less than that is no change of mind.
STABLE_WITHIN = 0.25
_ROUNDING = 1e-9


def orders_of(contexts: Sequence[str], seed: str, n: int = 2) -> list[tuple[str, ...]]:
    """The recorded order and, where there are two texts or more and `n` is 2, one drawn by `seed`: never the same again."""
    recorded = tuple(contexts)
    if n < 2 or len(recorded) < 2:  # noqa: PLR2004
        return [recorded]
    drawn = tuple(sorted(recorded, key=lambda text: hashlib.sha256(f"{seed}\0{text}".encode()).digest()))
    return [recorded, drawn if drawn != recorded else recorded[::-1]]


def agreed(values: Sequence[float]) -> float | None:
    """The mean of the orders' scores; None where they are further apart than a judge's smallest step."""
    if max(values) - min(values) > STABLE_WITHIN + _ROUNDING:
        return None
    return sum(values) / len(values)
