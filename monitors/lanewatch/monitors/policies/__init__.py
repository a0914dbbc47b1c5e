"""Policies: what the user requires of every trace, one module a kind, judged from facts and never guessed.

Invariants: a policy fails its own lane alone; what the evidence can't show makes it `incomplete`, never a pass; a finding
holds names, never content.
"""

from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from lanewatch.adapters.records import Dispatch, TraceRecord
from lanewatch.monitors.policies.budget import Budget
from lanewatch.monitors.policies.call_limit import CallLimit
from lanewatch.monitors.policies.case import Case, Criticality, Ruling, Scope
from lanewatch.monitors.policies.documents import Documents
from lanewatch.monitors.policies.forbidden import Forbidden
from lanewatch.monitors.policies.order import Order, kept_runs
from lanewatch.monitors.policies.paths import Paths
from lanewatch.monitors.tools import Registry
from lanewatch.monitors.verdicts import Lane, Status

__all__ = [
    "Budget", "CallLimit", "Case", "Criticality", "Documents", "Finding", "Forbidden", "Order", "Paths", "Policy", "Rule",
    "Ruling", "judge_policies", "part_of", "session_runs",
]  # fmt: skip

Rule = Forbidden | Order | CallLimit | Paths | Documents | Budget


class Policy(msgspec.Struct, frozen=True):
    """One requirement. `services` are those that it holds for; none means all."""

    name: str
    requirement: str
    lane: Lane
    owner: str
    rule: Rule
    criticality: Criticality = Criticality.MAJOR
    services: tuple[str, ...] = ()


class Finding(msgspec.Struct, frozen=True):
    """A policy's ruling on one trace."""

    policy: Policy
    ruling: Ruling

    @property
    def counts(self) -> bool:
        """Whether its lane heeds it: a minor policy is only reported and counted."""
        return self.policy.criticality is not Criticality.MINOR

    @property
    def failed(self) -> bool:
        """Whether the policy was broken."""
        return self.ruling.status is Status.FAIL


def part_of(findings: tuple[Finding, ...], ids: Mapping[str, str], *, last: bool) -> tuple[Finding, ...]:
    """What findings on several traces together say of one of them: a breach is told once, where it shows, or in the last
    of them where it shows at no span. `ids` are this one's span ids by those that the findings have.
    """
    parts = []
    for finding in findings:
        shown = finding.ruling.span_ids
        here = tuple(ids[span] for span in shown if span in ids)
        ruling = msgspec.structs.replace(finding.ruling, span_ids=here)
        if finding.failed and not here and (shown or not last):
            ruling = Ruling(Status.NOT_APPLICABLE, "shown_in_a_related_trace")
        parts.append(Finding(finding.policy, ruling))
    return tuple(parts)


def session_runs(policies: tuple[Policy, ...], registry: Registry) -> Callable[[TraceRecord], tuple[Dispatch, ...]]:
    """What is kept of a trace's runs for policies that look back over a session."""
    rules = (policy.rule for policy in policies)
    orders = [rule for rule in rules if isinstance(rule, Order) and rule.per is Scope.SESSION]
    return partial(kept_runs, orders, registry)


def judge_policies(policies: tuple[Policy, ...], case: Case) -> tuple[Finding, ...]:
    """A finding for each policy that holds for the trace's service."""
    return tuple(
        Finding(policy, policy.rule.judge(case))
        for policy in policies
        if not policy.services or case.record.service in policy.services
    )
