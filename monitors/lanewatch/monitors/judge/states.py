"""What the store and the worker tell the sidecar: finished jobs, and how the queue and the worker stand at a moment."""

from enum import StrEnum

import msgspec

from lanewatch.monitors.judge.results import Result
from lanewatch.monitors.judge.samples import Job

HOUR, DAY = "hour", "day"
ALL = "all"  # the label `metric` of what holds for all of them together
QUEUE_STATES = ("waiting", "running", "finished")  # the label `state` of `lanewatch_judge_queue_jobs`


class Finished(msgspec.Struct, frozen=True):
    """A job with its outcome. `ended` in Unix seconds; `took` are the seconds it was judged, None where it was not. `number` is the
    store's, 0 where it never came to be there.
    """

    job: Job
    result: Result
    ended: float
    took: float | None = None
    number: int = 0


class QueueState(msgspec.Struct, frozen=True):
    """Jobs of the store by state (QUEUE_STATES), and how long the oldest that has no outcome has waited."""

    jobs: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(QUEUE_STATES, 0))
    oldest_seconds: float = 0.0


class Restart(StrEnum):
    """Why a worker was started anew; the label `reason` of `lanewatch_judge_worker_restarts_total`."""

    CRASHED = "crashed"
    HUNG = "hung"
    MEMORY = "memory"
    STORE = "store"  # it could not open the store, or that was begun anew
