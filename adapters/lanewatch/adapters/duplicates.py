"""One event, several reports: fold model calls and retrievals that more than one span states.

Reports of one model call have the same response id or the same output, reports of one retrieval the same documents; they
lie inside one another, or are of another scope at the same time. Tool runs have a module of their own
(duplicate_runs.py).
"""

from collections import Counter, defaultdict, deque
from collections.abc import Hashable

import msgspec
from msgspec.structs import replace

from lanewatch.adapters.facts import Document, LlmCall, Search
from lanewatch.adapters.messages import Message, ToolCall
from lanewatch.adapters.reading import State
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.adapters.turns import NEAR
from lanewatch.collector.spans import Span


class _Kept(msgspec.Struct, frozen=True):
    call: LlmCall
    signature: tuple[object, ...]  # empty where it was not needed yet
    reports: int


def began(span: Span) -> tuple[int, int, bytes]:
    """Order of spans in time; of two that start together the one that encloses the other comes first."""
    return span.start_ns, -span.end_ns, span.span_id


def overlap(a: Span, b: Span) -> bool:
    """Whether the shorter of two spans lies in the longer for at least nine tenths of its time (C.5)."""
    shared = min(a.end_ns, b.end_ns) - max(a.start_ns, b.start_ns)
    shorter = min(a.end_ns - a.start_ns, b.end_ns - b.start_ns)
    return shared >= 0 and shared >= 0.9 * shorter


def fold_calls(calls: list[LlmCall], tree: SpanTree) -> list[tuple[LlmCall, int]]:
    """Model calls, each once and in order of start, with how many spans reported it."""
    if len(calls) < 2:  # noqa: PLR2004 - one call has no double
        return [(call, 1) for call in calls]
    kept: list[_Kept] = []
    place: dict[bytes, int] = {}  # where the call is kept that a span reported
    alike: dict[Hashable, list[int]] = defaultdict(list)  # by response id, and by output where there are several scopes
    several = len({call.span.scope.name for call in calls}) > 1
    above = tree.nearest_above({call.span.span_id for call in calls})
    for call in sorted(calls, key=lambda fact: (tree.depth(fact.span), *began(fact.span))):
        outer = place.get(above.get(call.span.span_id, b""))
        signature = _signature(call.output) if (several or outer is not None) else ()
        traits: list[Hashable] = [call.response_id] if call.response_id else []
        traits += [signature] if several and call.output_state is State.CAPTURED else []
        near = [index for trait in traits for index in alike[trait][-NEAR:]]
        candidates = [*([outer] if outer is not None else []), *near]
        tree.work.spend(len(candidates))
        same = (i for i in candidates if _same_call(call, signature, kept[i], nested=i == outer))
        index = next(same, len(kept))
        if index == len(kept):
            kept.append(_Kept(call, signature, 1))
        else:
            richer = _richer(kept[index].call, call, tree)
            kept[index] = _Kept(richer, _signature(richer.output), kept[index].reports + 1)
        place[call.span.span_id] = index
        for trait in traits:
            if index not in alike[trait][-NEAR:]:
                alike[trait].append(index)
    return [(one.call, one.reports) for one in sorted(kept, key=lambda one: began(one.call.span))]


def _same_call(a: LlmCall, signature: Hashable, kept: _Kept, *, nested: bool) -> bool:
    b = kept.call
    other_scope = a.span.scope.name != b.span.scope.name
    if a.span.trace_id != b.span.trace_id and not overlap(a.span, b.span):
        return False  # a cache answers many runs with one response
    if a.response_id and b.response_id:
        return a.response_id == b.response_id and (other_scope or nested)
    recorded = a.output_state is b.output_state is State.CAPTURED
    if recorded and signature != (kept.signature or _signature(b.output)):
        return False
    return nested or (recorded and other_scope and overlap(a.span, b.span))


def _signature(messages: tuple[Message, ...]) -> tuple[object, ...]:
    return tuple(
        (message.text.strip(), tuple((call.name, call.call_id) for call in message.calls)) for message in messages
    )


def _wealth(call: LlmCall) -> tuple[bool, int, int, int]:
    parts = [part for message in call.output for part in message.parts]
    described = sum(1 for part in parts if isinstance(part, ToolCall) and part.arguments.state is State.CAPTURED)
    return call.output_state is State.CAPTURED, described, len(parts), len(call.input)


def _richer(a: LlmCall, b: LlmCall, tree: SpanTree) -> LlmCall:
    """The report that says more, filled up from the other. Of two traces the call stays in the one that nests it: that is
    where the agent's steps and runs are.
    """
    better, other = (b, a) if _wealth(b) > _wealth(a) else (a, b)
    apart = a.span.trace_id != b.span.trace_id
    home = max(better, other, key=lambda call: tree.depth(call.span)) if apart else better
    return replace(
        better,
        span=home.span,
        convention=home.convention,
        input=better.input or other.input,
        model=better.model or other.model,
        response_id=better.response_id or other.response_id,
        tools=better.tools or other.tools,
        session_id=better.session_id or other.session_id,
        usage=better.usage if better.usage.input is not None else other.usage,
    )


def fold_searches(searches: list[Search], tree: SpanTree) -> list[Search]:
    """Retrievals, each once and in order of start."""
    kept: list[Search] = []
    place: dict[bytes, int] = {}
    above = tree.nearest_above({search.span.span_id for search in searches})
    scopes = {search.span.scope.name for search in searches}
    for search in sorted(searches, key=lambda fact: (tree.depth(fact.span), *began(fact.span))):
        outer = place.get(above.get(search.span.span_id, b""))
        near = [] if len(scopes) == 1 else range(max(len(kept) - NEAR, 0), len(kept))
        tree.work.spend(1 + len(near))
        if search.low_level and outer is not None and not kept[outer].low_level:
            kept[outer] = _completed(kept[outer], search)
            place[search.span.span_id] = outer
            continue
        index = next(
            (
                i
                for i in (*([outer] if outer is not None else []), *near)
                if (i == outer or _side_by_side(search, kept[i])) and _documents_agree(search, kept[i])
            ),
            len(kept),
        )
        if index < len(kept):
            kept[index] = _fuller(kept[index], search)
        elif search.low_level and outer is not None:
            index = outer  # a part of the store's own search
        else:
            kept.append(search)
        place[search.span.span_id] = index
    return sorted(kept, key=lambda search: began(search.span))


def _side_by_side(a: Search, b: Search) -> bool:
    """Whether two instrumentors may tell of one retrieval. Where each starts its clock in a callback of its own, a short
    one's spans hardly overlap: then it takes the same query, and the same documents, to be one.
    """
    one, other = a.span, b.span
    if one.scope.name == other.scope.name:
        return False
    if overlap(one, other):
        return True
    alike = a.query is not None and a.query == b.query and bool(a.documents and b.documents)
    return alike and min(one.end_ns, other.end_ns) >= max(one.start_ns, other.start_ns)


def _documents_agree(a: Search, b: Search) -> bool:
    """Whether two reports may be of one list. Of a store's list beside a retriever's something has to say so, since a
    retriever filters, joins and ranks what stores find.
    """
    if not a.documents or not b.documents:
        return True
    for field in ("id", "content"):
        left, right = [getattr(d, field) for d in a.documents], [getattr(d, field) for d in b.documents]
        if None not in left and None not in right:
            one_each = field == "content" or len(set(left)) == len(left)
            return left == right and (one_each or all(map(_may_be_one, a.documents, b.documents)))
    if len(a.documents) != len(b.documents) or a.low_level is not b.low_level:
        return False
    return all(map(_may_be_one, a.documents, b.documents))


def _fuller(a: Search, b: Search) -> Search:
    """One of two reports of one list, filled up from the other."""
    if not a.documents or not b.documents:
        base, other = (a, b) if a.documents or not b.documents else (b, a)
        return replace(base, query=base.query or other.query)
    a, b = (b, a) if a.low_level and not b.low_level else (a, b)
    return _filled(a, b, dict(enumerate(b.documents)))


def _filled(a: Search, b: Search, same: dict[int, Document]) -> Search:
    """A list with what another says of its documents (`same`, by place). Scores of one list are of one kind: a similarity
    and a distance never stand in one.
    """
    kinds = {document.score_kind for document in a.documents if document.score is not None}
    documents = tuple(
        _joined(one, same[place], kinds) if place in same else one for place, one in enumerate(a.documents)
    )
    captured = all(document.content is not None for document in documents)
    state = State.CAPTURED if captured and a.state in (State.ABSENT, State.REDACTED) else a.state
    return replace(a, query=a.query or b.query, documents=documents, state=state)


def _joined(x: Document, y: Document, kinds: set[str]) -> Document:
    scored = x if x.score is not None or (kinds and y.score_kind not in kinds) else y
    return replace(x, id=x.id or y.id, content=x.content or y.content, score=scored.score, score_kind=scored.score_kind)


def _completed(retriever: Search, store: Search) -> Search:
    """A retrieval with what the store below it says of the documents that both name: by id, else by content. Nothing is
    joined by its place, since a retriever may have ranked them anew. Chunks of one document may share its id: an id that
    stands more than once joins only together with the content. Where neither ids nor contents are on both sides, nobody
    can tell what the retriever made of what was found, nor of which chunk a shared id tells: the evidence is partial.
    """
    if not store.documents:
        return retriever
    if not retriever.documents:
        if retriever.state is State.CAPTURED:
            return retriever  # it says that it gave nothing
        return replace(retriever, documents=store.documents, state=doubted(store.state))  # it may have left some out
    shared = _repeated(retriever) | _repeated(store)
    same: dict[int, Document] = {}
    taken: set[int] = set()
    comparable = False
    for field in ("id", "content"):
        found: dict[Hashable, deque[int]] = defaultdict(deque)
        for index, document in enumerate(store.documents):
            if index not in taken and (value := _trait(document, field, shared)) is not None:
                found[value].append(index)
        for place, document in enumerate(retriever.documents):
            value = _trait(document, field, shared)
            if place in same or value is None:
                continue
            comparable = comparable or bool(found)
            if found.get(value) and (field == "id" or _may_be_one(document, store.documents[found[value][0]])):
                index = found[value].popleft()
                taken.add(index)
                same[place] = store.documents[index]
    there = {document.id for document in store.documents} & shared
    untold = any(document.id in there and place not in same for place, document in enumerate(retriever.documents))
    joined = _filled(retriever, store, same) if comparable else retriever
    return joined if comparable and not untold else replace(joined, state=doubted(joined.state))


def doubted(state: State) -> State:
    """The state of a list of documents of which nobody can tell whether it is the one that was given."""
    return State.AMBIGUOUS if state is State.CAPTURED else state


def _repeated(search: Search) -> set[str]:
    """The ids that more than one document of a list has."""
    counts = Counter(document.id for document in search.documents)
    return {name for name, count in counts.items() if name is not None and count > 1}


def _trait(document: Document, field: str, shared: set[str]) -> Hashable:
    """What a document is known again by; None where it does not say."""
    if field == "content" or document.id is None or document.id not in shared:
        return getattr(document, field)  # type: ignore[no-any-return]
    return (document.id, document.content) if document.content is not None else None


def _may_be_one(a: Document, b: Document) -> bool:
    """Whether neither id nor content tells two documents apart."""
    return all(None in pair or pair[0] == pair[1] for pair in ((a.id, b.id), (a.content, b.content)))
