"""Turns: which model call a tool's run belongs to, where loops run one after the other, inside and beside one another."""

from lanewatch.adapters.facts import AGENT, LlmCall, Step, ToolRun
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.adapters.turns import find_turns, home_turns
from lanewatch.collector.spans import Span

from tests.adapters.spans import MS, span, trace


def _turns(
    *spans: Span, calls: str = "", runs: str = "", agents: str = ""
) -> tuple[dict[str, float | None], dict[str, str | None]]:
    """(by call: when its turn ends, in ms; by run: the call in whose turn it started); by the labels of spans."""
    whole = trace(*spans)
    by_name = {one.name: one for one in whole.spans}
    tree = SpanTree(whole)
    llm = sorted((LlmCall(by_name[label], "x") for label in calls.split()), key=lambda call: call.span.start_ns)
    ran = sorted((ToolRun(by_name[label], "x", label) for label in runs.split()), key=lambda run: run.span.start_ns)
    steps = [Step(by_name[label], "x", AGENT) for label in agents.split()]
    turns = find_turns(llm, ran, steps, tree)
    homes = home_turns(turns, ran, tree)
    ends = {turn.span.name: turn.until_ns / MS if turn.until_ns is not None else None for turn in turns}
    names = {run.name: llm[home].span.name if home is not None else None for run, home in zip(ran, homes, strict=True)}
    return ends, names


def test_turns_of_one_loop_follow_each_other() -> None:
    """A turn ends where the next model call begins, and the last one stays open."""
    ends, homes = _turns(
        span("root", at=(0, 99)),
        span("ask", under="root", at=(1, 2)),
        span("run", under="root", at=(3, 4)),
        span("say", under="root", at=(5, 6)),
        calls="ask say",
        runs="run",
    )

    assert ends == {"ask": 5, "say": None}
    assert homes == {"run": "ask"}


def test_sub_agents_side_by_side_do_not_cut_each_other() -> None:
    """The next call of another branch says nothing of this one."""
    ends, homes = _turns(
        span("root", at=(0, 99)),
        *(span(name, under="root", at=(1, 50)) for name in ("A", "B")),
        span("ask A", name="askA", under="A", at=(2, 3)),
        span("ask B", name="askB", under="B", at=(5, 6)),
        span("run A", name="runA", under="A", at=(10, 20)),
        span("run B", name="runB", under="B", at=(11, 12)),
        span("say B", name="sayB", under="B", at=(13, 14)),
        span("say A", name="sayA", under="A", at=(21, 22)),
        calls="askA askB sayA sayB",
        runs="runA runB",
        agents="A B",
    )

    assert (ends["askA"], ends["askB"]) == (21, 13)
    assert homes == {"runA": "askA", "runB": "askB"}


def test_branches_need_no_agents_spans_to_be_told_apart() -> None:
    """A graph's nodes may be plain steps: the narrowest part of the tree that holds another call is the loop."""
    ends, homes = _turns(
        span("root", at=(0, 99)),
        *(span(name, under="root", at=(1, 50)) for name in ("A", "B")),
        *(
            span(f"node {n}", under=n[0], at=at)
            for n, at in (("A1", (2, 3)), ("A2", (30, 31)), ("B1", (4, 5)), ("B2", (20, 21)))
        ),
        *(
            span(n, under=f"node {n}", at=at)
            for n, at in (("A1", (2, 3)), ("A2", (30, 31)), ("B1", (4, 5)), ("B2", (20, 21)))
        ),
        span("run", under="A", at=(22, 25)),
        calls="A1 A2 B1 B2",
        runs="run",
    )

    assert (ends["A1"], ends["B1"]) == (30, 20)
    assert homes == {"run": "A1"}


def test_an_agent_inside_a_tool_is_a_loop_of_its_own() -> None:
    """Its calls don't end the turn that called it, nor do they own what runs outside it."""
    ends, homes = _turns(
        span("root", at=(0, 99)),
        span("ask", under="root", at=(1, 2)),
        span("helper", under="root", at=(3, 20)),
        span("inner ask", name="inner", under="helper", at=(4, 5)),
        span("look", under="helper", at=(6, 7)),
        span("inner say", name="innersay", under="helper", at=(8, 9)),
        span("second", under="root", at=(21, 22)),
        span("say", under="root", at=(30, 31)),
        calls="ask inner innersay say",
        runs="helper look second",
    )

    assert (ends["ask"], ends["inner"], ends["innersay"]) == (30, 8, 30)
    assert homes == {"helper": "ask", "look": "inner", "second": "ask"}


def test_a_graphs_node_that_is_called_an_agent_is_no_loop() -> None:
    """LangChain names any node an agent whose name says so; it holds one call, and the loop is around it."""
    ends, homes = _turns(
        span("graph", at=(0, 99)),
        span("agent 1", under="graph", at=(1, 2)),
        span("ask", under="agent 1", at=(1, 2)),
        span("run", under="graph", at=(3, 4)),
        span("agent 2", under="graph", at=(5, 6)),
        span("say", under="agent 2", at=(5, 6)),
        calls="ask say",
        runs="run",
        agents=" ".join(()),
    )

    assert ends["ask"] == 5
    assert homes == {"run": "ask"}


def test_a_trace_without_parents_is_one_loop_in_order_of_time() -> None:
    """Spans that lost their parents still follow each other."""
    ends, homes = _turns(
        span("ask", at=(1, 2)), span("run", at=(3, 4)), span("say", at=(5, 6)), calls="ask say", runs="run"
    )

    assert (ends["ask"], homes["run"]) == (5, "ask")


def test_a_tool_may_start_before_the_answer_has_ended() -> None:
    """With streaming, and by the clocks of two threads."""
    _, homes = _turns(
        span("root", at=(0, 99)),
        span("ask", under="root", at=(10, 20)),
        span("early", under="root", at=(9, 12)),
        span("streamed", under="root", at=(15, 30)),
        calls="ask",
        runs="early streamed",
    )

    assert homes == {"early": "ask", "streamed": "ask"}


def test_what_runs_before_any_model_call_belongs_to_no_turn() -> None:
    """The application called it."""
    _, homes = _turns(span("before", at=(1, 2)), span("ask", at=(10, 11)), calls="ask", runs="before")

    assert homes == {"before": None}
