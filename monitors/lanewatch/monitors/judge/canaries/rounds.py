"""One round: every anchor of a metric judged once, what came of each, and what that says of the judge."""

from collections.abc import Iterable, Mapping
from statistics import fmean

import msgspec

from lanewatch.monitors.judge.canaries.items import Canary
from lanewatch.monitors.judge.results import REASONS, Cost, EvaluationOutcome, Reason, Result, added

# What the judge itself did, and neither its endpoint nor the budget: such an end is compared as a score is.
OWN = frozenset(REASONS[EvaluationOutcome.NOT_APPLICABLE]) | {
    Reason.JUDGE_INVALID, Reason.JUDGE_REFUSED, Reason.JUDGE_TRUNCATED, Reason.UNSTABLE,
}  # fmt: skip


class Round(msgspec.Struct, frozen=True):
    """What came of a metric's anchors. `scores` and `missing` (a reason) are by the anchor's id, apart; `at` in Unix seconds. The dollars
    of `cost` are those that are known: `n_unpriced` anchors were asked at a price that nobody knows.
    """

    name: str
    at: float
    scores: dict[str, float] = {}
    missing: dict[str, str] = {}
    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    cost: Cost = Cost(dollars=0.0)
    n_unpriced: int = 0

    def with_result(self, item: str, result: Result, at: float) -> "Round":
        """With one more anchor's result."""
        scores, missing = self.scores, self.missing
        if result.value is not None:
            scores = {**scores, item: result.value}
        else:
            missing = {**missing, item: result.reason.value}
        return Round(
            self.name,
            at,
            scores,
            missing,
            _with(self.models, result.judge_model),
            _with(self.fingerprints, result.fingerprint),
            added(self.cost, msgspec.structs.replace(result.cost, dollars=result.cost.dollars or 0.0)),
            self.n_unpriced + (result.cost.calls > 0 and result.cost.dollars is None),
        )

    def ends(self) -> dict[str, float | None]:
        """The end of each anchor that the judge ended: its score, or None where it gave none."""
        return {**{item: None for item, reason in self.missing.items() if reason in OWN}, **self.scores}

    def has(self, item: str) -> bool:
        """Whether the anchor has a result."""
        return item in self.scores or item in self.missing


class Soundness(msgspec.Struct, frozen=True):
    """How many anchors ended as a sound judge ends them, and which did not."""

    n: int
    n_sound: int
    astray: tuple[str, ...]


def soundness(found: Round, metric: str, canaries: Iterable[Canary]) -> Soundness:
    """A round held against the anchors' bands. Anchors without a result, and those that failed for the endpoint's sake, count as astray."""
    mine = [canary for canary in canaries if metric in canary.expect]
    astray = tuple(
        canary.id
        for canary in mine
        if not canary.expect[metric].holds(found.scores.get(canary.id), found.missing.get(canary.id, ""))
    )
    return Soundness(len(mine), len(mine) - len(astray), astray)


def means(scores: Mapping[str, float], kinds: Mapping[str, str]) -> dict[str, float]:
    """The mean score of each kind that has one."""
    by_kind: dict[str, list[float]] = {}
    for item, value in scores.items():
        by_kind.setdefault(kinds.get(item, ""), []).append(value)
    return {kind: fmean(values) for kind, values in sorted(by_kind.items()) if kind}


def _with(known: tuple[str, ...], name: str | None) -> tuple[str, ...]:
    return known if name is None or name in known or len(known) >= MOST_NAMES else (*known, name)


MOST_NAMES = 16  # of models and of fingerprints that a round keeps
