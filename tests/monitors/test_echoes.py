"""Results that contradict the arguments, and results that only answer them."""

from typing import Any

import pytest
from lanewatch.adapters.facts import ErrorInfo
from lanewatch.adapters.records import Executed
from lanewatch.monitors.echoes import echoes

from tests.monitors.records import dispatch


@pytest.mark.parametrize(
    ("given", "told"),
    [(100.0, 50.0), (100, 99), (True, False), ("sub_42", "sub_43"), ("A-7", "A-8"), (-5, 5), (10**400, 3)],
)
def test_a_plain_contradiction_is_told(given: Any, told: Any) -> None:
    """07: a guard around the body changed the amount, and the span shows the model's."""
    assert echoes(dispatch(arguments={"amount": given, "order": 1}, result={"amount": told})) == [
        ("amount", given, told)
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (100, 100.0),
        (12.345, 12.35),
        (12.345, 12),
        (20, 2000),  # cents
        (90, 1.5),  # minutes and hours
        (0, 7),
        (float("nan"), 1),
        (100, "100"),
        (True, 1),
        ("Lisbon", "LISBON"),
        ("Lisbon", "Lisbon, Portugal"),
        ("lisboa", "Lisbon"),
        ("sub_42", "SUB_042"),
        ("sub_42", "acct_42"),
        ("tomorrow", "2026-12-01"),
        ("2026-11-30", "2026-11-30T00:00:00+01:00"),
        ("period_end", "now"),
        ("EUR", "USD"),
        (None, 1),
        ([1], [2]),
        ({"a": 1}, {"a": 2}),
    ],
)
def test_what_normalising_would_explain_is_not(given: Any, told: Any) -> None:
    """Case, rounding, units, dates with a zone, states and other types."""
    assert echoes(dispatch(arguments={"value": given}, result={"value": told})) == []


@pytest.mark.parametrize("key", ["status", "id", "limit", "Quantity", "balance", "version"])
def test_a_key_of_state_is_news(key: str) -> None:
    """The result tells what it found or left."""
    assert echoes(dispatch(arguments={key: 1}, result={key: 5})) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"executed": Executed.NO},
        {"error": ErrorInfo(message="amount above 50")},
        {"result": "amount: 50"},
        {"result": None},
        {"arguments": "text"},
        {"result": {"other": 50}},
    ],
)
def test_nothing_to_compare_is_no_contradiction(changes: dict[str, Any]) -> None:
    """A failure may repeat a key to say what would have been allowed."""
    assert echoes(dispatch(**{"arguments": {"amount": 100}, "result": {"amount": 50}, **changes})) == []
