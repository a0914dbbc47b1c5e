"""One event, several reports (table D): what folds, and what must not."""

import json

import pytest
from lanewatch.adapters.records import Executed, TraceRecord
from lanewatch.collector.spans import StatusCode

from tests.adapters.spans import (
    UTIL_GENAI,
    agent,
    call,
    chat,
    oi,
    oi_llm,
    oi_tool,
    raised,
    record,
    span,
    text,
    tool,
    traceloop,
)

OTHER = "opentelemetry.instrumentation.openai.v1"


def _counts(found: TraceRecord) -> tuple[int, int, int, int]:
    return len(found.generations), len(found.requests), len(found.dispatches), len(found.retrievals)


def test_a_framework_and_its_client_report_one_model_call() -> None:
    """By the response's id, wherever the spans are; usage and ids come from whoever has them."""
    found = record(
        agent(),
        chat("ask", call("look", {"a": 1}, "c1"), under="agent", at=(1, 5), extra={"gen_ai.response.id": "r1"}),
        chat(
            "openai.chat",
            call("look", {"a": 1}, "c1"),
            at=(2, 4),
            scope=OTHER,
            extra={"gen_ai.response.id": "r1", "gen_ai.usage.input_tokens": 7},
        ),
    )

    assert _counts(found)[:2] == (1, 1)
    assert (found.generations[0].reports, found.generations[0].usage.input) == (2, 7)


def test_nested_calls_with_one_answer_are_one() -> None:
    """Also where only one of them recorded the answer."""
    whole, bare = (
        chat("in", text("hi"), under="out", at=(2, 3), scope=OTHER),
        span("out", {"gen_ai.operation.name": "chat"}, at=(1, 4)),
    )

    assert _counts(record(whole, bare))[0] == 1
    assert record(whole, bare).responses[0].text == "hi"


def test_nested_calls_with_different_answers_are_two() -> None:
    """A model that calls a model."""
    assert (
        _counts(record(chat("out", text("b"), at=(1, 9)), chat("in", text("a"), under="out", at=(2, 3), scope=OTHER)))[
            0
        ]
        == 2
    )


def test_equal_calls_of_one_scope_are_two() -> None:
    """A cache may answer two calls with one response."""
    pair = [
        chat(name, text("hi"), at=at, extra={"gen_ai.response.id": "r1"}) for name, at in (("a", (1, 2)), ("b", (3, 4)))
    ]

    assert _counts(record(*pair))[0] == 2


def test_calls_beside_each_other_are_one_only_at_the_same_time() -> None:
    """Two instrumentors without a response id: equal answers, and nearly the same time."""
    first = chat("a", text("hi"), at=(1, 9))

    assert _counts(record(first, chat("b", text("hi"), at=(1.1, 8.9), scope=OTHER)))[0] == 1
    assert _counts(record(first, chat("b", text("hi"), at=(10, 19), scope=OTHER)))[0] == 2
    assert _counts(record(first, chat("b", text("ho"), at=(1.1, 8.9), scope=OTHER)))[0] == 2


def test_a_tool_reported_by_three_instrumentors_ran_once() -> None:
    """Siblings and nested, with ids in one of them alone, and one that lost the argument's name."""
    found = record(
        agent(),
        chat("ask", call("look", {"city": "Rome"}, "c1"), under="agent", at=(1, 2)),
        tool("a", "look", {"city": "Rome"}, call_id="c1", under="agent", at=(3, 9), scope=UTIL_GENAI),
        oi_tool("b", "look", "Rome", "warm", under="agent", at=(3.1, 8.9)),
        traceloop(
            "c",
            "tool",
            {"gen_ai.tool.name": "look", "traceloop.entity.input": '{"city": "Rome"}'},
            under="b",
            at=(3.2, 8),
        ),
    )

    assert _counts(found)[2] == 1
    assert found.dispatches[0].arguments == {"city": "Rome"}
    assert (found.dispatches[0].call_id, len(found.dispatches[0].span_ids)) == ("c1", 3)


def test_parallel_identical_runs_of_one_scope_are_two() -> None:
    """17: they really are two calls."""
    runs = (tool(name, "look", {"a": 1}, at=(3, 9)) for name in ("a", "b"))

    assert _counts(record(*runs))[2] == 2


def test_each_of_two_parallel_runs_has_its_own_second_report() -> None:
    """Two scopes, two runs each: two dispatches, not one and not four."""
    runs = [tool(f"{scope} {n}", "look", {"a": 1}, at=(3, 9), scope=scope) for scope in ("x", "y") for n in (1, 2)]

    assert _counts(record(*runs))[2] == 2


def test_a_lossy_report_of_another_call_is_not_folded() -> None:
    """`Oslo` is not `{"city": "Rome"}`, though both overlap."""
    found = record(
        tool("a", "look", {"city": "Rome"}, at=(3, 9), scope="x"), oi_tool("b", "look", "Oslo", "cold", at=(3, 9))
    )

    assert _counts(found)[2] == 2


def test_layers_of_one_scope_fold_where_they_nest() -> None:
    """LlamaIndex' `call_tool` around `FunctionTool.acall`."""
    found = record(
        oi_tool("outer", "look", {"a": 1}, at=(1, 9)),
        oi_tool("inner", "look", {"a": 1}, "ok", under="outer", at=(2, 8)),
    )

    assert _counts(found)[2] == 1
    assert found.dispatches[0].result == "ok"


def test_a_nested_run_with_other_arguments_is_a_run_inside_a_run() -> None:
    """A guard's change inside the framework's span."""
    found = record(
        tool("outer", "refund", {"n": 100}, at=(1, 9)), tool("inner", "refund", {"n": 50}, under="outer", at=(2, 8))
    )

    assert [run.inside for run in found.dispatches] == [None, 0]


def test_a_run_that_a_model_asked_for_inside_a_tool_is_its_own() -> None:
    """An agent inside a tool calls the same tool with the same arguments."""
    found = record(
        oi_tool("outer", "look", {"a": 1}, at=(1, 90)),
        oi_llm("ask", ("look", '{"a": 1}', None), under="outer", at=(2, 3)),
        oi_tool("inner", "look", {"a": 1}, "ok", under="outer", at=(4, 5)),
    )

    assert _counts(found)[2] == 2


def test_different_ids_are_different_runs_however_alike() -> None:
    """Two scopes that overlap, and two real ids."""
    found = record(
        *(tool(call_id, "look", {"a": 1}, call_id=call_id, at=(1, 9), scope=call_id) for call_id in ("c1", "c2"))
    )

    assert _counts(found)[2] == 2


def test_an_error_on_either_layer_is_the_runs_error() -> None:
    """An MCP client's span stays unset, its server's tells the failure; the framework's wraps both."""
    inner = tool(
        "in",
        "look",
        result=None,
        under="out",
        at=(2, 8),
        status=StatusCode.ERROR,
        events=(raised("TimeoutError", "slow"),),
    )
    found = record(tool("out", "look", {"a": 1}, at=(1, 9), scope="x"), inner)
    (run,) = found.dispatches

    assert run.error is not None
    assert (run.error.type, run.executed) == ("TimeoutError", Executed.YES)


def test_a_refusal_on_either_layer_means_that_nothing_ran() -> None:
    """The inner layer saw the arguments refused."""
    inner = tool(
        "in", "look", result=None, under="out", at=(2, 8), status=StatusCode.ERROR, message="Unknown tool: look"
    )

    assert record(tool("out", "look", {"a": 1}, at=(1, 9), scope="x"), inner).dispatches[0].executed is Executed.NO


def test_a_tool_that_is_a_retriever_is_both() -> None:
    """Not a double: the dispatch and the retrieval are two records."""
    found = record(
        oi_tool("search", "search_policy", {"query": "x"}, at=(1, 9)),
        oi(
            "r",
            "RETRIEVER",
            {"input.value": "x", "retrieval.documents.0.document.content": "d"},
            under="search",
            at=(2, 8),
        ),
    )

    assert _counts(found)[2:] == (1, 1)


def test_a_retrieval_reported_twice_counts_once() -> None:
    """Nested, or beside by another scope; ids from one and content from the other."""
    documents = json.dumps([{"id": "d1", "score": 0.5}])
    genai = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": documents}
    whole = oi("a", "RETRIEVER", {"input.value": "q", "retrieval.documents.0.document.content": "text"}, at=(1, 9))

    for second in (span("b", genai, under="a", at=(2, 8)), span("b", genai, at=(1.1, 8.9))):
        found = record(whole, second)
        (retrieval,) = found.retrievals
        document = retrieval.documents[0]

        assert (retrieval.query, document.id, document.content, document.score) == ("q", "d1", "text", 0.5)
        assert found.evidence["retrievals"] == "complete"


@pytest.mark.parametrize(
    ("query", "content", "at", "counted"),
    [
        ("q", "text", (9, 12), 1),
        ("q", "text", (11, 12), 2),
        ("other", "text", (9, 12), 2),
        ("q", "other text", (9, 12), 2),
    ],
)
def test_reports_of_a_short_retrieval_hardly_overlap(
    query: str, content: str, at: tuple[float, float], counted: int
) -> None:
    """Callbacks start their clocks one after the other: the query and the documents tell, and that the spans meet."""
    attributes = {"traceloop.entity.input": json.dumps({"query": query})}
    attributes["traceloop.entity.output"] = json.dumps({"documents": [{"page_content": content, "metadata": {}}]})
    second = traceloop("b", "task", {"gen_ai.operation.name": "vector_db_retrieve", **attributes}, at=at)
    first = oi("a", "RETRIEVER", {"input.value": "q", "retrieval.documents.0.document.content": "text"}, at=(1, 10))

    assert len(record(first, second).retrievals) == counted


def test_two_retrievals_of_one_scope_are_two() -> None:
    """Parallel queries may find the same."""
    found = (
        oi(name, "RETRIEVER", {"input.value": name, "retrieval.documents.0.document.content": "d"}, at=(1, 9))
        for name in "ab"
    )

    assert _counts(record(*found))[3] == 2


def test_agents_and_chains_that_repeat_messages_add_nothing() -> None:
    """Requests and usage come from model spans alone."""
    repeated = json.dumps([{"role": "assistant", "parts": [call("look", {"a": 1}, "c1")]}])
    found = record(
        span("agent", {"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": repeated}, at=(0, 99)),
        oi(
            "chain",
            "CHAIN",
            {"output.value": repeated, "llm.output_messages.0.message.content": "x"},
            under="agent",
            at=(0, 90),
        ),
        chat("ask", call("look", {"a": 1}, "c1"), under="chain", at=(1, 2)),
    )

    assert _counts(found)[:2] == (1, 1)


def test_history_in_later_inputs_is_never_a_new_request() -> None:
    """Every input repeats all that came before."""
    history = [{"role": "assistant", "parts": [call("look", {"a": n}, f"c{n}")]} for n in range(3)]

    assert _counts(record(chat("say", text("ok"), inputs=history)))[1] == 0
