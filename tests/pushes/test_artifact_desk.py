"""Pushed artifacts meet their traces in any order, within bounds, and none of them is lost without being counted."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.adapters.records import Evidence, TraceRecord
from lanewatch.collector.outcomes import Refused
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome, Compared
from lanewatch.observation import Observation
from lanewatch.pushes.artifact_desk import ArtifactDesk, DeskLimits, Unclaimed
from lanewatch.pushes.artifact_push import PushedArtifact, PushedMessage, parse_push
from msgspec.structs import replace

from tests.monitors.records import dispatch, record, request


def trace(number: int = 1, session: str | None = None, question: str | None = None, **fields: Any) -> TraceRecord:
    """A trace in which one call ran, of a session's turn with this question."""
    tool = f"tool_{number}"
    messages = [
        {"type": "human", "content": question or f"question {number}", "metadata": None},
        {"type": "ai", "content": "", "metadata": None, "tool_calls": [{"name": tool, "args": {"n": number}}]},
    ]
    span = f"{number:016x}"
    return record(
        trace_id=f"{number:032x}",
        session_id=session,
        start_ns=number,
        requests=(request(tool, {"n": number}, call_id=f"c{number}", span_id=span),),
        dispatches=(dispatch(tool, {"n": number}, call_id=f"c{number}", result=None, span_id=span),),
        messages=tuple(messages),
        **fields,
    )


def seen(one: TraceRecord) -> Observation:
    """The observation of a record."""
    return Observation(one, (), {})


def pushed(number: int = 1, producer: str = "p", messages: Any = None, **fields: Any) -> PushedArtifact:
    """An artifact of a trace, true unless `messages` say otherwise."""
    where = fields or {"trace_id": f"{number:032x}"}
    told = trace(number).messages if messages is None else messages
    return PushedArtifact(producer, messages=msgspec.convert(told, tuple[PushedMessage, ...]), **where)


def outcomes(observations: list[Observation]) -> list[tuple[str, str, str]]:
    """(end of trace id, producer, outcome) of what was compared."""
    return [(o.record.trace_id[-1], one.producer, str(one.verdict)) for o in observations for one in o.compared]


def desk(given_up: Any = None, now: Any = None, **limits: Any) -> ArtifactDesk:
    """A desk; what it gives up goes to a list, and the first of another is its clock."""
    clock = now if now is not None else [0.0]
    lost = given_up if given_up is not None else []
    return ArtifactDesk(DeskLimits(**limits), lambda: clock[0], lost.append)


def test_an_artifact_and_its_trace_meet_in_either_order() -> None:
    """With the same outcome."""
    before, after = desk(), desk()

    assert before.pushed(pushed(), 10) == []
    assert outcomes(before.seen(seen(trace()), 10)) == [("1", "p", "equal")]
    assert outcomes(after.seen(seen(trace()), 10)) == []
    assert outcomes(after.pushed(pushed(), 10)) == [("1", "p", "equal")]


def test_a_trace_of_which_nobody_told_more_is_handed_on_as_it_was_judged() -> None:
    """Nearly all traces are: to judge the lanes again would change nothing."""
    one = seen(trace())

    assert desk().seen(one, 0)[0] is one


def test_a_trace_that_is_read_again_keeps_its_artifacts() -> None:
    """A late span brings a call that the artifact does not tell."""
    one = desk()
    one.seen(seen(trace()), 10)
    one.pushed(pushed(), 10)
    late = trace()
    more = dispatch("late", {}, call_id="c9", request=1, result=None, span_id="9" * 16)
    later = replace(
        late,
        revision=1,
        requests=(*late.requests, request("late", {}, call_id="c9", turn=1)),
        dispatches=(*late.dispatches, more),
    )

    assert outcomes(one.seen(seen(later), 20)) == [("1", "p", "divergent")]


def test_the_later_artifact_of_a_producer_replaces_the_earlier() -> None:
    """An adapter that was mended and run again; each producer counts for itself."""
    one = desk()
    one.seen(seen(trace()), 10)
    one.pushed(pushed(messages=[]), 10)

    assert outcomes(one.pushed(pushed(producer="q"), 10)) == [("1", "p", "divergent"), ("1", "q", "equal")]
    assert outcomes(one.pushed(pushed(), 10)) == [("1", "p", "equal"), ("1", "q", "equal")]


def test_what_waits_is_bounded_in_number_bytes_and_time() -> None:
    """The oldest go first, and each that goes is told."""
    lost: list[Unclaimed]
    for limits in ({"waiting_artifacts": 2}, {"waiting_bytes": 250_000}):
        lost = []
        one = desk(lost, **limits)
        for number in (1, 2, 3):
            one.pushed(pushed(number, producer=f"p{number}"), 100_000)
        assert (one.waiting, [gone.producer for gone in lost]) == (2, ["p1"])

    lost, now = [], [0.0]
    one = desk(lost, now, waiting_seconds=5.0)
    one.pushed(pushed(1, producer="early"), 10)
    now[0] = 6.0
    one.pushed(pushed(2, producer="late"), 10)
    assert [gone.producer for gone in lost] == ["early"]
    one.close()
    assert [gone.producer for gone in lost] == ["early", "late"]


def test_records_and_parsed_artifacts_count_with_what_they_take() -> None:
    """Thousands of calls, and of empty lists, take many times the bytes that they came in."""
    one = desk(waiting_bytes=1 << 20, remembered_bytes=1 << 20)
    for number in (1, 2, 3):
        calls = tuple(request(f"tool_{n}", {"x": [[]] * 100}, call_id=f"c{n}") for n in range(60))
        one.seen(seen(replace(trace(number), requests=calls)), 1000)
        one.pushed(pushed(9 + number, messages=[{"type": "human", "content": "x" * 600_000}]), 10)

    assert (len(one._known), one.waiting) == (2, 1)


def test_what_is_remembered_is_bounded_in_number_and_bytes() -> None:
    """An artifact of a trace that is no longer remembered waits in vain."""
    for limits in ({"remembered_traces": 2}, {"remembered_bytes": 250_000}):
        one = desk(**limits)
        for number in (1, 2, 3):
            one.seen(seen(trace(number)), 100_000)
        assert one.pushed(pushed(1), 1) == []
        assert outcomes(one.pushed(pushed(3), 1)) == [("3", "p", "equal")]


def test_a_session_s_artifact_waits_until_all_its_questions_have_come() -> None:
    """Then each turn has its outcome, and a difference belongs to the turn where it is."""
    turns = [trace(number, session="s") for number in (1, 2)]
    told = [dict(m) for turn in turns for m in turn.messages]
    told[3] = {**told[3], "tool_calls": [{"name": "tool_2", "args": {"n": 5}}]}
    one = desk()

    assert one.pushed(pushed(messages=told, session_id="s"), 10) == []
    assert outcomes(one.seen(seen(turns[0]), 10)) == []
    assert sorted(outcomes(one.seen(seen(turns[1]), 10))) == [("1", "p", "equal"), ("2", "p", "divergent")]
    assert one.waiting == 0


def test_turns_after_a_session_s_artifact_are_no_difference() -> None:
    """The artifact was made before they happened; another session's traces are none of its business."""
    one = desk()
    for number in (1, 2):
        one.seen(seen(trace(number, session="s")), 10)
    one.seen(seen(trace(3, session="other", question="question 1")), 10)

    assert outcomes(one.pushed(pushed(1, session_id="s"), 10)) == [("1", "p", "equal")]
    assert one.waiting == 0


def test_a_session_without_complete_evidence_is_incomplete() -> None:
    """Once all its questions have come."""
    one = desk()
    one.seen(seen(trace(1, session="s", evidence={"dispatches": Evidence.PARTIAL})), 10)

    assert outcomes(one.pushed(pushed(1, session_id="s"), 10)) == [("1", "p", "incomplete")]


def test_what_producers_made_of_an_older_reading_is_dropped() -> None:
    """The newer reading was given to them as well."""
    one = desk()
    old, new = seen(trace()), seen(trace())
    verdict = Compared("q", ArtifactOutcome.EQUAL)
    one.seen(old, 10)
    one.seen(new, 10)

    assert one.produced(old, (verdict,)) == []
    assert outcomes(one.produced(new, (verdict,))) == [("1", "q", "equal")]
    assert outcomes(desk().produced(old, (verdict,))) == [("1", "q", "equal")]


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 6), st.integers(1, 40)), max_size=40))
def test_every_artifact_is_judged_waiting_or_told_as_unclaimed(steps: list[tuple[bool, int, int]]) -> None:
    """Whatever comes in whatever order; and the bounds hold at each step."""
    lost: list[Unclaimed] = []
    one = desk(lost, remembered_traces=3, remembered_bytes=100_000, waiting_artifacts=3, waiting_bytes=100_000)
    judged: set[str] = set()
    names: list[str] = []
    for is_trace, number, size in steps:
        if is_trace:
            changed = one.seen(seen(trace(number)), 1000 * size)
        else:
            names.append(f"p{len(names)}")
            changed = one.pushed(pushed(number, producer=names[-1]), 1000 * size)
        judged |= {compared.producer for observation in changed for compared in observation.compared}
        assert len(one._known) <= 3
        assert len(one._known) == 1 or one._known_bytes <= 100_000
        assert one._known_bytes == sum(known.size for known in one._known.values())
        assert one.waiting <= 3
        assert one._waiting_bytes == sum(waiting.size for waiting in one._waiting.values()) <= 100_000
    one.close()

    assert sorted(gone.producer for gone in lost) == sorted(set(names) - judged)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"[]", "at its top"),
        (b"{}", "at its top"),
        (b'{"producer": "p", "messages": [{"type": "secret", "content": ""}]}', r"at \$.messages\[0\].type"),
        (b'{"producer": "p", "messages": [{"type": "ai", "content": null}]}', r"at \$.messages\[0\].content"),
        (b'{"producer": "p", "messages": [], "trace_id": 5}', r"at \$.trace_id"),
        (b'{"producer": "", "messages": [], "session_id": "s"}', r"at \$.producer"),
        (b'{"producer": "lanewatch", "messages": [], "session_id": "s"}', "Lanewatch's own"),
        (b'{"producer": "p", "messages": []}', "one of trace_id and session_id"),
        (b'{"producer": "p", "messages": [], "trace_id": "secret"}', "32 hexadecimal digits"),
        (
            b'{"producer": "p", "messages": [{"type": "ai", "content": "", "metadata": {"x": ' + b"[" * 50_000,
            "too deeply",
        ),
        (b"\xff", "not JSON"),
    ],
)
def test_a_body_that_is_no_artifact_is_refused_by_its_place(body: bytes, place: str) -> None:
    """Never with a value out of it."""
    with pytest.raises(Refused, match=place) as refused:
        parse_push(body)

    assert "secret" not in str(refused.value)


def test_an_artifact_that_is_nested_too_deeply_to_be_compared_is_a_failure_of_its_producer() -> None:
    """Deeper than a comparison may recurse, and not so deep that it could not be parsed."""
    deep = b'{"producer": "p", "session_id": "s", "messages": [{"type": "ai", "content": "", "metadata": {"x": %b}}]}'
    lost: list[Unclaimed] = []
    desk(lost).pushed(parse_push(deep % (b"[" * 150 + b"]" * 150)), 10)

    assert lost == [Unclaimed("p", ArtifactOutcome.FAILED)]


def test_integers_arrive_as_they_were_sent() -> None:
    """Beyond 2^53 and beyond 2^64."""
    body = (
        b'{"producer": "p", "session_id": "s", "messages": [{"type": "ai", "content": "", '
        b'"tool_calls": [{"name": "f", "args": {"x": 123456789012345678901234567890, "y": 9007199254740993}}]}]}'
    )
    (message,) = parse_push(body).artifact().messages

    assert message["tool_calls"][0]["args"] == {"x": 123456789012345678901234567890, "y": 9007199254740993}
