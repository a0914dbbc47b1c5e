"""What the user's rules add to the metrics: calls held against schemas, policies kept or broken, and outcomes told."""

from collections import Counter
from collections.abc import Iterator

from lanewatch.adapters.records import OutcomeFact, TraceRecord
from lanewatch.monitors.policies import Finding, Policy
from lanewatch.monitors.readings import UNKNOWN_SERVICE, Readings, Series
from lanewatch.monitors.schemas import SchemaCheck
from lanewatch.monitors.verdicts import Status

HELD = {True: "held", False: "broken", None: "unknown"}
UNCLAIMED = "unclaimed"
RULINGS = (Status.PASS, Status.FAIL, Status.INCOMPLETE, Status.NOT_APPLICABLE)


def rule_readings(
    record: TraceRecord,
    checks: tuple[SchemaCheck, ...],
    policies: tuple[Finding, ...] = (),
    outcomes: tuple[OutcomeFact, ...] = (),
) -> Iterator[Series]:
    """What a record adds one to. A call that breaks its schema in several ways counts once under each kind."""
    service = record.service or UNKNOWN_SERVICE
    for check in checks:
        yield "lanewatch_schema_checks", (service, check.tool, check.side, check.outcome)
        for kind in check.kinds:
            yield "lanewatch_schema_violations", (service, check.tool, check.side, kind)
    for fact in outcomes:
        yield "lanewatch_outcome_facts", (service, HELD[fact.held])
    for finding in policies:
        name, lane = finding.policy.name, finding.policy.lane
        yield "lanewatch_policy_checks", (service, name, lane, finding.ruling.status)
        if finding.failed:
            yield "lanewatch_policy_violations", (service, name, lane)


def unclaimed_outcome() -> Readings:
    """The count of an outcome whose trace did not come."""
    return Counter({("lanewatch_outcome_facts", (UNKNOWN_SERVICE, UNCLAIMED)): 1})


def known_series(policies: tuple[Policy, ...]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """What every service has from 0: by metric, the label values behind the service's."""
    return {
        "lanewatch_policy_violations": tuple((policy.name, policy.lane) for policy in policies),
        "lanewatch_policy_checks": tuple(
            (policy.name, policy.lane, status) for policy in policies for status in RULINGS
        ),
    }
