"""Settings and the code that obeys them: none is read by nobody."""

import re
import socket

from lanewatch import parts
from lanewatch.collector.admission import AdmissionLimits
from lanewatch.collector.closing import AssemblerLimits
from lanewatch.collector.intake import IntakeLimits
from lanewatch.config.keys import Config
from lanewatch.config.reference import describe
from lanewatch.drifting.parts import drift_settings
from lanewatch.monitors.drift.settings import DriftSettings

from tests.contracts.source_tree import modules


def test_every_setting_is_read() -> None:
    """A limit that can be set and changes nothing would be a promise broken in silence."""
    stages = ("lanewatch.config", "lanewatch.collector.", "lanewatch.adapters.", "lanewatch.monitors.")
    text = "\n".join(path.read_text() for name, path in modules().items() if not name.startswith(stages))

    assert [row.name for row in describe() if not re.search(rf"\.{row.key}\b", text)] == []


def test_the_parts_own_defaults_are_those_of_the_settings() -> None:
    """A part that is built without a configuration, in a test or a tool, must behave like the sidecar."""
    config = Config()

    assert parts.assembler_limits(config) == AssemblerLimits()
    assert parts.intake_limits(config) == IntakeLimits()
    assert parts.admission_limits(config) == AdmissionLimits(config.limits.max_in_flight_bytes)
    assert drift_settings(config) == DriftSettings(replica=socket.gethostname())
