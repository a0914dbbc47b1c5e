"""Refusals in words, and answers that only resemble one."""

import pytest
from lanewatch.adapters.dispositions.texts import LENGTH, judge


@pytest.mark.parametrize(
    "text",
    [
        "I can't help with that request.",
        "I'm sorry, I can\u2019t assist with that.",
        "I'm sorry, but I cannot help you with that.",
        "Sorry, I won't do that.",
        "I cannot comply with this request.",
        "I'm unable to provide instructions for that.",
        "I must decline.",
        "We cannot fulfill your request.",
        "Unfortunately, I am not able to assist with this.",
        "I'm afraid I can't do that.",
    ],
)
def test_a_refusal(text: str) -> None:
    """In the first person, at the start of a short answer."""
    found = judge(text)

    assert found is not None
    assert found.disposition == "refused"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't find an order with that number.",
        "I can't help with that until you give me your order number.",
        "I can't share the exact date, but your refund was issued.",
        "I can't help with the hotel, but I have booked your flight.",
        "I can't see your account without a customer number. Could you share it?",
        "I'm sorry, the weather service timed out.",
        "I'm sorry to hear that! I can help.",
        "Your request was denied by the bank.",
        "The model said: I can't help with that.",
        "We cannot create a ticket for sold-out shows.",
        "Done.",
        "",
        None,
        "I can't help with that. " + "x" * LENGTH,
    ],
)
def test_what_is_no_refusal(text: str | None) -> None:
    """It lacks something, quotes someone, goes on to help, or is long."""
    found = judge(text)

    assert found is None or found.disposition != "refused"
