"""Reading grows with the trace, not with its square: calls of functions are counted, no time is taken."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from lanewatch.adapters.artifact_messages import Artifact
from lanewatch.adapters.conventions.openinference.tools import TOOL_ID_IN_EVENT, TOOL_MESSAGE
from lanewatch.adapters.dispositions.texts import judge
from lanewatch.adapters.failures import enters, mentions
from lanewatch.adapters.reading import read
from lanewatch.adapters.records import TraceRecord
from lanewatch.adapters.rejections import rejected, says_invalid_arguments, says_unknown_tool
from lanewatch.adapters.tool_names import NAME_LIMIT
from lanewatch.collector.spans import Span, StatusCode
from lanewatch.monitors.artifact_divergence import compare_artifact
from lanewatch.observation import Observer

from tests.adapters.spans import (
    agent,
    asking,
    call,
    chat,
    oi,
    oi_llm,
    oi_tool,
    record,
    span,
    text,
    tool,
    trace,
    traceloop,
)

At = tuple[float, float]
SMALL = 150  # turns: more than any list of candidates holds (turns.NEAR), so that what is bounded has reached its bound


def _turns(n: int, ask: Callable[[int, At], Span], run: Callable[[int, At], list[Span]]) -> list[Span]:
    spans = [agent(at=(0, 10 * n + 100))]
    for i in range(n):
        spans += [ask(i, (10 * i + 1, 10 * i + 2)), *run(i, (10 * i + 3, 10 * i + 4))]
    return spans


def _ask(i: int, at: At, name: str = "look", arguments: Any = None, call_id: str | None = None) -> Span:
    return chat(f"ask {i}", call(name, {"c": i} if arguments is None else arguments, call_id), under="agent", at=at)


def _run(i: int, at: At, name: str = "look", arguments: Any = None, **where: Any) -> Span:
    label = f"run {i} {where.get('scope', '')}"
    return tool(label, name, {"c": i} if arguments is None else arguments, under="agent", at=at, **where)


SHAPES: dict[str, Callable[[int], list[Span]]] = {
    "ids": lambda n: _turns(n, lambda i, at: _ask(i, at, call_id=f"c{i}"), lambda i, at: [_run(i, at, call_id=f"c{i}")]),
    "no ids": lambda n: _turns(n, _ask, lambda i, at: [_run(i, at)]),
    "one id for all": lambda n: _turns(n, lambda i, at: _ask(i, at, call_id="call_0"), lambda i, at: [_run(i, at, call_id="call_0")]),
    "the same call again and again": lambda n: _turns(n, lambda i, at: _ask(i, at, "poll", {}), lambda i, at: [_run(i, at, "poll", {})]),
    "rewritten": lambda n: _turns(n, _ask, lambda i, at: [_run(i, at, arguments={"c": -i - 1})]),
    "never run": lambda n: _turns(n, _ask, lambda i, at: [oi(f"step {i}", "CHAIN", under="agent", at=at, status=StatusCode.ERROR, message="Tool not found: x")]),
    "never asked for": lambda n: _turns(n, lambda i, at: chat(f"ask {i}", text("x"), under="agent", at=at), lambda i, at: [_run(i, at, f"look{i}")]),
    "bare values": lambda n: _turns(
        n,
        lambda i, at: oi_llm(f"ask {i}", ("look", f'{{"c": "x{i}"}}', None), under="agent", at=at),
        lambda i, at: [oi_tool(f"run {i}", "look", f"x{i}", "ok", under="agent", at=at)],
    ),
    "two instrumentors": lambda n: _turns(n, _ask, lambda i, at: [_run(i, at, scope="a"), _run(i, at, scope="b")]),
    "all in one turn": lambda n: [
        agent(),
        chat("ask", *(call("look", {"c": i}, None) for i in range(n)), under="agent", at=(1, 2)),
        *(_run(i, (3, 9)) for i in range(n)),
    ],
    "side by side": lambda n: [
        agent(),
        *(agent(f"agent {i}", under="agent", at=(1, 90)) for i in range(n)),
        *(chat(f"ask {i}", call("look", {}, None), under=f"agent {i}", at=(2 + i / n, 5)) for i in range(n)),
        *(tool(f"run {i}", "look", {}, under=f"agent {i}", at=(10, 11)) for i in range(n)),
        *(chat(f"say {i}", text("ok"), under=f"agent {i}", at=(20, 21)) for i in range(n)),
    ],
    "without parents": lambda n: [
        *(chat(f"ask {i}", call("look", {"c": i}, None), under="lost", at=(i, i + 0.5)) for i in range(n)),
        *(tool(f"run {i}", "look", {"c": i}, under="lost", at=(i + 0.6, i + 0.7)) for i in range(n)),
    ],
    "one below the other": lambda n: [
        oi(f"step {i}", "CHAIN", under=f"step {i - 1}" if i else "", at=(i / 1000, 9999 - i / 1000)) for i in range(n)
    ],
    "tools inside tools": lambda n: [
        tool(f"run {i}", f"look{i}", {"i": i}, under=f"run {i - 1}" if i else "", at=(i / 1000, 9999 - i / 1000)) for i in range(n)
    ],
    "all of other names": lambda n: [
        agent(),
        chat("ask", *(call(f"ask{i}", {"c": i}, None) for i in range(n)), under="agent", at=(1, 2)),
        *(_run(i, (3, 9), f"ran{i}") for i in range(n)),
    ],
    "all of one name with prefixes": lambda n: [
        agent(),
        chat("ask", *(call(f"server{i}.look", {"c": i}, None) for i in range(n)), under="agent", at=(1, 2)),
        *(_run(i, (3, 9), f"client{i}.look", {"c": -i}) for i in range(n)),
    ],
    "as many agents as calls": lambda n: [
        agent(),
        chat("ask", *(call(f"ask{i}", {"c": i}, None) for i in range(n)), under="agent", at=(1, 2)),
        *(agent(f"agent {i}", under="agent", at=(3, 4)) for i in range(n)),
        *(span(f"handoff {i}", {"gen_ai.operation.name": "handoff", "gen_ai.handoff.to_agent": f"to{i}"}, under="agent", at=(3, 4)) for i in range(n)),
    ],
    "history and runs": lambda n: [
        agent(),
        chat("ask", text("x"), inputs=[asking(*(call(f"ask{i}", {"c": i}, f"call_{i}abc") for i in range(n)))], under="agent", at=(1, 2)),
        *(_run(i, (3, 9), f"ran{i}") for i in range(n)),
    ],
    "outputs lost": lambda n: [
        agent(),
        chat("first", *(call(f"ask{i}", {"c": i}, None) for i in range(n)), inputs=[], under="agent", at=(1, 2)),
        chat("second", text("x"), inputs=[asking(*(call(f"ask{i}", {"c": i}, f"call_{i}abc") for i in range(n)))], under="agent", at=(3, 4)),
    ],
    "offered and resolved": lambda n: [
        agent(),
        chat("ask", *(call(f"x.ask{i}", {"c": i}, f"call_{i}abc") for i in range(n)), under="agent", at=(1, 2),
             extra={"gen_ai.tool.definitions": json.dumps([{"name": f"tool{i}"} for i in range(n)])}),
        *(_run(i, (3, 9), f"ask{i}", call_id=f"call_{i}abc") for i in range(n)),
    ],
    "one call tried again and again": lambda n: [
        agent(),
        chat("ask", call("look", {"c": 0}, "call_abc123"), under="agent", at=(1, 2)),
        *(_run(i, (3 + i, 3.5 + i), call_id="call_abc123", status=StatusCode.ERROR, message=f"failed {i}") for i in range(n)),
    ],
    "calls of one step": lambda n: [
        traceloop("step", "task", {"traceloop.entity.output": '{"outputs": {"refusal": "x"}}'}),
        *(traceloop(f"ask {i}", "unknown", {"gen_ai.operation.name": "chat", "gen_ai.output.messages": "[]"}, under="step", at=(i, i + 1)) for i in range(n)),
    ],
    "two reports of each retrieval": lambda n: [
        span(f"r {i} {scope}", {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": f'[{{"id": "{i}", "content": "x"}}]'}, at=(i, i + 1), scope=scope)
        for i in range(n) for scope in ("a", "b")
    ],
    "two reports of each call": lambda n: [
        chat(f"ask {i} {scope}", text("x"), at=(i, i + 1), scope=scope) for i in range(n) for scope in ("a", "b")
    ],
    "retrievals": lambda n: [oi(f"r {i}", "RETRIEVER", {"input.value": "q", "retrieval.documents.0.document.content": f"{i}"}, at=(i, i + 1)) for i in range(n)],
}  # fmt: skip


def _calls(work: Callable[[], object]) -> int:
    """How many functions of Python are called."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("shape", SHAPES)
def test_four_times_the_trace_is_four_times_the_work(shape: str) -> None:
    """Within a fifth: some indexes are binary searches. Record, divergences, own artifact and lanes are all of it."""
    small, large = (trace(*SHAPES[shape](n)) for n in (SMALL, 4 * SMALL))

    assert _calls(lambda: Observer().observe(large)) < 4.8 * _calls(lambda: Observer().observe(small))


Messages = tuple[dict[str, Any], ...]


def _without_ids(messages: Messages) -> Messages:
    return tuple({**message, "metadata": None} for message in messages)


FAULTS: dict[str, Callable[[Messages], Messages]] = {
    "nothing told": lambda messages: messages[:1],
    "told twice": lambda messages: (*messages, *messages),
    "backwards": lambda messages: messages[::-1],
    "without ids": _without_ids,
    "only results": lambda messages: tuple(message for message in messages if message["type"] == "tool"),
    "only calls": lambda messages: tuple(message for message in messages if message["type"] != "tool"),
    "one result lost": lambda messages: _without_ids(messages[:-1]),
    "other names": lambda messages: tuple(
        {**m, "tool_calls": [{**one, "name": f"x{one['name']}"} for one in m["tool_calls"]]} if m.get("tool_calls") else m
        for m in messages
    ),
}  # fmt: skip


def _answered_calls(n: int) -> TraceRecord:
    return record(
        agent(),
        chat("ask", *(call("look", {"c": i}, f"call_{i}abc") for i in range(n)), under="agent", at=(1, 2)),
        *(
            tool(f"run {i}", "look", {"c": i}, f"result {i}", f"call_{i}abc", under="agent", at=(3, 9))
            for i in range(n)
        ),
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_a_longer_artifact_is_compared_in_proportion(fault: str) -> None:
    """However the artifact went wrong: nothing is looked for among all calls for each of them."""
    works = []
    for n in (SMALL, 4 * SMALL):
        one = _answered_calls(n)
        artifact = Artifact("theirs", "they", FAULTS[fault](one.messages))
        works.append(_calls(lambda one=one, artifact=artifact: compare_artifact(one, artifact)))  # type: ignore[misc]

    assert works[1] < 4.8 * works[0]


def test_names_and_texts_of_a_megabyte_cost_no_more_than_their_length() -> None:
    """A name is cut where it is read, and texts are looked through once: characters that are compared are counted."""
    long = [f"ran{i}" + "n" * 1_000_000 for i in range(3)]
    spans = [
        agent(),
        chat("ask", *(call(f"ask{i}", {"x": i}, None) for i in range(1000)), under="agent", at=(1, 2)),
        *(tool(f"run {i}", name, {"y": i}, under="agent", at=(3, 4)) for i, name in enumerate(long)),
    ]
    found = record(*spans)

    names = [run.name for run in found.dispatches]
    assert max(map(len, names)) <= NAME_LIMIT
    assert len(set(names)) == len(long)
    assert all(name.startswith("ran") for name in names)


LONG = 200_000  # characters; what is quadratic in them takes minutes and hangs the test
UNITS = ("\n", " ", "\t", "tool ", "function not ", "blocked by ", "arguments invalid ", "'refusal': '", "\\'", '"id": "resp_',
         "tool_id='", "content='", "Error ", '  File "x', 'File "x", line 1, in f\n', "look() missing 1 required ", "i'm sorry ",
         "[", "{", "\\u", ".", "A.", "'")  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_long_texts_are_searched_in_linear_time(unit: str) -> None:
    """Content is foreign, and patterns must not go back and forth over it."""
    long = unit * (LONG // len(unit))
    for search in (rejected, says_unknown_tool, says_invalid_arguments, judge, read, TOOL_ID_IN_EVENT.search):
        search(long)
    TOOL_MESSAGE.match(f"content='{long}")
    read(long, literal=True)

    assert not enters(long, "look")
    assert not mentions(long, "never")
    for kind in ("LLM", "TOOL", "CHAIN", "RETRIEVER"):
        one = oi("x", kind, {"input.value": long, "output.value": long}, status=StatusCode.ERROR, message=long)
        assert record(one).unread == 0
