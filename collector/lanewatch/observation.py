"""Closed traces, seen by all: their records, where these diverge, and the verdict of each lane."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from lanewatch.adapters.producers import own_artifact
from lanewatch.adapters.records import OutcomeFact, TraceRecord
from lanewatch.adapters.related_traces import RelatedTraces
from lanewatch.adapters.tool_retrievals import with_tool_retrievals
from lanewatch.adapters.trace_facts import TraceFacts, read_facts
from lanewatch.adapters.trace_record import read_together, record_of
from lanewatch.collector.spans import Trace
from lanewatch.monitors.artifact_divergence import compare_artifact
from lanewatch.monitors.artifact_outcomes import Compared
from lanewatch.monitors.divergence import Boundary, Divergence, find_divergences
from lanewatch.monitors.efficiency import NOTHING, Efficiency, efficiency
from lanewatch.monitors.lanes import Lane, Verdict, judge_lanes
from lanewatch.monitors.policies import Case, Finding, judge_policies, part_of, session_runs
from lanewatch.monitors.redaction.comparing import uncomparable
from lanewatch.monitors.reference_calls import ReferenceCompared
from lanewatch.monitors.schemas import SchemaCheck, SchemaChecker
from lanewatch.monitors.session_facts import Sessions
from lanewatch.monitors.tools import with_error_shapes
from lanewatch.rules import NO_RULES, Rules

RELATED_BYTES = 32 * 2**20  # of traces that leave something open, or that another trace may repeat
RELATED_TRACES = 2_000


class Observation(msgspec.Struct, frozen=True):
    """What `run` counts and `replay` prints; the two can't disagree, since both get it from here.

    `compared` holds each producer's artifact, our own first; where they differ is among `divergences`. `checks` are the
    calls held against their schemas, `policies` what these say of the trace, `facts` its tokens, calls and time,
    `outcomes` what spans and others tell of the state that was left behind. `references` are artifacts against the calls
    that a test expects: that an agent did otherwise than these is no divergence, and in no lane.
    """

    record: TraceRecord
    divergences: tuple[Divergence, ...]
    lanes: dict[Lane, Verdict]
    compared: tuple[Compared, ...] = ()
    checks: tuple[SchemaCheck, ...] = ()
    facts: Efficiency = NOTHING
    policies: tuple[Finding, ...] = ()
    references: tuple[ReferenceCompared, ...] = ()
    again: bool = False  # the trace was observed before: late spans revised it, or one came that it belongs to
    outcomes: tuple[OutcomeFact, ...] = ()
    hidden: bool = False  # arguments of a call are hidden in a way that does not compare


class Observer:
    """Reads and judges closed traces, each by itself or with those that it belongs to. Belongs to one thread."""

    def __init__(
        self,
        *,
        rules: Rules = NO_RULES,
        related_bytes: int = RELATED_BYTES,
        related_traces: int = RELATED_TRACES,
    ) -> None:
        """`rules` are what the user laid down for verdicts; then bounds on what is remembered of earlier traces."""
        self._rules = rules
        self._schemas = SchemaChecker(rules.registry)
        self._sessions = Sessions(kept=session_runs(rules.policies, rules.registry))
        self._related = RelatedTraces(max_bytes=related_bytes, max_traces=related_traces)

    def observe(self, trace: Trace) -> tuple[Observation, ...]:
        """What is now known of the trace, and anew of earlier ones that it belongs to, or did before it was revised."""
        before = self._related.read_with(trace.trace_id)
        seen = self._observe(read_facts(trace), again=bool(trace.revision))
        for facts in before:
            trace_id = facts.trace.trace_id.hex()
            if all(one.record.trace_id != trace_id for one in seen):  # else it was read as it stands now
                seen += self._observe(facts, again=True)
        return seen

    def _observe(self, facts: TraceFacts, *, again: bool) -> tuple[Observation, ...]:
        record = record_of(facts)
        group = self._related.group(facts, record)
        if len(group) == 1:
            known = self._with_rules(record)
            amounts = efficiency(known, self._rules.prices)
            findings = self._judge(known, amounts, ((known, amounts),))
            seen = self._observation(known, find_divergences(known, self._rules.registry), amounts, findings)
            return (replace(seen, again=again),)
        reading = read_together(group)
        divergences = find_divergences(reading.record, self._rules.registry)
        joint = self._with_rules(reading.record)
        known_parts = [self._with_rules(part) for part in reading.parts]
        parts = [(part, efficiency(part, self._rules.prices)) for part in known_parts]
        findings = self._judge(joint, efficiency(joint, self._rules.prices), parts)
        last = max(range(len(parts)), key=lambda index: known_parts[index].start_ns)
        return tuple(
            replace(
                self._observation(part, _own(ids, divergences), amounts, part_of(findings, ids, last=index == last)),
                again=again or part.trace_id != record.trace_id,
            )
            for index, ((part, amounts), ids) in enumerate(zip(parts, reading.ids, strict=True))
        )

    def _with_rules(self, record: TraceRecord) -> TraceRecord:
        """The record with what the registry says of its tools: which retrieve, and which results mean failure."""
        return with_error_shapes(with_tool_retrievals(record, self._rules.retrievers), self._rules.registry)

    def _judge(
        self, record: TraceRecord, facts: Efficiency, parts: Sequence[tuple[TraceRecord, Efficiency]]
    ) -> tuple[Finding, ...]:
        """The policies on a record of one trace, or of several `parts` together, each with its facts."""
        if not self._rules.policies:
            return ()
        sums = [self._sessions.add(part, amounts) for part, amounts in parts]
        return judge_policies(self._rules.policies, Case(record, self._rules.registry, facts, sums[-1]))

    def _observation(
        self,
        record: TraceRecord,
        divergences: tuple[Divergence, ...],
        facts: Efficiency,
        findings: tuple[Finding, ...],
    ) -> Observation:
        seen = Observation(
            record,
            divergences,
            {},
            checks=self._schemas.check(record),
            facts=facts,
            policies=findings,
            outcomes=record.outcomes,
            hidden=uncomparable(record, self._rules.registry.key),
        )
        return with_artifacts(seen, (compare_artifact(record, own_artifact(record), self._rules.registry),))


def with_artifacts(
    seen: Observation, compared: tuple[Compared, ...], outcomes: tuple[OutcomeFact, ...] = ()
) -> Observation:
    """The observation with further producers' artifacts, and with outcomes that were pushed; of a producer that it knows
    already the later one counts.
    """
    latest = {one.producer: one for one in (*seen.compared, *compared)}
    others = tuple(difference for difference in seen.divergences if difference.boundary is not Boundary.ARTIFACT)
    divergences = others + tuple(difference for one in latest.values() for difference in one.divergences)
    return _judged(
        replace(
            seen, divergences=divergences, compared=tuple(latest.values()), outcomes=(*seen.record.outcomes, *outcomes)
        )
    )


def _judged(seen: Observation) -> Observation:
    return replace(
        seen, lanes=judge_lanes(seen.record, seen.divergences, seen.policies, seen.outcomes, hidden=seen.hidden)
    )


def _own(ids: dict[str, str], divergences: tuple[Divergence, ...]) -> tuple[Divergence, ...]:
    """The divergences that show at a span of one trace, to which alone they belong; `ids` are its spans' in the record of
    all, with those of their own trace.
    """
    own = (difference for difference in divergences if difference.span_id in ids)
    return tuple(replace(one, span_id=ids[one.span_id or ""]) for one in own)
