"""The pace: what a judge was seen to do bounds what is drawn for it, and nothing bounds a judge that keeps up."""

from math import inf

import pytest
from lanewatch.monitors.judge.pace import LEAST, WAIT_MINUTES, Pace


class Judge:
    """A queue, and a judge that does so many a minute."""

    def __init__(self, speed: float) -> None:
        self.speed, self.now, self.waiting, self.ended, self.done = speed, 0.0, 0, 0, 0.0
        self.pace = Pace(lambda: {"faithfulness": (self.waiting, self.ended)}, lambda: self.now)

    def minute(self, asked: float) -> float:
        """So many are wanted; as many come as may. Returns what may come in the next minute."""
        self.now += 60.0
        self.waiting += round(asked)
        self.done += self.speed
        ended = min(self.waiting, int(self.done))
        self.done = self.done - ended if self.waiting > ended else 0.0
        self.waiting, self.ended = self.waiting - ended, self.ended + ended
        return self.pace()


def test_a_judge_that_keeps_up_is_not_held_back() -> None:
    """However little it was given: what it could do is not known."""
    judge = Judge(100)

    assert {judge.minute(asked) for asked in (0, 3, 60, 1, 90)} == {inf}


@pytest.mark.parametrize("speed", [0.5, 1.6, 14, 40])
def test_what_waits_settles_at_five_minutes_of_work(speed: float) -> None:
    """From 20 of a first minute on, where 60 a minute are wanted."""
    judge = Judge(speed)
    allowed = 20.0
    asked = 0.0
    for _ in range(180):
        asked += max(0.0, min(60.0, allowed))
        allowed = judge.minute(int(asked))
        asked -= int(asked)

    assert judge.waiting / speed == pytest.approx(WAIT_MINUTES, abs=2)
    assert judge.ended == pytest.approx(180 * speed, rel=0.15)


def test_a_judge_that_stands_still_is_given_next_to_nothing_and_never_nothing() -> None:
    """What is never drawn is in no mean; an hour of it is an hour's queue and not a day's."""
    judge = Judge(0)
    allowed = 20.0
    for _ in range(60):
        allowed = judge.minute(min(60.0, allowed))

    assert allowed == LEAST
    assert judge.waiting < 50


def test_a_judge_that_works_again_is_given_all_again() -> None:
    """Once it has caught up."""
    judge = Judge(0)
    for _ in range(5):
        judge.minute(30)
    judge.speed = 150
    judge.minute(60)
    judge.minute(60)
    judge.minute(60)

    assert judge.waiting == 0
    assert judge.pace() == inf


def test_a_pause_is_no_fall_of_speed() -> None:
    """Two are looked at after half an hour in which nothing came, or waited."""
    judge = Judge(100)
    judge.minute(60)
    judge.now += 1800

    assert judge.minute(60) == inf
