"""Prices: the user's table first, then the list where the model is named for certain; a near miss is unknown."""

import sys
from types import ModuleType

import pytest
from lanewatch.monitors.efficiency import Price
from lanewatch.monitors.judge.prices import listed_price, price_finder

OPENAI = "https://api.openai.com/v1"


def test_the_user_s_own_price_stands_above_the_list() -> None:
    """Whoever has a contract knows better."""
    price_of = price_finder({"gpt-4o-mini": Price(9.0, 9.0)}, {"gpt-4o-mini": OPENAI})

    assert price_of("gpt-4o-mini") == Price(9.0, 9.0)


@pytest.mark.parametrize("name", ["gpt-4o-mini", "gpt-4o-mini-2024-07-18", "GPT-4o-mini"])
def test_a_model_s_own_name_has_the_listed_price(name: str) -> None:
    """Also with the date of its release."""
    assert listed_price(name, OPENAI) == Price(0.15, 0.6)


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("gpt-5.1-mini", OPENAI),  # the list takes it for gpt-5.1-codex-mini
        ("gpt-4o-mini-of-ours", OPENAI),
        ("openai/gpt-4o-mini", OPENAI),
        ("gpt-4o-mini", "http://127.0.0.1:8000/v1"),  # a model of that name on a machine of one's own costs otherwise
        ("gpt-4o-mini", ""),
        ("", OPENAI),
        ("qwen3:8b", "http://localhost:11434/v1"),
    ],
)
def test_a_near_miss_is_unknown(name: str, address: str) -> None:
    """Another model's price would be silently wrong."""
    assert listed_price(name, address) is None


def test_without_the_list_a_price_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra; the judge runs without."""
    monkeypatch.setitem(sys.modules, "genai_prices", None)

    assert price_finder({}, {"gpt-4o-mini": OPENAI})("gpt-4o-mini") is None


def test_a_list_of_another_form_makes_prices_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that changes its types must not stop the judge."""
    package, snapshot = ModuleType("genai_prices"), ModuleType("genai_prices.data_snapshot")
    package.data_snapshot = snapshot  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "genai_prices", package)
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", snapshot)

    assert listed_price("gpt-4o-mini", OPENAI) is None
