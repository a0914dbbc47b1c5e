"""Sizes and digests of decoded content."""

from typing import Any

import pytest
from lanewatch.collector.content import digest, value_bytes

ODD: list[Any] = [2**70, -(2**70), 10**5000, "\ud800", "\ud801x"]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_a_digest_does_not_depend_on_the_order_of_keys_whatever_is_beside_them(odd: Any) -> None:
    """Integers beyond 64 bits and halves of surrogate pairs are in no form of MessagePack."""
    one = {"a": odd, "b": {"x": 1, "ü": [True, None, 1.5]}}
    other = {"b": {"ü": [True, None, 1.5], "x": 1}, "a": odd}

    assert digest(one) == digest(other)
    assert digest((b"id", one)) == digest((b"id", other))


def test_digests_of_odd_values_differ_as_the_values_do() -> None:
    """Of type, of place and of key."""
    values: list[Any] = [
        *ODD,
        *([one] for one in ODD),
        *({"a": one} for one in ODD),
        [["a", 2**70]],
        {"a": [2**70]},
        {"\ud800": 1},
        {"\ud800": 1.0},
        {"\ud800": True},
        hex(2**70),
        [2**70, 1],
        [1, 2**70],
    ]

    assert len({digest(value) for value in values}) == len(values)


def test_the_size_of_what_is_nested_deeply_is_told() -> None:
    """JSON is read to a depth that a function calling itself could not follow."""
    value: list[Any] = []
    for _ in range(5_000):
        value = [value]

    assert value_bytes(value) > 5_000 * 56
