"""What explicit facts say of the state that a trace left behind: of facts with one name, the latest.

Invariant: a fact that names another session than the trace's is not of this trace, and proves nothing for or against it.
"""

from collections.abc import Iterable
from math import inf

import msgspec

from lanewatch.adapters.records import OutcomeFact, TraceRecord


class Told(msgspec.Struct, frozen=True):
    """`wrong`: a fact does not hold; `reversed`: one that had held before. `held`: all do. `doubts` are why it is open."""

    wrong: bool = False
    reversed: bool = False
    held: bool = False
    doubts: tuple[str, ...] = ()


def told(record: TraceRecord, facts: Iterable[OutcomeFact]) -> Told:
    """What the facts come to. Those without a time count in the order in which they came, after all that have one."""
    latest: dict[str, OutcomeFact] = {}
    held_before: set[str] = set()
    foreign = False
    for fact in sorted(facts, key=lambda one: inf if one.time_ns is None else one.time_ns):
        if None not in (fact.session_id, record.session_id) and fact.session_id != record.session_id:
            foreign = True
            continue
        before = latest.get(fact.name)
        if before is not None and before.held:
            held_before.add(fact.name)
        latest[fact.name] = fact
    wrong = [fact.name for fact in latest.values() if fact.held is False]
    doubts = ["outcome_of_another_session"] * foreign + ["outcome_unknown"] * any(
        fact.held is None for fact in latest.values()
    )
    return Told(
        wrong=bool(wrong),
        reversed=any(name in held_before for name in wrong),
        held=bool(latest) and not wrong and not doubts,
        doubts=tuple(doubts),
    )
