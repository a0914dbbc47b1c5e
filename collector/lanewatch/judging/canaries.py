"""Canaries in the sidecar: begins rounds, keeps what is known of the judge in the store, exports it, and says when it drifts.

Belongs to the judge's thread, which owns the store; `drifting` alone is read elsewhere. Canary jobs go the way of all others, within the same
budget, and never reach the product's series.
"""

import logging
import sqlite3
from collections.abc import Iterable, Sequence

import msgspec

from lanewatch.monitors.judge.canaries.items import Canary, Kind
from lanewatch.monitors.judge.canaries.shift import EVERYTHING
from lanewatch.monitors.judge.canaries.watch import CanaryWatch, RoundOutcome, WatchState
from lanewatch.monitors.judge.figures import Figures
from lanewatch.monitors.judge.samples import CANARY, LIVE, Job
from lanewatch.monitors.judge.states import Finished
from lanewatch.monitors.judge.store_facts import ADOPT, CANARIES, read_fact, take_fact, write_fact
from lanewatch.monitors.judge.store_queue import withdraw_jobs

logger = logging.getLogger(__name__)

DRIFTS = (
    "the judge of %s has changed: its canaries shifted (%s). Alerts on its scores, and drift of them, are held back. "
    "`lanewatch judge check` shows what moved; where the change was wanted, `lanewatch judge adopt` makes it the reference"
)
BACK = "the judge of %s scores its canaries as before again"


class CanaryDesk:
    """One for the process; a store that is opened anew is handed in again."""

    def __init__(
        self, metrics: Iterable[str], canaries: Sequence[Canary], every_seconds: float, figures: Figures
    ) -> None:
        """Nothing begins before `open`."""
        self._metrics, self._canaries, self._every = tuple(metrics), canaries, every_seconds
        self._figures = figures
        self._watch = CanaryWatch(self._metrics, canaries, every_seconds)
        self._moved = False
        self._counted: dict[str, tuple[dict[str, int], float, int]] = {}
        # Rounds that jobs in the store may be of; None where that is not known.
        self._may_have_left: frozenset[str] | None = None
        if every_seconds:
            figures.put("lanewatch_judge_canary_every_seconds", every_seconds)
        self.drifting: frozenset[str] = frozenset()

    def open(self, db: sqlite3.Connection) -> None:
        """Take up what an earlier process knew. Raises StoreFault."""
        if self._watch.state.n_begun:
            return  # the store was begun anew in the life of this process, which knows better
        kept = read_fact(db, CANARIES)
        if kept is None:
            return
        try:
            state = msgspec.json.decode(kept, type=WatchState)
        except msgspec.DecodeError:
            logger.warning("what was known of the judge's canaries can't be read: the next round is the reference")
            return
        self._watch = CanaryWatch(self._metrics, self._canaries, self._every, state)
        for metric, watched in self._watch.state.metrics.items():
            # Counters begin at 0 with the process.
            self._counted[metric] = (dict(watched.n_rounds), watched.dollars, watched.n_unpriced)
        self._tell()

    def turn(self, db: sqlite3.Connection, now: float) -> list[Job]:
        """The jobs of rounds that begin now, to be stored. To be called every few seconds. Raises StoreFault."""
        self._adopt(db)
        self._withdraw(db)
        jobs = self._watch.due(now)
        if jobs or self._moved:
            self._moved = False
            write_fact(db, CANARIES, msgspec.json.encode(self._watch.state))
            self._tell()
        self._tell_age(now)
        return jobs

    def take(self, one: Finished) -> None:
        """A job has ended: a canary's, or one of live traffic, which shows who judges now."""
        if one.job.purpose == CANARY:
            self._watch.take(one.job, one.result, one.ended)
            self._moved = True
        elif one.job.purpose == LIVE and one.result.judge_model is not None:
            self._watch.saw(one.job.metric, one.result, one.ended)

    def _withdraw(self, db: sqlite3.Connection) -> None:
        """Anchors of a round that has ended are not paid for any more; nor those of an earlier process's, of another set."""
        under_way = self._watch.under_way()
        if self._may_have_left is None or self._may_have_left - under_way:
            n = withdraw_jobs(db, CANARY, under_way)
            if n:
                logger.info("%d anchors of rounds that have ended are not judged any more", n)
        self._may_have_left = under_way

    def _adopt(self, db: sqlite3.Connection) -> None:
        asked = take_fact(db, ADOPT)
        if asked is None:
            return
        try:
            metrics = msgspec.json.decode(asked, type=list[str])
        except msgspec.DecodeError:
            return
        for metric in metrics:
            if self._watch.adopt(metric):
                logger.info("the last round of canaries of %s is the reference from now on, as was asked", metric)
                self._moved = True

    def _tell(self) -> None:
        drifting = self._watch.drifting()
        for metric in sorted(drifting - self.drifting):
            moved = [one for one in self._watch.state.metrics[metric].shifts if one.is_shifted]
            logger.warning(DRIFTS, metric, ", ".join(f"{one.group} {one.mean:+.2f}" for one in moved))
        for metric in sorted(self.drifting - drifting):
            if self._watch.state.metrics[metric].outcome is RoundOutcome.STEADY:  # and not adopted, which is said
                logger.info(BACK, metric)
        self.drifting = drifting
        for metric in self._metrics:
            self._tell_metric(metric)

    def _tell_metric(self, metric: str) -> None:
        watched = self._watch.state.metrics[metric]
        rounds, dollars, n_unpriced = self._counted.get(metric, ({}, 0.0, 0))
        for outcome, n in watched.n_rounds.items():
            if n > rounds.get(outcome, 0):
                self._figures.add("lanewatch_judge_canary_rounds", (metric, outcome), n - rounds.get(outcome, 0))
        if watched.dollars > dollars:
            self._figures.add("lanewatch_judge_canary_cost_dollars", (metric,), watched.dollars - dollars)
        if watched.n_unpriced > n_unpriced:
            self._figures.add("lanewatch_judge_canary_unpriced", (metric,), watched.n_unpriced - n_unpriced)
        self._counted[metric] = (dict(watched.n_rounds), watched.dollars, watched.n_unpriced)
        means = self._watch.means(metric)
        for kind in Kind:
            self._figures.put("lanewatch_judge_canary_score", means.get(kind.value), (metric, kind.value))
        overall = next((one.mean for one in watched.shifts if one.group == EVERYTHING), None)
        self._figures.put("lanewatch_judge_canary_shift", overall, (metric,))
        self._figures.put("lanewatch_judge_drift", watched.drifts, (metric,))

    def _tell_age(self, now: float) -> None:
        for metric in self._metrics:
            watched = self._watch.state.metrics[metric]
            since = watched.since if watched.last is None else watched.last.at
            if since:
                self._figures.put("lanewatch_judge_canary_age_seconds", max(0.0, now - since), (metric,))
