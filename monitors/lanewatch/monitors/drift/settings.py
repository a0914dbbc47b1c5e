"""What a sidecar's drift is set to, and the monitor that follows from it; defaults are those of the configuration."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from lanewatch.monitors.drift.budget import Budget
from lanewatch.monitors.drift.building import FIT_TRACES
from lanewatch.monitors.drift.counting import Counting
from lanewatch.monitors.drift.monitor import DriftMonitor
from lanewatch.monitors.drift.reference import Reference


class DriftSettings(msgspec.Struct, frozen=True):
    """`state_folder` None: nothing survives. `reference_file` None: the reference is learnt from the traffic."""

    budget: Budget = Budget()
    reference_file: Path | None = None
    state_folder: Path | None = None
    snapshot_seconds: float = 60.0
    learning_seconds: float = 7 * 86_400.0
    fit_traces: int = FIT_TRACES
    time_zone: str = "UTC"
    max_services: int = 10
    replica: str = ""
    embed_questions: bool = False  # by a local model, where traces carry no vector
    window_hours: int = 168  # of live traffic that are kept to make a reference of; 0: none


def monitor_from(
    reference: Reference,
    settings: DriftSettings,
    *,
    clock: Callable[[], float] | None = None,
    grace_ticks: int = 0,
    counting: Counting | None = None,
) -> DriftMonitor:
    """A monitor of this reference with the budget that is set; `clock` and the rest as for a DriftMonitor."""
    return DriftMonitor(
        reference,
        settings.budget,
        replica=settings.replica,
        clock=clock,
        grace_ticks=grace_ticks,
        counting=counting,
    )
