"""The canary watch: rounds on a schedule and after the judge's name or fingerprint has changed, each held against the first.

Invariants: a judge that has shifted stays so until a whole round says otherwise or it is adopted; the first whole round (or the one
that was adopted) is what later ones are held against; with too few scored anchors nothing is known, which is neither drift nor its
absence, and is asked again, each time after twice as long; each change from what the last whole round was made with asks for one,
that back to an earlier judge too, but rounds cost money: at most one every `LEAST_SECONDS`, and ever fewer for names that come and
go; a clock that is set back begins the interval anew. One thread owns it. It never touches the store: who does hands jobs on and
results back.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from hashlib import blake2b

import msgspec

from lanewatch.monitors.judge.canaries.items import Canary, bands_of, canaries_of, prefix_of, sample_of
from lanewatch.monitors.judge.canaries.rounds import Round, means
from lanewatch.monitors.judge.canaries.shift import LEAST_SCORED, Shift, shifts
from lanewatch.monitors.judge.results import Result
from lanewatch.monitors.judge.samples import CANARY, Job

PRIORITY = 9  # above all strata: they are thrown out last, and the end of the money is theirs too
LEAST_SECONDS = 3600.0  # between two rounds for a change: a fingerprint that flaps must not spend the budget
RETRY_SECONDS = 900.0  # after a round that ended unknown, doubled with each one in a row, up to the interval
MOST_DOUBLINGS = 16
LONGEST_SECONDS = (
    2 * 3600.0
)  # a round that has not ended by then ends with what it has: all metrics' take 20 minutes by default
MOST_KNOWN = 64  # models and fingerprints that are remembered


class RoundOutcome(StrEnum):
    """The label `outcome` of `lanewatch_judge_canary_rounds_total`."""

    ANCHOR = "anchor"  # the first one: nothing to hold it against
    STEADY = "steady"
    SHIFTED = "shifted"
    UNKNOWN = "unknown"  # too few anchors have a score


class Watched(msgspec.Struct):
    """What is known of one metric's judge."""

    anchor: Round | None = None
    last: Round | None = None  # the last whole one
    under_way: Round | None = None
    begun: float = 0.0
    outcome: RoundOutcome | None = None
    shifts: tuple[Shift, ...] = ()
    drifts: bool | None = None  # by the last round that could tell; None while nothing can
    known: tuple[str, ...] = ()  # names and fingerprints that whole rounds were made with
    changed: bool = False  # another one than those of the last whole round was seen since
    is_back: bool = False  # and is one of the known
    n_back: int = 0  # rounds for such ones since the last one by schedule
    n_unknown: int = 0  # rounds in a row that ended so
    failed_at: float = 0.0  # when the last of them did
    since: float = 0.0  # when the first one began
    n_rounds: dict[str, int] = {}
    dollars: float = 0.0  # of all rounds, as far as it is known
    n_unpriced: int = 0  # anchors of all rounds whose price is not


class WatchState(msgspec.Struct):
    """What survives a restart. `canaries` names the set: scores of another set are not held against these."""

    canaries: str = ""
    metrics: dict[str, Watched] = {}
    n_begun: int = 0


class CanaryWatch:
    """Of some metrics, by some anchors."""

    def __init__(
        self, metrics: Iterable[str], canaries: Sequence[Canary], every_seconds: float, state: WatchState | None = None
    ) -> None:
        """`every_seconds` 0: no rounds at all. `state` is that of a process before this one. A metric with fewer anchors that have to
        be scored than a shift is told by has no rounds: all of them would end unknown.
        """
        bands = {metric: bands_of(metric, canaries) for metric in metrics}
        self._anchors = {
            metric: canaries_of(metric, canaries) if len(bands[metric]) >= LEAST_SCORED else () for metric in bands
        }
        self._bands = bands
        self._kinds = {canary.id: canary.kind.value for canary in canaries}
        self._every = every_seconds
        name = set_name(canaries)
        self.state = state if state is not None and state.canaries == name else WatchState(name)
        for metric in self._anchors:
            self.state.metrics.setdefault(metric, Watched())

    def due(self, now: float) -> list[Job]:
        """The jobs of rounds that begin now. What they give is to be handed to `take`."""
        jobs: list[Job] = []
        for metric, anchors in self._anchors.items():
            watched = self.state.metrics[metric]
            _no_later_than(watched, now)
            if watched.under_way is not None and now - watched.begun > LONGEST_SECONDS:
                self._end(metric, watched, now)
            if anchors and self._is_due(watched, now):
                jobs += self._begin(metric, watched, now)
        return jobs

    def _begin(self, metric: str, watched: Watched, now: float) -> list[Job]:
        self.state.n_begun += 1
        is_scheduled = not watched.begun or now - watched.begun >= self._every
        watched.n_back = 0 if is_scheduled else watched.n_back + (watched.changed and watched.is_back)
        watched.under_way = Round(f"{self.state.n_begun}", now)
        watched.begun, watched.changed, watched.is_back = now, False, False
        watched.since = watched.since or now
        name = watched.under_way.name
        return [
            Job(metric, sample_of(anchor, name), priority=PRIORITY, purpose=CANARY) for anchor in self._anchors[metric]
        ]

    def under_way(self) -> frozenset[str]:
        """What the trace ids of anchors begin with whose round has not ended."""
        rounds = (watched.under_way for watched in self.state.metrics.values())
        return frozenset(prefix_of(one.name) for one in rounds if one is not None)

    def take(self, job: Job, result: Result, now: float) -> None:
        """The result of one of the jobs. Those of rounds that have ended are late and ignored."""
        watched = self.state.metrics.get(job.metric)
        if watched is None or watched.under_way is None:
            return
        item = job.sample.trace_id.removeprefix(prefix_of(watched.under_way.name))
        if item == job.sample.trace_id or watched.under_way.has(item):
            return
        watched.under_way = watched.under_way.with_result(item, result, now)
        if all(watched.under_way.has(anchor.id) for anchor in self._anchors.get(job.metric, ())):
            self._end(job.metric, watched, now)

    def saw(self, metric: str, result: Result, at: float) -> None:
        """A result of live traffic, of this time: its judge may be another than that of the last round."""
        watched = self.state.metrics.get(metric)
        if watched is None or watched.last is None or result.cached or at <= watched.last.at:
            return
        names = {name for name in (result.judge_model, result.fingerprint) if name is not None}
        if names <= {*watched.last.models, *watched.last.fingerprints}:
            return
        is_back = names <= set(watched.known)
        watched.is_back = is_back and (watched.is_back or not watched.changed)
        watched.changed = True

    def adopt(self, metric: str) -> bool:
        """The last whole round is what later ones are held against: the judge was changed on purpose. False where there is none."""
        watched = self.state.metrics.get(metric)
        if watched is None or watched.last is None:
            return False
        watched.anchor, watched.outcome, watched.shifts, watched.drifts = watched.last, RoundOutcome.ANCHOR, (), None
        return True

    def drifting(self) -> frozenset[str]:
        """The metrics whose judge has shifted: what it scores tells of the judge."""
        return frozenset(metric for metric, watched in self.state.metrics.items() if watched.drifts)

    def means(self, metric: str) -> dict[str, float]:
        """The mean score of each kind of anchor in the last whole round."""
        last = self.state.metrics[metric].last
        return {} if last is None else means(last.scores, self._kinds)

    def _is_due(self, watched: Watched, now: float) -> bool:
        if not self._every or watched.under_way is not None:
            return False
        since = now - watched.begun
        if watched.begun == 0 or since >= self._every:
            return True
        if watched.n_unknown:
            return now - watched.failed_at >= RETRY_SECONDS * _doubled(watched.n_unknown - 1)
        return watched.changed and since >= LEAST_SECONDS * _doubled(watched.n_back if watched.is_back else 0)

    def _end(self, metric: str, watched: Watched, now: float) -> None:
        found, watched.under_way = watched.under_way, None
        assert found is not None
        watched.dollars += found.cost.dollars or 0.0
        watched.n_unpriced += found.n_unpriced
        watched.outcome, watched.shifts = _judged(watched.anchor, found, self._kinds, self._bands[metric])
        if watched.outcome is RoundOutcome.UNKNOWN:
            # A judge that had shifted has not come back by not answering.
            watched.drifts = watched.drifts or None
            watched.n_unknown, watched.failed_at = watched.n_unknown + 1, now
        else:
            watched.drifts = None if watched.outcome is RoundOutcome.ANCHOR else watched.outcome is RoundOutcome.SHIFTED
            watched.last, watched.n_unknown = found, 0
            watched.anchor = watched.anchor or found
            watched.known = tuple(dict.fromkeys((*watched.known, *found.models, *found.fingerprints)))[-MOST_KNOWN:]
        watched.n_rounds = {
            **watched.n_rounds,
            watched.outcome.value: watched.n_rounds.get(watched.outcome.value, 0) + 1,
        }


def _doubled(times: int) -> float:
    return 2.0 ** min(times, MOST_DOUBLINGS)


def _no_later_than(watched: Watched, now: float) -> None:
    """The clock was set back: what bears a time to come is as of now, else no round would begin before that has passed."""
    watched.begun, watched.since = min(watched.begun, now), min(watched.since, now)
    watched.failed_at = min(watched.failed_at, now)
    if watched.last is not None and watched.last.at > now:
        watched.last = msgspec.structs.replace(watched.last, at=now)


def _judged(
    anchor: Round | None, found: Round, kinds: Mapping[str, str], bands: Mapping[str, tuple[float, float]]
) -> tuple[RoundOutcome, tuple[Shift, ...]]:
    if anchor is None:
        enough = len(found.scores) >= LEAST_SCORED
        return (RoundOutcome.ANCHOR if enough else RoundOutcome.UNKNOWN), ()
    moved = shifts(anchor.ends(), found.ends(), kinds, bands)
    if moved is None:
        return RoundOutcome.UNKNOWN, ()
    return (RoundOutcome.SHIFTED if any(one.is_shifted for one in moved) else RoundOutcome.STEADY), moved


def set_name(canaries: Sequence[Canary]) -> str:
    """What tells a set of anchors from another: scores of two sets are not held against each other."""
    return blake2b(msgspec.json.encode(list(canaries)), digest_size=8).hexdigest()
