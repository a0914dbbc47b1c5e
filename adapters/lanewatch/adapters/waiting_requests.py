"""Requests that no run answers yet, so indexed that a run finds those it may answer without looking at all of them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator
from itertools import product

import msgspec

from lanewatch.adapters.identity import name_keys, same_name
from lanewatch.adapters.reading import Content
from lanewatch.adapters.records import IdQuality
from lanewatch.adapters.turns import NEAR


class Asked(msgspec.Struct, frozen=True):
    """A request, as far as pairing needs it."""

    name: str
    call_id: str | None
    quality: IdQuality
    aliases: tuple[str, ...]
    arguments: Content
    turn: int
    asked_ns: int  # when the model call began: with streaming a tool may start before it ends


class WaitingRequests:
    """Requests by name and by a trait of their arguments. `free` shrinks as requests are answered."""

    def __init__(self, asked: list[Asked], free: Container[int]) -> None:
        self._asked, self._free = asked, free
        self._lists: dict[tuple[str, Hashable], list[int]] = defaultdict(list)
        self._turns: dict[tuple[int, str, Hashable], list[int]] = defaultdict(list)

    def add(self, request: int, traits: Iterable[Hashable]) -> None:
        """Take a request in; requests come in order of time."""
        turn = self._asked[request].turn
        for key in product(name_keys(self._asked[request].name), traits):
            self._lists[key].append(request)
            self._turns[turn, *key].append(request)

    def of_turn(self, turn: int | None, name: str, traits: Iterable[Hashable]) -> Iterator[int]:
        """Free requests of one turn, of this name and with one of the traits: of each the NEAR first."""
        if turn is None:
            return
        for key in product(name_keys(name), traits):
            if (turn, *key) in self._turns:
                first = self._first((turn, *key))
                yield from (request for request in first if same_name(self._asked[request].name, name))

    def _first(self, key: tuple[int, str, Hashable]) -> list[int]:
        waiting, passed = self._turns[key], 0
        found: list[int] = []
        for request in waiting:
            if request in self._free:
                found.append(request)
            else:
                passed += 1
            if len(found) == NEAR:
                break
        if passed > NEAR:
            self._turns[key] = [request for request in waiting if request in self._free]
        return found

    def before(self, count: int, name: str, traits: Iterable[Hashable]) -> Iterator[int]:
        """Free requests of this name with one of the traits, among the first `count` of all: of each the NEAR latest."""
        for key in product(name_keys(name), traits):
            if key in self._lists:
                latest = self._latest(key, count)
                yield from (request for request in latest if same_name(self._asked[request].name, name))

    def _latest(self, key: tuple[str, Hashable], count: int) -> list[int]:
        waiting, passed = self._lists[key], 0
        found: list[int] = []
        for place in range(bisect_right(waiting, count - 1) - 1, -1, -1):
            if waiting[place] in self._free:
                found.append(waiting[place])
            else:
                passed += 1
            if len(found) == NEAR:
                break
        if passed > NEAR:  # drop what has been answered, so that it is not passed over again and again
            self._lists[key] = [request for request in waiting if request in self._free]
        return found
