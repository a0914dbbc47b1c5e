"""What the user's rules add to the metrics: calls held against schemas."""

from collections import Counter

from lanewatch.adapters.records import TraceRecord
from lanewatch.monitors.readings import UNKNOWN_SERVICE, Readings
from lanewatch.monitors.schemas import SchemaCheck


def rule_readings(record: TraceRecord, checks: tuple[SchemaCheck, ...]) -> Readings:
    """The counts of one record. A call that breaks its schema in several ways counts once under each kind."""
    service = record.service or UNKNOWN_SERVICE
    counts: Readings = Counter()
    for check in checks:
        counts["lanewatch_schema_checks", (service, check.tool, check.side, check.outcome)] += 1
        for kind in check.kinds:
            counts["lanewatch_schema_violations", (service, check.tool, check.side, kind)] += 1
    return counts
