"""Tools that must not run: in a service at all, or without a permission that the trace's identity has.

A request that a guard turned down is no breach; the guard did its work.
"""

import msgspec

from lanewatch.monitors.policies.case import KEPT, Case, Ruling, ran, ruling
from lanewatch.monitors.verdicts import Status


class Forbidden(msgspec.Struct, frozen=True, tag=True):
    """`unless`: identities with one of these roles or scopes may."""

    tools: tuple[str, ...]
    unless: tuple[str, ...] = ()

    def judge(self, case: Case) -> Ruling:
        """Fails for a run that is proved; a doubtful run, or an identity that no span tells, is incomplete."""
        runs = case.runs(self.tools)
        scopes = case.record.scopes
        if runs and self.unless:
            if scopes is None:
                return ruling(Status.INCOMPLETE, "identity_unknown", runs)
            if set(scopes) & set(self.unless):
                return KEPT
        broken = [run for run in runs if ran(run)]
        if broken:
            return ruling(Status.FAIL, "no_permission" if self.unless else "forbidden_tool", broken)
        if runs:
            return ruling(Status.INCOMPLETE, "run_not_proved", runs)
        return KEPT if case.countable else case.unseen()
