"""A tool that may run only after another one has succeeded: authorize before capture."""

import msgspec

from lanewatch.adapters.identity import canonical
from lanewatch.adapters.records import Dispatch
from lanewatch.monitors.policies.case import KEPT, Case, Ruling, ran, ruling, succeeded
from lanewatch.monitors.verdicts import Status


class Order(msgspec.Struct, frozen=True, tag=True):
    """`same`: an argument of both that must be equal, so that one order's authorization is not another's."""

    before: str
    after: str
    same: str | None = None

    def judge(self, case: Case) -> Ruling:
        """Within one trace: every run of `after` needs a run of `before` that had ended well by then."""
        later = case.runs((self.after,))
        if not later:
            return Ruling(Status.NOT_APPLICABLE, "not_run") if case.countable else case.unseen()
        earlier = case.runs((self.before,))
        broken, doubtful = [], []
        for run in later:
            ended = [one for one in earlier if one.end_ns <= run.start_ns]
            allowed = [self._allows(one, run) for one in ended]
            if True in allowed:
                continue
            if None in allowed or not ran(run) or not case.countable:
                doubtful.append(run)
            else:
                broken.append(run)
        if broken:
            return ruling(Status.FAIL, "out_of_order", broken)
        return ruling(Status.INCOMPLETE, "order_not_proved", doubtful) if doubtful else KEPT

    def _allows(self, one: Dispatch, run: Dispatch) -> bool | None:
        """Whether a run of `before` allows one of `after`; None where that can't be told."""
        if self.same is not None:
            values = [_argument(each, self.same) for each in (one, run)]
            if None in values:
                return None
            if values[0] != values[1]:
                return False
        return succeeded(one) if ran(one) else None


def _argument(run: Dispatch, name: str) -> object:
    """A hashable form of an argument; None where it is not seen."""
    if run.arguments_state != "captured" or not isinstance(run.arguments, dict) or name not in run.arguments:
        return None
    return canonical(run.arguments[name])
