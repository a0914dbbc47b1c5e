"""Marks of filters and guards in errors and payloads."""

import json

import pytest
from lanewatch.adapters.dispositions.markers import EXCERPT, left, raised, said
from lanewatch.adapters.facts import ErrorInfo


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("agents.exceptions.InputGuardrailTripwireTriggered", "openai_agents.InputGuardrailTripwireTriggered"),
        ("litellm.exceptions.ContentPolicyViolationError", "litellm.ContentPolicyViolationError"),
        ("ContentFilterError", "pydantic_ai.ContentFilterError"),
        ("app.safety.PromptBlocked", "any.PromptBlocked"),
    ],
)
def test_an_exception_that_stands_for_a_refusal(kind: str, rule: str) -> None:
    """By the last part of its name: frameworks write it with or without the module."""
    assert raised(ErrorInfo(kind)) == rule


@pytest.mark.parametrize(
    "kind",
    ["ValueError", "agents.exceptions.ToolInputGuardrailTripwireTriggered", "SSRFBlockedError", "litellm.LassoGuardrailAPIError", None],
)  # fmt: skip
def test_another_exception(kind: str | None) -> None:
    """A tool's guard, a blocked address and a guard that could not be reached refuse no answer."""
    assert raised(ErrorInfo(kind)) is None
    assert raised(None) is None


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        ("{'error': {'code': 'content_filter', 'status': 400}}", "azure.content_filter"),
        ("... innererror: ResponsibleAIPolicyViolation", "azure.responsible_ai_policy_violation"),
        ("code: content_policy_violation", "openai.content_policy_violation"),
        ("Output blocked by content filtering policy", "anthropic.content_filtering_policy"),
        ("Prompt was blocked, block_reason: SAFETY", "gemini.block_reason"),
        ("x" * EXCERPT * 3 + " content_policy_violation", "openai.content_policy_violation"),
    ],
)
def test_a_code_in_an_error(message: str, rule: str) -> None:
    """APIs answer with HTTP 400 and put the reason into the message."""
    assert said(ErrorInfo("openai.BadRequestError", message=message)) == rule


@pytest.mark.parametrize(
    "message", ["Error code: 429", "block_reason: OTHER", "the content filter could not be reached", "", None]
)
def test_another_message(message: str | None) -> None:
    """To speak of filters is no code."""
    assert said(ErrorInfo("openai.BadRequestError", message=message)) is None


def test_what_a_filter_of_azure_found_is_read_in_the_payload() -> None:
    """Traceloop writes it beside an answer that it shows as FILTERED."""
    found = {"violence": {"filtered": True, "severity": "high"}}

    assert left({"gen_ai.completion.0.content_filter_results": json.dumps(found)}) == "azure.content_filter_results"
    assert left({"gen_ai.completion.0.content_filter_results": json.dumps({"violence": {"filtered": False}})}) is None
    assert left({"output.value": 5}) is None
