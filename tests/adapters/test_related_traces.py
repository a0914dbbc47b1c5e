"""Traces that belong together: which are read as one, and what each keeps."""

import json
from pathlib import Path

import pytest
from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.facts import Fact
from lanewatch.adapters.records import Outcome, TraceRecord
from lanewatch.adapters.related_traces import RelatedTraces
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.adapters.trace_facts import read_facts
from lanewatch.adapters.trace_record import read_together, read_trace
from lanewatch.collector.spans import LogRecord, Span, Trace
from lanewatch.config.keys import Config
from lanewatch.observation import Observer
from lanewatch.replaying.playback import replay
from msgspec.structs import replace

CORPUS = Path(__file__).parent.parent / "corpus"
CALL = "call_e0999a601c29894b426a5964"


def trace(number: int, *spans: Span) -> Trace:
    """A trace of these spans."""
    trace_id = bytes([number]) * 16
    return Trace(
        trace_id, tuple(Span(**{f: getattr(s, f) for f in s.__struct_fields__} | {"trace_id": trace_id}) for s in spans)
    )


def model_call(call_id: str = CALL, session: str | None = None, start: int = 0, shown: str | None = None) -> Span:
    """A model call that asks for one tool, and may be shown an earlier result."""
    output = [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": call_id, "name": "refund", "arguments": {"id": 7}}]}
    ]
    inputs = [{"role": "user", "parts": [{"type": "text", "content": "Refund it."}]}]
    if shown is not None:
        inputs.append({"role": "tool", "parts": [{"type": "tool_call_response", "id": shown, "response": "done"}]})
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(inputs),
        "gen_ai.output.messages": json.dumps(output),
    } | ({"gen_ai.conversation.id": session} if session else {})
    return Span(b"", start.to_bytes(7, "big") + b"m", b"", "chat", 3, start, start + 10, attributes=attributes)


def tool_run(call_id: str = CALL, session: str | None = None, start: int = 100, arguments: str = '{"id": 7}') -> Span:
    """A run of the tool in a trace of its own."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.call.arguments": arguments,
        "gen_ai.tool.call.result": '{"ok": true}',
    } | ({"gen_ai.conversation.id": session} if session else {})
    return Span(
        b"", start.to_bytes(7, "big") + b"t", b"", "execute_tool refund", 1, start, start + 10, attributes=attributes
    )


def grouped(*traces: Trace) -> int:
    """How many traces the last one is read together with, itself among them."""
    related = RelatedTraces(max_bytes=1 << 20, max_traces=100)
    return [len(related.group(read_facts(one), read_trace(one))) for one in traces][-1]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_run_in_another_trace_answers_the_request(reverse: bool) -> None:
    """Whichever of the two traces is closed first."""
    traces = (trace(1, model_call()), trace(2, tool_run()))
    asked, ran = read_together(tuple(map(read_facts, traces))).parts

    assert grouped(*(traces[::-1] if reverse else traces)) == 2
    assert [request.outcome for request in asked.requests] == [Outcome.DISPATCHED]
    assert [(run.match_rule, run.request) for run in ran.dispatches] == [("R1", None)]


def test_counters_relate_nothing_across_traces() -> None:
    """`call_0` is in every turn of every conversation."""
    assert grouped(trace(1, model_call("call_0")), trace(2, tool_run("call_0"))) == 1


def test_traces_of_two_sessions_are_never_related() -> None:
    """An id is unique only inside a conversation."""
    assert grouped(trace(1, model_call(session="a")), trace(2, tool_run(session="b"))) == 1


def test_a_session_relates_open_requests_and_unasked_runs_without_ids() -> None:
    """A run with an id that no model wrote, in the session of a request that nothing answered."""
    assert grouped(trace(1, model_call("call_0", session="a")), trace(2, tool_run("x", session="a"))) == 2


def test_a_result_that_a_later_model_call_is_shown_relates_it() -> None:
    """One trace a model call: the next call's input is all that tells of the tool."""
    assert grouped(trace(1, model_call()), trace(2, model_call("call_other_one_999999", shown=CALL, start=50))) == 2


def test_an_ordinary_turn_is_related_to_nothing() -> None:
    """A conversation of a hundred turns is read turn by turn."""
    turns = [
        trace(
            n, model_call(f"call_turn{n}abcdefgh", "a", 1000 * n), tool_run(f"call_turn{n}abcdefgh", "a", 1000 * n + 20)
        )
        for n in range(1, 6)
    ]

    assert grouped(*turns) == 1


def test_one_response_at_two_times_is_two_calls() -> None:
    """A cache answers many runs with one response, ids and all."""
    first = trace(1, model_call(start=0), tool_run(start=20))
    second = trace(2, model_call(start=5000), tool_run(start=5020))

    assert grouped(first, second) == 1
    assert len(read_together((read_facts(first), read_facts(second))).record.requests) == 2


def test_equal_span_ids_in_two_traces_lose_no_span() -> None:
    """Emitters that number their spans use an id in several traces; each record has the ids of its own trace."""
    asked = trace(1, model_call())
    ran = trace(2, replace(tool_run(), span_id=asked.spans[0].span_id))
    seen = [one for t in (asked, ran) for one in Observer().observe(t)]
    observer = Observer()
    first, second = [observer.observe(t) for t in (asked, ran)][-1]

    assert [len(one.record.generations) + len(one.record.dispatches) for one in (first, second)] == [1, 1]
    assert [request.outcome for request in first.record.requests] == [Outcome.DISPATCHED]
    assert {run.span_id for run in second.record.dispatches} == {asked.spans[0].span_id.hex()}
    assert second.record.dispatches[0].span_ids == seen[-1].record.dispatches[0].span_ids


def test_differences_stay_with_the_trace_that_shows_them() -> None:
    """Also where both have a span of that id."""
    asked = trace(1, model_call())
    ran = trace(2, replace(tool_run(arguments='{"id": 8}'), span_id=asked.spans[0].span_id))
    observer = Observer()
    first, second = [observer.observe(t) for t in (asked, ran)][-1]

    assert first.divergences == ()
    assert [(one.path, one.span_id) for one in second.divergences] == [("$.id", asked.spans[0].span_id.hex())]


def test_spans_of_related_traces_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversation of thirty traces that belong together was read anew for each of them."""
    read: list[bytes] = []

    def counted(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
        read.append(span.span_id)
        return otel_genai_read(span, tree)

    otel_genai_read = otel_genai.read_span
    monkeypatch.setattr(otel_genai, "read_span", counted)
    observer = Observer()
    groups = []
    for n in range(30):
        shown = f"call_turn{n - 1}abcdefgh" if n else None
        groups.append(len(observer.observe(trace(n + 1, model_call(f"call_turn{n}abcdefgh", None, n, shown)))))

    assert max(groups) > 10
    assert len(read) == 30


def test_a_trace_that_a_revision_no_longer_concerns_is_read_anew() -> None:
    """The first answers its request with the other's run, until a late span shows who asked for that one."""
    observer = Observer()
    (alone,) = observer.observe(trace(1, model_call()))
    together, _ = observer.observe(trace(2, tool_run()))
    late = observer.observe(replace(trace(2, model_call(start=50), tool_run()), revision=1))
    again = {one.record.trace_id: one for one in late}[alone.record.trace_id]

    assert [request.outcome for request in together.record.requests] == [Outcome.DISPATCHED]
    assert again.record.requests == alone.record.requests
    assert again.record.evidence == alone.record.evidence
    assert all(one.again for one in late)
    assert len(late) == 2


def test_a_trace_that_still_belongs_to_a_revised_one_is_read_once() -> None:
    """It comes with the group, not once more."""
    observer = Observer()
    for one in (trace(1, model_call()), trace(2, tool_run())):
        observer.observe(one)
    late = observer.observe(replace(trace(2, tool_run()), revision=1))

    assert [one.record.trace_id for one in late] == ["01" * 16, "02" * 16]


def test_what_is_remembered_is_bounded() -> None:
    """The trace that was seen longest ago is forgotten first."""
    related = RelatedTraces(max_bytes=1 << 20, max_traces=1)
    for one in (trace(1, model_call()), trace(3, model_call("call_quite_another_one"))):
        related.group(read_facts(one), read_trace(one))
    late = trace(2, tool_run())

    assert len(related.group(read_facts(late), read_trace(late))) == 1
    assert related.read_with(late.trace_id) == ()


def test_the_bytes_of_log_records_count() -> None:
    """GenAI content may travel in logs alone; a thousand such traces must not be remembered for nothing."""
    related = RelatedTraces(max_bytes=1000, max_traces=100)
    first = trace(1, model_call())
    heavy = replace(first, logs=(LogRecord(first.trace_id, size_bytes=2000),))
    related.group(read_facts(heavy), read_trace(first))
    late = trace(2, tool_run())

    assert len(related.group(read_facts(late), read_trace(late))) == 1


def test_two_instrumentors_in_two_traces_report_each_call_once() -> None:
    """And the call stays with the agent's run, not with the client library's lone span."""
    capture = CORPUS / "langchain_double" / "03_parallel"
    truth = json.loads((capture / "truth.json").read_text())
    records: list[TraceRecord] = [seen.record for seen in replay(capture, Config()).observations]
    asking = [record for record in records if record.requests]

    assert [request.call_id for request in asking[0].requests] == [call["id"] for call in truth["llm_emitted_calls"]]
    assert len(asking) == 1
    assert len(asking[0].dispatches) == len(truth["dispatched"])
