"""Reading grows with the trace, not with its square: calls of functions are counted, no time is taken."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from lanewatch.adapters.conventions.openinference.tools import TOOL_ID_IN_EVENT, TOOL_MESSAGE
from lanewatch.adapters.dispositions.texts import judge
from lanewatch.adapters.failures import enters, mentions
from lanewatch.adapters.reading import read
from lanewatch.adapters.rejections import rejected, says_invalid_arguments, says_unknown_tool
from lanewatch.adapters.trace_record import read_trace
from lanewatch.collector.spans import Span, StatusCode, Trace
from lanewatch.monitors.divergence import find_divergences

from tests.adapters.spans import agent, call, chat, oi, oi_llm, oi_tool, record, text, tool, trace

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
    "retrievals": lambda n: [oi(f"r {i}", "RETRIEVER", {"input.value": "q", "retrieval.documents.0.document.content": f"{i}"}, at=(i, i + 1)) for i in range(n)],
}  # fmt: skip


def _calls(whole: Trace) -> int:
    """How many functions of Python are called to read a trace and find its divergences."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        find_divergences(read_trace(whole))
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_trace_is_twice_the_work(shape: str) -> None:
    """Within a fifth: some indexes are binary searches."""
    small, large = (trace(*SHAPES[shape](n)) for n in (SMALL, 2 * SMALL))

    assert _calls(large) < 2.2 * _calls(small)


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
