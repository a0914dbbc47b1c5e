"""What a million tokens of a judge's model cost: the user's own table, else `genai-prices` where it is installed, else unknown.

genai-prices finds a model by patterns, and a near miss by the price of another (it takes `gpt-5.1-mini` for `gpt-5.1-codex-mini`):
a name counts only where it is the model's own, or that with the date of a release, at the provider whose address is asked.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from lanewatch.monitors.efficiency import Price

DATED = re.compile(r"-(20\d{2}-\d{2}-\d{2}|20\d{6})$")  # a release of the same model: gpt-4o-mini-2024-07-18


def price_finder(table: Mapping[str, Price], addresses: Mapping[str, str]) -> Callable[[str], Price | None]:
    """Prices by the model's name. `table` is the user's, `addresses` has the endpoint's by model."""

    @lru_cache(maxsize=256)
    def price_of(model: str) -> Price | None:
        return table[model] if model in table else listed_price(model, addresses.get(model, ""))

    return price_of


def listed_price(model: str, address: str) -> Price | None:
    """The price in genai-prices' own list, which is read from its package alone; None where it is not known for certain."""
    try:
        from genai_prices import data_snapshot  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    try:
        _, found = data_snapshot.get_snapshot().find_provider_model(model, None, None, address)
        if not is_named(model, found.id):
            return None
        prices = found.get_prices(datetime.now(tz=UTC))
        return Price(_highest(prices.input_mtok), _highest(prices.output_mtok))
    except (LookupError, AttributeError, TypeError, ValueError):  # unknown, or the package's own types have changed
        return None


def is_named(model: str, own: str) -> bool:
    """Whether a name is the model's own, alone or with the date of a release. The other names that the list has for it are not
    trusted: some are of other models.
    """
    return own.lower() in {model.lower(), DATED.sub("", model.lower())}


def _highest(price: Any) -> float:
    """Of a price with tiers the highest: which tier a prompt falls into is known only when it is sent."""
    tiers = getattr(price, "tiers", None)
    return float(price) if tiers is None else max(float(price.base), *(float(tier.price) for tier in tiers))
