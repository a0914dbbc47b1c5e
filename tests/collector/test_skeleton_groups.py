"""Skeletons by trace: what was read and what was not are the same to whoever asks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.collector.decode import DecodeLimits, decode_protobuf
from lanewatch.collector.relevance import Relevance
from lanewatch.collector.skeleton_groups import Skeletons, read_skeleton
from lanewatch.collector.spans import Signal

from tests.collector.gathering import skeleton, skeletons_of, unread
from tests.collector.plain_decoder import pair, span, traces


@pytest.mark.parametrize("parent", [0, 7])
def test_a_skeleton_is_read_from_the_first_bytes_of_its_span(parent: int) -> None:
    """A root's and a child's, and one that is read already stays what it is."""
    one = skeleton(1, 2, parent)

    assert read_skeleton(unread(one)) == one
    assert read_skeleton(one) is one


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 9)), max_size=30), st.integers(1, 12))
def test_parts_are_the_same_skeletons_in_the_same_order(ids: list[tuple[int, int]], size: int) -> None:
    """None of more than the size, all but the last one of just that."""
    whole = skeletons_of(skeleton(trace, number) for trace, number in ids)
    parts = list(whole.parts(size))

    assert [one for part in parts for one in part] == list(whole)
    assert [len(part) for part in parts[:-1]] == [size] * (len(parts) - 1)
    assert sum(map(len, parts)) == len(whole) == len(ids)


def test_skeletons_are_equal_whether_they_were_read_or_not() -> None:
    """And unequal where one of them differs."""
    ones = [skeleton(1, 2), skeleton(2, 3, 1)]

    assert Skeletons(ones) == skeletons_of(ones)
    assert Skeletons(ones) != skeletons_of(ones[:1])


def test_what_waits_of_a_span_does_not_grow_with_its_attributes() -> None:
    """A hundred thousand of them may wait."""
    body = traces(span(attributes=[pair("k", "v" * 10_000)], name="n" * 127))
    decoded = decode_protobuf(body, Signal.TRACES, Relevance(), DecodeLimits())

    (group,) = decoded.skeletons.groups.values()
    assert [len(one) for one in group if isinstance(one, bytes)] == [50 + 127]
