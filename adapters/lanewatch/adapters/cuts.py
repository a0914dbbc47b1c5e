"""Whether an SDK's length limit cut attribute values of a trace (`OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`).

OTLP counts attributes that were dropped, but leaves no sign on a value that was cut. Several different values that all
have the greatest length found in the trace are one, the more so where JSON breaks off there.
"""

from collections.abc import Iterator

from lanewatch.adapters.json_text import parse_json
from lanewatch.collector.spans import Attributes, Trace

SHORTEST = 32  # characters; shorter values say too little
PROSE = 128  # characters; below that equal lengths of texts are chance
ENOUGH = 3  # different texts of the same greatest length; of JSON that breaks off, two


def is_cut(trace: Trace) -> bool:
    """Whether attributes of the trace were dropped, or their values cut."""
    if any(span.dropped_attributes for span in trace.spans):
        return True
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
