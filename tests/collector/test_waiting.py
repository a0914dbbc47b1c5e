"""Waiting skeletons: two generations, bounded, joined by trace id."""

from lanewatch.collector.skeleton_groups import Skeleton, Unread
from lanewatch.collector.waiting import WaitingSkeletons

from tests.collector.gathering import skeleton, skeletons_of, tid


def groups(*skeletons: Skeleton) -> dict[bytes, list[Unread]]:
    """These by trace id."""
    return skeletons_of(skeletons).groups


def test_what_waits_is_taken_once_in_order_of_arrival() -> None:
    """Both generations are handed out together, and then gone."""
    waiting = WaitingSkeletons(100, 60.0)
    waiting.rotate(0.0)
    waiting.extend(groups(skeleton(1, 1), skeleton(2, 2)))
    waiting.rotate(60.0)
    waiting.extend(groups(skeleton(1, 3)))

    assert waiting.take(tid(1)) == [skeleton(1, 1), skeleton(1, 3)]
    assert waiting.take(tid(1)) == []
    assert len(waiting) == 1


def test_a_skeleton_waits_one_period_at_the_least_and_two_at_the_most() -> None:
    """It survives the first rotation and not the second."""
    waiting = WaitingSkeletons(100, 60.0)
    waiting.rotate(0.0)
    waiting.extend(groups(skeleton(1, 1)))

    waiting.rotate(60.0)
    assert len(waiting) == 1

    waiting.rotate(119.9)
    assert len(waiting) == 1

    waiting.rotate(120.0)
    assert len(waiting) == 0


def test_after_a_long_silence_nothing_waits() -> None:
    """Two periods without a call forget both generations at once."""
    waiting = WaitingSkeletons(100, 60.0)
    waiting.rotate(0.0)
    waiting.extend(groups(skeleton(1, 1)))

    waiting.rotate(120.0)

    assert waiting.take(tid(1)) == []


def test_beyond_the_limit_the_older_generation_goes_and_is_told() -> None:
    """Memory stays bounded by the limit and one request, and the loss has a number."""
    waiting = WaitingSkeletons(10, 60.0)

    forgotten = [waiting.extend(groups(skeleton(n, 1), skeleton(n, 2), skeleton(n, 3))) for n in range(8)]

    assert sum(forgotten) + len(waiting) == 24
    assert len(waiting) <= 12
    assert waiting.take(tid(7)) != []
    assert waiting.take(tid(0)) == []
