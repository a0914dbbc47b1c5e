"""One event, several reports: fold model calls, tool runs and retrievals that more than one span states.

Two runs of one scope are two runs (real parallel calls may be identical) unless one lies inside the other; two reports
of different scopes are one where the ids agree, or where one encloses the other with equal name and arguments.
"""

from msgspec.structs import replace

from lanewatch.adapters.facts import Executed, LlmCall, Search, Shape, ToolRun
from lanewatch.adapters.identity import canonical, id_quality, same_name
from lanewatch.adapters.messages import Message, ToolCall
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import IdQuality
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span


def encloses(outer: Span, inner: Span) -> bool:
    """Whether the times of one span lie within another's."""
    return outer.start_ns <= inner.start_ns and inner.end_ns <= outer.end_ns


def fold_calls(calls: list[LlmCall], tree: SpanTree) -> list[tuple[LlmCall, int]]:
    """Model calls, each once, with how many spans reported it: same response id, or nested with equal output."""
    kept: list[tuple[LlmCall, int]] = []
    for call in calls:
        for index, (other, reports) in enumerate(kept):
            if _same_call(call, other, tree):
                kept[index] = (_richer(other, call), reports + 1)
                break
        else:
            kept.append((call, 1))
    return kept


def _same_call(a: LlmCall, b: LlmCall, tree: SpanTree) -> bool:
    if a.response_id and b.response_id:
        return a.response_id == b.response_id and (
            a.span.scope.name != b.span.scope.name or _nested(a.span, b.span, tree)
        )
    if not _nested(a.span, b.span, tree):
        return False
    return _signature(a.output) == _signature(b.output) or State.CAPTURED not in (a.output_state, b.output_state)


def _nested(a: Span, b: Span, tree: SpanTree) -> bool:
    return any(above.span_id == b.span_id for above in tree.ancestors(a)) or any(
        above.span_id == a.span_id for above in tree.ancestors(b)
    )


def _signature(messages: tuple[Message, ...]) -> tuple[object, ...]:
    return tuple(
        (message.text.strip(), tuple((call.name, call.call_id) for call in message.calls)) for message in messages
    )


def _wealth(call: LlmCall) -> tuple[int, int, int]:
    parts = [part for message in call.output for part in message.parts]
    described = sum(1 for part in parts if isinstance(part, ToolCall) and part.arguments.state is State.CAPTURED)
    return described, len(parts), len(call.input)


def _richer(a: LlmCall, b: LlmCall) -> LlmCall:
    better, other = (b, a) if _wealth(b) > _wealth(a) else (a, b)
    return replace(
        better,
        input=better.input or other.input,
        model=better.model or other.model,
        response_id=better.response_id or other.response_id,
        tools=better.tools or other.tools,
        session_id=better.session_id or other.session_id,
        usage=better.usage if better.usage.input is not None else other.usage,
    )


def fold_runs(runs: list[ToolRun], tree: SpanTree) -> list[tuple[ToolRun, tuple[Span, ...]]]:
    """Tool runs, each once, with every span that reported it; in order of start."""
    kept: list[tuple[ToolRun, tuple[Span, ...]]] = []
    for run in sorted(runs, key=lambda fact: (fact.span.start_ns, -fact.span.end_ns)):
        for index, (other, spans) in enumerate(kept):
            if _same_run(run, other, spans, tree):
                kept[index] = (_merged(other, run), (*spans, run.span))
                break
        else:
            kept.append((run, (run.span,)))
    return kept


def _same_run(run: ToolRun, other: ToolRun, spans: tuple[Span, ...], tree: SpanTree) -> bool:
    if not same_name(run.name, other.name):
        return False
    inside = any(above.span_id == span.span_id for above in tree.ancestors(run.span) for span in spans)
    other_scope = all(run.span.scope.name != span.scope.name for span in spans)
    if _real(run) and _real(other):
        return run.call_id == other.call_id and (inside or other_scope)
    alike = _arguments_agree(run, other)
    if inside:
        return alike
    return other_scope and alike and any(_overlap(run.span, span) for span in spans)


def _real(run: ToolRun) -> bool:
    return id_quality(run.call_id, run.name) is IdQuality.REAL


def _arguments_agree(a: ToolRun, b: ToolRun) -> bool:
    if State.CAPTURED not in (a.arguments.state, b.arguments.state):
        return True
    if a.arguments.state is not State.CAPTURED or b.arguments.state is not State.CAPTURED:
        return True
    if Shape.OBJECT not in (a.shape, b.shape) or a.shape is not b.shape:
        return a.shape is not b.shape
    return bool(canonical(a.arguments.value) == canonical(b.arguments.value))


def _overlap(a: Span, b: Span) -> bool:
    """Whether the shorter of two spans lies in the longer for at least nine tenths of its time (C.5)."""
    shared = min(a.end_ns, b.end_ns) - max(a.start_ns, b.start_ns)
    shorter = min(a.end_ns - a.start_ns, b.end_ns - b.start_ns)
    return shared >= 0 and shared >= 0.9 * shorter


def _merged(outer: ToolRun, inner: ToolRun) -> ToolRun:
    """Fields of the richer layer; an error on either layer is the run's error; a body that ran anywhere ran."""
    best = inner if outer.shape is not Shape.OBJECT and inner.shape is Shape.OBJECT else outer
    executed = outer.executed if outer.executed is inner.executed or inner.executed is Executed.YES else inner.executed
    if Executed.NO in (outer.executed, inner.executed):
        executed = Executed.NO
    with_id = outer if _real(outer) else inner
    return replace(
        outer,
        call_id=with_id.call_id or outer.call_id,
        id_rule=with_id.id_rule,
        arguments=best.arguments,
        shape=best.shape,
        result=outer.result if outer.result.state is State.CAPTURED else inner.result,
        error=outer.error or inner.error,
        executed=executed,
        schema=outer.schema or inner.schema,
    )


def fold_searches(searches: list[Search], tree: SpanTree) -> list[Search]:
    """Retrievals, each once: nested ones, or ones of another scope at the same time, with the same documents."""
    kept: list[Search] = []
    for search in searches:
        for index, other in enumerate(kept):
            near = _nested(search.span, other.span, tree) or (
                search.span.scope.name != other.span.scope.name and _overlap(search.span, other.span)
            )
            if near and _documents_agree(search, other):
                kept[index] = _fuller(other, search)
                break
        else:
            kept.append(search)
    return kept


def _documents_agree(a: Search, b: Search) -> bool:
    if not a.documents or not b.documents:
        return True
    for field in ("id", "content"):
        left, right = [getattr(d, field) for d in a.documents], [getattr(d, field) for d in b.documents]
        if None not in left and None not in right:
            return left == right
    return len(a.documents) == len(b.documents)


def _fuller(a: Search, b: Search) -> Search:
    if not a.documents or not b.documents:
        base = a if a.documents else b
        return replace(base, query=a.query or b.query)
    documents = tuple(
        replace(x, id=x.id or y.id, content=x.content or y.content, score=x.score if x.score is not None else y.score,
                score_kind=x.score_kind if x.score is not None else y.score_kind)
        for x, y in zip(a.documents, b.documents, strict=False)
    )  # fmt: skip
    captured = all(document.content is not None for document in documents)
    return replace(a, query=a.query or b.query, documents=documents, state=State.CAPTURED if captured else a.state)
