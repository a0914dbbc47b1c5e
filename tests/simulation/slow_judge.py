"""A judge of bounded speed behind the sidecar's own draw and books: traffic that comes, waits, and is judged in the order it came."""

from collections import deque

import msgspec
import numpy as np
from lanewatch.monitors.judge.estimates import Sums
from lanewatch.monitors.judge.ledger import Ledger
from lanewatch.monitors.judge.pace import Pace
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result
from lanewatch.monitors.judge.samples import Job, Sample
from lanewatch.monitors.judge.sampling import Sampler
from lanewatch.monitors.judge.settings import Rates
from lanewatch.monitors.judge.strata import FAILING, priority_of

METRIC, SERVICE = "faithfulness", "shop"
FAILS = 0.05  # of the traffic, which is judged at rate 1 and scores lower
MEANS = (0.9, 0.3)  # of usual and of failing traces
TRUTH = (1 - FAILS) * MEANS[0] + FAILS * MEANS[1]
HOUR = 60


class Hour(msgspec.Struct, frozen=True):
    """What the last hour's scores say, and what the rules hold against them."""

    sums: Sums
    coverage: float
    waiting: int
    waited: float  # minutes that the last of them waited


def last_hour(
    speed: float, hours: int, seed: int, *, a_minute: int = 300, by_risk: bool = False, paced: bool = True
) -> Hour:
    """The last of some hours of a judge that does so many a minute. `by_risk` and not `paced` are what must not be."""
    source = np.random.default_rng(seed)
    now = 0.0
    ledger = Ledger([METRIC])
    sampler = Sampler(Rates(), lambda: now, pace=Pace(ledger.flow, lambda: now) if paced else None)
    queue: deque[tuple[Job, float, float]] = deque()
    before, missing, waited, done = Sums(), 0.0, 0.0, 0.0
    for minute in range(hours * HOUR):
        if minute == (hours - 1) * HOUR:
            before, missing = _counted(ledger)
        failing = source.random(a_minute) < FAILS
        scores = np.clip(np.where(failing, MEANS[1], MEANS[0]) + source.normal(0, 0.05, a_minute), 0, 1)
        for place in range(a_minute):
            now = 60.0 * (minute + place / a_minute)
            stratum = FAILING if failing[place] else 0
            trace_id = f"{seed:016x}{minute * a_minute + place:016x}"
            draw = sampler.draw(trace_id, stratum)
            if draw is not None:
                throttled = EvaluationOutcome.THROTTLED, Reason.CAP
                ledger.discover(
                    SERVICE, {METRIC: 1 / draw.probability}, {METRIC: throttled if draw.throttled else None}
                )
            if draw is not None and not draw.throttled:
                sample = Sample(trace_id, 0, SERVICE, 0)
                job = Job(METRIC, sample, 1 / draw.probability, priority=priority_of(stratum))
                queue.append((job, float(scores[place]), now))
            done += speed / a_minute
            while done >= 1:
                done -= 1
                if queue:
                    best = max(range(len(queue)), key=lambda at: queue[at][0].priority) if by_risk else 0
                    job, score, since = queue[best]
                    del queue[best]
                    ledger.finish(job, Result(EvaluationOutcome.SCORED, value=score))
                    waited = (now - since) / 60
    sums, gone = _counted(ledger)
    found = Sums(*(getattr(sums, name) - getattr(before, name) for name in sums.__struct_fields__))
    lacks = gone - missing + ledger.scores()[SERVICE, METRIC].waiting
    return Hour(found, found.weight / (found.weight + lacks), len(queue), waited)


def _counted(ledger: Ledger) -> tuple[Sums, float]:
    scores = ledger.scores()[SERVICE, METRIC]
    return scores.sums, scores.missing
