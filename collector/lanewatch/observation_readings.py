"""Everything that one observation adds to the metrics; a running sidecar and a report of recordings count the same."""

from collections import Counter
from itertools import chain

from lanewatch.handoffs.desk import HandoffDesk
from lanewatch.monitors.readings import Readings, readings
from lanewatch.monitors.rule_readings import rule_readings
from lanewatch.observation import Observation


def observation_readings(seen: Observation, handoffs: HandoffDesk) -> Readings:
    """The counts of one observation."""
    return Counter(
        chain(
            readings(seen.record, seen.divergences, seen.lanes, seen.compared),
            rule_readings(seen.record, seen.checks, seen.policies, seen.outcomes),
            handoffs.readings(seen),
        )
    )
