"""What the doctor says of the judge's cost: a forecast in dollars, the pace of the last hour, and a queue that stands still."""

from lanewatch.config.judge import Budget, Judge
from lanewatch.config.keys import Config
from lanewatch.config.policies import PriceEntry
from lanewatch.doctor.check import Check, Status
from lanewatch.doctor.judge_cost import judge_cost
from lanewatch.pages.samples import samples_of

ASKED = Config(
    judge=Judge(base_url="http://127.0.0.1:1/v1", model="m", metrics="faithfulness"),
    prices={"m": PriceEntry(input=1.0, output=2.0)},
)


def checks(page: str, config: Config | None = None) -> dict[str, Check]:
    """By name."""
    return {check.name: check for check in judge_cost(config or Config(), list(samples_of(page)))}


def test_a_judge_that_asks_no_model_costs_nothing() -> None:
    """Neither does one that is off."""
    off = ASKED.model_copy(update={"judge": Judge(enabled=False)})

    assert checks("lanewatch_judge_queue_oldest_seconds 1\n") == {}
    assert checks("", off) == {}


def test_a_queue_that_stands_still_is_wrong() -> None:
    """By the age of its oldest job, not by its length."""
    found = checks("lanewatch_judge_queue_oldest_seconds 7200\n")["judge queue"]

    assert (found.status, found.found) == (Status.WRONG, "the oldest job has waited 120 minutes")


def test_the_forecast_is_in_dollars_where_the_price_is_known() -> None:
    """5,200 tokens in and 680 out at $1 and $2 a million are $6.56 for a thousand; the day's $10, less 51 cents for canaries, pay for 1,446."""
    found = checks("", ASKED)["judge cost"]

    assert found.status is Status.OK
    assert "$6.56 for a thousand samples" in found.found
    assert "about 1,446 a day" in found.found
    unknown = checks("", ASKED.model_copy(update={"prices": {}}))["judge cost"]
    assert "a price that is not known" in unknown.found
    assert "60,000 tokens a minute bound it, and 400,000 an hour and 4,000,000 a day each metric" in unknown.remedy


def test_an_endpoint_that_nothing_asks_is_wrong() -> None:
    """As where the core alone is installed, or only signals are named: its owner believes that it judges."""
    found = checks("", ASKED.model_copy(update={"judge": ASKED.judge.model_copy(update={"metrics": "number_support"})}))

    assert found["judge cost"].status is Status.WRONG
    assert "no metric that is judged here asks a model" in found["judge cost"].found
    assert "pip install '.[ragas]'" in found["judge cost"].remedy


def test_canaries_that_eat_the_budget_are_told() -> None:
    """120,000 tokens in and 4,000 out, four times a day: 51 cents at $1 and $2 a million, and nearly all of 52 cents."""
    budget = Budget(total_dollars_per_day=0.52)
    found = checks("", ASKED.model_copy(update={"budget": budget}))["judge cost"]

    assert "$0.51 a day for canaries" in found.found
    assert found.status is Status.NOTE
    assert "raise judge.canary_every_seconds" in found.remedy
    seldom = ASKED.judge.model_copy(update={"canary_every_seconds": 86_400.0})
    assert checks("", ASKED.model_copy(update={"budget": budget, "judge": seldom}))["judge cost"].status is Status.OK


def test_a_budget_that_no_call_fits_into_is_wrong() -> None:
    """A call reserves 4,096 tokens at $2 a million, which is more than half of a limit of $0.016, whose other half is the canaries': all
    would end as over_budget.
    """
    for budget in (Budget(dollars_per_hour=0.016), Budget(dollars_per_day=0.016), Budget(total_dollars_per_day=0.016)):
        found = checks("", ASKED.model_copy(update={"budget": budget}))["judge cost"]

        assert found.status is Status.WRONG
        assert "pays for none" in found.found
        assert "judge.max_tokens" in found.remedy
    enough = ASKED.model_copy(update={"budget": Budget(dollars_per_hour=0.017)})
    assert checks("", enough)["judge cost"].status is Status.OK


def test_a_pace_that_breaks_the_budget_is_told_before_it_does() -> None:
    """By the last hour; near its end it is wrong, since usual traces are not judged any more."""
    spent = 'lanewatch_judge_budget_spent_dollars{{metric="all",period="{}"}} {}\n'
    limit = 'lanewatch_judge_budget_limit_dollars{metric="all",period="day"} 20\n'

    def budget(hour: float, day: float) -> Check:
        return checks(spent.format("hour", hour) + spent.format("day", day) + limit, ASKED)["judge pace"]

    assert budget(0.5, 5.0).status is Status.OK
    assert budget(1.0, 5.0).status is Status.NOTE
    assert "$24.00 a day at this pace" in budget(1.0, 5.0).found
    assert budget(0.1, 17.0).status is Status.WRONG


def test_a_price_that_nobody_knows_is_no_pace_of_0_dollars() -> None:
    """Unknown where all of it is; where some of it is known, that much at least."""
    tokens = 'lanewatch_judge_budget_unpriced_tokens{metric="all",period="day"} 1200000\n'
    spent = 'lanewatch_judge_budget_spent_dollars{metric="all",period="hour"} 0.5\n'
    spent += 'lanewatch_judge_budget_spent_dollars{metric="all",period="day"} 5\n'
    nothing, some = (checks(page, ASKED)["judge pace"] for page in (tokens, tokens + spent))

    assert (nothing.status, some.status) == (Status.UNKNOWN, Status.NOTE)
    assert "1,200,000 tokens of the last day are at a price that is not known" in nothing.found
    assert "$" not in nothing.found
    assert some.found.startswith("at least $0.50 in the last hour")
