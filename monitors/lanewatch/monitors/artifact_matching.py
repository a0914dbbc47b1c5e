"""Which call of an artifact tells which call that ran, and how well: the same, or one that was changed on the way.

Matched in steps from certain to likely, each in order: the same id and the same call; the same call (name and typed
arguments, whatever the id); the same id; the same name; the same arguments. What is then left on the artifact's side was
doubled or invented, what is left on the other side was lost. Each step costs time in proportion to the calls.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable

import msgspec

from lanewatch.adapters.artifact_calls import ToldCall
from lanewatch.adapters.identity import canonical, name_keys
from lanewatch.monitors.expected_calls import ANY, ExpectedCall, Form


class Matching(msgspec.Struct):
    """`told[i]` is the place of the artifact's call that tells expected call i. `exact`: told as it was, by that index."""

    told: dict[int, int]
    exact: set[int]
    extra: list[int]  # artifact's calls that tell none
    doubled: dict[int, int]  # those of them that repeat an expected call: place -> index


def match_calls(expected: tuple[ExpectedCall, ...], calls: list[ToldCall]) -> Matching:
    """Pair the calls of both sides."""
    matching = Matching({}, set(), [], {})
    free = set(range(len(calls)))
    identities = [_identity(Form(call.name, call.arguments)) for call in calls]
    for with_id in (True, False):
        _step(
            matching,
            free,
            expected,
            lambda e, w=with_id: [
                (i, k) for i in (e.call_ids if w else (None,)) for f in e.forms for k in f.identities()
            ],  # type: ignore[misc]
            lambda place, w=with_id: [(calls[place].call_id if w else None, k) for k in identities[place]],  # type: ignore[misc]
            exact=True,
        )
    # A call that only repeats one that is told already must not stand in for another that is lost.
    ids = {call_id for index in matching.told for call_id in expected[index].call_ids}
    stale = {place for place in free if calls[place].call_id in ids}
    likely = free - stale
    _step(matching, likely, expected, lambda e: e.call_ids, lambda place: [calls[place].call_id])
    _step(
        matching,
        likely,
        expected,
        lambda e: [(key,) for form in e.forms if form.arguments is ANY for key in name_keys(form.name)],
        lambda place: [(key,) for key in name_keys(calls[place].name)],
        exact=True,
    )
    _step(
        matching,
        likely,
        expected,
        lambda e: [key for form in e.forms for key in name_keys(form.name)],
        lambda place: name_keys(calls[place].name),
    )
    _step(
        matching,
        likely,
        expected,
        lambda e: [canonical(form.arguments) for form in e.forms if form.arguments is not ANY],
        lambda place: [canonical(calls[place].arguments)],
    )
    matching.extra = sorted(likely | stale)
    matching.doubled = _doubled(matching, expected, calls, identities)
    _prefer_answered(matching, calls)
    return matching


def _identity(form: Form) -> tuple[Hashable, ...]:
    return form.identities()


def _step(
    matching: Matching,
    free: set[int],
    expected: tuple[ExpectedCall, ...],
    keys_of: Callable[[ExpectedCall], Iterable[Hashable]],
    keys_at: Callable[[int], Iterable[Hashable]],
    *,
    exact: bool = False,
) -> None:
    """Pair what shares a key, in order on both sides. Calls that ran go before those that may be left out; what no model
    asked for is told exactly or not at all.
    """
    waiting: dict[Hashable, deque[int]] = defaultdict(deque)
    for place in sorted(free):
        for key in keys_at(place):
            waiting[key].append(place)
    for ran in (True, False):
        for index, call in enumerate(expected):
            if call.ran is not ran or index in matching.told or (call.place is None and not exact):
                continue
            places = []
            for key in keys_of(call):
                queue = waiting.get(key)
                while queue and queue[0] not in free:
                    queue.popleft()
                if queue:
                    places.append(queue[0])
            if places:
                place = min(places)
                free.discard(place)
                matching.told[index] = place
                if exact:
                    matching.exact.add(index)


def _doubled(
    matching: Matching,
    expected: tuple[ExpectedCall, ...],
    calls: list[ToldCall],
    identities: list[tuple[Hashable, ...]],
) -> dict[int, int]:
    """Extra calls that repeat an expected one, by its id or as the same call."""
    by_key: dict[Hashable, int] = {}
    for index, call in enumerate(expected):
        for key in (*call.call_ids, *(key for form in call.forms for key in form.identities())):
            by_key.setdefault(key, index)
    found: dict[int, int] = {}
    for place in matching.extra:
        keys = [key for key in (calls[place].call_id, *identities[place]) if key in by_key]
        if keys:
            found[place] = by_key[keys[0]]
    return found


def _prefer_answered(matching: Matching, calls: list[ToldCall]) -> None:
    """Of a call that is told several times, the telling with the result counts; the others are too many."""
    moved: dict[int, int] = {}
    for place, index in list(matching.doubled.items()):
        told = matching.told.get(index)
        if told is None or index not in matching.exact or calls[told].has_result or not calls[place].has_result:
            continue
        matching.told[index] = place
        del matching.doubled[place]
        matching.doubled[told] = index
        moved[place] = told
    if moved:
        matching.extra = sorted(moved.get(place, place) for place in matching.extra)
