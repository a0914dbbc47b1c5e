"""Ways to do a thing, any of which will do: two tools in order, or the composite tool that stands for both."""

import msgspec

from lanewatch.monitors.policies.case import KEPT, Case, Ruling, ran, ruling, succeeded
from lanewatch.monitors.verdicts import Status


class Paths(msgspec.Struct, frozen=True, tag=True):
    """`any_of` are paths, each of tools in order. `when`: only where one of these was asked for or ran; none is always."""

    any_of: tuple[tuple[str, ...], ...]
    when: tuple[str, ...] = ()

    def judge(self, case: Case) -> Ruling:
        """Kept by one path whose tools all succeeded, each after the one before it."""
        if self.when and not self._applies(case):
            return Ruling(Status.NOT_APPLICABLE, "not_asked_for") if case.countable else case.unseen()
        if any(_walked(path, case) for path in self.any_of):
            return KEPT
        runs = case.runs(dict.fromkeys(tool for path in self.any_of for tool in path))
        if not case.countable or not all(ran(run) for run in runs):
            return ruling(Status.INCOMPLETE, "path_not_proved", runs)
        return ruling(Status.FAIL, "no_path", runs)

    def _applies(self, case: Case) -> bool:
        asked = dict.fromkeys(request.name for request in case.record.requests)
        return bool(case.runs(self.when)) or any(case.registry.same(tool, name) for tool in self.when for name in asked)


def _walked(path: tuple[str, ...], case: Case) -> bool:
    at = None
    for tool in path:
        ends = [run.end_ns for run in case.runs((tool,)) if succeeded(run) and (at is None or run.start_ns >= at)]
        if not ends:
            return False
        at = min(ends)
    return True
