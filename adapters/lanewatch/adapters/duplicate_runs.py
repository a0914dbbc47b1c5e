"""One tool run, several reports: fold the runs of tools that more than one span states.

Two runs of one scope are two runs (real parallel calls may be identical) unless one lies inside the other; two reports
of different scopes are one where the ids agree, or where they lie inside one another or at the same time with equal
name and arguments. A run that a model asked for inside another run is a run of its own, however alike.
"""

from collections import defaultdict

import msgspec
from msgspec.structs import replace

from lanewatch.adapters.duplicates import began, overlap
from lanewatch.adapters.facts import ErrorInfo, Executed, LlmCall, Shape, ToolRun
from lanewatch.adapters.identity import id_quality, name_keys, same, same_name
from lanewatch.adapters.loose_arguments import loosely_same, written
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import IdQuality
from lanewatch.adapters.rejections import says_invalid_arguments, says_unknown_tool
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.adapters.turns import NEAR
from lanewatch.collector.spans import Span

LOSSLESS_FIRST = (Shape.OBJECT, Shape.POSITIONAL, Shape.BARE, Shape.TEXT, Shape.ABSENT)


class Folded(msgspec.Struct, frozen=True):
    """A run and every span that reported it, the outermost first."""

    run: ToolRun
    spans: tuple[Span, ...]


def fold_runs(runs: list[ToolRun], calls: list[LlmCall], tree: SpanTree) -> list[Folded]:
    """Tool runs, each once and in order of start."""
    kept: list[Folded] = []
    place: dict[bytes, int] = {}  # where the run is kept that a span reported
    by_id: dict[str, list[int]] = defaultdict(list)
    by_name: dict[str, list[int]] = defaultdict(list)
    failed: dict[int, Span] = {}  # spans within a run by the error that they brought, by identity
    above = tree.nearest_above({run.span.span_id for run in runs})
    asked = _first_calls_inside(calls, above)
    several = len({run.span.scope.name for run in runs}) > 1
    for run in sorted(runs, key=lambda fact: (tree.depth(fact.span), *began(fact.span))):
        outer_id = above.get(run.span.span_id, b"")
        outer = place.get(outer_id) if asked.get(outer_id, run.span.start_ns) >= run.span.start_ns else None
        near = [outer] if outer is not None else []
        if several:
            near += by_id[run.call_id][-NEAR:] if run.call_id else []
            near += [index for key in name_keys(run.name) for index in by_name[key][-NEAR:]]
        tree.work.spend(len(near))
        index = next((i for i in near if _same_run(run, kept[i], inside=i == outer)), len(kept))
        if index == len(kept):
            kept.append(Folded(run, (run.span,)))
            for key in name_keys(run.name):
                by_name[key].append(index)
        else:
            recovered = _retried(kept[index], run, failed)
            if run.error is not None:
                failed[id(run.error)] = run.span
            merged = _merged(kept[index].run, run, inside=index == outer, recovered=recovered)
            kept[index] = Folded(merged, (*kept[index].spans, run.span))
        place[run.span.span_id] = index
        if run.call_id and index not in by_id[run.call_id][-1:]:
            by_id[run.call_id].append(index)
    return sorted(kept, key=lambda folded: began(folded.run.span))


def _retried(folded: Folded, run: ToolRun, failed: dict[int, Span]) -> ErrorInfo | None:
    """The error of an earlier attempt inside the same run that this later one made good for: what it ended with counts."""
    error = folded.run.error
    earlier = failed.get(id(error)) if error is not None else None
    again = earlier is not None and earlier.parent_id == run.span.parent_id and earlier.end_ns <= run.span.start_ns
    return error if again else None


def _first_calls_inside(calls: list[LlmCall], above: dict[bytes, bytes]) -> dict[bytes, int]:
    """By tool span, when the first model call directly inside it began: from then on it is a loop of its own. `above`
    gives the nearest tool around each span.
    """
    first: dict[bytes, int] = {}
    for call in calls:
        holder = above.get(call.span.span_id)
        if holder is not None:
            first[holder] = min(first.get(holder, call.span.start_ns), call.span.start_ns)
    return first


def _same_run(run: ToolRun, folded: Folded, *, inside: bool) -> bool:
    other = folded.run
    other_scope = all(run.span.scope.name != span.scope.name for span in folded.spans)
    if not (inside or other_scope) or not same_name(run.name, other.name):
        return False
    if _real(run) and _real(other):
        return run.call_id == other.call_id
    return _arguments_agree(run, other) and (inside or any(overlap(run.span, span) for span in folded.spans))


def _real(run: ToolRun) -> bool:
    return id_quality(run.call_id, run.name) is IdQuality.REAL


def _arguments_agree(a: ToolRun, b: ToolRun) -> bool:
    if not a.arguments.state is b.arguments.state is State.CAPTURED:
        return True
    if a.shape is b.shape:
        return same(written(a), written(b))
    for whole, lossy in ((a, b), (b, a)):
        if whole.shape is Shape.OBJECT:
            return loosely_same(whole.arguments.value, whole.arguments.raw, written(lossy), lossy.shape)
    return True


def _merged(outer: ToolRun, inner: ToolRun, *, inside: bool, recovered: ErrorInfo | None) -> ToolRun:
    """Fields of the richer layer; an error on either layer is the run's error, unless the layer tried again and
    `recovered` from it; a body that ran anywhere ran.
    """
    best = min(outer, inner, key=lambda run: LOSSLESS_FIRST.index(run.shape))
    with_id = outer if _real(outer) or not _real(inner) else inner
    known = None if outer.error is recovered else outer.error
    return replace(
        outer,
        call_id=with_id.call_id or inner.call_id,
        id_rule=with_id.id_rule,
        arguments=best.arguments,
        shape=best.shape,
        result=outer.result if outer.result.state is State.CAPTURED else inner.result,
        error=known or inner.error,
        executed=_executed(outer, inner, inside=inside),
        schema=outer.schema or inner.schema,
    )


def _executed(outer: ToolRun, inner: ToolRun, *, inside: bool) -> Executed:
    """Whether the body ran, of two layers that differ. A layer is certain where it shows what the body gave or raised; one
    that only begins and ends says less than one that tells of a refusal or of a doubt.
    """
    both = {outer.executed, inner.executed}
    if len(both) == 1:
        return outer.executed
    if Executed.NO in both:
        # What stopped the call stood in front of the body, unless the layer within saw the body run.
        return Executed.YES if inside and inner.executed is Executed.YES and _shows_more(inner) else Executed.NO
    if inner.error is not None and outer.error is None and inner.executed is Executed.UNKNOWN:
        # What the outer layer got is then the error's text, which may be that of a refusal.
        text = outer.result.text or ""
        refused = says_invalid_arguments(text) or says_unknown_tool(text)
        return Executed.YES if text and not refused else Executed.UNKNOWN
    certain = outer if outer.executed is Executed.YES else inner
    return Executed.YES if _shows_more(certain) or certain is inner else Executed.UNKNOWN


def _shows_more(run: ToolRun) -> bool:
    return run.result.state is State.CAPTURED or run.error is not None
