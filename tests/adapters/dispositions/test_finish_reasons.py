"""Finish reasons of every API's spelling."""

import pytest
from lanewatch.adapters.dispositions.finish_reasons import withheld


@pytest.mark.parametrize(
    ("reason", "rule"),
    [
        ("content_filter", "openai.content_filter"),
        ("content-filter", "openai.content_filter"),  # Vercel's AI SDK
        ("refusal", "anthropic.refusal"),
        ("SAFETY", "gemini.safety"),
        ("FinishReason.SAFETY", "gemini.safety"),
        ("FinishReason.PROHIBITED_CONTENT", "gemini.prohibited_content"),
        ('["RECITATION"]', "gemini.recitation"),
        ("guardrail_intervened", "bedrock.guardrail_intervened"),
        ("content_filtered", "bedrock.content_filtered"),
        ("ERROR_TOXIC", "cohere.error_toxic"),
        ("sensitive", "zhipu.sensitive"),
    ],
)
def test_a_withheld_answer(reason: str, rule: str) -> None:
    """As the API writes it, or as a framework passes it on."""
    assert withheld(reason) == rule


@pytest.mark.parametrize(
    "reason", ["stop", "end_turn", "length", "tool_calls", "OTHER", "LANGUAGE", "error", "", None, "safety" * 100]
)
def test_another_end(reason: str | None) -> None:
    """What may have other causes tells nothing."""
    assert withheld(reason) is None
