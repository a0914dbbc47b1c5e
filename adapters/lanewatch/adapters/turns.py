"""Turns: from when to when a model's requests may be answered, and which turn a tool's run belongs to.

A turn begins with a model call and ends where the same loop calls the model next. A trace may hold several loops at
once (sub-agents side by side, an agent inside a tool), so the next call is looked for in the narrowest part of the tree
first: below the call's parent, then its grandparent, and so on. A loop that runs inside a tool, or inside an agent's
span that holds a whole loop, is not seen from outside it. A trace without parents is one loop, in order of time.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import islice

import msgspec

from lanewatch.adapters.facts import AGENT, LlmCall, Step, ToolRun
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

SLACK_NS = 2_000_000  # 2 ms: clocks of threads and processes on one host differ by less, and spans are stamped apart
NEAR = 64  # ancestors that are looked at, and turns looked back on: a bound on work, far above what agents nest
NOWHERE = b""  # stands above all tops of the tree


class Turn(msgspec.Struct, frozen=True):
    """One model call as the start of a turn; `until_ns` (since the epoch) is None where no further call followed."""

    span: Span
    until_ns: int | None
    loop_depth: int = -1  # depth of the span that holds the loop; -1: none does


def find_turns(calls: list[LlmCall], runs: list[ToolRun], steps: list[Step], tree: SpanTree) -> list[Turn]:
    """The turn of each call, in the order of `calls` (by start)."""
    loops = _loops(calls, runs, steps, tree)
    starts: dict[bytes, list[int]] = defaultdict(list)
    for call in calls:  # in order of start, so each list is sorted
        for place in _path(call.span, tree, loops):
            starts[place].append(call.span.start_ns)
    held = tree.nearest_above(loops)
    depths = [tree.depth(span) if (span := tree.span(held.get(call.span.span_id, b""))) else -1 for call in calls]
    return [Turn(call.span, _until(call.span, starts, tree), depth) for call, depth in zip(calls, depths, strict=True)]


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
    began = [turn.span.start_ns for turn in turns]
    homes: list[int | None] = []
    for run in runs:
        start = run.span.start_ns
        last = bisect_right(began, start + SLACK_NS)
        best: tuple[bool, int, bool, int] | None = None
        tree.work.spend(min(last, NEAR))
        for index in range(last - 1, max(last - NEAR, 0) - 1, -1):
            turn = turns[index]
            if turn.until_ns is not None and start > turn.until_ns + SLACK_NS:
                continue
            surely = turn.span.start_ns <= start and (turn.until_ns is None or start <= turn.until_ns)
            near = closeness(turn.span, run.span, tree)
            if near == tree.depth(run.span):
                continue  # the call is inside the run
            rank = (near >= turn.loop_depth, near, surely, index)
            best = max(best, rank) if best is not None else rank
        homes.append(best[3] if best is not None else None)
    return homes
