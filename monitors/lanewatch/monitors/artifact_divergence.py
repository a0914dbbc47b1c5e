"""Where an evaluator's artifact differs from what ran: the artifact boundary, for any producer.

Invariants:

- Only complete evidence convicts a producer: without all requests and dispatches the comparison is `incomplete`.
- What is unknown is no pass: arguments that were not recorded make it `incomplete`, and a hidden value that does not compare
  by its token makes it `unsupported`, unless something else is proved to differ.
- A call that differs at the dispatch already (asked and not run, or run otherwise) is the producer's fault only where the
  artifact tells of neither. One call gives at most one difference of its own, and one of its result.
- Equality is typed; 1 and 1.0 differ only for a producer whose consumer is strict, and then as `representation`.
"""

from collections.abc import Hashable, Iterator
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Any

from lanewatch.adapters.artifact import HIDDEN, UNPARSED
from lanewatch.adapters.artifact_calls import Told, ToldCall, told_calls
from lanewatch.adapters.artifact_messages import Artifact
from lanewatch.adapters.identity import same
from lanewatch.adapters.records import TraceRecord
from lanewatch.monitors.artifact_matching import Matching, match_calls
from lanewatch.monitors.artifact_outcomes import (
    HIDDEN_ARGUMENTS,
    HIDDEN_RESULTS,
    UNKNOWN_ARGUMENTS,
    UNKNOWN_RUN,
    ArtifactOutcome,
    Compared,
    verdict_of,
)
from lanewatch.monitors.as_asked import is_as_asked
from lanewatch.monitors.differences import differences, missing, shown, step
from lanewatch.monitors.divergence import Boundary, Divergence, Kind
from lanewatch.monitors.expected_calls import ANY, ExpectedCall, expected_calls
from lanewatch.monitors.redaction.comparing import conceals_within, has_hole
from lanewatch.monitors.told_results import (
    Contents,
    content_keys,
    first_difference,
    result_keys,
    tells_error,
    tells_result,
)
from lanewatch.monitors.tools import UNREGISTERED, Registry

NEEDED = ("requests", "dispatches")
WHOLE = object()  # the call as a whole differs, no value in it


def compare_artifact(record: TraceRecord, artifact: Artifact, registry: Registry = UNREGISTERED) -> Compared:
    """Compare a producer's messages of a trace with what its record says ran."""
    weak = [f"{kind}_{record.evidence[kind]}" for kind in NEEDED if not record.shows(kind)]
    if weak:
        return Compared(artifact.producer, ArtifactOutcome.INCOMPLETE, (), ", ".join(weak), artifact.owner)
    if not artifact.strict and is_as_asked(record, artifact.messages):
        return Compared(artifact.producer, ArtifactOutcome.EQUAL, (), None, artifact.owner)
    spans = frozenset(span for d in record.dispatches for span in (d.span_id, *d.span_ids))
    return compare_calls(expected_calls(record.requests, record.dispatches), artifact, spans, registry)


def compare_calls(
    expected: tuple[ExpectedCall, ...], artifact: Artifact, spans: frozenset[str], registry: Registry = UNREGISTERED
) -> Compared:
    """The same for calls that are known otherwise; `spans` are the ids of the spans that report the runs."""
    told = told_calls(artifact.messages)
    comparison = _Comparison(expected, artifact, told, registry)
    found = tuple(comparison.differences(spans))
    doubts = tuple(sorted(comparison.doubts))
    verdict = verdict_of(found, doubts)
    return Compared(artifact.producer, verdict, found, ", ".join(doubts) or None, artifact.owner, doubts)


class _Comparison:
    """One comparison: both sides, and the pairs that were found."""

    def __init__(self, expected: tuple[ExpectedCall, ...], artifact: Artifact, told: Told, registry: Registry) -> None:
        self._registry = registry
        self._expected = expected
        self._artifact = artifact
        self._told = told
        self._calls = told.calls
        self._matching: Matching = match_calls(expected, told.calls)
        self.doubts: set[str] = set()  # known once all differences were asked for

    @cached_property
    def _told_forms(self) -> frozenset[Hashable]:
        """Every form of the calls that are told, as which a lost call may be told once for several."""
        told = (call for index, call in enumerate(self._expected) if index in self._matching.told)
        return frozenset(key for call in told for form in call.forms for key in form.identities())

    def differences(self, spans: frozenset[str]) -> Iterator[Divergence]:
        """All of them: of each call in order, then of the calls that are too many, of their order, and of results."""
        yield from self._provenance(spans)
        for index, call in enumerate(self._expected):
            place = self._matching.told.get(index)
            if call.doubtful:
                self.doubts.add(UNKNOWN_RUN)
            if place is None:
                if call.ran:
                    yield self._lost(call)
            elif index not in self._matching.exact:
                yield from self._changed(call, self._calls[place])
            else:
                self._doubt(call, self._calls[place])
                if self._artifact.strict:
                    yield from self._written_otherwise(call, self._calls[place])
        yield from self._surplus()
        yield from self._order()
        if not self._artifact.calls_only:
            yield from self._results()

    def _provenance(self, spans: frozenset[str]) -> Iterator[Divergence]:
        for call in self._calls:
            if call.provenance & spans:
                yield self._divergence(
                    Kind.PROVENANCE,
                    call.name,
                    call.call_id,
                    artifact=call.arguments,
                    reason="the artifact was made from the records of what ran, so the two can't disagree",
                    span_id=min(call.provenance & spans),
                )
                return  # one says it all: the artifact is not independent

    def _lost(self, call: ExpectedCall) -> Divergence:
        again = any(key in self._told_forms for form in call.forms for key in form.identities())
        kind = Kind.ATTEMPTS if again else Kind.MISSING
        return self._of(kind, call, None, reason="dropped" if again else None)

    def _doubt(self, call: ExpectedCall, told: ToldCall) -> None:
        """Note what keeps a call that is told as it was known from being told truly."""
        if conceals_within(told.arguments):
            if self._registry.undecided(told.name, told.name, told.arguments, told.arguments):
                self.doubts.add(HIDDEN_ARGUMENTS)
        elif not any(same(form.arguments, told.arguments) for form in call.forms if form.arguments is not ANY):
            self.doubts.add(UNKNOWN_ARGUMENTS)

    def _changed(self, call: ExpectedCall, told: ToldCall) -> Iterator[Divergence]:
        """How the call is told otherwise; nothing where the tool's contract takes the two for the same."""
        if not any(self._registry.same(form.name, told.name) for form in call.forms):
            yield self._divergence(
                Kind.NAME,
                call.tool,
                _first(call.call_ids),
                requested=call.tool,
                dispatched=call.forms[0].name,
                artifact=told.name,
                span_id=call.span_id,
            )
            return
        nearest = self._nearest(call, told)
        if nearest is None:
            return
        if isinstance(nearest, str):
            self.doubts.add(nearest)
            return
        path, there, here = nearest
        yield self._divergence(
            Kind.ARGUMENTS,
            call.tool,
            _first(call.call_ids),
            path=path,
            requested=_at(call.requested, told.arguments, path),
            dispatched=there,
            artifact=here,
            span_id=call.span_id,
        )

    def _nearest(self, call: ExpectedCall, told: ToldCall) -> tuple[str, Any, Any] | str | None:
        """The first difference from the form of the call that the told arguments differ from least; how it ran comes
        first. A doubt where they may be the same as a form for all that is known, None where they are by the tool's contract.
        """
        best: list[tuple[str, Any, Any]] = []
        doubt = UNKNOWN_ARGUMENTS if told.arguments == {HIDDEN: True} else None
        for form in call.forms:
            if form.arguments is ANY:
                doubt = doubt or UNKNOWN_ARGUMENTS
                continue
            if UNPARSED in form.arguments:
                found = [("$", form.arguments[UNPARSED], told.arguments)]
                hidden = conceals_within(form.arguments[UNPARSED]) or conceals_within(told.arguments)
                found = [] if hidden else found
            else:
                found = list(self._registry.differences(told.name, form.name, form.arguments, told.arguments))
                hidden = self._registry.undecided(told.name, form.name, form.arguments, told.arguments)
            if not found and self._registry.same(form.name, told.name):
                if not hidden:
                    return None
                doubt = doubt or HIDDEN_ARGUMENTS
            if found and (not best or len(found) < len(best)):
                best = found
        return doubt or (best[0] if best else None)

    def _written_otherwise(self, call: ExpectedCall, told: ToldCall) -> Iterator[Divergence]:
        for form in call.forms:
            if form.arguments is ANY or not same(form.arguments, told.arguments):
                continue
            for path, there, here in _spelled(form.arguments, told.arguments):
                yield self._of(Kind.REPRESENTATION, call, here, path=path, dispatched=there)
                return

    def _surplus(self) -> Iterator[Divergence]:
        """Calls that are too many: as often told as the body ran is no surplus."""
        spare = {index: call.times - 1 for index, call in enumerate(self._expected)}
        for place in self._matching.extra:
            call = self._calls[place]
            index = self._matching.doubled.get(place)
            if index is not None and spare[index] > 0 and index in self._matching.told:
                spare[index] -= 1
                continue
            again = index is not None and index in self._matching.told
            yield self._divergence(
                Kind.ATTEMPTS if again else Kind.UNEXPECTED,
                call.name,
                call.call_id,
                artifact=call.arguments,
                reason="doubled" if again else None,
                span_id=self._expected[index].span_id if again and index is not None else None,
            )

    def _order(self) -> Iterator[Divergence]:
        """One difference for an artifact whose calls stand in another order, or whose rounds were merged."""
        places = {index: [at] for index, at in self._matching.told.items() if self._expected[index].place is not None}
        for at, index in self._matching.doubled.items():
            if index in places:
                places[index].append(at)
        ordered: list[tuple[int, int]] = []  # (place in the artifact, index)
        for index in sorted(places):
            later = [at for at in places[index] if not ordered or at > ordered[-1][0]]
            if not later:
                call, stand = self._expected[index], sorted((min(places[i]), i) for i in places)
                yield self._of(
                    Kind.ORDER,
                    call,
                    [self._expected[i].tool for _, i in stand],
                    dispatched=[self._expected[i].tool for i in sorted(places)],
                    reason="calls stand in another order",
                )
                return
            ordered.append((min(later), index))
        for (a, first), (b, second) in pairwise(ordered):
            merged = self._calls[a].message == self._calls[b].message
            if merged and self._expected[first].round != self._expected[second].round:
                call = self._expected[second]
                yield self._of(Kind.ORDER, call, None, reason="calls of two answers of the model stand in one message")
                return

    def _results(self) -> Iterator[Divergence]:
        told = {place: self._expected[index] for index, place in self._matching.told.items()}
        places = {id(call): place for place, call in enumerate(self._calls)}
        orphans = list(self._told.orphans)
        for one in self._told.rounds:
            contents, untold = Contents(one.loose), []
            for call in one.calls:
                expected = told.get(places[id(call)])
                if expected is None or not (expected.results or expected.errors):
                    continue
                if call.has_result:
                    assert call.result is not None
                    if self._denies(call.result, expected):
                        yield self._other_result(expected, call.result)
                    continue
                if not contents.take(expected) and expected.ran:
                    untold.append(expected)
            # What is left of both sides belongs together as well as anything can tell.
            left = contents.left
            if left and untold and (any(map(has_hole, left)) or any(map(_hides_result, untold))):
                self.doubts.add(HIDDEN_RESULTS)
                continue
            for expected, content in zip_longest(untold, left[: len(untold)]):
                yield self._other_result(expected, content)
            orphans.extend((None, content) for content in left[len(untold) :])
        yield from self._orphans(orphans)

    def _orphans(self, orphans: list[tuple[str | None, str]]) -> Iterator[Divergence]:
        """Results that belong to no call of the artifact."""
        if not orphans:
            return
        known = [call for call in self._expected if call.results or call.errors]
        by_id = {call_id: call for call in reversed(known) for call_id in call.call_ids}
        results = {key for call in known for result in call.results for key in result_keys(result)}
        errors = list(dict.fromkeys(error for call in known for error in call.errors))
        holes = any(map(_hides_result, known))
        for call_id, content in orphans:
            of = by_id.get(call_id) if call_id is not None else None
            if of is None and (not content_keys(content).isdisjoint(results) or tells_error(content, errors)):
                continue  # the result of a call that was lost: said already
            if of is None and (holes or has_hole(content)):
                self.doubts.add(HIDDEN_RESULTS)
            elif of is None or self._denies(content, of):
                tool = of.tool if of is not None else "unknown"
                yield self._divergence(Kind.RESULT, tool, call_id, path="$", artifact=content, reason="of no call")

    def _denies(self, content: str, call: ExpectedCall) -> bool:
        """Whether a message is certainly no result of this call."""
        told = tells_result(content, call, self._registry.key)
        if told is None:
            self.doubts.add(HIDDEN_RESULTS)
        return told is False

    def _other_result(self, call: ExpectedCall, content: str | None) -> Divergence:
        if content is None:
            returned = (*call.results, *call.errors)[0]
            return self._of(Kind.RESULT, call, None, path="$", dispatched=returned, reason="no tool message tells it")
        path, there, here = first_difference(content, call, self._registry.key)
        return self._of(Kind.RESULT, call, here, path=path, dispatched=there)

    def _of(
        self,
        kind: Kind,
        call: ExpectedCall,
        artifact: Any,
        *,
        path: str | None = None,
        dispatched: Any = WHOLE,
        reason: str | None = None,
    ) -> Divergence:
        ran = call.forms[0].arguments if call.ran else None
        whole = dispatched is WHOLE
        return self._divergence(
            kind,
            call.tool,
            _first(call.call_ids),
            path=path,
            requested=call.requested if whole else None,
            dispatched=(None if ran is ANY else ran) if whole else dispatched,
            artifact=artifact,
            reason=reason,
            span_id=call.span_id,
        )

    def _divergence(
        self,
        kind: Kind,
        tool: str,
        call_id: str | None,
        *,
        path: str | None = None,
        requested: Any = None,
        dispatched: Any = None,
        artifact: Any = None,
        reason: str | None = None,
        span_id: str | None = None,
    ) -> Divergence:
        return Divergence(
            Boundary.ARTIFACT,
            kind,
            tool,
            call_id,
            path,
            shown(requested),
            shown(dispatched),
            shown(artifact),
            self._artifact.owner,
            reason,
            span_id,
            self._artifact.producer,
            missing=missing(requested=requested, dispatched=dispatched, artifact=artifact),
        )


def _hides_result(call: ExpectedCall) -> bool:
    """Whether a result of a call has something taken out of it."""
    return any(map(conceals_within, (*call.results, *call.errors)))


def _at(requested: Any, told: dict[str, Any], path: str) -> Any:
    """The requested value at the path of a difference; None where asked and told are the same there."""
    return next((asked for at, asked, _ in differences(requested, told) if at == path), None)


def _spelled(a: Any, b: Any, path: str = "$") -> Iterator[tuple[str, Any, Any]]:
    """Where equal values are written otherwise: 1 and 1.0, or a letter with its accent composed and apart."""
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            yield path, a, b
            return
        for key in a:
            yield from _spelled(a[key], b[key], f"{path}{step(key)}")
    elif isinstance(a, list) and isinstance(b, list):
        for index, (left, right) in enumerate(zip(a, b, strict=True)):
            yield from _spelled(left, right, f"{path}[{index}]")
    elif type(a) is not type(b) or (isinstance(a, str) and a != b):
        yield path, a, b


def _first(ids: tuple[str, ...]) -> str | None:
    return ids[0] if ids else None
