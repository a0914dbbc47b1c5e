"""From the configuration to drift's settings; apart from `parts`, so that numpy is loaded only where drift is watched."""

import socket
from pathlib import Path

from lanewatch.config.keys import Config
from lanewatch.monitors.drift.budget import Budget
from lanewatch.monitors.drift.settings import DriftSettings


def drift_settings(config: Config) -> DriftSettings:
    """What the sidecar watches drift with; a replica without a name takes that of its host."""
    drift = config.drift
    return DriftSettings(
        budget=Budget(drift.false_alarms_per_30_days, drift.budget_of),
        reference_file=Path(drift.reference_file) if drift.reference_file else None,
        state_folder=Path(drift.state_folder) if drift.state_folder else None,
        snapshot_seconds=drift.snapshot_seconds,
        learning_seconds=drift.learning_seconds,
        fit_traces=drift.fit_traces,
        time_zone=drift.time_zone,
        max_services=drift.max_services,
        embed_questions=drift.embed_questions,
        window_hours=24 * drift.window_days,
        replica=drift.replica or socket.gethostname(),
    )
