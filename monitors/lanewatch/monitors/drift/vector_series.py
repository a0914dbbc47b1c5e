"""An embedding, or hashed text: T2 of its mean, and evidence from its components' and its residual's bins."""

import msgspec
import numpy as np

from lanewatch.monitors.drift.alarm import Fired, Moved, most_moved
from lanewatch.monitors.drift.bank_evidence import bank_evidence, component_evidence
from lanewatch.monitors.drift.budget import chance_a_check, minutes_between
from lanewatch.monitors.drift.calibration import hotelling_p_value, hotelling_t2, psi_threshold
from lanewatch.monitors.drift.distances import Floats, gaussian_kl, psi, shares_toward
from lanewatch.monitors.drift.effects import CHECK
from lanewatch.monitors.drift.evidence import EvidenceState
from lanewatch.monitors.drift.hotelling import HotellingWindows
from lanewatch.monitors.drift.projection import Shape
from lanewatch.monitors.drift.sums import real
from lanewatch.monitors.drift.tick import TICKS_PER_MINUTE, Tick
from lanewatch.monitors.drift.vector_reference import VectorReference
from lanewatch.monitors.drift.way_back import BinsBack, MeanBack, bins_back, log_back, log_mean_back
from lanewatch.monitors.drift.windows import RingState, Windows

DAY_MINUTES = 1440
LEAST_FOR_KL = 1000  # below, the Gaussian KL is mostly noise
MEAN_PART, BANK_PART = 0.25, 0.5  # of the budget; T2 took twice its part in the measurements


class VectorState(msgspec.Struct, tag="vector"):
    """What to remember."""

    components: EvidenceState
    residual: EvidenceState
    mean: list[RingState]
    component_windows: list[RingState]
    residual_windows: list[RingState]


class VectorEffects(msgspec.Struct, frozen=True):
    """A window of embeddings against its reference."""

    minutes: int
    n: float
    worth: float
    psi: float  # mean over the binned components
    share_over: float  # of those components, how many are over their own PSI threshold
    residual_psi: float
    kl_nats: float | None  # Gaussian, of the leading components; None below 1000 vectors
    log10_p: float  # of T2 on all components


class VectorSeries:
    """Detectors and windows of one vector signal."""

    def __init__(self, shape: Shape, reference: VectorReference, alarms_per_30_days: float = 1.0) -> None:
        """Half of the budget is for the bank, a quarter for T2; the rest is left for what T2 takes too much."""
        self.reference = reference
        self.components = component_evidence(reference.components, 1.0)
        self.residual = bank_evidence(reference.residual, 1.0)
        self.mean = HotellingWindows(reference.mean, 1.0)
        self._shape = shape
        # Shown, never tested: hours are fine enough beyond the first, and save 90 kB.
        self._component_windows = Windows((shape.components, shape.bins), quarter=60)
        self._residual_windows = Windows((shape.residual_bins,))
        self._tick = self._cell = 0
        self.allow(alarms_per_30_days)

    def allow(self, alarms_per_30_days: float) -> None:
        """Set the false alarms that the series may have."""
        self.components.limit = self.residual.limit = minutes_between(alarms_per_30_days * BANK_PART)
        self.mean.alpha = chance_a_check(alarms_per_30_days * MEAN_PART)

    def detect(self, tick: Tick) -> Fired | None:
        """Take a tick in; the strongest evidence if it reached its line."""
        components, residual = self._split(tick)
        self._show(tick, components, residual)
        by_component = self.components.update(components)
        of_residual = float(self.residual.update(residual))
        bank = (float(by_component.mean()) + of_residual) / 2
        t2 = self.mean.update(tick.index, tick.cell, *self._moments(tick))
        if bank >= 1:
            leader = int(by_component.argmax())
            onset = self.components.onset()[leader] if by_component[leader] >= of_residual else self.residual.onset()
            return Fired("esr", "any", bank, int(onset))
        return Fired("t2", "any", t2, self.mean.onset()) if t2 >= 1 else None

    def look(self, tick: Tick) -> None:
        """Take a tick in to be shown alone."""
        components, residual = self._split(tick)
        self._show(tick, components, residual)
        self.mean.look(tick.index, tick.cell, *self._moments(tick))

    def found(self, fired: Fired) -> tuple[list[Moved], BinsBack | MeanBack]:
        """The components that moved most, in standard deviations of the reference; and what to look for."""
        minutes = min(max((self._tick - fired.changed) // TICKS_PER_MINUTE + 1, 1), DAY_MINUTES)
        shift, _ = self.mean.shift(minutes)
        ranked = np.argsort(-np.abs(shift))[:3]
        moved = [Moved(f"component {i + 1}", 0.0, float(shift[i])) for i in ranked.tolist()]
        if fired.detector == "t2":
            return moved, MeanBack(tuple(shift.tolist()))
        ratios = self.components.ratio
        leader = int(ratios.argmax()) if ratios.max() >= float(self.residual.ratio) else None
        windows, expected_at, phi = self._residual_windows, self.reference.residual.shares, self.reference.residual.phi
        if leader is not None:
            windows, expected_at = self._component_windows, self.reference.components.shares
            phi = self.reference.components.phi
        window = windows.window(minutes, self._tick // TICKS_PER_MINUTE, expected_at)
        n = window.counts.sum(axis=-1, keepdims=True)
        scale = window.effective_n[..., None] / np.maximum(n, 1e-300) / np.asarray(phi)[..., None]
        observed = shares_toward(window.counts * scale, window.expected)
        if leader is None:
            names = tuple(f"residual bin {i + 1}" for i in range(self._shape.residual_bins))
            return most_moved(names, window.expected.tolist(), observed.tolist()), bins_back(observed, window.expected)
        return moved, bins_back(observed[leader], window.expected[leader], leader)

    def back(self, found: BinsBack | MeanBack, tick: Tick) -> float:
        """The log factor of a tick as evidence of return."""
        components, residual = self._split(tick)
        if isinstance(found, MeanBack):
            means, phi = self.reference.mean.means, self.reference.mean.phi
            weight, squares, sums = self._moments(tick)
            if squares <= 0:
                return 0.0
            scale = weight / squares / phi
            shifted = sums[: self._shape.k] - weight * means[tick.cell % len(means)]
            return log_mean_back(found, weight * scale, shifted * scale)
        if found.component is None:
            shares, _ = self.reference.residual.at(tick.cell)
            return log_back(found, residual.worth() / float(self.reference.residual.phi), shares)
        shares, _ = self.reference.components.at(tick.cell)
        counts = components.worth()[found.component]
        return log_back(found, counts / float(self.reference.components.phi[found.component]), shares[found.component])

    def restart(self) -> None:
        """Begin all evidence anew; what was shown begins anew as well."""
        self.components.restart()
        self.residual.restart()
        self.mean.restart()

    def effects(self, minutes: int) -> VectorEffects | None:
        """Effect sizes of the last minutes."""
        now = self._tick // TICKS_PER_MINUTE
        reference = self.reference
        residual = self._residual_windows.window(minutes, now, reference.residual.shares)
        n, worth = float(residual.counts.sum()), float(residual.effective_n) / float(reference.residual.phi)
        if not (n > 0 and worth > 0):
            return None
        window = self._component_windows.window(minutes, now, reference.components.shares)
        each = psi(shares_toward(window.counts * (worth / n), window.expected), window.expected)
        inverse_n = reference.components.at(self._cell)[1]
        lines = np.array([psi_threshold(self._shape.bins, worth, 1 / max(x, 1e-12), CHECK) for x in inverse_n.tolist()])
        of_residual = psi(shares_toward(residual.counts * (worth / n), residual.expected), residual.expected)
        total, mean, covariance = self.mean.moments(minutes, now)
        shift, n_mean = self.mean.shift(minutes)
        t2 = hotelling_t2(shift, max(n_mean / reference.mean.phi, 1e-9), 1 / max(reference.mean.inverse_n, 1e-12))
        return VectorEffects(
            minutes,
            n,
            worth,
            float(each.mean()),
            float((each > lines).mean()),
            float(of_residual),
            gaussian_kl(mean, covariance) if total >= LEAST_FOR_KL and _positive(covariance) else None,
            float(np.log10(max(hotelling_p_value(t2, len(shift)), 1e-300))),
        )

    def ratios(self) -> list[tuple[str, str, float]]:
        """(detector, direction, evidence over its line) of each detector."""
        bank = (float(self.components.ratio.mean()) + float(self.residual.ratio)) / 2
        return [("esr", "any", bank), ("t2", "any", self.mean.ratio)]

    def forget_replica(self, slot: int) -> None:
        """A replica has gone."""
        self.components.forget_replica(slot)
        self.residual.forget_replica(slot)

    def state(self) -> VectorState:
        """What to write down."""
        return VectorState(
            self.components.state(),
            self.residual.state(),
            self.mean.state(),
            self._component_windows.state(),
            self._residual_windows.state(),
        )

    def restore(self, state: VectorState) -> bool:
        """Go on from a state; False where it does not fit."""
        return (
            self.components.restore(state.components)
            and self.residual.restore(state.residual)
            and self.mean.restore(state.mean)
            and self._component_windows.restore(state.component_windows)
            and self._residual_windows.restore(state.residual_windows)
        )

    def _split(self, tick: Tick) -> tuple[Tick, Tick]:
        shape = self._shape
        edge = shape.components * shape.bins

        def part(counts: Floats, *, components: bool) -> Floats:
            if components:
                return counts[:edge].reshape(shape.components, shape.bins)
            return counts[edge : shape.counts]

        def of(components: bool) -> Tick:
            return Tick(
                tick.index,
                tick.cell,
                tick.minutes,
                {w: part(c, components=components) for w, c in tick.counts.items()},
                {
                    slot: {w: part(c, components=components) for w, c in counts.items()}
                    for slot, counts in tick.replicas.items()
                },
            )

        return of(components=True), of(components=False)

    def _show(self, tick: Tick, components: Tick, residual: Tick) -> None:
        self._tick, self._cell = tick.index, tick.cell
        self._component_windows.add(components)
        self._residual_windows.add(residual)

    def _moments(self, tick: Tick) -> tuple[float, float, Floats]:
        edge = self._shape.components * self._shape.bins
        weight = squares = 0.0
        sums: Floats = np.zeros(self._shape.length - self._shape.counts)
        for w, counts in tick.counts.items():
            n = float(counts[edge : self._shape.counts].sum())
            weight += w * n
            squares += w * w * n
            sums = sums + w * real(counts[self._shape.counts :])
        return weight, squares, sums


def _positive(covariance: Floats) -> bool:
    return bool(np.linalg.slogdet(covariance)[0] > 0)
