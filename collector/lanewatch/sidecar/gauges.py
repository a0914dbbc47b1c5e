"""What the sidecar's gauges read at each scrape: what waits, and the limits that it is held to."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from lanewatch import parts
from lanewatch.collector.admission import resident_bytes
from lanewatch.config.keys import Config

if TYPE_CHECKING:
    from lanewatch.sidecar.app import Sidecar


def gauges(sidecar: "Sidecar", config: Config) -> dict[str, tuple[str, Callable[[], float]]]:
    """By name: help, and how it is read."""
    started = time.time()  # of the clock that Prometheus has, too
    reads: dict[str, Callable[[], float]] = {
        "lanewatch_traces_open": lambda: sidecar.assembler.open_traces,
        "lanewatch_traces_open_limit": lambda: config.assembler.max_open_traces,
        "lanewatch_trace_bytes_open": lambda: sidecar.assembler.open_bytes,
        "lanewatch_trace_bytes_open_limit": lambda: config.assembler.max_open_bytes,
        "lanewatch_traces_revising": lambda: sidecar.assembler.revising_traces,
        "lanewatch_trace_bytes_remembered": lambda: sidecar.assembler.remembered_bytes,
        "lanewatch_skeletons_waiting": lambda: sidecar.assembler.waiting_skeletons,
        "lanewatch_artifacts_waiting": lambda: sidecar.desk.waiting,
        "lanewatch_traces_waiting": lambda: sidecar.reading.waiting,
        "lanewatch_reading_seconds": lambda: sidecar.reading.busy_seconds,
        "lanewatch_bytes_unread": lambda: sidecar.reading.unread_bytes,
        "lanewatch_bytes_in_flight": lambda: sidecar.admission.in_flight_bytes,
        "lanewatch_bytes_in_flight_limit": lambda: config.limits.max_in_flight_bytes,
        "lanewatch_resident_bytes": resident_bytes,
        "lanewatch_started_timestamp_seconds": lambda: started,
    }
    return {name: (text, reads[name]) for name, text in parts.GAUGES.items()}
