"""Builds a reference: first a layout is fitted, then every series is counted in it.

Live, both happen one after the other on the traffic as it comes. Recorded traces are read twice, so that all of them
count.
"""

from collections.abc import Callable, Iterable
from random import Random

import msgspec
import numpy as np
from numpy.typing import NDArray

from lanewatch.monitors.drift.calendar import hours_of_week
from lanewatch.monitors.drift.counting import Counting, CountingState
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.fitting import MAX_SERVICES, Fitting
from lanewatch.monitors.drift.layout import Layout
from lanewatch.monitors.drift.observer import Observer, Told
from lanewatch.monitors.drift.question_embedding import Whose
from lanewatch.monitors.drift.reference import Reference
from lanewatch.monitors.drift.sums import Pool, TickSums
from lanewatch.monitors.drift.tick import TICK_SECONDS

FIT_TRACES = 5000
FIT_SECONDS = 86_400  # after a day fewer are enough
LEAST_FIT_TRACES = 500
SECONDS = 1_000_000_000


class BuilderState(msgspec.Struct):
    """What survives a restart: nothing of the fitting, which is short; all of the counting."""

    layout: Layout | None
    counting: CountingState | None


class ReferenceBuilder:
    """Learns a reference from live traces. `rng` chooses the samples; `clock` as for an observer."""

    def __init__(
        self,
        rng: Random,
        time_zone: str = "UTC",
        clock: Callable[[], float] | None = None,
        *,
        fit_traces: int = FIT_TRACES,
        max_services: int = MAX_SERVICES,
    ) -> None:
        """Nothing is known. Bins are fitted to `fit_traces`; services beyond `max_services` become `other`.

        Raises ValueError for an unknown time zone.
        """
        self.layout: Layout | None = None
        self._cell_of = hours_of_week(time_zone)
        self._time_zone, self._clock = time_zone, clock
        self._fitting = Fitting(rng, max_services)
        self._fit_traces = fit_traces
        self._first_ns = 0
        self._observer: Observer | None = None
        self._pool: Pool | None = None
        self.counting: Counting | None = None

    @property
    def fitted(self) -> int:
        """Traces that bins were fitted to so far."""
        return self._fitting.traces

    @property
    def tick(self) -> int:
        """The open tick; -1 while nothing is counted."""
        return -1 if self._observer is None else self._observer.tick

    @property
    def counted_seconds(self) -> float:
        """How long it has been counting, by the clock of the traces."""
        first = None if self.counting is None else self.counting.first_tick
        return 0.0 if first is None else float(max(self.tick - first, 0) * TICK_SECONDS)

    @property
    def told(self) -> Told:
        """What was not simply counted."""
        return Told() if self._observer is None else self._observer.told

    def observe(self, facts: Facts, weight: float | None = 1.0) -> None:
        """Learn from a trace."""
        if self._observer is not None:
            self._count(self._observer.observe(facts, weight), self._observer.tick)
        elif facts.record.revision == 0:
            self._fitting.add(facts)
            self._first_ns = self._first_ns or facts.record.end_ns
            waited = facts.record.end_ns - self._first_ns >= FIT_SECONDS * SECONDS
            if self._fitting.traces >= (min(LEAST_FIT_TRACES, self._fit_traces) if waited else self._fit_traces):
                self.begin_counting(self._fitting.layout())

    def embedded(self, whose: Whose, vector: NDArray[np.float32], embedder: str) -> None:
        """Learn from a vector that a local model made of a question."""
        if self._observer is not None:
            self._observer.embedded(whose, vector, embedder)
        else:
            self._fitting.embedded(whose, vector, embedder)

    def advance(self, tick: int) -> None:
        """It is `tick` now."""
        if self._observer is not None:
            self._count(self._observer.advance(tick), tick)

    def begin_counting(self, layout: Layout) -> None:
        """Count in this layout from now on."""
        self.layout = layout
        self._observer = Observer(layout, clock=self._clock, halves=True)
        self._pool = Pool(layout.id, layout.sizes())
        self.counting = Counting(layout, self._cell_of)

    def reference(self, created: int, source: str = "live") -> Reference | None:
        """What has been counted so far; None while the layout is being fitted."""
        if self.layout is None or self.counting is None:
            return None
        rows = self.counting.state().rows
        return Reference(self.layout, rows, self._time_zone, source, created)

    def state(self) -> BuilderState:
        """What to write down."""
        return BuilderState(self.layout, None if self.counting is None else self.counting.state())

    def restore(self, state: BuilderState) -> None:
        """Go on from a state."""
        if state.layout is not None and state.counting is not None:
            self.begin_counting(state.layout)
            assert self.counting is not None
            self.counting.restore(state.counting)

    def _count(self, messages: list[TickSums], now: int) -> None:
        assert self._pool is not None
        assert self.counting is not None
        for message in messages:
            self._pool.add(message)
        for tick, pooled in self._pool.close(now - 1):
            self.counting.add(tick, {key: total for key, (total, _) in pooled.items()})


def build_reference(
    read: Callable[[], Iterable[tuple[Facts, float | None]]],
    rng: Random,
    *,
    created: int,
    time_zone: str = "UTC",
    source: str = "files",
) -> Reference:
    """A reference of recorded traces, which `read` gives twice, in order of time.

    What has too few observations is left out; the reference's gaps say what it can't do.
    """
    fitting = Fitting(rng)
    for facts, _ in read():
        if facts.record.revision == 0:
            fitting.add(facts)
    builder = ReferenceBuilder(rng, time_zone)
    builder.begin_counting(fitting.layout())
    last = 0
    for facts, weight in read():
        builder.observe(facts, weight)
        last = max(last, facts.record.end_ns)
    builder.advance(last // (TICK_SECONDS * SECONDS) + 1)
    reference = builder.reference(created, source)
    assert reference is not None
    return reference
