"""Langfuse's SDKs: LangChain's handler, the OpenAI wrapper, `@observe`, masks, levels and large integers."""

import json
from typing import Any

import pytest
from lanewatch.adapters.conventions import convention_of
from lanewatch.adapters.facts import ErrorKind, Executed
from lanewatch.adapters.records import Evidence, Outcome, TraceRecord
from lanewatch.collector.spans import Span

from tests.adapters.spans import record, span
from tests.corpus.known import captures, verdicts

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "count": {"type": "integer"}}}
DEFINITION = {"type": "function", "function": {"name": "look_up", "parameters": SCHEMA}}
QUESTION = {"role": "user", "content": "Weather?"}


def observed(label: str, kind: str, given: Any = None, answered: Any = None, **where: Any) -> Span:
    """An observation: objects are written as JSON, texts bare."""
    attributes: dict[str, Any] = {"langfuse.observation.type": kind, "session.id": "s1"}
    for key, value in (("input", given), ("output", answered)):
        if value is not None:
            attributes[f"langfuse.observation.{key}"] = value if isinstance(value, str) else json.dumps(value)
    return span(label, {**attributes, **where.pop("extra", {})}, **{"scope": "langfuse-sdk", **where})


def asks(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """An answer as LangChain's handler writes it."""
    return {"role": "assistant", "content": "", "tool_calls": list(calls), **fields}


def wants(arguments: Any, name: str = "look_up", call_id: str = "call_1") -> dict[str, Any]:
    """A call with parsed arguments."""
    return {"name": name, "args": arguments, "id": call_id, "type": "tool_call"}


def generation(label: str, answered: Any, *, given: Any = None, **where: Any) -> Span:
    """A model call whose input ends with the definitions of the tools, as the handler writes it."""
    shown = given if given is not None else [QUESTION, {"role": "tool", "content": DEFINITION}]
    return observed(label, "generation", shown, answered, **{"at": (10, 20), "under": "root", **where})


def ran(arguments: Any, answered: Any = "fine", **where: Any) -> Span:
    """A run of the tool."""
    extra = {"langfuse.observation.metadata.tool_call_id": '"call_1"', **where.pop("extra", {})}
    return observed("look_up", "tool", arguments, answered, at=(30, 40), under="root", extra=extra, **where)


def traced(*spans: Span) -> TraceRecord:
    """The record of these spans below an agent."""
    return record(observed("root", "agent", {"q": 1}, {"a": 1}, at=(0, 100)), *spans)


@pytest.mark.parametrize("capture", captures("langfuse"))
def test_every_capture_is_exact_but_the_masked_one(capture: str) -> None:
    """Recordings of langfuse 5.0.4 with LangChain's handler, against their truth."""
    seen = verdicts(capture)
    masked = capture.endswith("15_no_content")

    assert {seen[facet] for facet in seen if facet != "divergence"} == ({"flagged"} if masked else {"exact"})
    assert seen["divergence"] in ("hit", "quiet")


def test_definitions_among_the_messages_are_tools_and_no_results() -> None:
    """The handler appends each offered tool as a message of role `tool`."""
    seen = traced(generation("llm", asks(wants({"city": "Lyon"}))), ran({"city": "Lyon"}))

    assert seen.tools == {"look_up": SCHEMA}
    assert (seen.requests[0].outcome, seen.dispatches[0].match_rule) == (Outcome.DISPATCHED, "R1")
    assert [message["type"] for message in seen.messages] == ["human", "ai", "tool"]
    assert (seen.evidence["requests"], seen.evidence["dispatches"]) == (Evidence.COMPLETE, Evidence.COMPLETE)


def test_a_call_with_malformed_arguments_is_a_request() -> None:
    """LangChain lists it apart, under `invalid_tool_calls`."""
    bad = {"name": "look_up", "args": '{"city": "Ly', "id": "call_1", "type": "invalid_tool_call"}
    seen = traced(generation("llm", {"role": "assistant", "content": "", "invalid_tool_calls": [bad]}))

    (request,) = seen.requests
    assert (request.arguments, request.arguments_raw) == (None, '{"city": "Ly')


def test_a_refusal_is_found_among_the_additional_fields() -> None:
    """LangChain keeps OpenAI's refusal field there."""
    answer = {"role": "assistant", "content": "", "additional_kwargs": {"refusal": "I can't help with that."}}

    assert (traced(generation("llm", answer)).responses[0].disposition_source) == "field"


@pytest.mark.parametrize(
    ("written", "expected", "evidence"),
    [
        ({"count": "9007199254740993"}, {"count": 9007199254740993}, (Evidence.COMPLETE, Evidence.COMPLETE)),
        ({"city": "9007199254740993"}, {"city": "9007199254740993"}, (Evidence.COMPLETE, Evidence.COMPLETE)),
        ({"other": "9007199254740993"}, None, (Evidence.TRUNCATED, Evidence.TRUNCATED)),
        ({"count": "123"}, {"count": "123"}, (Evidence.COMPLETE, Evidence.PARTIAL)),
    ],
)
def test_the_schema_tells_large_integers_from_texts(
    written: Any, expected: Any, evidence: tuple[Evidence, Evidence]
) -> None:
    """Integers beyond 2^53 are written as texts; where no schema tells, the arguments are not known. A smaller one is a
    text that the model wrote: what a validator made of it is not known either.
    """
    seen = traced(generation("llm", asks(wants(written))), ran(written))

    assert seen.dispatches[0].arguments == expected
    assert (seen.evidence["requests"], seen.evidence["dispatches"]) == evidence


def test_an_error_that_only_the_level_tells_is_one() -> None:
    """Older SDKs leave the OTel status unset."""
    level = {
        "langfuse.observation.level": "ERROR",
        "langfuse.observation.status_message": "1 validation error for look_up",
    }
    seen = traced(generation("llm", asks(wants({"city": 4}))), ran({"city": 4}, None, extra=level))

    (dispatch,) = seen.dispatches
    assert dispatch.error is not None
    assert (dispatch.executed, dispatch.error.kind) == (Executed.NO, ErrorKind.VALIDATION)
    assert seen.requests[0].outcome is Outcome.INVALID


@pytest.mark.parametrize("mask", ["***", "<hidden by us>", "<redacted>"])
def test_content_that_a_mask_replaced_is_redacted(mask: str) -> None:
    """A mask is the application's own: the same text for input and output gives it away."""
    seen = traced(generation("llm", mask, given=mask), ran(mask, mask))

    assert seen.dispatches[0].arguments is None
    assert (seen.evidence["requests"], seen.evidence["responses"]) == (Evidence.REDACTED, Evidence.REDACTED)
    assert seen.responses == ()


@pytest.mark.parametrize(
    ("answered", "text"),
    [
        ({"role": "assistant", "content": "Sunny."}, "Sunny."),
        ("Sunny.", "Sunny."),
        ({"choices": [{"message": {"role": "assistant", "content": "Sunny."}, "finish_reason": "stop"}]}, "Sunny."),
        ({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Sunny."}]}, "Sunny."),
    ],
)
def test_answers_of_every_integration_are_read(answered: Any, text: str) -> None:
    """The handler, completions, `@observe` around a client, and the Responses API."""
    seen = traced(generation("llm", answered))

    assert [response.text for response in seen.responses] == [text]


def test_the_openai_wrapper_keeps_tools_apart_and_calls_as_openai_has_them() -> None:
    """`{"tools": [...], "messages": [...]}`, and `function` objects with raw arguments."""
    call = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"city": "Lyon"}'}}
    given = {"tools": [DEFINITION], "messages": [{"role": "system", "content": "Be brief."}, QUESTION]}
    answer = {"role": "assistant", "tool_calls": [call], "content": None}
    seen = traced(generation("llm", answer, given=given), ran({"args": [], "kwargs": {"city": "Lyon"}}))

    assert seen.tools == {"look_up": SCHEMA}
    assert (seen.requests[0].arguments, seen.dispatches[0].arguments) == ({"city": "Lyon"}, {"city": "Lyon"})


def test_positional_arguments_of_an_observed_function_get_their_names_from_the_request() -> None:
    """`@observe` writes `args` without names."""
    seen = traced(generation("llm", asks(wants({"city": "Lyon"}))), ran({"args": ["Lyon"], "kwargs": {}}))

    assert seen.dispatches[0].arguments == {"city": "Lyon"}
    assert seen.evidence["dispatches"] is Evidence.COMPLETE


def test_an_unknown_object_is_no_answer() -> None:
    """It might be a call in a shape that nobody has seen: evidence can't be complete."""
    seen = traced(generation("llm", {"result": {"tool": "look_up"}}))

    assert seen.evidence["requests"] is not Evidence.COMPLETE


def test_old_generations_are_known_by_their_model() -> None:
    """SDKs up to 3.3.0 give them type `span`."""
    extra = {"langfuse.observation.model.name": "gpt-4o-mini"}
    seen = traced(observed("llm", "span", [QUESTION], "Sunny.", at=(10, 20), under="root", extra=extra))

    assert [one.model for one in seen.generations] == ["gpt-4o-mini"]
    assert seen.responses[0].text == "Sunny."


def test_a_generation_around_another_is_no_second_call() -> None:
    """`@observe(as_type="generation")` around the wrapped client."""
    inner = generation("inner", "Sunny.", under="outer")
    seen = traced(observed("outer", "generation", {"q": 1}, "Sunny.", at=(5, 25), under="root"), inner)

    assert len(seen.generations) == 1


def test_documents_are_read_with_what_their_metadata_holds() -> None:
    """LangChain's documents, and texts alone."""
    found = [{"id": "d1", "page_content": "abc", "metadata": {"score": 0.5}}, "def"]
    seen = traced(observed("docs", "retriever", "why?", found, at=(1, 2), under="root"))

    (retrieval,) = seen.retrievals
    assert (retrieval.query, [(d.id, d.content, d.score) for d in retrieval.documents]) == (
        "why?",
        [("d1", "abc", 0.5), (None, "def", None)],
    )


def test_litellms_preset_is_read_where_its_arguments_are_kept() -> None:
    """The preset's own output writes `{}` for arguments that are no JSON; OpenInference's keys beside it don't."""
    prefix = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    keys = {f"{prefix}.name": "look_up", f"{prefix}.arguments": '{"city', "openinference.span.kind": "LLM"}
    owner = convention_of(observed("llm", "generation", [QUESTION], [], extra=keys, scope="litellm"))

    assert owner is not None
    assert owner.NAME == "openinference"
