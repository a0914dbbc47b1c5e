"""What a policy is judged by, and what it may rule."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from lanewatch.adapters.identity import name_keys
from lanewatch.adapters.records import Dispatch, Executed, TraceRecord
from lanewatch.monitors.efficiency import COUNTABLE, Efficiency
from lanewatch.monitors.session_facts import SessionFacts
from lanewatch.monitors.tools import Registry
from lanewatch.monitors.verdicts import Status


class Criticality(StrEnum):
    """How much a breach matters."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"  # reported and counted; the lane does not heed it


class Scope(StrEnum):
    """Over what calls and amounts are counted. A turn is what one trace shows."""

    TURN = "turn"
    SESSION = "session"


class Ruling(msgspec.Struct, frozen=True):
    """Whether a policy is kept, and why not or why it can't be told. `tools` and `span_ids` are where it shows."""

    status: Status
    reason: str | None = None
    tools: tuple[str, ...] = ()
    span_ids: tuple[str, ...] = ()


KEPT = Ruling(Status.PASS)


class Case(msgspec.Struct, frozen=True):
    """One trace, the facts of it and of its session, and the registry that says which names are one tool's."""

    record: TraceRecord
    registry: Registry
    facts: Efficiency
    session: SessionFacts
    by_name: dict[str, list[int]] = {}  # places of runs: a trace may have 20,000 of them

    @property
    def countable(self) -> bool:
        """Whether every run of a tool is seen, be its content hidden or not."""
        record = self.record
        whole = record.complete and not record.unread and record.incomplete is None
        return whole and record.evidence["dispatches"] in COUNTABLE

    def runs(self, tools: Iterable[str]) -> tuple[Dispatch, ...]:
        """Runs of these tools, and what may have been runs."""
        if not self.by_name:
            for place, run in enumerate(self.record.dispatches):
                if run.executed is not Executed.NO:
                    for key in name_keys(run.name):
                        self.by_name.setdefault(key, []).append(place)
        found: set[int] = set()
        verdicts: dict[tuple[str, str], bool] = {}
        for tool in tools:
            known = self.registry.find(tool)
            for key in dict.fromkeys(
                key for name in (tool, *(known.names if known else ())) for key in name_keys(name)
            ):
                for place in self.by_name.get(key, ()):
                    name = self.record.dispatches[place].name
                    if (tool, name) not in verdicts:
                        verdicts[tool, name] = self.registry.same(tool, name)
                    if verdicts[tool, name]:
                        found.add(place)
        return tuple(self.record.dispatches[place] for place in sorted(found))

    def unseen(self) -> Ruling:
        """For what can't be told, since runs may be missing."""
        return Ruling(Status.INCOMPLETE, f"dispatches_{self.record.evidence['dispatches']}")


def ran(run: Dispatch) -> bool:
    """Whether the body is known to have run."""
    return run.executed is Executed.YES


def succeeded(run: Dispatch) -> bool:
    """Whether it ran and reported no error."""
    return ran(run) and run.error is None


def ruling(status: Status, reason: str, runs: Iterable[Dispatch]) -> Ruling:
    """A ruling that shows at these runs."""
    shown = tuple(runs)
    return Ruling(status, reason, tuple(dict.fromkeys(run.name for run in shown)), tuple(run.span_id for run in shown))
