"""Calls whose values are hidden: compared by tokens, or not at all."""

from typing import Any

import pytest
from lanewatch.monitors.divergence import find_divergences
from lanewatch.monitors.lanes import Lane, Status, judge_lanes
from lanewatch.monitors.redaction.comparing import uncomparable
from lanewatch.monitors.redaction.tokens import MARK, Key, key_of, token
from lanewatch.monitors.tools import Registry

from tests.monitors.records import dispatch, record, request

KEY = key_of(b"0123456789abcdef-one")
OTHER = key_of(b"0123456789abcdef-two")


def judged(asked: Any, ran: Any, key: Key | None) -> tuple[list[str | None], Status]:
    """(paths that differ, status of the tools lane) of a call whose argument `card` is asked and run with these."""
    seen = record(
        requests=(request("pay", {"card": asked, "amount": 5}),),
        dispatches=(dispatch("pay", {"card": ran, "amount": 5}),),
    )
    found = find_divergences(seen, Registry(key=key))
    return [one.path for one in found], judge_lanes(seen, found, hidden=uncomparable(seen, key))[Lane.TOOLS].status


@pytest.mark.parametrize(
    ("asked", "ran", "key"),
    [(token("x", KEY), token("x", KEY), None), ("x", token("x", KEY), KEY), (token({"n": 1}, KEY), {"n": 1.0}, KEY)],
)
def test_equal_tokens_are_equal_values(asked: Any, ran: Any, key: Key | None) -> None:
    """Two tokens need no key; a plain value needs the one of the token."""
    assert judged(asked, ran, key) == ([], Status.PASS)


@pytest.mark.parametrize(
    ("asked", "ran", "key"),
    [(token("x", KEY), token("y", KEY), None), ("y", token("x", KEY), KEY), (token("x", KEY), 7, KEY)],
)
def test_unlike_tokens_are_a_divergence(asked: Any, ran: Any, key: Key | None) -> None:
    """Hiding does not hide that another card was charged."""
    assert judged(asked, ran, key) == (["$.card"], Status.FAIL)


@pytest.mark.parametrize(
    ("asked", "ran", "key"),
    [
        (token("x", KEY), token("x", OTHER), KEY),
        ("x", token("x", KEY), None),
        ("x", token("x", KEY), OTHER),
        (MARK, MARK, KEY),
        ("x", MARK, KEY),
        ("[REDACTED]", "[REDACTED]", KEY),
        ("x", "__REDACTED__", KEY),
    ],
)
def test_what_can_not_be_compared_is_unsupported(asked: Any, ran: Any, key: Key | None) -> None:
    """Neither a pass because the names match, nor an alarm because the marks differ."""
    assert judged(asked, ran, key) == ([], Status.UNSUPPORTED)
    assert judged([asked], [ran], key) == ([], Status.UNSUPPORTED)


def test_an_argument_that_one_side_lacks_differs_however_it_is_hidden() -> None:
    """That it is there at all is seen."""
    seen = record(requests=(request("pay", {"card": MARK}),), dispatches=(dispatch("pay", {"amount": 5}),))

    assert [one.path for one in find_divergences(seen)] == ["$.card"]


def test_another_difference_fails_the_lane_beside_a_hidden_value() -> None:
    """What is proved counts, whatever else is hidden."""
    seen = record(
        requests=(request("pay", {"card": MARK, "amount": 5}),),
        dispatches=(dispatch("pay", {"card": MARK, "amount": 6}),),
    )
    found = find_divergences(seen)

    assert [one.path for one in found] == ["$.amount"]
    assert judge_lanes(seen, found, hidden=uncomparable(seen, None))[Lane.TOOLS].status is Status.FAIL
