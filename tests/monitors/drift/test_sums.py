"""Replicas' counts become one: in any order, any split, and each message once."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.drift.sums import FIXED_POINT, Merged, Pool, SeriesSums, Size, TickSums, add_counts, fixed

KEY = ("shop", "tool")
SIZES = {KEY: Size(3, 3), ("shop", "refusal"): Size(2, 2)}
OBSERVATIONS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]), st.integers(5, 8), st.sampled_from([1.0, 2.5, 10.0]), st.integers(0, 2)
    ),
    max_size=60,
)


def message(replica: str, tick: int, counts: dict[float, list[int]], layout: str = "L") -> TickSums:
    """A replica's tick with one series."""
    return TickSums(replica, tick, layout, [SeriesSums(*KEY, list(counts.items()))])


def messages(observations: list[tuple[str, int, float, int]]) -> list[TickSums]:
    """What each replica would send of its share of the observations."""
    by: dict[tuple[str, int], dict[float, list[int]]] = {}
    for replica, tick, weight, bin_ in observations:
        row = by.setdefault((replica, tick), {}).setdefault(weight, [0, 0, 0])
        row[bin_] += 1
    return [message(replica, tick, counts) for (replica, tick), counts in by.items()]


def pooled(given_: list[TickSums], through: int = 10) -> dict[int, dict[float, list[int]]]:
    """Pooled counts of the series by tick."""
    pool = Pool("L", SIZES)
    for one in given_:
        pool.add(one)
    return {tick: counts[KEY][0] for tick, counts in pool.close(through)}


@given(OBSERVATIONS, st.randoms(use_true_random=False), st.lists(st.integers(0, 100), max_size=20))
def test_order_partition_and_repetition_make_no_difference(
    observations: list[tuple[str, int, float, int]], rng: object, again: list[int]
) -> None:
    """The pooled tick is what one replica would have counted, exactly."""
    sent = messages(observations)
    shuffled = [*sent, *(sent[k % len(sent)] for k in again if sent)]
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    alone = messages([("only", tick, weight, bin_) for _, tick, weight, bin_ in observations])

    assert pooled(shuffled) == pooled(sent) == pooled(alone)


@given(st.lists(st.floats(-1e4, 1e4), max_size=50), st.randoms(use_true_random=False))
def test_sums_of_real_numbers_do_not_depend_on_their_order(values: list[float], rng: object) -> None:
    """In fixed point, to the last digit; within its step of the true sum."""
    shuffled = list(values)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]

    assert int(fixed(np.array(values)).sum()) == int(fixed(np.array(shuffled)).sum())
    assert int(fixed(np.array(values)).sum()) / FIXED_POINT == pytest.approx(sum(values), abs=1e-4)


def test_a_tick_given_twice_counts_once() -> None:
    """By (replica, tick), before and after it was closed, and after a restart."""
    pool = Pool("L", SIZES)
    one = message("a", 5, {1.0: [1, 2, 3]})

    assert pool.add(one) is Merged.ADDED
    assert pool.add(one) is Merged.DUPLICATE
    assert [counts[KEY][0] for _, counts in pool.close(5)] == [{1.0: [1, 2, 3]}]
    assert pool.add(one) is Merged.DUPLICATE
    restored = Pool("L", SIZES)
    restored.restore(msgspec.json.decode(msgspec.json.encode(pool.state()), type=type(pool.state())))
    assert restored.add(one) is Merged.DUPLICATE
    assert list(restored.close(9)) == []


def test_a_late_replica_counts_in_the_open_tick() -> None:
    """Its counts are not lost, and are told."""
    pool = Pool("L", SIZES)
    list(pool.close(7))

    assert pool.add(message("slow", 6, {1.0: [1, 0, 0]})) is Merged.LATE
    assert [(tick, counts[KEY][0]) for tick, counts in pool.close(8)] == [(8, {1.0: [1, 0, 0]})]
    assert pool.add(message("slow", 8 - 400, {1.0: [1, 0, 0]})) is Merged.TOO_OLD


@pytest.mark.parametrize(
    ("counts", "outcome"),
    [
        ({1.0: [1, 2]}, Merged.MALFORMED),
        ({1.0: [1, -2, 3]}, Merged.MALFORMED),
        ({float("nan"): [1, 2, 3]}, Merged.MALFORMED),
        ({float("inf"): [1, 2, 3]}, Merged.MALFORMED),
        ({0.0: [1, 2, 3]}, Merged.MALFORMED),
        ({1.0: [1, 2, 3]}, Merged.ADDED),
    ],
)
def test_what_is_no_count_is_refused_whole(counts: dict[float, list[int]], outcome: Merged) -> None:
    """Another length, a weight that is none: nothing of the message is taken."""
    pool = Pool("L", SIZES)

    assert pool.add(message("a", 1, counts)) is outcome
    assert (list(pool.close(2)) == []) is (outcome is Merged.MALFORMED)


def test_counts_of_another_layout_never_meet() -> None:
    """Bins of another reference mean something else."""
    assert Pool("L", SIZES).add(message("a", 1, {1.0: [1, 1, 1]}, layout="M")) is Merged.OTHER_LAYOUT


def test_a_state_keeps_what_is_not_closed() -> None:
    """Killed between two ticks, nothing is lost or counted twice."""
    pool = Pool("L", SIZES)
    pool.add(message("a", 1, {1.0: [1, 0, 0]}))
    list(pool.close(1))
    pool.add(message("a", 2, {1.0: [0, 1, 0]}))
    pool.add(message("b", 2, {2.5: [0, 0, 1]}))
    restored = Pool("L", SIZES)
    restored.restore(pool.state())

    assert list(restored.close(3)) == list(pool.close(3))


def test_slots_of_replicas_that_are_gone_are_given_to_the_next() -> None:
    """So that the mean over slots does not shrink with every restart."""
    pool = Pool("L", SIZES)
    pool.add(message("a", 1, {1.0: [1, 0, 0]}))
    pool.add(message("b", 1, {1.0: [1, 0, 0]}))
    pool.add(message("b", 100, {1.0: [1, 0, 0]}))
    list(pool.close(100))

    assert pool.gone() == [0]
    pool.add(message("c", 101, {1.0: [1, 0, 0]}))
    assert pool.slots == ["c", "b"]


def test_adding_leaves_what_is_added_alone() -> None:
    """A message may be added to two pools."""
    counts = {1.0: [1, 2]}
    total: dict[float, list[int]] = {}
    add_counts(total, counts)
    add_counts(total, counts)

    assert total == {1.0: [2, 4]}
    assert counts == {1.0: [1, 2]}
