"""The budget: never more than a limit, held before and settled after, remembered over restarts; unknown prices are not free."""

import contextvars
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanewatch.monitors.efficiency import Price
from lanewatch.monitors.judge.budget import UNPRICED_TOKENS, Budget
from lanewatch.monitors.judge.calls import ANCHOR, Estimate, Reservation, Usage
from lanewatch.monitors.judge.canary_part import Kept
from lanewatch.monitors.judge.results import Reason
from lanewatch.monitors.judge.settings import Budgets
from lanewatch.monitors.judge.states import ALL, DAY, HOUR
from lanewatch.monitors.judge.store_calls import Spent, StoredBooks, charge_held, spend_now, spent_since

from tests.monitors.judge.stores import a_store, closed_stores  # noqa: F401 - a fixture

PRICES = {"m": Price(1.0, 2.0), "dear": Price(1000.0, 1000.0)}
NO_LIMITS = Budgets(0, 0, 0, 0, 0, 0)


class Books:
    """Books of a test, in memory."""

    def __init__(self) -> None:
        self.held: dict[int, float | None] = {}
        self.spent: list[Spent] = []

    def hold(self, metric: str, dollars: float | None, tokens: int) -> int:
        """Reserve."""
        number = len(self.held) + len(self.spent) + 1
        self.held[number] = dollars
        return number

    def settle(self, number: int, spent: Spent) -> None:
        """Settle."""
        self.held.pop(number)
        self.spent.append(spent)


class Clock:
    """Unix seconds that a test moves."""

    def __init__(self, now: float = 1_760_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """The time."""
        return self.now


def a_budget(limits: Budgets, clock: Clock | None = None, books: Books | None = None) -> Budget:
    """A budget with the prices of the tests."""
    return Budget(limits, PRICES.get, books or Books(), clock or Clock())


def reserved(budget: Budget, metric: str = "a", *, model: str = "dear", tokens: int = 1000) -> Reservation:
    """A reservation that there must be room for; 1,000 tokens of the dear model are a dollar."""
    found = budget.reserve(metric, Estimate(model, tokens, 0))
    assert isinstance(found, Reservation)
    return found


def test_a_call_is_held_at_its_most_and_settled_at_what_it_took() -> None:
    """Dollars by price and tokens, of input and output."""
    books = Books()
    budget = a_budget(NO_LIMITS, books=books)
    held = budget.reserve("a", Estimate("m", 1_000_000, 500_000))

    assert isinstance(held, Reservation)
    assert list(books.held.values()) == [2.0]
    assert budget.settle(held, Usage(500_000, 100_000)) == pytest.approx(0.7)
    assert budget.spent()["a", HOUR] == budget.spent()[ALL, DAY] == pytest.approx(0.7)
    assert books.held == {}


@pytest.mark.parametrize(
    ("limits", "second"),
    [
        (Budgets(2.5, 0, 0, 0), "a"),
        (Budgets(0, 2.5, 0, 0), "a"),
        (Budgets(0, 0, 2.5, 0), "b"),
    ],
)
def test_what_is_held_counts_as_spent(limits: Budgets, second: str) -> None:
    """Four calls in flight must not each see the same last dollar."""
    budget = a_budget(limits)
    reserved(budget)
    reserved(budget)

    assert budget.reserve(second, Estimate("dear", 1000, 0)) is Reason.MONEY


def test_another_metric_has_its_own_hour() -> None:
    """A metric that costs much does not starve the others before the day's total."""
    budget = a_budget(Budgets(1.0, 0, 0, 0))
    reserved(budget, "a")

    assert budget.reserve("a", Estimate("dear", 1, 0)) is Reason.MONEY
    reserved(budget, "b")


def test_an_hour_is_the_last_sixty_minutes() -> None:
    """At the turn of the clock's hour nothing is forgotten; after sixty minutes it is."""
    clock = Clock(1_760_000_000.0 // 3600 * 3600 + 3599.0)
    budget = a_budget(Budgets(1.0, 0, 0, 0), clock)
    budget.settle(reserved(budget), Usage(1000, 0))
    clock.now += 2.0

    assert budget.reserve("a", Estimate("dear", 1, 0)) is Reason.MONEY
    clock.now += 3600.0
    reserved(budget)


@given(
    steps=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(1, 3000), st.floats(0, 1), st.integers(0, 4000), st.booleans()),
        max_size=60,
    )
)
@settings(max_examples=200, deadline=None)
def test_no_limit_of_money_is_ever_passed(steps: list[tuple[str, int, float, int, bool]]) -> None:
    """Whatever is asked, in whatever order answers come, as long as no call takes more than was reserved."""
    clock, limits = Clock(), Budgets(3.0, 10.0, 12.0, 0)
    books = Books()
    budget = a_budget(limits, clock, books)
    in_flight: list[Reservation] = []
    for metric, tokens, share, seconds, answer in steps:
        clock.now += seconds
        held = budget.reserve(metric, Estimate("dear", tokens, 0))
        if isinstance(held, Reservation):
            in_flight.append(held)
        if answer and in_flight:
            one = in_flight.pop(0)
            budget.settle(one, Usage(int(one.estimate.input_tokens * share), 0))
        now = int(clock.now // 60)
        for of in ("a", "b", ALL):
            mine = [s for s in books.spent if of in (s.metric, ALL)]
            held_now = sum(r.estimate.input_tokens / 1000 for r in in_flight if of in (r.metric, ALL))
            day = sum(s.dollars for s in mine if s.minute > now - 1440) + held_now
            assert day <= (limits.total_dollars_per_day if of == ALL else limits.dollars_per_day) + 1e-9
            if of != ALL:
                hour = sum(s.dollars for s in mine if s.minute > now - 60) + held_now
                assert hour <= limits.dollars_per_hour + 1e-9


def test_near_the_end_of_the_money_it_says_so() -> None:
    """From 80 % on; the caller then judges strata of higher risk alone."""
    budget = a_budget(Budgets(0, 10.0, 0, 0))
    for _ in range(7):
        budget.settle(reserved(budget), Usage(1000, 0))
    near_at_seven = budget.near("a")
    budget.settle(reserved(budget), Usage(1000, 0))

    assert (near_at_seven, budget.near("a"), budget.near("b")) == (None, Reason.MONEY, None)


def test_tokens_of_a_minute_are_borrowed_by_what_was_begun_and_paid_back() -> None:
    """A sample of four calls is not given up at its third; the next one waits until the bucket is full of more than debt."""
    clock = Clock()
    budget = a_budget(Budgets(0, 0, 0, 1000), clock)
    first = [reserved(budget, model="m", tokens=900), reserved(budget, model="m", tokens=900)]

    assert not budget.may_begin()
    assert budget.reserve("a", Estimate("m", 300, 0)) is Reason.TOKENS
    clock.now += 49.0
    assert budget.may_begin()
    budget.settle(first[0], Usage(100, 0))
    assert isinstance(budget.reserve("a", Estimate("m", 900, 0)), Reservation)


def test_a_call_that_no_minute_has_room_for_is_refused() -> None:
    """It would wait for ever."""
    budget = a_budget(Budgets(0, 0, 0, 1000))

    assert budget.reserve("a", Estimate("m", 800, 201)) is Reason.TOKENS


def test_an_unknown_price_is_no_dollars_and_bounded_by_tokens() -> None:
    """Neither 0 nor without a bound, also where no limit of tokens was set."""
    budget = a_budget(Budgets(1.0, 1.0, 1.0, 0))
    held = reserved(budget, model="local", tokens=UNPRICED_TOKENS)

    assert budget.settle(held, Usage(UNPRICED_TOKENS, 0)) is None
    assert budget.spent() == {}
    assert budget.unpriced()["a", HOUR] == budget.unpriced()[ALL, DAY] == UNPRICED_TOKENS
    assert isinstance(budget.reserve("a", Estimate("local", UNPRICED_TOKENS, 0)), Reservation)
    assert budget.reserve("a", Estimate("local", UNPRICED_TOKENS, 0)) is Reason.TOKENS
    assert not budget.may_begin()


@pytest.mark.parametrize("limits", [Budgets(0, 0, 0, 10**6, 1000, 0), Budgets(0, 0, 0, 10**6, 0, 1000)])
def test_where_no_price_is_known_tokens_of_each_metric_are_bounded_by_hour_and_day(limits: Budgets) -> None:
    """A minute's limit of all metrics alone lets 86 million tokens a day pass, at whatever price."""
    budget = a_budget(limits)
    budget.settle(reserved(budget, model="local", tokens=700), Usage(700, 0))
    held = reserved(budget, model="local", tokens=100)

    assert budget.reserve("a", Estimate("local", 201, 0)) is Reason.TOKENS
    assert budget.near("a") is Reason.TOKENS
    reserved(budget, "b", model="local", tokens=201)
    reserved(budget, "a", model="m", tokens=201)  # what has a price is bounded by dollars
    budget.settle(held, Usage(0, 0))
    reserved(budget, model="local", tokens=300)


def test_dollars_that_are_known_are_told_beside_tokens_that_have_none() -> None:
    """An embeddings model without a price does not hide what the judge costs; nor is it 0 dollars."""
    budget = a_budget(NO_LIMITS)
    budget.settle(reserved(budget), Usage(1000, 0))
    budget.settle(reserved(budget, "b", model="local"), Usage(500, 0))

    assert budget.spent() == {("a", HOUR): 1.0, ("a", DAY): 1.0, (ALL, HOUR): 1.0, (ALL, DAY): 1.0}
    assert budget.unpriced()[ALL, DAY] == budget.unpriced()["b", HOUR] == 500


def test_what_a_round_of_canaries_takes_is_kept_back_until_it_was_taken() -> None:
    """Of a limit of 10 dollars rounds of 2 leave 8 to all others, whatever their risk; once canaries have taken 2, all is theirs."""
    clock = Clock()
    kept = Kept(dollars=2.0, rounds_a_day=1.0)
    budget = Budget(Budgets(0, 10.0, 0, 0), PRICES.get, Books(), clock, kept=kept)
    for _ in range(7):
        budget.settle(reserved(budget), Usage(1000, 0))
    near = budget.near("a")
    budget.settle(reserved(budget), Usage(1000, 0))
    refused = budget.reserve("a", Estimate("dear", 1, 0))
    with_canaries = contextvars.copy_context()

    def two_dollars() -> None:
        ANCHOR.set(True)
        for _ in range(2):
            budget.settle(reserved(budget), Usage(1000, 0))

    with_canaries.run(two_dollars)

    assert (near, refused) == (Reason.MONEY, Reason.MONEY)
    assert budget.spent()["a", DAY] == pytest.approx(10.0)
    clock.now += 86_400
    for _ in range(8):
        reserved(budget)
    assert budget.reserve("a", Estimate("dear", 1, 0)) is Reason.MONEY


def test_a_restart_knows_what_had_no_price(tmp_path: Path) -> None:
    """Settled, and held when the process died; a store of before gets its table."""
    db = a_store(tmp_path)
    db.execute("DROP TABLE unpriced")
    db.close()
    db, clock = a_store(tmp_path), Clock()
    budget = Budget(NO_LIMITS, PRICES.get, StoredBooks(db, clock), clock)
    budget.settle(reserved(budget, model="local"), Usage(600, 0))
    reserved(budget, model="local", tokens=50)
    charge_held(db)
    again = Budget(NO_LIMITS, PRICES.get, StoredBooks(db, clock), clock, spent_since(db, 0))

    assert again.spent() == {}
    assert again.unpriced()["a", DAY] == 650
    db.close()


def test_a_restart_forgets_nothing(tmp_path: Path) -> None:
    """What was spent, and what was held when the process died: it may have been paid."""
    clock, limits = Clock(), Budgets(0, 2.5, 0, 0)
    db = a_store(tmp_path)
    budget = Budget(limits, PRICES.get, StoredBooks(db, clock), clock)
    budget.settle(reserved(budget), Usage(1000, 0))
    reserved(budget)
    db.close()
    db = a_store(tmp_path)

    assert charge_held(db) == 1
    assert charge_held(db) == 0
    before = spent_since(db, int(clock() // 60) - 1440)
    again = Budget(limits, PRICES.get, StoredBooks(db, clock), clock, before)
    assert again.spent()["a", DAY] == pytest.approx(2.0)
    assert again.reserve("a", Estimate("dear", 1000, 0)) is Reason.MONEY


def test_a_clock_that_is_set_back_neither_frees_nor_freezes_the_budget() -> None:
    """What was spent in minutes that are to come now is spent as of now, and an hour later no more."""
    clock = Clock()
    budget = a_budget(Budgets(1.0, 0, 0, 0), clock)
    budget.settle(reserved(budget), Usage(1000, 0))
    clock.now -= 30 * 86_400

    assert budget.reserve("a", Estimate("dear", 1000, 0)) is Reason.MONEY
    clock.now += 3_660
    assert reserved(budget)


def test_a_restart_after_the_clock_was_set_back_knows_what_was_spent(tmp_path: Path) -> None:
    """As of the restart: with its dollars, and with no tokens, whose minute was another one."""
    db = a_store(tmp_path)
    books = StoredBooks(db, Clock())
    for minute in (50, 90, 91):
        books.settle(books.hold("a", 1.0, 10), Spent(minute, "a", 1.0, 10))
    spend_now(db, 60)

    assert sorted(spent_since(db, 0), key=lambda one: one.minute) == [Spent(50, "a", 1.0, 10), Spent(60, "a", 2.0, 0)]
    db.close()


def test_limits_that_are_off_are_no_limits() -> None:
    """0 is none, and is not exported as a limit of 0."""
    assert a_budget(NO_LIMITS).limits(["a"]) == {}
    assert a_budget(Budgets(1.0, 2.0, 3.0, 0)).limits(["a"]) == {("a", HOUR): 1.0, ("a", DAY): 2.0, (ALL, DAY): 3.0}
