"""S4: a tool on a host whose clock is minutes off answers the same request, and never makes a false alarm."""

from pathlib import Path

import pytest
from lanewatch.adapters.trace_record import read_trace
from lanewatch.collector.spans import Trace
from lanewatch.monitors.divergence import find_divergences
from msgspec.structs import replace

from tests.adapters.recordings import CORPUS, traces

STACKS_WITH_IDS = ("openai-v2-latest", "openai_oi", "langchain_oi", "llamaindex_oi", "langchain_traceloop")
STACKS_WITHOUT = ("openai_agents_oi", "smolagents_oi", "openai_traceloop")
MINUTES = 60 * 10**9


def skewed(trace: Trace, minutes: int) -> Trace:
    """The trace with the clock of everything that ran a tool moved."""
    runs = {bytes.fromhex(span) for run in read_trace(trace).dispatches for span in run.span_ids}
    moved = minutes * MINUTES
    spans = [
        replace(span, start_ns=span.start_ns + moved, end_ns=span.end_ns + moved) if span.span_id in runs else span
        for span in trace.spans
    ]
    return replace(trace, spans=tuple(sorted(spans, key=lambda span: (span.start_ns, span.span_id))))


def recorded(stack: str) -> list[Trace]:
    """Traces of this stack's parallel calls that show runs."""
    found: list[Trace] = [t for t in traces(Path(CORPUS) / stack / "03_parallel") if read_trace(t).dispatches]
    return found


@pytest.mark.parametrize("minutes", [-5, 5])
@pytest.mark.parametrize("stack", STACKS_WITH_IDS)
def test_equal_ids_pair_whatever_the_clocks_say(stack: str, minutes: int) -> None:
    """A child that starts before its parent is the same call."""
    for trace in recorded(stack):
        record = read_trace(skewed(trace, minutes))

        assert [request.outcome for request in record.requests] == [r.outcome for r in read_trace(trace).requests]
        assert find_divergences(record) == find_divergences(read_trace(trace)) == ()


@pytest.mark.parametrize("minutes", [-5, 5])
@pytest.mark.parametrize("stack", STACKS_WITHOUT)
def test_without_ids_a_strange_clock_is_doubt_and_no_alarm(stack: str, minutes: int) -> None:
    """A run of the tool that no rule can pair keeps a request from being called dropped."""
    for trace in recorded(stack):
        assert find_divergences(read_trace(skewed(trace, minutes))) == ()
