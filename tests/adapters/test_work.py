"""One trace may cost so many steps: beyond them it is said to be incomplete, and why."""

import json
from collections import Counter

import pytest
from lanewatch.adapters.records import Evidence, Incomplete
from lanewatch.adapters.trace_facts import read_facts
from lanewatch.adapters.trace_record import read_together, record_of
from lanewatch.adapters.work import OverBudgetError, Work
from lanewatch.collector.spans import Span
from lanewatch.monitors.lanes import Status, judge_lanes
from lanewatch.monitors.readings import readings

from tests.adapters.spans import agent, call, chat, tool, trace


def _spans() -> tuple[Span, ...]:
    asked = [call("look", {"c": i}, None) for i in range(20)]
    runs = [tool(f"run {i}", "look", {"c": i}, under="agent", at=(3, 9)) for i in range(20)]
    return agent(), chat("ask", *asked, under="agent", at=(1, 2)), *runs


def test_a_budget_ends() -> None:
    """Spending what is there is no fault."""
    work = Work(2)
    work.spend(2)

    with pytest.raises(OverBudgetError):
        work.spend()


@pytest.mark.parametrize("steps", [5, 30])
def test_a_trace_over_its_budget_is_incomplete_and_counted(steps: int) -> None:
    """Whether the spans or the pairs were too many. Half a record could not be told from a whole one."""
    record = record_of(read_facts(trace(*_spans()), Work(steps)))
    lanes = judge_lanes(record, ())

    assert (record.incomplete, record.requests, record.dispatches) == (Incomplete.WORK_LIMIT, (), ())
    assert set(record.evidence.values()) == {Evidence.PARTIAL}
    assert {(lane.status, lane.reasons) for lane in lanes.values()} == {(Status.INCOMPLETE, ("work_limit",))}
    assert Counter(readings(record, (), lanes))["lanewatch_records_incomplete", ("shop", "work_limit")] == 1


def test_a_trace_within_its_budget_is_whole() -> None:
    """The same trace with enough."""
    assert record_of(read_facts(trace(*_spans()), Work(5000))).incomplete is None


def test_traces_read_with_one_that_is_over_its_budget_are_incomplete_too() -> None:
    """What the one would have said of the others is not known."""
    reading = read_together((read_facts(trace(*_spans()), Work(5)), read_facts(trace(*_spans()))))

    assert [part.incomplete for part in reading.parts] == [Incomplete.WORK_LIMIT] * 2


def test_long_histories_count() -> None:
    """Messages are steps as well as spans are."""
    inputs = [{"role": "user", "parts": [{"type": "text", "content": "x"}]}] * 100
    spans = chat("ask", inputs=inputs, at=(1, 2)), chat("again", inputs=json.loads(json.dumps(inputs)), at=(3, 4))

    assert read_facts(trace(*spans), Work(150)).over_budget
