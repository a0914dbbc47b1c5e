"""How many samples a minute a judge can take: what it did while it had enough to do, less what it has to catch up with.

A queue that grows without end makes scores tell of hours ago, and ends in throwing jobs away. So the rate of the draw follows the
judge: what waits settles at what it does in `WAIT_MINUTES`. Nothing here is about one trace, so weights stay right.
"""

from collections import deque
from collections.abc import Callable, Mapping
from statistics import fmean

MINUTE = 60.0
# That a sample may wait: a sixth of what LanewatchJudgeQueueOld tells of, and a twelfth of an hour's traffic, which a mean of that hour
# can do without (score_coverage above 0.8).
WAIT_MINUTES = 5.0
SETTLE_MINUTES = 5.0  # in which the queue goes back to that
LOOKED_MINUTES = (
    5  # of work that its speed is taken from: 8 of a judge that does 1.6 a minute, so it is known to a third
)
LEAST = 0.1  # a minute: what is never drawn is in no mean

Flow = Callable[[], Mapping[str, tuple[int, int]]]


class Pace:
    """Samples a minute that the slowest of some metrics can take; infinite while nothing waits. Belongs to the reading thread."""

    def __init__(self, flow: Flow, clock: Callable[[], float]) -> None:
        """`flow` gives by metric how many wait, and how many have ended so far; `clock` seconds."""
        self._flow, self._clock = flow, clock
        self._at = clock()
        self._before = dict(flow())
        self._speeds: dict[str, deque[float]] = {}

    def __call__(self) -> float:
        """To be asked about once a minute."""
        now, flow = self._clock(), self._flow()
        minutes = (now - self._at) / MINUTE
        if minutes > 0:
            for metric, (waiting, ended) in flow.items():
                had, before = self._before.get(metric, (0, 0))
                self._look(metric, waiting, had, (ended - before) / minutes)
            self._at, self._before = now, dict(flow)
        allowed = (self._allowed(metric, waiting) for metric, (waiting, _) in flow.items())
        return max(LEAST, min(allowed, default=float("inf")))

    def _look(self, metric: str, waiting: int, had: int, speed: float) -> None:
        if not waiting:
            self._speeds.pop(metric, None)  # it could have done more, and nobody knows how much
        elif had or waiting >= speed:
            self._speeds.setdefault(metric, deque(maxlen=LOOKED_MINUTES)).append(speed)

    def _allowed(self, metric: str, waiting: int) -> float:
        speeds = self._speeds.get(metric)
        if not speeds:
            return float("inf")
        speed = fmean(speeds)
        return speed + (WAIT_MINUTES * speed - waiting) / SETTLE_MINUTES
