"""What judging will cost, before a cent is spent: tokens of a usual sample by each metric, its price, and how far the budget goes.

The figures are of a realistic sample (a question of 16 tokens, an answer of 142 with 8 claims, 5 contexts of 337 each), counted at
a scripted endpoint; prompts whose contexts are asked in two orders count one and a half times, as half of their calls are the same.
A forecast is an order of magnitude: retries and longer contexts cost more.
"""

from collections.abc import Iterable

import msgspec

from lanewatch.monitors.efficiency import MILLION, Price
from lanewatch.monitors.judge.settings import DAY_SECONDS, Budgets

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
# A round of canaries by one metric: a ninth of what all nine that ask a model were measured to take together.
CANARY_ROUND = (120_000, 4_000)
MOST_KEPT = 0.5  # of a limit, for rounds of canaries
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
    costs = {metric: (n * price.input + m * price.output) / MILLION for metric, (n, m) in used.items()}
    whole = sum(costs.values())
    a_day = DAY_SECONDS / canary_every_seconds if canary_every_seconds else 0.0
    one_round = (CANARY_ROUND[0] * price.input + CANARY_ROUND[1] * price.output) / MILLION
    hour, day = budgets.dollars_per_hour, budgets.dollars_per_day
    hour -= kept_back(hour, one_round * rounds_an_hour(a_day))
    day -= kept_back(day, one_round * a_day)
    total = budgets.total_dollars_per_day
    total -= kept_back(total, one_round * a_day * len(costs))
    bounds = [total / whole] if total and whole else []
    for cost in costs.values():
        bounds += [limit / cost for limit in (hour * 24, day) if limit and cost]
    if any(0 < limit < max_tokens * price.output / MILLION for limit in (hour, day, total)):
        bounds.append(0.0)
    canaries = one_round * a_day * len(costs)
    return Forecast(tokens, whole, min(bounds, default=None), canaries)


def kept_back(limit: float, canaries: float) -> float:
    """What of a limit nobody but canaries may take, which take so much: at most half of it."""
    return min(MOST_KEPT * limit, canaries)


def rounds_an_hour(a_day: float) -> float:
    """How many rounds of a metric an hour may have: one, where there are fewer than 24 a day."""
    return min(a_day, max(1.0, a_day / 24))


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
