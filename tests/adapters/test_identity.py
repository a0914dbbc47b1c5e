"""When two names, ids and arguments are the same."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.adapters import identity
from lanewatch.adapters.identity import canonical, fold, id_quality, name_keys, same, same_name
from lanewatch.adapters.records import IdQuality

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=3)),
    max_leaves=8,
)


def test_the_examples_hold() -> None:
    """The docstrings' examples are part of the interface."""
    assert doctest.testmod(identity).failed == 0


@pytest.mark.parametrize(
    ("a", "b"),
    [({"a": 1, "b": 2}, {"b": 2.0, "a": 1}), (0, -0.0), (1e3, 1000), (float("nan"), float("nan")), ((1, 2), [1, 2])],
)
def test_equal_values(a: object, b: object) -> None:
    """Key order and the way a number is written mean nothing; a value equals itself."""
    assert same(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, True), (0, False), ("1", 1), (None, "null"), (None, {}), ([], {}), ("", None), ([1, 2], [2, 1]),
        (2**53 + 1, 2**53), (2**53 + 1, float(2**53)), ({"a": None}, {}), ("é", "e"), (0.1 + 0.2, 0.3),
    ],
)  # fmt: skip
def test_unequal_values(a: object, b: object) -> None:
    """Bool, null, text and number are distinct, and integers compare exactly at any size."""
    assert not same(a, b)


@given(json_values)
def test_a_value_is_itself_and_its_form_can_be_hashed(value: object) -> None:
    """Pairing looks requests up by the canonical form of their arguments."""
    assert same(value, value)
    assert hash(canonical(value)) == hash(canonical(value))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("cancel_sub", "Cancel Sub"), ("Delegate work to coworker", "delegate_work_to_coworker"), ("mcp__mail__send", "send"),
        ("support-refund", "refund"), ("mail.send", "send"), ("天気", "天気"),
    ],
)  # fmt: skip
def test_same_names(a: str, b: str) -> None:
    """Frameworks sanitise names and put a plugin's or server's before them."""
    assert same_name(a, b)
    assert same_name(b, a)
    assert set(name_keys(a)) & set(name_keys(b))


@pytest.mark.parametrize(
    ("a", "b"), [("refund", "fund"), ("cancel_sub", "cancel_subscription"), ("天気", "時刻"), ("a.b", "a.c")]
)
def test_other_names(a: str, b: str) -> None:
    """The end of a word is no prefix taken off, and names in other scripts are not all one."""
    assert not same_name(a, b)


def test_a_name_of_punctuation_alone_keeps_itself() -> None:
    """Folding must never make two names equal by leaving nothing of either."""
    assert (fold("__"), same_name("__", "--")) == ("__", False)


@pytest.mark.parametrize(
    ("call_id", "quality"),
    [
        (None, IdQuality.MISSING), ("", IdQuality.PLACEHOLDER), ("unknown", IdQuality.PLACEHOLDER), ("N/A", IdQuality.PLACEHOLDER),
        ("a,b", IdQuality.PLACEHOLDER), ("<not specified>", IdQuality.PLACEHOLDER), ("fc_1", IdQuality.ITEM),
        ("ctc_1", IdQuality.ITEM), ("look_0", IdQuality.SYNTHETIC), ("look_a", IdQuality.REAL), ("call_0", IdQuality.REAL),
    ],
)  # fmt: skip
def test_quality_of_ids(call_id: str | None, quality: IdQuality) -> None:
    """Only a real id may join a run to a request by itself."""
    assert id_quality(call_id, "look") is quality


def test_a_letter_is_the_same_however_its_accent_is_composed() -> None:
    """Apple's file systems and some tokenisers pass texts on in decomposed form (NFD); in values, keys and names."""
    one, other = "caf\u00e9", "cafe\u0301"

    assert same({one: [one]}, {other: [other]})
    assert canonical(one) == canonical(other)
    assert same_name(f"order_{one}", f"order_{other}")
    assert not same(one, "cafe")
