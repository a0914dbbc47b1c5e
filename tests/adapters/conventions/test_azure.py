"""Azure AI Projects: events in place of attributes, nested parts, one message for each call."""

import json
from typing import Any

from lanewatch.adapters.records import Evidence
from lanewatch.collector.spans import Event, Span

from tests.adapters.spans import record, span


def told(name: str, *messages: dict[str, Any]) -> Event:
    """A message event."""
    return Event(name, 0, {"gen_ai.provider.name": "microsoft.foundry", "gen_ai.event.content": json.dumps(messages)})


def called(name: str | None, arguments: str = "{}", call_id: str = "call_1") -> dict[str, Any]:
    """A message with one nested call; without a name content is off."""
    inner: dict[str, Any] = {"type": "function_call", "id": call_id}
    if name is not None:
        inner["function"] = {"name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [{"type": "tool_call", "content": inner}]}


def responses(label: str, *events: Event, operation: str = "chat", **where: Any) -> Span:
    """A call of the Responses API."""
    attributes = {
        "az.namespace": "Microsoft.CognitiveServices",
        "gen_ai.operation.name": operation,
        **where.pop("extra", {}),
    }
    return span(label, attributes, events=events, **where)


def test_calls_of_one_answer_are_one_turn() -> None:
    """Each comes as a message of its own."""
    output = told("gen_ai.output.messages", called("look", '{"city": "Lyon"}'))
    second = told("gen_ai.output.messages", called("look", '{"city": "Nice"}', "call_2"))
    seen = record(responses("a", output, second))

    assert [(r.call_id, r.arguments, r.position) for r in seen.requests] == [
        ("call_1", {"city": "Lyon"}, 0),
        ("call_2", {"city": "Nice"}, 1),
    ]


def test_results_come_under_a_users_event() -> None:
    """Their role is in the content."""
    output = {"type": "function_call_output", "id": "call_1", "output": {"sky": "sunny"}}
    given = told("gen_ai.input.messages", {"role": "tool", "parts": [{"type": "tool_call_output", "content": output}]})
    said = told("gen_ai.output.messages", {"role": "assistant", "parts": [{"type": "text", "content": "Sunny."}]})
    seen = record(
        responses("a", told("gen_ai.output.messages", called("look")), at=(1, 2)),
        responses("b", given, said, at=(5, 6)),
    )

    assert [request.observed_result for request in seen.requests] == ['{"sky": "sunny"}']
    assert [response.text for response in seen.responses] == ["Sunny."]


def test_messages_may_be_attributes() -> None:
    """With the same nested parts."""
    seen = record(responses("a", extra={"gen_ai.output.messages": json.dumps([called("look", '{"a": 1}')])}))

    assert [request.arguments for request in seen.requests] == [{"a": 1}]


def test_a_server_side_agent_is_a_model_call() -> None:
    """Its operation is invoke_agent."""
    said = told("gen_ai.output.messages", {"role": "assistant", "parts": [{"type": "text", "content": "Hi."}]})
    seen = record(responses("a", said, operation="invoke_agent", extra={"gen_ai.response.id": "resp_1"}))

    assert [response.text for response in seen.responses] == ["Hi."]


def test_tools_that_the_service_runs_have_no_dispatch() -> None:
    """They are parts of the answer."""
    inner = {"type": "file_search_call", "id": "fs_1"}
    found = {"role": "assistant", "parts": [{"type": "tool_call", "content": inner}]}
    seen = record(responses("a", told("gen_ai.output.messages", found)))

    assert [request.outcome for request in seen.requests] == ["by_provider"]


def test_with_content_off_calls_have_no_name() -> None:
    """Which is not the same as no calls."""
    seen = record(responses("a", told("gen_ai.output.messages", called(None))))

    assert seen.evidence["requests"] is not Evidence.COMPLETE
    assert all(not request.name for request in seen.requests)


def test_the_inference_client_repeats_the_history_in_events() -> None:
    """Then a choice is the answer, and an assistant's message is history."""

    def event(name: str, body: dict[str, Any]) -> Event:
        return Event(name, 0, {"gen_ai.event.content": json.dumps(body)})

    asked = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Lyon"}'}}
    choice = {"message": {"role": "assistant", "tool_calls": [asked]}, "finish_reason": "tool_calls", "index": 0}
    said = {"message": {"role": "assistant", "content": "Sunny."}, "finish_reason": "stop", "index": 0}
    seen = record(
        responses("a", event("gen_ai.user.message", {"content": "hi"}), event("gen_ai.choice", choice), at=(1, 2)),
        responses(
            "b",
            event("gen_ai.assistant.message", {"tool_calls": [asked]}),
            event("gen_ai.tool.message", {"content": "sunny", "id": "call_1"}),
            event("gen_ai.choice", said),
            at=(5, 6),
        ),
    )

    assert [(r.call_id, r.observed_result) for r in seen.requests] == [("call_1", "sunny")]
    assert [(r.text, r.finish_reason) for r in seen.responses] == [("Sunny.", "stop")]
