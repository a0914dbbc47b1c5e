"""Which run of a tool answers which request: rules R1 to R10, applied in order of their certainty.

Requests come from LLM outputs in order of time; runs from TOOL spans after duplicates are folded. Each run answers at
most one request. A rule applies to all runs before a weaker one is tried, so that a certain match is never spoilt by a
guess. What no rule matches stays unmatched; where a rule could match in more than one way it matches none.

R1 equal id; R3 equal id, recovered from a payload or parent; R5 equal name and arguments; R6 equal name, loosely equal
arguments; R7 equal name and count in a turn, arguments not recorded; R9 equal name and count in a turn, arguments
differ (a rewrite); R10 equal arguments, another name, the only ones left in the turn (an alias). R4, an id that only
the next model input shows beside the call, is R1 or R3 by then (see shown_results.py).
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from itertools import islice

import msgspec

from lanewatch.adapters.facts import Executed, Shape, ToolRun
from lanewatch.adapters.identity import canonical, id_quality, same_name
from lanewatch.adapters.loose_arguments import (
    is_part_of,
    squeezed,
    starts_alike,
    traits_of_request,
    traits_of_run,
    written,
)
from lanewatch.adapters.name_index import NameIndex
from lanewatch.adapters.reading import Content, State
from lanewatch.adapters.records import IdQuality
from lanewatch.adapters.turns import NEAR, SLACK_NS
from lanewatch.adapters.waiting_requests import Asked, WaitingRequests
from lanewatch.adapters.work import Work


class Answer(msgspec.Struct, frozen=True):
    """A run, as far as pairing needs it: the turn it started in, and whether it ran inside another run."""

    run: ToolRun
    home: int | None
    nested: bool = False
    adrift: bool = False  # its clock may not be that of the model calls


class Match(msgspec.Struct, frozen=True):
    """Run `run` answers request `request` by `rule`."""

    request: int
    run: int
    rule: str


def pair(
    asked: list[Asked],
    answers: list[Answer],
    work: Work | None = None,
    apart: Callable[[int, int], bool] = lambda _turn, _run: False,
) -> list[Match]:
    """Match runs to requests; both in order of time. `apart`: whether a run lies in another agent's loop than a turn.
    Raises OverBudgetError where that takes more than `work`.
    """
    return _Pairing(asked, answers, work or Work(), apart).all() if asked and answers else []


class _Pairing:
    def __init__(
        self, asked: list[Asked], answers: list[Answer], work: Work, apart: Callable[[int, int], bool]
    ) -> None:
        self.work = work
        self.apart, self.adrift = apart, [answer.adrift for answer in answers]
        self.asked, self.runs = asked, [answer.run for answer in answers]
        self.homes, self.nested = [answer.home for answer in answers], [answer.nested for answer in answers]
        self.began = [request.asked_ns for request in asked]
        self.free_requests = dict.fromkeys(range(len(asked)))
        self.free_runs = dict.fromkeys(range(len(answers)))
        self.holders: dict[str, list[int]] = defaultdict(list)
        for index, request in enumerate(asked):
            for call_id in dict.fromkeys((request.call_id, *request.aliases)):
                if call_id is not None:
                    self.holders[call_id].append(index)
        self.squeezed: dict[int, str] = {}  # the arguments of requests that cut texts were held against
        self.matches: list[Match] = []

    def all(self) -> list[Match]:
        rules = (
            self.by_id,
            self.by_arguments,
            self.by_loose_arguments,
            self.whatever_the_clocks_say,
            self.by_what_was_said,
            partial(self.by_count, "R7", self.unrecorded),
            partial(self.by_count, "R9", lambda _request, _run: True),
            self.last_one_left,
        )
        for rule in rules:
            if not self.free_requests or not self.free_runs:
                break  # ids, or equal arguments, nearly always leave one of the two empty
            rule()
        return sorted(self.matches, key=lambda match: match.run)

    def take(self, request: int, run: int, rule: str) -> None:
        self.free_requests.pop(request, None)
        self.free_runs.pop(run, None)
        self.matches.append(Match(request, run, rule))

    def asked_before(self, run: int) -> int:
        """How many requests were asked before a run started; they are in order of time."""
        return bisect_right(self.began, self.runs[run].span.start_ns + SLACK_NS)

    def by_id(self) -> None:
        """R1, R3: ids are unique only inside a turn, so the run's own turn or else the latest earlier output with this
        id is meant. A second run of one id is a further attempt at the same request.
        """
        for run in list(self.free_runs):
            fact = self.runs[run]
            if fact.call_id is None or id_quality(fact.call_id, fact.name) is not IdQuality.REAL:
                continue
            same_id = self.holders.get(fact.call_id, [])
            end = bisect_right(same_id, self.asked_before(run) - 1)
            earlier = same_id[max(end - NEAR, 0) : end]
            if len(earlier) > 1:  # agents side by side may count their calls alike
                earlier = [one for one in earlier if not self.apart(self.asked[one].turn, run)] or earlier
            if not earlier and len(same_id) == 1 and same_name(self.asked[same_id[0]].name, fact.name):
                earlier = same_id  # one call alone has this id: the tool's host has another clock
            if not earlier:
                continue
            if len(earlier) == 1:
                self.take(earlier[0], run, fact.id_rule)
                continue
            at_home = [request for request in earlier if self.asked[request].turn == self.homes[run]]
            latest = self.asked[earlier[-1]].turn
            turn = at_home or [request for request in earlier if self.asked[request].turn == latest]
            free = [request for request in turn if request in self.free_requests]
            alike = [request for request in free if same_name(self.asked[request].name, fact.name)]
            self.take((alike or free or turn)[0], run, fact.id_rule)

    def contradicts(self, request: int, run: int) -> bool:
        """Both have real ids that outputs know: then no weaker rule may join them. An id that no output contains (an
        instrumentor's run id) counts as none.
        """
        fact = self.runs[run]
        return (
            fact.call_id is not None
            and self.asked[request].quality is IdQuality.REAL
            and id_quality(fact.call_id, fact.name) is IdQuality.REAL
            and fact.call_id in self.holders
        )

    def by_arguments(self) -> None:
        """R5: equal name, and arguments equal as JSON, or as text where both are no JSON object."""
        waiting = WaitingRequests(self.asked, self.free_requests)
        for request in self.free_requests:
            waiting.add(request, _digests(self.asked[request].arguments))
        for run in list(self.free_runs):
            fact = self.runs[run]
            if fact.shape in (Shape.OBJECT, Shape.TEXT):
                self.give(run, self.waiting_for(run, waiting, _digests(fact.arguments)), "R5")

    def by_loose_arguments(self) -> None:
        """R6: equal name, and arguments that the span wrote in a lossy way."""
        waiting = WaitingRequests(self.asked, self.free_requests)
        for request in self.free_requests:
            wanted = self.asked[request].arguments
            if wanted.state is State.CAPTURED:
                waiting.add(request, traits_of_request(wanted.value, wanted.raw))
        for run in list(self.free_runs):
            fact = self.runs[run]
            if fact.arguments.state is State.CAPTURED:
                ran = written(fact)
                cut = squeezed(ran) if fact.shape is Shape.TEXT and isinstance(ran, str) else None
                traits = traits_of_run(ran, fact.shape)
                self.give(run, self.waiting_for(run, waiting, traits, partial(self.goes_on_alike, cut)), "R6")

    def whatever_the_clocks_say(self) -> None:
        """R5 for runs whose host may have another clock: the one request that is left of the name and the arguments."""
        adrift = [run for run in self.free_runs if self.adrift[run] and self.runs[run].shape is Shape.OBJECT]
        if not adrift:
            return
        waiting = WaitingRequests(self.asked, self.free_requests)
        for request in self.free_requests:
            waiting.add(request, _digests(self.asked[request].arguments))
        for run in adrift:
            name, digests = self.runs[run].name, _digests(self.runs[run].arguments)
            alike = self.counted(waiting.before(len(self.asked), name, digests))
            found = {request for request in alike if self.may_join(request, run)}
            if len(found) == 1:
                self.take(found.pop(), run, "R5")

    def by_what_was_said(self) -> None:
        """R6: the one request of the run's turn all of whose arguments the run has too: a framework filled in defaults."""
        waiting = WaitingRequests(self.asked, self.free_requests)
        for request in self.free_requests:
            if isinstance(self.asked[request].arguments.value, dict):
                waiting.add(request, ("object",))
        for run in list(self.free_runs):
            fact = self.runs[run]
            if fact.shape is not Shape.OBJECT:
                continue
            near = islice(self.counted(waiting.of_turn(self.homes[run], fact.name, ("object",))), NEAR)
            ran = fact.arguments.value
            found = {
                request
                for request in near
                if not self.contradicts(request, run) and is_part_of(self.asked[request].arguments.value, ran)
            }
            if len(found) == 1:
                self.take(found.pop(), run, "R6")

    def may_join(self, request: int, run: int) -> bool:
        """Whether a weak rule may join them at all."""
        return not self.contradicts(request, run) and not self.apart(self.asked[request].turn, run)

    def goes_on_alike(self, cut: str | None, request: int) -> bool:
        """Whether a request's text and one that may be cut go on as they begin; a trait that is whole says all."""
        if cut is None:
            return True
        if request not in self.squeezed:
            self.squeezed[request] = squeezed(self.asked[request].arguments.raw or "")
        return starts_alike(self.squeezed[request], cut)

    def waiting_for(
        self,
        run: int,
        waiting: WaitingRequests,
        traits: Iterable[Hashable],
        fits: Callable[[int], bool] = lambda _request: True,
    ) -> int | None:
        """The first fitting request of the run's own turn if there is one, else the latest before the run."""
        name, traits = self.runs[run].name, list(traits)
        at_home = self.counted(waiting.of_turn(self.homes[run], name, traits))
        home = min((one for one in at_home if not self.contradicts(one, run) and fits(one)), default=None)
        if home is not None:
            return home
        earlier = self.counted(waiting.before(self.asked_before(run), name, traits))
        return max((one for one in earlier if fits(one) and self.may_join(one, run)), default=None)

    def give(self, run: int, request: int | None, rule: str) -> None:
        if request is not None:
            self.take(request, run, rule)

    def unrecorded(self, request: int, run: int) -> bool:
        return (
            self.asked[request].arguments.state is not State.CAPTURED
            or self.runs[run].arguments.state is not State.CAPTURED
        )

    def runs_of_turns(self) -> dict[int, list[int]]:
        """Free runs by the turn they started in; of runs inside one another only the outermost."""
        homes: dict[int, list[int]] = defaultdict(list)
        for run in self.free_runs:
            home = self.homes[run]
            if home is not None:
                homes[home].append(run)
        return {home: [r for r in runs if not self.nested[r]] or runs for home, runs in homes.items()}

    def by_count(self, rule: str, fits: Callable[[int, int], bool]) -> None:
        """Match what is left of one tool in one turn in order, but only where the counts agree."""
        homes = self.runs_of_turns()
        for turn, requests in self.turns():
            if turn not in homes:
                continue
            here: NameIndex[int] = NameIndex()
            for run in homes[turn]:
                here.add(self.runs[run].name, run)
            names: dict[str, list[int]] = defaultdict(list)
            for request in requests:
                names[self.asked[request].name].append(request)
            for name, group in names.items():
                fitting = (
                    run
                    for run in self.counted(here.find(name))
                    if run in self.free_runs and not self.contradicts(group[0], run) and fits(group[0], run)
                )
                runs = list(islice(fitting, len(group) + 1))
                if len(runs) == len(group):
                    for request, run in zip(group, sorted(runs), strict=True):
                        self.take(request, run, rule)

    def counted(self, items: Iterable[int]) -> Iterator[int]:
        """The same items; each is a step of work."""
        for item in items:
            self.work.spend()
            yield item

    def last_one_left(self) -> None:
        """R10: one request and one run left in a turn, with equal arguments: the runtime used another name."""
        homes = self.runs_of_turns()
        for turn, requests in self.turns():
            runs = [run for run in homes.get(turn, []) if self.runs[run].executed is not Executed.NO]
            if len(requests) == len(runs) == 1 and not self.contradicts(requests[0], runs[0]):
                wanted, got = self.asked[requests[0]].arguments, self.runs[runs[0]]
                if wanted.value and got.shape is Shape.OBJECT and _digests(wanted) == _digests(got.arguments):
                    self.take(requests[0], runs[0], "R10")

    def turns(self) -> Iterable[tuple[int, list[int]]]:
        by_turn: dict[int, list[int]] = defaultdict(list)
        for request in self.free_requests:
            by_turn[self.asked[request].turn].append(request)
        return list(by_turn.items())


def _digests(arguments: Content) -> tuple[Hashable, ...]:
    """What equal arguments have in common; nothing where they were not recorded."""
    if arguments.state is not State.CAPTURED:
        return ()
    return (canonical(arguments.value) if isinstance(arguments.value, dict) else ("raw", arguments.raw),)
