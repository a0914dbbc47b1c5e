"""Efficiency as facts: what is counted, and that an unknown amount is a lower bound and never nothing."""

from pathlib import Path

import pytest
from lanewatch.adapters.facts import Usage
from lanewatch.adapters.records import Evidence, Executed
from lanewatch.config.keys import Config
from lanewatch.monitors.efficiency import FACTS, Amount, Price, efficiency
from lanewatch.monitors.session_facts import Sessions
from lanewatch.replaying.playback import replay

from tests.monitors.records import dispatch, failure, generation, record, request

CORPUS = Path(__file__).parent.parent / "corpus"


def test_tokens_turns_calls_time_and_cost_of_a_trace() -> None:
    """Each amount by itself, all known."""
    models = (generation(usage=Usage(1000, 500)), generation(usage=Usage(2000, 100)))
    facts = efficiency(
        record(generations=models, dispatches=(dispatch(),), start_ns=1, end_ns=2_500_000_001), {"m": Price(2.0, 10.0)}
    )

    assert (facts.tokens, facts.model_turns, facts.tool_calls) == (Amount(3600), Amount(2), Amount(1))
    assert (facts.seconds, facts.dollars) == (Amount(2.5), Amount(0.012))
    assert [(step.tool, step.tokens) for step in facts.steps] == [(None, 1500), (None, 2100), ("refund", None)]


@pytest.mark.parametrize("usage", [Usage(), Usage(10, None), Usage(None, 10)])
def test_a_call_without_usage_makes_tokens_and_cost_a_lower_bound(usage: Usage) -> None:
    """Unknown is not 0."""
    facts = efficiency(record(generations=(generation(usage=usage), generation(usage=Usage(1, 2)))), {"m": Price(1, 1)})

    assert facts.tokens == Amount(3, complete=False)
    assert not facts.dollars.complete


def test_a_model_without_a_price_makes_the_cost_a_lower_bound() -> None:
    """Names are compared exactly: a dated model may cost otherwise."""
    models = (generation(usage=Usage(10**6, 0)), generation(model="m-2026", usage=Usage(10**6, 0)))

    assert efficiency(record(generations=models), {"m": Price(3, 0)}).dollars == Amount(3, complete=False)


def test_lost_spans_and_doubtful_runs_make_amounts_lower_bounds() -> None:
    """What may have been there is not counted, and said to be open."""
    runs = (dispatch(), dispatch(executed=Executed.UNKNOWN), dispatch(executed=Executed.NO))

    assert efficiency(record(dispatches=runs)).tool_calls == Amount(1, complete=False)
    assert efficiency(record(dispatches=(), evidence={"dispatches": Evidence.ABSENT})).tool_calls == Amount(0, False)
    assert not any(getattr(efficiency(record(complete=False)), fact).complete for fact in FACTS)


def test_a_time_that_is_not_told_is_no_duration() -> None:
    """A start of 0 would make every trace half a century long."""
    assert efficiency(record(start_ns=0, end_ns=1_700_000_000_000_000_000)).seconds == Amount(0, complete=False)


def test_a_loop_is_counted_and_a_retry_after_an_error_is_none() -> None:
    """The same call again after it had succeeded."""
    again = dispatch(span_id="cc" * 8)
    failed = dispatch("send", error=failure(), result=None)

    assert efficiency(record(dispatches=(dispatch(), again, again))).repeated_calls == Amount(2)
    assert efficiency(record(dispatches=(failed, dispatch("send")))).repeated_calls == Amount(0)
    assert efficiency(record(dispatches=(dispatch(), dispatch(arguments={"id": 2})))).repeated_calls == Amount(0)
    assert efficiency(record(dispatches=(dispatch(arguments_state="redacted"),))).repeated_calls == Amount(0, False)


def test_a_turn_that_asks_for_nothing_new_is_idle() -> None:
    """Twins within one turn are no repetition of an earlier one."""
    first, twin = request(), request(position=1)
    second, third = request(turn=1), request(turn=2, arguments={"id": 9})

    assert efficiency(record(requests=(first, twin, second, third))).idle_turns == Amount(1)


def test_a_session_sums_its_traces_once_each() -> None:
    """A trace that is read again replaces what it was."""
    sessions = Sessions()
    first, second = (record(session_id="s", trace_id=letter * 32, dispatches=(dispatch(),)) for letter in "ab")
    sessions.add(first, efficiency(first))
    sessions.add(second, efficiency(second))
    again = record(session_id="s", trace_id="b" * 32, dispatches=(dispatch(), dispatch()))
    total = sessions.add(again, efficiency(again))

    assert (total.facts.tool_calls, total.facts.calls["refund"], total.complete) == (Amount(3), Amount(3), True)


def test_another_session_or_service_is_another_sum() -> None:
    """The same id in another service, and no id at all."""
    sessions = Sessions()
    traces = [
        record(trace_id=str(number) * 32, dispatches=(dispatch(),), **fields)
        for number, fields in enumerate([{"session_id": "s"}, {"session_id": "s", "service": "b"}, {}, {}])
    ]

    assert [sessions.add(one, efficiency(one)).facts.tool_calls.value for one in traces] == [1, 1, 1, 1]


def test_what_is_remembered_of_sessions_is_bounded_and_a_forgotten_one_is_not_whole() -> None:
    """The sum of a session that comes again after it was forgotten is no sum of all its traces."""
    sessions = Sessions(max_sessions=2)
    made = [record(session_id=name, trace_id=f"{number:032x}") for number, name in enumerate(["a", "b", "c", "a", "c"])]

    assert [sessions.add(one, efficiency(one)).complete for one in made] == [True, True, True, False, True]


@pytest.mark.parametrize("capture", sorted(CORPUS.glob("*/04_retry")), ids=lambda path: path.parent.name)
def test_model_calls_of_recordings_are_leaves(capture: Path) -> None:
    """No model call's tokens contain another's: none of them runs within another one's time on the same response."""
    for seen in replay(capture, Config()).observations:
        spans = [one.span_id for one in seen.record.generations]
        ids = [one.response_id for one in seen.record.generations if one.response_id]

        assert len(spans) == len(set(spans))
        assert len(ids) == len(set(ids))


def test_names_of_tools_are_bounded_and_what_is_beyond_is_not_lost() -> None:
    """A trace may invent a name for each call."""
    runs = tuple(dispatch(f"t{number}", {"n": number}) for number in range(300))
    facts = efficiency(record(dispatches=runs))
    twice = facts + facts

    assert len(facts.calls) == len(twice.calls) == 201
    assert sum(amount.value for amount in twice.calls.values()) == twice.tool_calls.value == 600


def test_a_long_session_keeps_its_sum_while_its_oldest_traces_are_settled() -> None:
    """The facts of 1,000 traces are told apart, in a session of any length."""
    sessions, one = Sessions(), record(dispatches=(dispatch(),))
    for number in range(1_200):
        total = sessions.add(record(session_id="s", trace_id=f"{number:032x}"), efficiency(one))

    assert total.facts.tool_calls == Amount(1_200)
