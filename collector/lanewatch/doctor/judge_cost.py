"""What the doctor says of the judge's cost: before a cent is spent, at the pace of the last hour, and how old its queue is."""

from collections.abc import Iterator, Sequence

from lanewatch.config.keys import Config
from lanewatch.doctor.check import Check, Status
from lanewatch.judging.parts import worker_settings
from lanewatch.monitors.judge.active import NOBODY_ASKS, active_metrics
from lanewatch.monitors.judge.forecast import forecast, told
from lanewatch.monitors.judge.prices import price_finder
from lanewatch.monitors.judge.states import ALL, DAY, HOUR
from lanewatch.monitors.rates import Sample
from lanewatch.pages.samples import total

NEAR = 0.8  # of a budget
OLD_SECONDS = 900.0


def judge_cost(config: Config, samples: Sequence[Sample]) -> Iterator[Check]:
    """Nothing where judging is off, or asks no model."""
    age = total(samples, "lanewatch_judge_queue_oldest_seconds") or 0
    if age > OLD_SECONDS:
        remedy = "lower sampling.per_minute, or raise judge.max_in_flight, where no other check says why"
        yield Check("judge queue", Status.WRONG, f"the oldest job has waited {age / 60:.0f} minutes", remedy)
    if config.judge.enabled and config.judge.base_url:
        yield _forecast(config)
        yield from _spending(samples)


def _forecast(config: Config) -> Check:
    settings = worker_settings(config, "")
    paid = [metric.name for metric, why in active_metrics(settings).items() if metric.paid and why is None]
    if not paid:
        found, _, remedy = NOBODY_ASKS.partition(": ")
        return Check("judge cost", Status.WRONG, found, remedy)
    model = settings.endpoint.model
    price = price_finder(settings.prices, {model: settings.endpoint.base_url})(model)
    of = forecast(paid, price, settings.budgets, settings.asking.max_tokens, settings.canary_every_seconds)
    line = told(of, len(paid), model)
    if price is None:
        budget = config.budget
        remedy = (
            f"set [prices.{model!r}], or install genai-prices; until then {budget.tokens_per_minute or 60_000:,} tokens a minute bound "
            f"it, and {_or_none(budget.unpriced_tokens_per_hour)} an hour and {_or_none(budget.unpriced_tokens_per_day)} a day each metric"
        )
        return Check("judge cost", Status.NOTE, line, remedy)
    if of.samples_a_day == 0:
        return Check("judge cost", Status.WRONG, line, "raise the limits of [budget], or lower judge.max_tokens")
    limit = settings.budgets.total_dollars_per_day
    if limit and (of.canaries_a_day or 0) > limit / 2:
        remedy = f"canaries would take most of the ${limit:g} a day: raise judge.canary_every_seconds, or name fewer judge.metrics"
        return Check("judge cost", Status.NOTE, line, remedy)
    return Check("judge cost", Status.OK, line)


def _or_none(limit: int) -> str:
    return f"{limit:,}" if limit else "no number of them"


def _spending(samples: Sequence[Sample]) -> Iterator[Check]:
    hour = total(samples, "lanewatch_judge_budget_spent_dollars", metric=ALL, period=HOUR)
    day = total(samples, "lanewatch_judge_budget_spent_dollars", metric=ALL, period=DAY)
    limit = total(samples, "lanewatch_judge_budget_limit_dollars", metric=ALL, period=DAY)
    tokens = total(samples, "lanewatch_judge_budget_unpriced_tokens", metric=ALL, period=DAY) or 0
    unpriced = f"{tokens:,.0f} tokens of the last day are at a price that is not known"
    unknown = "set [prices.MODEL]; budget.unpriced_tokens_per_hour and _per_day bound each metric until then"
    if hour is None or day is None:
        if tokens:
            yield Check("judge pace", Status.UNKNOWN, f"what it costs is not known: {unpriced}", unknown)
        return
    found = f"${hour:.2f} in the last hour and ${day:.2f} in the last day; ${hour * 24:.2f} a day at this pace"
    if tokens:
        found = f"at least {found}; {unpriced}"
    if limit and day >= NEAR * limit:
        remedy = f"of ${limit:g}: traces of higher risk alone are judged now; raise budget.total_dollars_per_day, or lower sampling.rate"
        yield Check("judge pace", Status.WRONG, found, remedy)
    elif limit and hour * 24 > limit:
        remedy = f"the budget of ${limit:g} a day will not last; lower sampling.rate, or name fewer judge.metrics"
        yield Check("judge pace", Status.NOTE, found, remedy)
    elif tokens:
        yield Check("judge pace", Status.NOTE, found, unknown)
    else:
        yield Check("judge pace", Status.OK, found)
