"""At most so many tokens, seconds, dollars, calls, model turns, repeated calls or idle turns, in a turn or a session."""

import msgspec

from lanewatch.monitors.efficiency import Amount
from lanewatch.monitors.policies.case import KEPT, Case, Ruling, Scope
from lanewatch.monitors.verdicts import Status


class Budget(msgspec.Struct, frozen=True, tag=True):
    """`fact` is one of `efficiency.FACTS`. A session is over its budget from the trace on that goes beyond it."""

    fact: str
    at_most: float
    per: Scope = Scope.TURN

    def judge(self, case: Case) -> Ruling:
        """What is known alone can break it: a lower bound above the limit is above it. Below it, all must be known."""
        amount: Amount = getattr(case.facts if self.per is Scope.TURN else case.session.facts, self.fact)
        if amount.value > self.at_most:
            return Ruling(Status.FAIL, f"too_many_{self.fact}" if self.fact != "seconds" else "too_slow")
        complete = amount.complete and (self.per is Scope.TURN or case.session.complete)
        return KEPT if complete else Ruling(Status.INCOMPLETE, f"{self.fact}_unknown")
