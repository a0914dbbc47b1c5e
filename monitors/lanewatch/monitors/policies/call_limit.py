"""At most so many calls of some tools. Every run counts, a retry too; the retry of a destructive call is named."""

import msgspec

from lanewatch.adapters.identity import canonical
from lanewatch.adapters.records import Dispatch
from lanewatch.monitors.efficiency import OTHERS, Amount
from lanewatch.monitors.policies.case import KEPT, Case, Ruling, Scope, ran, ruling
from lanewatch.monitors.tools import Registry, Risk
from lanewatch.monitors.verdicts import Status


class CallLimit(msgspec.Struct, frozen=True, tag=True):
    """`at_most` calls of all these tools together, in a turn or in a session so far."""

    tools: tuple[str, ...]
    at_most: int
    per: Scope = Scope.TURN

    def judge(self, case: Case) -> Ruling:
        """What is proved alone can break it; what may have run as well can only keep it from passing."""
        runs = case.runs(self.tools)
        proved = [run for run in runs if ran(run)]
        total = Amount(len(proved), case.countable and len(proved) == len(runs))
        if self.per is Scope.SESSION:
            total = self._of_session(case)
        if total.value > self.at_most:
            over = proved[self.at_most :] if self.per is Scope.TURN else proved
            retried = _destructive_retries(proved, case.registry)
            return ruling(Status.FAIL, "destructive_retry" if retried else "too_many_calls", retried or over)
        if total.complete:
            return KEPT
        return ruling(Status.INCOMPLETE, "runs_not_proved", runs) if len(proved) < len(runs) else case.unseen()

    def _of_session(self, case: Case) -> Amount:
        facts = case.session.facts
        counted = [
            amount for name, amount in facts.calls.items() if any(case.registry.same(tool, name) for tool in self.tools)
        ]
        complete = case.session.complete and facts.tool_calls.complete and OTHERS not in facts.calls
        return sum(counted, Amount(0, complete))


def _destructive_retries(runs: list[Dispatch], registry: Registry) -> list[Dispatch]:
    """Runs that do again, with the same arguments, what the registry calls destructive."""
    done: set[object] = set()
    again = []
    for run in runs:
        tool = registry.find(run.name)
        if tool is None or tool.risk is not Risk.DESTRUCTIVE or run.arguments_state != "captured":
            continue
        call = (tool.name, canonical(run.arguments))
        if call in done:
            again.append(run)
        done.add(call)
    return again
