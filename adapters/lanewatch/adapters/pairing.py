"""Which run of a tool answers which request: rules R1 to R8, applied in order of their certainty.

Requests come from LLM outputs in order of time; runs from TOOL spans after duplicates are folded. Each run answers at
most one request. A rule applies to all runs before a weaker one is tried, so that a certain match is never spoilt by a
guess. What no rule matches stays unmatched; where a rule could match in more than one way it matches none.

R1 equal id; R3 equal id, recovered from a payload or parent; R5 equal name and arguments; R6 equal name, loosely equal
arguments; R7 equal name and count in a turn, arguments not recorded; R9 equal name and count in a turn, arguments
differ (a rewrite); R10 equal arguments, another name, the only ones left in the turn (an alias).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable

import msgspec

from lanewatch.adapters.facts import Executed, Shape, ToolKind, ToolRun
from lanewatch.adapters.identity import canonical, id_quality, loosely_same, same_name
from lanewatch.adapters.reading import Content, State
from lanewatch.adapters.records import IdQuality

SLACK_NS = 2_000_000  # 2 ms: clocks of threads and processes on one host differ by less, and spans are stamped apart


class Asked(msgspec.Struct, frozen=True):
    """A request, as far as pairing needs it."""

    name: str
    call_id: str | None
    quality: IdQuality
    aliases: tuple[str, ...]
    arguments: Content
    turn: int
    asked_ns: int  # when the model call began: with streaming a tool may start before it ends
    until_ns: int | None  # when the same conversation's next model call began, if one followed


class Match(msgspec.Struct, frozen=True):
    """Run `run` answers request `request` by `rule`."""

    request: int
    run: int
    rule: str


def pair(asked: list[Asked], runs: list[ToolRun]) -> list[Match]:
    """Match runs to requests; both in order of time."""
    return _Pairing(asked, runs).all()


class _Pairing:
    def __init__(self, asked: list[Asked], runs: list[ToolRun]) -> None:
        self.asked, self.runs = asked, runs
        self.free_requests = set(range(len(asked)))
        self.free_runs = set(range(len(runs)))
        self.matches: list[Match] = []

    def all(self) -> list[Match]:
        self.by_id()
        self.each("R5", self.equal)
        self.each("R6", self.loose)
        self.by_count("R7", self.unrecorded)
        self.by_count("R9", lambda request, run: same_name(self.asked[request].name, self.runs[run].name))
        self.last_one_left()
        return sorted(self.matches, key=lambda match: match.run)

    def take(self, request: int, run: int, rule: str) -> None:
        self.free_requests.discard(request)
        self.free_runs.discard(run)
        self.matches.append(Match(request, run, rule))

    def in_time(self, request: int, run: int) -> bool:
        return self.runs[run].span.start_ns >= self.asked[request].asked_ns - SLACK_NS

    def in_turn(self, request: int, run: int) -> bool:
        until = self.asked[request].until_ns
        return self.in_time(request, run) and (until is None or self.runs[run].span.start_ns <= until + SLACK_NS)

    def by_id(self) -> None:
        """R1, R3: ids are unique only inside a turn, so the latest earlier output with this id is meant. A second run
        of one id is a further attempt at the same request.
        """
        answered: dict[int, Match] = {}
        for run in sorted(self.free_runs):
            fact = self.runs[run]
            if fact.call_id is None or id_quality(fact.call_id, fact.name) is not IdQuality.REAL:
                continue
            holders = [
                index
                for index, request in enumerate(self.asked)
                if fact.call_id in (request.call_id, *request.aliases) and self.in_time(index, run)
            ]
            if not holders:
                continue
            latest = max(self.asked[index].asked_ns for index in holders)
            holders = [index for index in holders if self.asked[index].asked_ns == latest]
            free = [index for index in holders if index in self.free_requests]
            alike = [index for index in free if same_name(self.asked[index].name, fact.name)]
            chosen = (alike or free or holders)[0]
            self.take(chosen, run, fact.id_rule)
            answered[chosen] = self.matches[-1]

    def contradicts(self, request: int, run: int) -> bool:
        """Both have real ids, and they differ: then no weaker rule may join them."""
        fact = self.runs[run]
        return (
            fact.call_id is not None
            and id_quality(fact.call_id, fact.name) is IdQuality.REAL
            and self.asked[request].quality is IdQuality.REAL
            and self.id_is_known(fact.call_id)
        )

    def id_is_known(self, call_id: str) -> bool:
        """An id that no output contains (an instrumentor's run id) counts as none."""
        return any(call_id in (request.call_id, *request.aliases) for request in self.asked)

    def equal(self, request: int, run: int) -> bool:
        wanted, got = self.asked[request].arguments, self.runs[run].arguments
        if wanted.state is not State.CAPTURED or got.state is not State.CAPTURED:
            return False
        if wanted.value is None or self.runs[run].shape is not Shape.OBJECT:
            return self.runs[run].shape is Shape.TEXT and wanted.raw is not None and wanted.raw == got.raw
        return bool(canonical(wanted.value) == canonical(got.value))

    def loose(self, request: int, run: int) -> bool:
        wanted, got = self.asked[request].arguments, self.runs[run].arguments
        if wanted.state is not State.CAPTURED or got.state is not State.CAPTURED:
            return False
        ran = got.raw if self.runs[run].shape is Shape.TEXT else got.value
        return loosely_same(wanted.value, wanted.raw, ran, self.runs[run].shape)

    def unrecorded(self, request: int, run: int) -> bool:
        if not same_name(self.asked[request].name, self.runs[run].name):
            return False
        return State.CAPTURED not in (self.asked[request].arguments.state, self.runs[run].arguments.state) or (
            self.asked[request].arguments.state is not State.CAPTURED
            or self.runs[run].arguments.state is not State.CAPTURED
        )

    def each(self, rule: str, fits: Callable[[int, int], bool]) -> None:
        """Give each run the first fitting request: in its own turn if there is one, else the latest before it."""
        for run in sorted(self.free_runs):
            found = [
                request
                for request in sorted(self.free_requests)
                if same_name(self.asked[request].name, self.runs[run].name)
                and self.in_time(request, run)
                and not self.contradicts(request, run)
                and fits(request, run)
            ]
            if not found:
                continue
            own = [request for request in found if self.in_turn(request, run)]
            self.take(own[0] if own else found[-1], run, rule)

    def by_count(self, rule: str, fits: Callable[[int, int], bool]) -> None:
        """Match what is left of one tool in one turn in order, but only where the counts agree."""
        for requests in self.turns():
            names: dict[str, list[int]] = defaultdict(list)
            for request in requests:
                names[self.asked[request].name].append(request)
            for group in names.values():
                runs = [
                    run
                    for run in sorted(self.free_runs)
                    if self.in_turn(group[0], run) and not self.contradicts(group[0], run) and fits(group[0], run)
                ]
                if len(runs) == len(group):
                    for request, run in zip(group, runs, strict=True):
                        self.take(request, run, rule)

    def last_one_left(self) -> None:
        """R10: one request and one run left in a turn, with equal arguments: the runtime used another name."""
        for requests in self.turns():
            runs = [
                run
                for run in sorted(self.free_runs)
                if self.in_turn(requests[0], run) and self.runs[run].executed is not Executed.NO
            ]
            if len(requests) == len(runs) == 1 and not self.contradicts(requests[0], runs[0]):
                handoff = self.runs[runs[0]].kind is ToolKind.HANDOFF
                if handoff or (self.equal(requests[0], runs[0]) and self.asked[requests[0]].arguments.value):
                    self.take(requests[0], runs[0], "handoff" if handoff else "R10")

    def turns(self) -> Iterable[list[int]]:
        by_turn: dict[int, list[int]] = defaultdict(list)
        for request in sorted(self.free_requests):
            by_turn[self.asked[request].turn].append(request)
        return list(by_turn.values())
