"""A failing endpoint is left alone, for a stated reason, and found again by one call at a time."""

import pytest
from lanewatch.monitors.judge.breaker import CAUSES, REMEDIES, Breaker, Cause
from lanewatch.monitors.judge.endpoint import log_opened
from lanewatch.monitors.judge.failures import JudgeFailure
from lanewatch.monitors.judge.results import Reason

from tests.judge_server.server import JudgeServer
from tests.monitors.judge.asked import KEY, Asked


class Clock:
    """Seconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


def test_a_refused_key_opens_at_once() -> None:
    """Every further call would be refused too, and some providers lock a key that is tried too often."""
    breaker = Breaker(Clock())
    breaker.failed(Cause.AUTH)

    assert breaker.cause is Cause.AUTH
    assert breaker.wait() == 300.0


@pytest.mark.parametrize(
    "cause", [Cause.TIMEOUT, Cause.UNREACHABLE, Cause.SERVER_ERROR, Cause.BAD_REQUEST, Cause.INVALID]
)
def test_other_failures_open_after_some_in_a_row(cause: Cause) -> None:
    """One bad answer says nothing of the next."""
    breaker = Breaker(Clock(), failures=3)
    for _ in range(2):
        breaker.failed(cause)
    closed = breaker.wait()
    breaker.failed(cause)

    assert closed == 0.0
    assert breaker.wait() == 30.0


def test_a_success_starts_the_count_anew() -> None:
    """Failures in a row, not in all."""
    breaker = Breaker(Clock(), failures=2)
    for _ in range(10):
        breaker.failed(Cause.TIMEOUT)
        breaker.succeeded()

    assert breaker.cause is None


@pytest.mark.parametrize("cause", [Cause.RATE_LIMITED, Cause.AUTH])
def test_what_was_under_way_does_not_end_a_pause(cause: Cause) -> None:
    """Calls that went out before are answered after it began: else no Retry-After is honoured while several are in flight."""
    clock = Clock()
    breaker = Breaker(clock)
    under_way = breaker.entered()
    breaker.failed(cause, 60.0)
    pause = breaker.wait()
    breaker.succeeded(probe=under_way)

    assert breaker.wait() == pause >= 60.0
    clock.now += pause
    breaker.succeeded(probe=breaker.entered())
    assert breaker.cause is None


def test_failures_of_different_kinds_count_together() -> None:
    """An endpoint that times out and breaks off in turns works as little as one that only times out."""
    breaker = Breaker(Clock(), failures=3)
    for cause in (Cause.TIMEOUT, Cause.UNREACHABLE, Cause.TIMEOUT):
        breaker.failed(cause)

    assert breaker.cause is Cause.TIMEOUT


def test_one_probe_goes_out_after_the_pause() -> None:
    """Not four at once; what becomes of it decides, and whoever waits for that looks each second: not a whole pause longer."""
    clock = Clock()
    breaker = Breaker(clock, failures=1)
    breaker.failed(Cause.UNREACHABLE)
    clock.now = 30.0
    first = breaker.wait()
    probe = breaker.entered()
    second = breaker.wait()
    breaker.succeeded()

    assert (first, probe, second, breaker.wait()) == (0.0, True, 1.0, 0.0)


def test_a_failed_probe_doubles_the_pause_up_to_a_limit() -> None:
    """An endpoint that is gone for a day is asked some hundred times, not thousands of times."""
    clock = Clock()
    pauses: list[float] = []
    breaker = Breaker(clock, failures=1, longest_pause=100.0, opened=lambda _, seconds: pauses.append(seconds))
    breaker.failed(Cause.UNREACHABLE)
    for _ in range(3):
        clock.now += breaker.wait()
        breaker.failed(Cause.UNREACHABLE, probe=breaker.entered())

    assert pauses == [30.0, 60.0, 100.0, 100.0]


def test_a_probe_that_was_cancelled_lets_another_go() -> None:
    """Otherwise a stopped job would keep the breaker open for good."""
    clock = Clock()
    breaker = Breaker(clock, failures=1)
    breaker.failed(Cause.TIMEOUT)
    clock.now = 30.0
    breaker.left(probe=breaker.entered())

    assert breaker.wait() == 0.0


def test_failures_of_calls_under_way_do_not_prolong_a_pause() -> None:
    """Four in flight, and all fail: one pause."""
    opened: list[Cause] = []
    breaker = Breaker(Clock(), opened=lambda cause, _: opened.append(cause))
    for _ in range(4):
        breaker.failed(Cause.AUTH)

    assert opened == [Cause.AUTH]


def test_a_rate_limit_pauses_as_long_as_it_asks_and_lets_all_go_after() -> None:
    """Nothing is broken: there is nothing to probe."""
    clock = Clock()
    breaker = Breaker(clock)
    breaker.failed(Cause.RATE_LIMITED, 7.0)
    before = breaker.wait()
    clock.now = 7.0
    breaker.entered()

    assert (before, breaker.wait()) == (7.0, 0.0)


def test_every_cause_has_a_remedy() -> None:
    """What is opened says what helps."""
    assert set(REMEDIES) == set(Cause) == set(CAUSES.values())


def test_an_open_breaker_asks_nothing_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    """The next samples end as circuit_open without a request; the log has the remedy and not the key."""
    with JudgeServer("401") as server:
        asked = Asked(server)
        asked.breaker._opened = log_opened
        reasons = []
        for _ in range(3):
            with pytest.raises(JudgeFailure) as raised:
                asked.rating()
            reasons.append(raised.value.reason)

    assert reasons == [Reason.AUTH, Reason.CIRCUIT_OPEN, Reason.CIRCUIT_OPEN]
    assert len(server.calls) == 1
    (record,) = caplog.records
    assert "api_key_file" in record.getMessage()
    assert KEY not in caplog.text


def test_an_invalid_answer_counts_once_however_often_it_was_asked_for() -> None:
    """A sample that brings the judge out of form would open the breaker with its own retries."""
    with JudgeServer("prose_only") as server:
        asked = Asked(server)
        for _ in range(4):
            with pytest.raises(JudgeFailure):
                asked.rating()
        before = asked.breaker.cause
        with pytest.raises(JudgeFailure):
            asked.rating()

    assert before is None
    assert asked.breaker.cause is Cause.INVALID
    assert len(server.calls) == 15


def test_it_works_again_by_itself() -> None:
    """After the pause one sample is the probe, and the rest follow."""
    with JudgeServer("disconnect") as server:
        asked = Asked(server)
        for _ in range(2):
            with pytest.raises(JudgeFailure):
                asked.rating()
        opened = asked.breaker.cause
        server.mode = "ok"
        asked.time.now += 30.0
        ratings = [asked.rating()[0] for _ in range(2)]

    assert opened is Cause.UNREACHABLE
    assert ratings == [2, 2]
    assert asked.breaker.cause is None
