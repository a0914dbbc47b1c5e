"""A tool that may run only after another one has succeeded: authorize before capture."""

from collections.abc import Sequence
from math import inf

import msgspec

from lanewatch.adapters.identity import canonical
from lanewatch.adapters.records import Dispatch, Executed, TraceRecord
from lanewatch.monitors.policies.case import KEPT, Case, Ruling, Scope, ran, ruling, succeeded
from lanewatch.monitors.redaction.tokens import canonical_text
from lanewatch.monitors.tools import Registry
from lanewatch.monitors.verdicts import Status

HIDDEN = object()
LONGEST_SHARED = 200  # characters of an argument that is kept for later turns


class Order(msgspec.Struct, frozen=True, tag=True):
    """`same`: an argument of both that must be equal, so that one order's authorization is not another's."""

    before: str
    after: str
    same: str | None = None
    per: Scope = Scope.TURN

    def judge(self, case: Case) -> Ruling:
        """Every run of `after` needs a run of `before` that had ended well by then: in its trace, or in one of its session that
        was read by then.
        """
        later = case.runs((self.after,))
        if not later:
            return Ruling(Status.NOT_APPLICABLE, "not_run") if case.countable else case.unseen()
        earlier, seen = case.runs((self.before,)), case.countable
        if self.per is Scope.SESSION:
            own = {run.span_id for run in earlier}
            others = (run for run in case.session.runs if case.registry.same(self.before, run.name))
            earlier += tuple(run for run in others if run.span_id not in own)
            seen = seen and case.session.complete and case.session.facts.tool_calls.complete
        succeeded_at, perhaps_at = self._ends(earlier)
        broken, doubtful = [], []
        for run in later:
            value = self._value(run)
            if succeeded_at.get(value, inf) <= run.start_ns and value is not HIDDEN:
                continue
            perhaps = min(perhaps_at.get(value, inf), perhaps_at.get(HIDDEN, inf))
            if value is HIDDEN:
                perhaps = min((*succeeded_at.values(), *perhaps_at.values()), default=inf)
            if perhaps <= run.start_ns or not run.start_ns or not ran(run) or not seen:
                doubtful.append(run)
            else:
                broken.append(run)
        if broken:
            return ruling(Status.FAIL, "out_of_order", broken)
        return ruling(Status.INCOMPLETE, "order_not_proved", doubtful) if doubtful else KEPT

    def _ends(self, earlier: tuple[Dispatch, ...]) -> tuple[dict[object, float], dict[object, float]]:
        """When runs of `before` first ended, by the argument: of those that succeeded, and of those that may have."""
        succeeded_at: dict[object, float] = {}
        perhaps_at: dict[object, float] = {}
        for run in earlier:
            value = self._value(run)
            if ran(run) and not succeeded(run):
                continue
            proved = ran(run) and value is not HIDDEN and run.end_ns > 0  # an end that is not told is no time
            ends = succeeded_at if proved else perhaps_at
            ends[value] = min(ends.get(value, inf), run.end_ns)
        return succeeded_at, perhaps_at

    def _value(self, run: Dispatch) -> object:
        """A hashable form of the argument that both must share; HIDDEN where it is not seen."""
        if self.same is None:
            return None
        if run.arguments_state != "captured" or not isinstance(run.arguments, dict) or self.same not in run.arguments:
            return HIDDEN
        return canonical(run.arguments[self.same])


def kept_runs(orders: Sequence[Order], registry: Registry, record: TraceRecord) -> tuple[Dispatch, ...]:
    """The runs of a trace that orders of a session need later, with nothing of them but names, times and the shared arguments."""
    kept = []
    for run in record.dispatches if orders else ():
        fitting = [order for order in orders if registry.same(order.before, run.name)]
        if fitting and run.executed is not Executed.NO:
            shared = {order.same for order in fitting if order.same is not None}
            given = run.arguments if isinstance(run.arguments, dict) else {}
            arguments = {name: given[name] for name in shared if name in given and _is_short(given[name])}
            kept.append(msgspec.structs.replace(run, arguments=arguments, result=None, schema=None, keys=()))
    return tuple(kept)


def _is_short(value: object) -> bool:
    """A longer one is not kept, and counts as not seen."""
    return len(canonical_text(value)) <= LONGEST_SHARED
