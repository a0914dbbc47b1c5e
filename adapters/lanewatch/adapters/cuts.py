"""What an SDK's limits took out of a trace: attributes beyond a number, and the ends of values beyond a length
(`OTEL_ATTRIBUTE_COUNT_LIMIT`, `OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`).

OTLP counts attributes that were dropped, span by span: what was lost is of a kind that the span can carry. It leaves no
sign on a value that was cut. Several different values that all have the greatest length found in the trace are one, the
more so where JSON breaks off there; such a limit is the whole SDK's.
"""

from collections.abc import Iterator

from lanewatch.adapters.facts import LlmCall, Search, ToolRun
from lanewatch.adapters.json_text import parse_json
from lanewatch.adapters.records import RECORD_KINDS
from lanewatch.adapters.trace_facts import TraceFacts
from lanewatch.collector.spans import Attributes, Trace

SHORTEST = 32  # characters; shorter values say too little
PROSE = 128  # characters; below that equal lengths of texts are chance
CARRIED_BY = {LlmCall: ("requests", "responses"), ToolRun: ("dispatches",), Search: ("retrievals",)}
ENOUGH = 3  # different texts of the same greatest length; of JSON that breaks off, two


def dropped_kinds(facts: TraceFacts) -> frozenset[str]:
    """The kinds of record of which something may have been dropped: a model call carries requests and responses, a run of
    a tool dispatches, a search retrievals. Of an agent's step, and of a span that nothing was read from, any may be lost:
    the attribute that tells what it is may be among the dropped.
    """
    trace = facts.trace
    lossy = {span.span_id for span in trace.spans if span.dropped_attributes}
    lossy |= {log.span_id for log in trace.logs if log.dropped_attributes}
    if not lossy:
        return frozenset()
    kinds: set[str] = set()
    unknown = set(lossy)
    read: tuple[LlmCall | ToolRun | Search, ...] = (*facts.calls, *facts.runs, *facts.searches)
    for fact in read:
        if fact.span.span_id in lossy:
            kinds.update(CARRIED_BY[type(fact)])
            unknown.discard(fact.span.span_id)
    return frozenset(RECORD_KINDS if unknown else kinds)


def is_cut(trace: Trace) -> bool:
    """Whether values of the trace's attributes were cut at a length."""
    longest, values = SHORTEST, set[str]()
    for attributes in _attributes(trace):
        for value in attributes.values():
            if type(value) is not str or len(value) < longest:
                continue
            if len(value) > longest:
                longest, values = len(value), {value}
            elif len(values) < ENOUGH:
                values.add(value)
    prose = [value for value in values if " " in value and longest >= PROSE]
    return len(prose) >= ENOUGH or (len(values) > 1 and any(_breaks_off(value) for value in values))


def _attributes(trace: Trace) -> Iterator[Attributes]:
    for span in trace.spans:
        yield span.attributes
        for event in span.events:
            yield event.attributes


def _breaks_off(value: str) -> bool:
    if value[0] not in "{[":
        return False
    try:
        parse_json(value)
    except ValueError:
        return True
    return False
