"""A distribution: the bank's evidence, the multi-window G test, and effect sizes of its windows."""

import msgspec

from lanewatch.monitors.drift.alarm import Fired, Moved, most_moved
from lanewatch.monitors.drift.bank_evidence import bank_evidence
from lanewatch.monitors.drift.bins import Bins
from lanewatch.monitors.drift.budget import chance_a_check, minutes_between
from lanewatch.monitors.drift.distances import shares_toward
from lanewatch.monitors.drift.effects import ShareEffects, share_effects
from lanewatch.monitors.drift.evidence import EvidenceState
from lanewatch.monitors.drift.multi_window_g import MultiWindowG
from lanewatch.monitors.drift.share_reference import ShareReference
from lanewatch.monitors.drift.tick import TICKS_PER_MINUTE, Tick
from lanewatch.monitors.drift.way_back import BinsBack, MeanBack, bins_back, log_back
from lanewatch.monitors.drift.windows import RingState

DAY_MINUTES = 1440


class ShareState(msgspec.Struct, tag="shares"):
    """What to remember."""

    bank: EvidenceState
    windows: list[RingState]


class ShareSeries:
    """Detectors and windows of one distribution."""

    def __init__(self, bins: Bins, reference: ShareReference, alarms_per_30_days: float = 1.0) -> None:
        """Half of the budget is for the bank, half for G."""
        self.bins = bins
        self.reference = reference
        self.bank = bank_evidence(reference, 1.0)
        self.g = MultiWindowG(reference, 1.0)
        self._tick = self._cell = 0
        self.allow(alarms_per_30_days)

    def allow(self, alarms_per_30_days: float) -> None:
        """Set the false alarms that the series may have."""
        self.bank.limit = minutes_between(alarms_per_30_days / 2)
        self.g.alpha = chance_a_check(alarms_per_30_days / 2)

    def detect(self, tick: Tick) -> Fired | None:
        """Take a tick in; the strongest evidence if it reached its line."""
        self._tick, self._cell = tick.index, tick.cell
        fired = []
        if (ratio := float(self.bank.update(tick))) >= 1:
            fired.append(Fired("esr", "any", ratio, int(self.bank.onset())))
        if (ratio := float(self.g.update(tick))) >= 1:
            fired.append(Fired("g", "any", ratio, int(self.g.onset())))
        return fired[0] if fired else None  # the bank knows the time of change better

    def look(self, tick: Tick) -> None:
        """Take a tick in to be shown alone."""
        self._tick, self._cell = tick.index, tick.cell
        self.g.windows.add(tick)

    def found(self, fired: Fired) -> tuple[list[Moved], BinsBack]:
        """The bins that moved most since the change."""
        minutes = min(max((self._tick - fired.changed) // TICKS_PER_MINUTE + 1, 1), DAY_MINUTES)
        window = self.g.windows.window(minutes, self._tick // TICKS_PER_MINUTE, self.reference.shares)
        n = float(window.counts.sum())
        scale = float(window.effective_n) / n if n > 0 else 0.0
        observed = shares_toward(window.counts * scale / float(self.reference.phi), window.expected)
        moved = most_moved(self.bins.names, window.expected.tolist(), observed.tolist())
        return moved, bins_back(observed, window.expected)

    def back(self, found: BinsBack | MeanBack, tick: Tick) -> float:
        """The log factor of a tick as evidence of return."""
        assert isinstance(found, BinsBack)
        shares, _ = self.reference.at(tick.cell)
        return log_back(found, tick.worth() / float(self.reference.phi), shares)

    def restart(self) -> None:
        """Begin all evidence anew; what was shown begins anew as well."""
        self.bank.restart()
        self.g.restart()

    def effects(self, minutes: int) -> ShareEffects | None:
        """Effect sizes of the last minutes."""
        window = self.g.windows.window(minutes, self._tick // TICKS_PER_MINUTE, self.reference.shares)
        _, inverse_n = self.reference.at(self._cell)
        return share_effects(minutes, window, float(inverse_n), float(self.reference.phi), self.bins)

    def ratios(self) -> list[tuple[str, str, float]]:
        """(detector, direction, evidence over its line) of each detector."""
        return [("esr", "any", float(self.bank.ratio)), ("g", "any", float(self.g.ratio))]

    def forget_replica(self, slot: int) -> None:
        """A replica has gone."""
        self.bank.forget_replica(slot)

    def state(self) -> ShareState:
        """What to write down."""
        return ShareState(self.bank.state(), self.g.windows.state())

    def restore(self, state: ShareState) -> bool:
        """Go on from a state; False where it does not fit."""
        return self.bank.restore(state.bank) and self.g.windows.restore(state.windows)
