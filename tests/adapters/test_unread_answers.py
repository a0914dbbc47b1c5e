"""Model calls that failed over the answer, and answers that a limit of tokens ended: they may hide calls."""

from typing import Any

import pytest
from lanewatch.adapters.records import TraceRecord
from lanewatch.collector.spans import StatusCode

from tests.adapters.spans import agent, call, chat, oi_llm, raised, record, span, text


def _failed(message: str, kind: str = "") -> TraceRecord:
    """A model call that failed, and another that did not."""
    events = (raised(kind, message),) if kind else ()
    asked = {"gen_ai.operation.name": "chat", **({"error.type": kind} if kind else {})}
    failed = span("a", asked, at=(1, 2), status=StatusCode.ERROR, message=message, events=events, under="agent")
    return record(agent(), failed, chat("b", text("ok"), under="agent", at=(3, 4)))


def _ended(finish: str, *parts: dict[str, Any]) -> str:
    """What is known of the requests of an answer that ended for this reason."""
    return record(agent(), chat("a", *parts, extra={"gen_ai.response.finish_reasons": [finish]})).evidence["requests"]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Error code: 500 - {'error': 'scripted'}", ""),
        ("Error getting response: {'error': 'Error code: 400 - scripted'}", ""),
        ("scripted", "openai.RateLimitError"),
        ("scripted", "langchain_openai.chat_models.base.OpenAIInvalidRequestError"),
        ("slow down", "429"),
        ("Connection error.", "openai.APIConnectionError"),
        ("An error occurred (ThrottlingException)", "botocore.errorfactory.ThrottlingException"),
        ("503 UNAVAILABLE", "google.genai.errors.ServerError"),
        ("[Errno -2] Name or service not known", "socket.gaierror"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", "requests.exceptions.SSLError"),
        ("[Errno 111] Connection refused", "OSError"),
        ("overloaded", "anthropic.APIError"),
        ("{'type': 'overloaded_error', 'message': 'Overloaded'}", "anthropic.APIError"),
        ("model 'llama9' not found, try pulling it first", "ollama._types.ResponseError"),
        ("The model `gpt-0` does not exist", "Exception"),
        ("scripted", "requests.exceptions.HTTPError"),
        ("HTTP/1.1 429 Too Many Requests", "Exception"),
        ("Connection to api.example.org timed out. (connect timeout=5)", "Exception"),
        ("", "httpx.ConnectTimeout"),
        ("", "httpx.PoolTimeout"),
    ],
)
def test_a_call_that_failed_before_an_answer_hides_nothing(message: str, kind: str) -> None:
    """Where the service said no, the model asked for nothing."""
    assert _failed(message, kind).evidence["requests"] == "complete"


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("1 validation error for AIMessage tool_calls.0.args", "pydantic_core._pydantic_core.ValidationError"),
        ("Responses stream ended with terminal event `response.incomplete`.", ""),
        ("", "asyncio.exceptions.CancelledError"),
        ("The read operation timed out", "httpx.ReadTimeout"),
        ("Request timed out.", "openai.APITimeoutError"),
        ("Tool look of the model's answer not found", "ModelBehaviorError"),
        ("'NoneType' object has no attribute 'add'", "AttributeError"),
    ],
)
def test_a_call_that_failed_over_its_answer_may_have_asked_for_tools(message: str, kind: str) -> None:
    """The client could not read what the model said, or left before it was said."""
    assert _failed(message, kind).evidence["requests"] == "partial"


@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens"])
def test_a_call_in_an_answer_that_broke_off_may_have_been_closed_by_the_client(finish: str) -> None:
    """LangChain closes JSON that a stream left open: what stands there is not what the model said."""
    assert _ended(finish, call("look", {"city": "Par"})) == "partial"


def test_arguments_that_break_off_as_written_hide_nothing() -> None:
    """The call that the limit ended is there as the model wrote it."""
    assert _ended("length", call("look", '{"city": "Par')) == "complete"


def test_an_answer_that_broke_off_and_shows_nothing_lost_a_call() -> None:
    """Clients drop a call that never ended; a text that did is shown."""
    assert _ended("length") == "partial"
    assert _ended("length", text("The answer is lo")) == "complete"


@pytest.mark.parametrize(("details", "state"), [('{"reason": "max_output_tokens"}', "partial"), ("null", "complete")])
def test_a_response_tells_by_its_details_that_it_broke_off(details: str, state: str) -> None:
    """OpenAI's Responses API has no finish reason, and OpenInference no key for what it has instead."""
    said = {"output.value": f'{{"status": "incomplete", "incomplete_details": {details}}}'}
    found = record(oi_llm("a", ("look", '{"city": "Par"}', "c1"), extra=said))

    assert found.evidence["requests"] == state
