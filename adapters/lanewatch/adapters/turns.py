"""Turns: from when to when a model's requests may be answered, and which turn a tool's run belongs to.

A turn begins with a model call and ends where the same loop calls the model next. A trace may hold several loops at
once (sub-agents side by side, an agent inside a tool), so the next call is looked for in the narrowest part of the tree
first: below the call's parent, then its grandparent, and so on. A loop that runs inside a tool, or inside an agent's
span that holds a whole loop, is not seen from outside it. A trace without parents is one loop, in order of time.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from functools import cached_property
from itertools import islice

import msgspec

from lanewatch.adapters.facts import AGENT, LlmCall, Step, ToolRun
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Resource, Span

SLACK_NS = 2_000_000  # 2 ms: clocks of threads and processes on one host differ by less, and spans are stamped apart
NEAR = 64  # ancestors that are looked at, and turns looked back on: a bound on work, far above what agents nest
NOWHERE = b""  # stands above all tops of the tree


class Turn(msgspec.Struct, frozen=True):
    """One model call as the start of a turn; `until_ns` (since the epoch) is None where no further call followed."""

    span: Span
    until_ns: int | None
    loop_depth: int = -1  # depth of the span that holds the loop; -1: none does
    loop: bytes = b""  # id of that span


def find_turns(calls: list[LlmCall], runs: list[ToolRun], steps: list[Step], tree: SpanTree) -> list[Turn]:
    """The turn of each call, in the order of `calls` (by start)."""
    loops = _loops(calls, runs, steps, tree)
    starts: dict[bytes, list[int]] = defaultdict(list)
    for call in calls:  # in order of start, so each list is sorted
        for place in _path(call.span, tree, loops):
            starts[place].append(call.span.start_ns)
    held = tree.nearest_above(loops)
    turns: list[Turn] = []
    for call in calls:
        loop = held.get(call.span.span_id, NOWHERE)
        holder = tree.span(loop)
        depth = tree.depth(holder) if holder is not None else -1
        turns.append(Turn(call.span, _until(call.span, starts, tree), depth, loop))
    return turns


def _loops(calls: list[LlmCall], runs: list[ToolRun], steps: list[Step], tree: SpanTree) -> set[bytes]:
    """Spans that hold a loop of their own: tools, and agents with more than one call or run below them.

    LangChain calls a graph's node an agent too, which holds one call alone: its loop is around it.
    """
    tools = {run.span.span_id for run in runs}
    agents = [step.span.span_id for step in steps if step.role == AGENT]
    if not agents:
        return tools
    busy: dict[bytes, int] = defaultdict(int)
    for inner in (*(call.span for call in calls), *(run.span for run in runs)):
        busy[inner.span_id] += 1
    for span in reversed(tree.order):
        parent = tree.parent(span)
        if parent is not None and span.span_id in busy:
            busy[parent.span_id] += busy[span.span_id]
    return tools.union(agent for agent in agents if busy[agent] > 1)


class LoopsApart:
    """Which model calls and runs lie in loops side by side, each with a model and tools of its own (sub-agents): there a
    run answers no request of the other loop, however alike. Worked out where it is asked for first.
    """

    def __init__(self, calls: list[LlmCall], runs: list[ToolRun], steps: list[Step], tree: SpanTree) -> None:
        self._calls, self._runs, self._steps, self._tree = calls, runs, steps, tree
        self._chains: dict[bytes, tuple[bytes, ...]] = {}

    @cached_property
    def _above(self) -> dict[bytes, bytes]:
        """For each span the nearest loop above it that holds model calls and runs."""
        marked = _loops(self._calls, self._runs, self._steps, self._tree)
        above = self._tree.nearest_above(marked)
        speaking = {loop for call in self._calls for loop in self._chain(call.span.span_id, above)}
        running = {loop for run in self._runs for loop in self._chain(run.span.span_id, above)}
        return self._tree.nearest_above(speaking & running)

    @staticmethod
    def _chain(span_id: bytes, above: dict[bytes, bytes]) -> tuple[bytes, ...]:
        chain: list[bytes] = []
        while span_id in above and len(chain) < NEAR:
            span_id = above[span_id]
            chain.append(span_id)
        return tuple(chain)

    def _chain_of(self, span: Span) -> tuple[bytes, ...]:
        if span.span_id not in self._chains:
            self._chains[span.span_id] = self._chain(span.span_id, self._above)
        return self._chains[span.span_id]

    def are_apart(self, turn: int, run: int) -> bool:
        """Whether a model call and a run lie in two loops neither of which holds the other."""
        asking, running = self._chain_of(self._calls[turn].span), self._chain_of(self._runs[run].span)
        return bool(asking and running) and asking[0] not in running and running[0] not in asking


def processes_of(calls: list[LlmCall]) -> list[Resource]:
    """The processes that called models, each once."""
    found: list[Resource] = []
    for call in calls:
        if call.span.resource not in found[:NEAR]:
            found.append(call.span.resource)
    return found[:NEAR]


def is_adrift(span: Span, tree: SpanTree, here: list[Resource]) -> bool:
    """Whether a span's clock may differ from that of the model calls, whose processes are `here`: it has no start, begins
    before its parent did, or is of another process.
    """
    parent = tree.parent(span)
    before = parent is not None and span.start_ns + SLACK_NS < parent.start_ns
    return not span.start_ns or before or span.resource not in here


def _path(span: Span, tree: SpanTree, loops: set[bytes]) -> list[bytes]:
    """The places from which a call can be seen: its ancestors up to the span that holds its loop, or all of them."""
    path: list[bytes] = []
    for above in islice(tree.ancestors(span), NEAR):
        path.append(above.span_id)
        if above.span_id in loops:
            return path
    return [*path, NOWHERE]


def _until(span: Span, starts: dict[bytes, list[int]], tree: SpanTree) -> int | None:
    """When the loop's next call began. A part of the tree that the call lies in has to end before a call outside that
    part can be the next one.
    """
    ended = span.end_ns
    for above in (*islice(tree.ancestors(span), NEAR), None):
        later = starts.get(above.span_id if above is not None else NOWHERE, [])
        place = bisect_left(later, max(ended, span.start_ns + 1))
        if place < len(later):
            return later[place]
        if above is not None:
            ended = max(ended, above.end_ns)
    return None


def closeness(a: Span, b: Span, tree: SpanTree) -> int:
    """Depth of the nearest common ancestor of two spans, -1 where they have none (within NEAR levels)."""
    above = {span.span_id for span in (a, *islice(tree.ancestors(a), NEAR))}
    for span in (b, *islice(tree.ancestors(b), NEAR)):
        if span.span_id in above:
            return tree.depth(span)
    return -1


def home_turns(turns: list[Turn], runs: list[ToolRun], tree: SpanTree) -> list[int | None]:
    """For each run, the turn in which it started, or None: of the turns open at that moment, one whose loop holds the
    run, then the nearest in the tree, then the latest.
    """
    by_loop: dict[bytes, list[int]] = defaultdict(list)
    for index, turn in enumerate(turns):
        by_loop[turn.loop].append(index)
    everywhere = list(range(len(turns)))
    above = tree.nearest_above(by_loop.keys() - {NOWHERE})
    homes: list[int | None] = []
    for run in runs:
        # Of many loops side by side its own is looked at first: the turns of the others may be all that is near in time.
        own = by_loop.get(above.get(run.span.span_id, NOWHERE), [])
        home = _home(run.span, own, turns, tree)
        homes.append(home if home is not None else _home(run.span, everywhere, turns, tree))
    return homes


def _home(run: Span, candidates: list[int], turns: list[Turn], tree: SpanTree) -> int | None:
    """The best of the turns that were open when a run started; `candidates` are in order of time."""
    start = run.start_ns
    last = bisect_right(candidates, start + SLACK_NS, key=lambda index: turns[index].span.start_ns)
    best: tuple[bool, int, bool, int] | None = None
    tree.work.spend(min(last, NEAR))
    for index in reversed(candidates[max(last - NEAR, 0) : last]):
        turn = turns[index]
        if turn.until_ns is not None and start > turn.until_ns + SLACK_NS:
            continue
        surely = turn.span.start_ns <= start and (turn.until_ns is None or start <= turn.until_ns)
        near = closeness(turn.span, run, tree)
        if near == tree.depth(run):
            continue  # the call is inside the run
        rank = (near >= turn.loop_depth, near, surely, index)
        best = max(best, rank) if best is not None else rank
    return best[3] if best is not None else None
