"""One sample's calls: asked within its bounds, paid for, written down, and never asked twice."""

import asyncio
from typing import Any

import pytest
from lanewatch.monitors.judge.asking import Asking
from lanewatch.monitors.judge.calls import JOB, Estimate, MemoryJournal, Reservation, Usage
from lanewatch.monitors.judge.endpoint import Endpoint, Limits
from lanewatch.monitors.judge.exchange import _seconds_of
from lanewatch.monitors.judge.failures import JudgeFailure
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason

from tests.judge_server.server import JudgeServer
from tests.monitors.judge.asked import KEY, PROMPT, SCHEMA, Asked, rating_of, read_rating


class CountingPurse:
    """Room for `n` calls at a price of 1 dollar a million tokens."""

    def __init__(self, n: int = 1000) -> None:
        self.left = n
        self.held: list[Estimate] = []
        self.settled: list[Usage] = []

    def reserve(self, metric: str, estimate: Estimate) -> Reservation | Reason:
        """Hold one."""
        if not self.left:
            return Reason.MONEY
        self.left -= 1
        self.held.append(estimate)
        return Reservation(metric, estimate, len(self.held))

    def settle(self, reservation: Reservation, usage: Usage) -> float | None:
        """Note it."""
        self.settled.append(usage)
        return (usage.input_tokens + usage.output_tokens) / 1e6


def test_an_answer_is_counted_with_what_it_used() -> None:
    """Tokens, dollars, request id, model and fingerprint are the endpoint's own."""
    purse = CountingPurse()
    with JudgeServer() as server:
        server.model = "judge-1-2026"
        _, asking = Asked(server, purse=purse).rating()

    assert (asking.cost.calls, asking.cost.input_tokens, asking.cost.output_tokens) == (1, 100, 10)
    assert asking.cost.dollars == pytest.approx(110e-6)
    assert (asking.model, asking.fingerprint, asking.request_ids) == ("judge-1-2026", "fp_1", ["req_1"])
    assert purse.held[0].output_tokens == 4096
    assert purse.settled == [Usage(100, 10)]


@pytest.mark.parametrize("mode", ["no_usage", "usage_nonsense"])
def test_usage_that_is_not_told_is_estimated_and_flagged(mode: str) -> None:
    """0 tokens would be a budget that never ends."""
    with JudgeServer(mode) as server:
        _, asking = Asked(server).rating()

    assert asking.cost.input_tokens > 0
    assert asking.cost.dollars is None
    assert asking.flags == {"usage_estimated"}


@pytest.mark.parametrize(
    ("mode", "may_be_paid"), [("500", False), ("429", False), ("401", False), ("disconnect", True)]
)
def test_an_error_is_free_and_a_lost_answer_may_not_be(mode: str, may_be_paid: bool) -> None:
    """What was sent and not answered is settled at all that was reserved: it may have been answered to its end, and is billed then."""
    purse = CountingPurse()
    with JudgeServer(mode) as server, pytest.raises(JudgeFailure):
        Asked(server, purse=purse).rating()

    reserved = [Usage(one.input_tokens, one.output_tokens, estimated=True) for one in purse.held]
    assert purse.settled == (reserved if may_be_paid else [Usage(0, 0)] * len(reserved))
    assert len(purse.settled) == len(purse.held) == len(server.calls)


@pytest.mark.parametrize("mode", ["hang", "gzip_bomb"])
def test_what_times_out_or_can_not_be_read_is_booked_at_all_that_was_reserved(mode: str) -> None:
    """At its prompt alone, money would run past the limit unseen with each call that times out."""
    purse = CountingPurse()
    with JudgeServer(mode) as server, pytest.raises(JudgeFailure):
        Asked(server, purse=purse, seconds=0.2, limits=Limits(max_retries=0)).rating()

    assert [usage.output_tokens for usage in purse.settled] == [4096]


def test_what_no_connection_came_about_for_cost_nothing() -> None:
    """An endpoint that is down must not spend the budget."""
    purse = CountingPurse()
    with JudgeServer() as server, pytest.raises(JudgeFailure):
        Asked(server, purse=purse, url="http://127.0.0.1:9/v1").rating()

    assert purse.settled == [Usage(0, 0)] * len(purse.held)


def test_nothing_is_sent_that_the_budget_has_no_room_for() -> None:
    """Over budget is an outcome of its own, and is known before the call."""
    with JudgeServer() as server, pytest.raises(JudgeFailure) as raised:
        Asked(server, purse=CountingPurse(0)).rating()

    assert (raised.value.outcome, raised.value.reason) == (EvaluationOutcome.OVER_BUDGET, Reason.MONEY)
    assert server.calls == []


def test_each_retry_is_paid_from_the_purse() -> None:
    """A retry is a call: with room for two, the third is over budget, and the sample says what it failed with first."""
    with JudgeServer("500") as server, pytest.raises(JudgeFailure) as raised:
        Asked(server, purse=CountingPurse(2)).rating()

    assert raised.value.reason is Reason.SERVER_ERROR
    assert len(server.calls) == 2


def test_one_retry_budget_serves_all_calls_of_a_sample() -> None:
    """Three calls, each failing once: two retries in all."""

    async def three(endpoint: Endpoint) -> list[Any]:
        asking = Asking(endpoint, "m", "t1")
        return [await asking.chat("", PROMPT + "x" * n, SCHEMA, read_rating) for n in range(3)]

    with JudgeServer() as server:
        server.plays("500", "ok", "prose_only", "ok", "503", "ok")
        with pytest.raises(JudgeFailure) as raised:
            Asked(server).run(three)

    assert raised.value.reason is Reason.SERVER_ERROR
    assert [call.mode for call in server.calls] == ["500", "ok", "prose_only", "ok", "503"]


def test_what_failed_once_asks_nothing_more() -> None:
    """Metrics that swallow an error and go on would ask for a sample that is lost."""

    async def twice(endpoint: Endpoint) -> list[Reason]:
        asking, reasons = Asking(endpoint, "m", "t1"), []
        for _ in range(2):
            try:
                await asking.chat("", PROMPT, SCHEMA, read_rating)
            except JudgeFailure as failure:
                reasons.append(failure.reason)
        return reasons

    with JudgeServer("404") as server:  # which alone opens no breaker
        reasons = Asked(server).run(twice)

    assert reasons == [Reason.BAD_REQUEST, Reason.BAD_REQUEST]
    assert len(server.calls) == 1


def test_retry_after_is_waited_for_within_the_samples_budget() -> None:
    """The endpoint asks for 1 second and gets it; an hour is more than a sample may wait."""
    with JudgeServer() as server:
        server.plays("429_retry_after")
        asked = Asked(server)
        rating, _ = asked.rating()
    with JudgeServer("429_retry_after_long") as server:
        long = Asked(server)
        with pytest.raises(JudgeFailure):
            long.rating()

    assert rating == 2
    assert sum(asked.time.slept) == pytest.approx(1.0)
    assert long.time.slept == []
    assert long.breaker.wait() > 600


def test_a_retry_after_may_be_a_date() -> None:
    """It is held against the clock: it lies 20 seconds ahead, which are waited for."""
    with JudgeServer() as server:
        server.plays("429_retry_after_date")
        asked = Asked(server)
        rating, _ = asked.rating()

    assert rating == 2
    assert sum(asked.time.slept) == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 37.0),
        ("Sun, 06 Nov 1994 09:49:37 +0100", 37.0),
        ("Sun, 06 Nov 1994 08:49:37 -0000", 37.0),
        ("Sun, 06 Nov 1994 08:48:00 GMT", 0.0),
        ("Sun, 06 Nov 2094 08:48:00 GMT", 86_400.0),
        ("Sun, 06 Nov 1994 99:49:37 GMT", None),
        ("soon", None),
        ("-5", None),
        ("", None),
        ("Sun, " * 100_000, None),
    ],
)
def test_what_a_retry_after_may_say(text: str, seconds: float | None) -> None:
    """A date of any zone, bounded to a day; what is neither seconds nor a date says nothing."""
    assert _seconds_of(text, lambda: 784111740.0) == seconds


def test_an_invalid_answer_is_asked_again_with_another_seed_and_key() -> None:
    """The same seed would give the same answer, and the same key may be answered from the provider's memory."""
    with JudgeServer() as server:
        server.plays("single_quotes")
        rating, _ = Asked(server).rating()

    assert rating == 2
    assert [body["seed"] for body in server.bodies] == [1, 2]
    assert len(server.keys) == 2


def test_a_retry_after_a_failed_network_has_the_same_key() -> None:
    """A provider that honours Idempotency-Key charges once."""
    with JudgeServer() as server:
        server.plays("disconnect", "500")
        Asked(server).rating()

    assert list(server.keys.values()) == [3]
    assert "" not in server.keys


def test_what_is_sent_is_plain_and_small() -> None:
    """No tools, no streaming, no null; a low temperature, a seed, a limit; the key in its header alone."""
    with JudgeServer() as server:
        Asked(server).rating()

    (body,) = server.bodies
    assert set(body) == {"model", "messages", "max_tokens", "temperature", "seed", "response_format"}
    assert (body["max_tokens"], body["temperature"]) == (4096, 0.01)
    assert None not in body.values()
    assert body["response_format"]["json_schema"]["schema"]["additionalProperties"] is False
    assert server.calls[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(body)


def test_a_format_that_is_refused_is_remembered() -> None:
    """The ladder is climbed down once for an endpoint, not for each sample."""

    async def two(endpoint: Endpoint) -> None:
        await rating_of(endpoint, "t1")
        await rating_of(endpoint, "t2")

    with JudgeServer("400_no_response_format") as server:
        Asked(server).run(two)

    forms = [(body.get("response_format") or {}).get("type") for body in server.bodies]
    assert forms == ["json_schema", "json_object", None, None]


def test_a_bad_request_of_one_sample_does_not_change_the_format() -> None:
    """Once a shape was answered, a refusal that names no parameter is of the content."""

    async def two(endpoint: Endpoint) -> Reason:
        await rating_of(endpoint, "t1")
        with pytest.raises(JudgeFailure) as raised:
            await rating_of(endpoint, "t2")
        return raised.value.reason

    with JudgeServer() as server:
        server.plays("ok", "400")
        reason = Asked(server).run(two)

    assert reason is Reason.BAD_REQUEST
    assert len(server.calls) == 2


def test_max_completion_tokens_replaces_max_tokens() -> None:
    """Reasoning models refuse the one and want the other; no name of a model is looked at."""
    with JudgeServer("400_no_max_tokens") as server:
        Asked(server).rating()

    assert server.bodies[1]["max_completion_tokens"] == 4096
    assert "max_tokens" not in server.bodies[1]


def test_what_was_answered_is_not_asked_again_after_a_crash() -> None:
    """The same job asks the same question under the same key, and finds its answer and its cost in the journal."""
    journal = MemoryJournal()
    with JudgeServer() as server:
        first = Asked(server, journal=journal).rating()
        again = Asked(server, journal=journal).rating()

    assert again[0] == first[0]
    assert again[1].cost == first[1].cost
    assert len(server.calls) == 1


def test_what_was_sent_and_not_answered_is_not_asked_again() -> None:
    """It may have been paid: the job ends as interrupted."""
    journal, purse = MemoryJournal(), CountingPurse()
    with JudgeServer() as server:
        Asked(server, journal=journal).rating()
        journal.responses.clear()  # as if the process had died before it wrote the answer down
        with pytest.raises(JudgeFailure) as raised:
            Asked(server, journal=journal, purse=purse).rating()

    assert raised.value.reason is Reason.INTERRUPTED
    assert len(server.calls) == 1
    assert purse.settled == [Usage(0, 0)]


def test_a_cancelled_call_stays_sent_and_is_settled() -> None:
    """A worker that is stopped amid a call may have paid for it, and holds nothing back."""
    journal, purse = MemoryJournal(), CountingPurse()

    async def cancelled(endpoint: Endpoint) -> None:
        task = asyncio.create_task(rating_of(endpoint))
        await asyncio.to_thread(server.heard.wait, 10)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with JudgeServer("hang") as server:
        Asked(server, journal=journal, purse=purse).run(cancelled)

    assert len(journal.under_way) == 1
    assert journal.responses == {}
    assert len(purse.settled) == 1
    assert purse.settled[0].estimated


def test_a_failure_is_written_down_too() -> None:
    """After a crash between a call's failure and its job's end, the failure is replayed and nothing is asked."""
    journal = MemoryJournal()
    with JudgeServer("404") as server:
        for _ in range(2):
            with pytest.raises(JudgeFailure) as raised:
                Asked(server, journal=journal).rating()

    assert raised.value.reason is Reason.BAD_REQUEST
    assert len(server.calls) == 1


def test_another_job_asks_the_same_anew() -> None:
    """A canary asks the same question every round, and is to be answered every time."""
    journal = MemoryJournal()
    with JudgeServer() as server:
        for job in ("round 1", "round 2", "round 2"):
            token = JOB.set(job)
            Asked(server, journal=journal).rating()
            JOB.reset(token)

    assert len(server.calls) == 2


def test_a_sample_may_not_ask_without_end() -> None:
    """A judge that names a thousand topics would be asked a thousand times."""

    async def many(endpoint: Endpoint) -> Reason:
        asking = Asking(endpoint, "m", "t1")
        for n in range(3):
            await asking.chat("", PROMPT + str(n), SCHEMA, read_rating)
        with pytest.raises(JudgeFailure) as raised:
            await asking.chat("", PROMPT, SCHEMA, read_rating)
        return raised.value.reason

    with JudgeServer() as server:
        reason = Asked(server, limits=Limits(max_calls=3)).run(many)

    assert reason is Reason.TOO_LONG
    assert len(server.calls) == 3


def test_a_prompt_beyond_its_limit_is_not_sent() -> None:
    """What a trace holds has no bound; what is paid for has."""
    with JudgeServer() as server, pytest.raises(JudgeFailure) as raised:
        Asked(server, limits=Limits(max_prompt_characters=10)).rating()

    assert (raised.value.outcome, raised.value.reason) == (EvaluationOutcome.UNSUPPORTED, Reason.TOO_LONG)
    assert server.calls == []


def test_embeddings_come_in_the_order_of_their_texts() -> None:
    """One request for all of them, journaled and paid for like any other."""

    async def embed(endpoint: Endpoint) -> list[list[float]]:
        return await Asking(endpoint, "m", "t1").embed(["one", "two"])

    with JudgeServer() as server:
        journal = MemoryJournal()
        first = Asked(server, journal=journal, embeddings_model="e").run(embed)
        again = Asked(server, journal=journal, embeddings_model="e").run(embed)

    assert first == again
    assert len(first) == 2
    assert first[0] != first[1]
    assert [(call.path, call.body["input"]) for call in server.calls] == [("/v1/embeddings", ["one", "two"])]


def test_no_more_calls_are_in_flight_than_allowed() -> None:
    """Eight samples at once, two in flight: none is refused, all are scored."""

    async def many(endpoint: Endpoint) -> int:
        endpoint.in_flight = asyncio.Semaphore(2)
        most = 0
        post = endpoint.sender.post

        async def counted(path: str, body: bytes, key: str) -> Any:
            nonlocal most
            running.append(key)
            most = max(most, len(running))
            exchange = await post(path, body, key)
            running.remove(key)
            return exchange

        running: list[str] = []
        endpoint.sender.post = counted  # type: ignore[method-assign]
        await asyncio.gather(*(rating_of(endpoint, f"t{n}") for n in range(8)))
        return most

    with JudgeServer() as server:
        assert Asked(server).run(many) == 2
        assert len(server.calls) == 8
