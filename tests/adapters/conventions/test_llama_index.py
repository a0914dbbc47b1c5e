"""LlamaIndex' own integration: everything in span events."""

import json
from typing import Any

from lanewatch.adapters.records import Evidence, Outcome
from lanewatch.collector.spans import Event, Span

from tests.adapters.spans import record, span

SCOPE = "llamaindex.opentelemetry.tracer"


def method(label: str, *events: tuple[str, dict[str, Any]], **where: Any) -> Span:
    """A span with events of LlamaIndex' classes."""
    told = tuple(Event(name, 0, attributes) for name, attributes in events)
    return span(label, {}, events=told, **{"scope": SCOPE, "status": 1, **where})


def test_a_retrievals_nodes_are_its_documents() -> None:
    """With ids and scores; the query may be a bundle."""
    nodes = [{"node": {"id_": "n1", "text": "cats", "metadata": {}}, "score": 0.9}]
    event = ("RetrievalEndEvent", {"str_or_query_bundle.query_str": "cats?", "nodes": json.dumps(nodes)})
    seen = record(method("BaseRetriever.retrieve", event))

    assert [(r.query, [(d.id, d.content, d.score) for d in r.documents]) for r in seen.retrievals] == [
        ("cats?", [("n1", "cats", 0.9)])
    ]


def test_a_chats_answer_is_flattened() -> None:
    """Blocks are JSON text below dotted keys; the question is on the event of the start."""
    asked = [{"role": "user", "blocks": [{"block_type": "text", "text": "hi"}], "additional_kwargs": {}}]
    answer = {
        "response.message.role": "assistant",
        "response.message.blocks": json.dumps([{"block_type": "text", "text": "hello"}]),
    }
    start = ("LLMChatStartEvent", {"messages": json.dumps(asked), "model_dict.model": "m"})
    seen = record(method("OpenAI.chat", start, ("LLMChatInProgressEvent", {}), ("LLMChatEndEvent", answer)))

    assert [response.text for response in seen.responses] == ["hello"]
    assert seen.generations[0].model == "m"
    assert seen.messages[0]["content"] == "hi"


def test_a_call_is_a_block_of_the_answer() -> None:
    """Its id is known, and no tool's span has it."""
    block = {"block_type": "tool_call", "tool_call_id": "call_1", "tool_name": "look", "tool_kwargs": {"city": "Lyon"}}
    answer = {"response.message.role": "assistant", "response.message.blocks": json.dumps([block])}
    tool = ("AgentToolCallEvent", {"arguments": '{"city": "Lyon"}', "tool.name": "look"})
    seen = record(
        method("OpenAI.chat", ("LLMChatEndEvent", answer), at=(1, 2)), method("Agent.call_tool", tool, at=(3, 4))
    )

    assert [(r.call_id, r.outcome) for r in seen.requests] == [("call_1", Outcome.DISPATCHED)]
    assert seen.dispatches[0].match_rule == "R5"


def test_a_providers_raw_calls_come_before_repaired_ones() -> None:
    """`additional_kwargs` holds what the provider sent."""
    raw = [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Ly'}}]
    block = {"block_type": "tool_call", "tool_call_id": "call_1", "tool_name": "look", "tool_kwargs": {"city": "Ly"}}
    answer = {
        "response.message.blocks": json.dumps([block]),
        "response.message.additional_kwargs.tool_calls": json.dumps(raw),
    }
    seen = record(method("OpenAI.chat", ("LLMChatEndEvent", answer)))

    assert [request.arguments_raw for request in seen.requests] == ['{"city": "Ly']


def test_tools_that_emit_no_event_are_unknown() -> None:
    """Agents as workflows emit none, so a request without a run proves nothing."""
    block = {"block_type": "tool_call", "tool_call_id": "call_1", "tool_name": "look", "tool_kwargs": {}}
    answer = {"response.message.blocks": json.dumps([block])}
    told = {"response.message.blocks": json.dumps([{"block_type": "text", "text": "Done."}])}
    seen = record(
        method("AgentWorkflow.run", at=(0, 10)),
        method("OpenAI.chat", ("LLMChatEndEvent", answer), under="AgentWorkflow.run", at=(1, 2)),
        method("OpenAI.again", ("LLMChatEndEvent", told), under="AgentWorkflow.run", at=(5, 6)),
    )

    assert [request.outcome for request in seen.requests] == [Outcome.UNKNOWN]
    assert seen.evidence["dispatches"] is Evidence.ABSENT


def test_a_completion_has_texts() -> None:
    """No messages."""
    events = (("LLMCompletionStartEvent", {"prompt": "say"}), ("LLMCompletionEndEvent", {"response.text": "said"}))

    assert [response.text for response in record(method("OpenAI.complete", *events)).responses] == ["said"]
