"""Haystack: roles out of names and types, errors out of tags, ids out of approvals."""

import json
from typing import Any

from lanewatch.adapters.records import ErrorKind, Evidence, Executed, Outcome
from lanewatch.collector.spans import Span

from tests.adapters.spans import record, span

STEP = "haystack.agent.step"


def hay(label: str, name: str, attributes: dict[str, Any] | None = None, **where: Any) -> Span:
    """A span of Haystack."""
    written = {k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in (attributes or {}).items()}
    return span(label, written, name=name, **where)


def replies(*calls: tuple[str, dict[str, Any], str | None], text: str | None = None) -> dict[str, Any]:
    """A generator's output with calls (name, arguments, id) or a text."""
    content: list[dict[str, Any]] = [{"text": text}] if text else []
    content += [{"tool_call": {"tool_name": name, "arguments": given, "id": call_id}} for name, given, call_id in calls]
    meta = {"model": "m", "finish_reason": "stop", "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    return {"replies": [{"role": "assistant", "meta": meta, "content": content}]}


def ask(label: str, output: dict[str, Any], **where: Any) -> Span:
    """The model call of a step."""
    asked = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    return hay(label, f"{STEP}.llm", {f"{STEP}.llm.input": asked, f"{STEP}.llm.output": output}, **where)


def run(label: str, name: str, arguments: Any, result: Any, **where: Any) -> Span:
    """A tool of a step."""
    extra = where.pop("extra", {})
    told = {"haystack.tool.name": name, f"{STEP}.tool.input": arguments, f"{STEP}.tool.output": result}
    return hay(label, f"{STEP}.tool", {**told, **extra}, **where)


def agent(**where: Any) -> Span:
    """The span around all steps."""
    return hay("agent", "haystack.agent.run", **{"at": (0, 100), **where})


def test_a_step_asks_and_runs() -> None:
    """Paired by name and arguments: no id is on a tool's span."""
    seen = record(
        agent(),
        ask("a", replies(("look", {"city": "Lyon"}, "call_1")), under="agent", at=(1, 2)),
        run("t", "look", {"city": "Lyon"}, {"sky": "sunny"}, under="agent", at=(3, 4)),
        ask("b", replies(text="Sunny."), under="agent", at=(5, 6)),
    )

    assert [(d.call_id, d.match_rule, d.result) for d in seen.dispatches] == [("call_1", "R5", {"sky": "sunny"})]
    assert [response.text for response in seen.responses] == ["Sunny."]
    assert (seen.generations[0].model, seen.generations[0].usage.input) == ("m", 3)
    assert set(seen.evidence.values()) == {Evidence.COMPLETE, Evidence.ABSENT}


def test_a_tools_error_is_a_tag() -> None:
    """The span's status is not ERROR."""
    failed = "Failed to invoke Tool `look` with parameters {'city': 'x'}. Error: upstream down"
    (dispatch,) = record(
        run("t", "look", {"city": "x"}, {"error": failed}, extra={"haystack.tool.error": True})
    ).dispatches

    assert dispatch.executed is Executed.YES
    assert dispatch.error is not None
    assert dispatch.error.message == failed


def test_arguments_that_the_body_refused_never_ran() -> None:
    """The text of the error tells."""
    text = "Failed to invoke Tool `look` with parameters {}. Error: look() got an unexpected keyword argument 'town'"
    extra = {"haystack.tool.error": True}
    (dispatch,) = record(run("t", "look", {"town": 1}, {"error": text}, extra=extra)).dispatches

    assert dispatch.executed is Executed.NO
    assert dispatch.error is not None
    assert dispatch.error.kind is ErrorKind.VALIDATION


def test_an_approval_shows_the_id() -> None:
    """Of two calls of one tool the one with these arguments."""
    confirm = "haystack.agent.hook.human_in_the_loop.strategy"

    def approved(label: str, city: str, call_id: str) -> Span:
        told = {
            "haystack.tool.name": "look",
            "haystack.tool.call.id": call_id,
            f"{confirm}.input": {"tool_params": {"city": city}},
        }
        return hay(label, confirm, told, under="step", at=(2, 3))

    seen = record(
        hay("step", STEP, at=(0, 9)),
        approved("c1", "Lyon", "call_1"),
        approved("c2", "Nice", "call_2"),
        run("t", "look", {"city": "Nice"}, "ok", under="step", at=(4, 5)),
    )

    assert [dispatch.call_id for dispatch in seen.dispatches] == ["call_2"]


def test_a_retriever_is_a_component_by_type() -> None:
    """An embedding retriever has no text of a query."""
    output = {"documents": [{"id": "d1", "content": "cats", "meta": {}, "score": 0.8}]}

    def retriever(label: str, kind: str, given: dict[str, Any]) -> Span:
        told = {"haystack.component.type": kind, "haystack.component.input": given, "haystack.component.output": output}
        return hay(label, "haystack.component.run", told)

    seen = record(
        retriever("r", "InMemoryBM25Retriever", {"query": "cats?"}),
        retriever("e", "InMemoryEmbeddingRetriever", {"query_embedding": [0.1]}),
    )

    assert {r.query for r in seen.retrievals} == {"cats?", None}
    assert all([(d.id, d.content, d.score) for d in r.documents] == [("d1", "cats", 0.8)] for r in seen.retrievals)


def test_a_plain_generators_replies_are_texts() -> None:
    """Not messages."""
    told = {
        "haystack.component.type": "OpenAIGenerator",
        "haystack.component.input": {"prompt": "say"},
        "haystack.component.output": {"replies": ["said"]},
    }

    assert [r.text for r in record(hay("g", "haystack.component.run", told)).responses] == ["said"]


def test_with_content_off_names_are_left() -> None:
    """It is off unless asked for."""
    seen = record(
        agent(),
        hay("a", f"{STEP}.llm", under="agent", at=(1, 2)),
        hay("t", f"{STEP}.tool", {"haystack.tool.name": "look"}, under="agent", at=(3, 4)),
    )

    assert [(d.name, d.arguments) for d in seen.dispatches] == [("look", None)]
    assert seen.evidence["dispatches"] is Evidence.PARTIAL
    assert seen.evidence["requests"] is Evidence.ABSENT


def test_a_request_that_no_tool_answered_was_not_dispatched() -> None:
    """The agent would have reported its tool."""
    seen = record(
        agent(),
        ask("a", replies(("look", {"city": "Lyon"}, "call_1")), under="agent", at=(1, 2)),
        ask("b", replies(text="Sunny."), under="agent", at=(5, 6)),
    )

    assert [request.outcome for request in seen.requests] == [Outcome.NOT_DISPATCHED]
