"""What judging will cost, before a cent is spent: tokens of a usual sample by each metric, its price, and how far the budget goes.

The figures are of a realistic sample (a question of 16 tokens, an answer of 142 with 8 claims, 5 contexts of 337 each), counted at
a scripted endpoint; prompts whose contexts are asked in two orders count one and a half times, as half of their calls are the same.
A forecast is an order of magnitude: retries and longer contexts cost more.
"""

from collections.abc import Iterable

import msgspec

from lanewatch.monitors.efficiency import Price
from lanewatch.monitors.judge.canary_part import kept_for_canaries
from lanewatch.monitors.judge.settings import Budgets
from lanewatch.monitors.judge.states import ALL, DAY, HOUR

# metric -> (input, output) tokens of one sample
TYPICAL: dict[str, tuple[int, int]] = {
    "faithfulness": (5_200, 680),
    "response_groundedness": (9_700, 24),
    "context_relevance": (9_200, 24),
    "answer_relevancy": (750, 22),
    "context_utilization": (7_700, 110),
    "agent_goal_accuracy": (1_640, 42),
    "topic_adherence": (4_960, 49),
    "entailment_support": (2_600, 260),
}
EACH = "each"  # metric
TOKENS_UNKNOWN = (5_000, 100)  # of a metric that nobody has counted yet


class Forecast(msgspec.Struct, frozen=True):
    """Of one sample by all metrics; the dollars are None where the price is not known. `samples_a_day` are those that the budget of
    money pays for, None without one; 0 where not even one call's reservation finds room in it.
    """

    tokens: int
    dollars: float | None
    samples_a_day: float | None
    canaries_a_day: float | None = None  # dollars


def forecast(
    metrics: Iterable[str], price: Price | None, budgets: Budgets, max_tokens: int = 0, canary_every_seconds: float = 0
) -> Forecast:
    """What one sample takes by these metrics; a call reserves `max_tokens` before it is made, and its prompt."""
    used = {metric: TYPICAL.get(metric, TOKENS_UNKNOWN) for metric in metrics}
    tokens = sum(map(sum, used.values()))
    if price is None or not used:
        return Forecast(tokens, None, None)
    costs = {metric: price.dollars(*tokens_of_it) for metric, tokens_of_it in used.items()}
    whole = sum(costs.values())
    kept = kept_for_canaries(price, canary_every_seconds, len(costs))
    a_round = kept.dollars or 0.0
    limits = (
        (EACH, HOUR, budgets.dollars_per_hour),
        (EACH, DAY, budgets.dollars_per_day),
        (ALL, DAY, budgets.total_dollars_per_day),
    )
    hour, day, total = (bound[2] - kept.of(a_round, bound) for bound in limits)
    bounds = [total / whole] if total and whole else []
    for cost in costs.values():
        bounds += [limit / cost for limit in (hour * 24, day) if limit and cost]
    if any(0 < limit < price.dollars(0, max_tokens) for limit in (hour, day, total)):
        bounds.append(0.0)
    return Forecast(tokens, whole, min(bounds, default=None), a_round * kept.rounds_a_day * len(costs))


def told(one: Forecast, n_metrics: int, model: str) -> str:
    """A line for people."""
    of = f"a sample by {n_metrics} metric{'s' * (n_metrics != 1)} takes about {one.tokens:,} tokens of {model}"
    if one.dollars is None:
        return f"{of}, at a price that is not known"
    thousand = f"${one.dollars * 1000:,.2f} for a thousand samples"
    if one.canaries_a_day:
        thousand += f" and ${one.canaries_a_day:,.2f} a day for canaries"
    if one.samples_a_day is None:
        return f"{of}, about {thousand}; no budget of money is set"
    if not one.samples_a_day:
        return f"{of}, about {thousand}; the budget pays for none: one call reserves judge.max_tokens, which is more"
    return f"{of}, about {thousand}; the budget pays for about {one.samples_a_day:,.0f} a day"
