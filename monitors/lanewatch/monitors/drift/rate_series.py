"""A rate: evidence that it rose and evidence that it fell, and its windows."""

import msgspec
import numpy as np

from lanewatch.monitors.drift.alarm import Fired, Moved, most_moved
from lanewatch.monitors.drift.budget import minutes_between
from lanewatch.monitors.drift.distances import Floats, shares_toward
from lanewatch.monitors.drift.effects import RateEffects, rate_effects
from lanewatch.monitors.drift.evidence import Evidence, EvidenceState
from lanewatch.monitors.drift.rate_evidence import rate_evidence
from lanewatch.monitors.drift.rate_reference import Direction, RateBounds
from lanewatch.monitors.drift.tick import TICKS_PER_MINUTE, Tick
from lanewatch.monitors.drift.way_back import BinsBack, MeanBack, bins_back, log_back
from lanewatch.monitors.drift.windows import RingState, Windows

NAMES = ("no", "yes")
DIRECTIONS: tuple[Direction, Direction] = ("up", "down")
DAY_MINUTES = 1440


class RateState(msgspec.Struct, tag="rate"):
    """What to remember."""

    up: EvidenceState
    down: EvidenceState
    windows: list[RingState]


class RateSeries:
    """Detectors and windows of one rate; ticks count [non-events, events]."""

    def __init__(self, reference: RateBounds, alarms_per_30_days: float = 1.0) -> None:
        """Half of the budget is for each direction."""
        self.reference = reference
        self.windows = Windows((2,))
        self.evidence: dict[Direction, Evidence] = {
            direction: rate_evidence(reference, direction, 1.0) for direction in DIRECTIONS
        }
        self._tick = self._cell = 0
        self.allow(alarms_per_30_days)

    def allow(self, alarms_per_30_days: float) -> None:
        """Set the false alarms that the series may have."""
        for evidence in self.evidence.values():
            evidence.limit = minutes_between(alarms_per_30_days / 2)

    def detect(self, tick: Tick) -> Fired | None:
        """Take a tick in; the strongest evidence if it reached its line."""
        self.look(tick)
        best = max(DIRECTIONS, key=lambda direction: float(self.evidence[direction].update(tick)))
        ratio = float(self.evidence[best].ratio)
        return Fired("esr", best, ratio, int(self.evidence[best].onset())) if ratio >= 1 else None

    def look(self, tick: Tick) -> None:
        """Take a tick in to be shown alone."""
        self._tick, self._cell = tick.index, tick.cell
        self.windows.add(tick)

    def found(self, fired: Fired) -> tuple[list[Moved], BinsBack]:
        """The rate since the change."""
        minutes = min(max((self._tick - fired.changed) // TICKS_PER_MINUTE + 1, 1), DAY_MINUTES)
        window = self.windows.window(minutes, self._tick // TICKS_PER_MINUTE, self._shares())
        n = float(window.counts.sum())
        scale = float(window.effective_n) / n if n > 0 else 0.0
        observed = shares_toward(window.counts * scale / float(self.reference.phi), window.expected)
        moved = most_moved(NAMES, window.expected.tolist(), observed.tolist())
        return [bin_ for bin_ in moved if bin_.name == NAMES[1]], bins_back(observed, window.expected)

    def back(self, found: BinsBack | MeanBack, tick: Tick) -> float:
        """The log factor of a tick as evidence of return."""
        assert isinstance(found, BinsBack)
        shares = self._shares()
        return log_back(found, tick.worth() / float(self.reference.phi), shares[tick.cell % len(shares)])

    def restart(self) -> None:
        """Begin all evidence anew."""
        for evidence in self.evidence.values():
            evidence.restart()

    def effects(self, minutes: int) -> RateEffects | None:
        """The rate of the last minutes, beside its reference at this hour."""
        window = self.windows.window(minutes, self._tick // TICKS_PER_MINUTE, self._shares())
        edge = float(self.reference.bound("up", self._cell))
        return rate_effects(minutes, window, float(window.expected[1]), edge, float(self.reference.phi))

    def ratios(self) -> list[tuple[str, str, float]]:
        """(detector, direction, evidence over its line) of each detector."""
        return [("esr", direction, float(evidence.ratio)) for direction, evidence in self.evidence.items()]

    def forget_replica(self, slot: int) -> None:
        """A replica has gone."""
        for evidence in self.evidence.values():
            evidence.forget_replica(slot)

    def state(self) -> RateState:
        """What to write down."""
        return RateState(self.evidence["up"].state(), self.evidence["down"].state(), self.windows.state())

    def restore(self, state: RateState) -> bool:
        """Go on from a state; False where it does not fit."""
        return (
            self.evidence["up"].restore(state.up)
            and self.evidence["down"].restore(state.down)
            and self.windows.restore(state.windows)
        )

    def _shares(self) -> Floats:
        return np.stack([1 - self.reference.mean, self.reference.mean], axis=-1)
