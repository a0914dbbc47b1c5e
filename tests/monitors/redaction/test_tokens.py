"""Tokens of hidden values."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.adapters.identity import same
from lanewatch.monitors.redaction.tokens import (
    MARK,
    TOKEN,
    UnusableKeyError,
    canonical_text,
    is_hidden,
    key_of,
    same_hidden,
    token,
)

KEY = key_of(b"0123456789abcdef-one")
OTHER = key_of(b"0123456789abcdef-two")
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(JSON, JSON)
def test_tokens_are_equal_where_the_values_are(a: Any, b: Any) -> None:
    """The canonical text types values as the identity rules do."""
    assert (token(a, KEY) == token(b, KEY)) == same(a, b)


@pytest.mark.parametrize(
    ("a", "b"), [(1, 1.0), (10**300, 1e300), (0, -0.0), (0.1, 0.10), ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
)
def test_one_value_in_two_spellings_has_one_token(a: Any, b: Any) -> None:
    """Key order and the spelling of numbers are no part of a value."""
    assert token(a, KEY) == token(b, KEY)


@pytest.mark.parametrize(
    ("a", "b"), [(1, True), (1, "1"), (None, "null"), ([], {}), (2**53, 2**53 + 1), ("é", "e\u0301")]
)
def test_unlike_values_have_unlike_tokens(a: Any, b: Any) -> None:
    """Types are part of a value."""
    assert token(a, KEY) != token(b, KEY)


def test_numbers_beyond_the_limit_of_text_have_a_text() -> None:
    """Python writes no integer of more than 4,300 digits as decimal text by itself."""
    assert len(canonical_text(10**5000)) == 5001


def test_a_token_is_read_by_its_key_alone() -> None:
    """Another key's tokens of one value are others, and the key's id is in the token."""
    found = TOKEN.fullmatch(token("x", KEY))

    assert found is not None
    assert found[1] == KEY.id != OTHER.id
    assert token("x", KEY) != token("x", OTHER)


def test_tokens_compare_under_one_key() -> None:
    """Both sides hidden, or one side plain and the key at hand."""
    assert same_hidden(token("x", KEY), token("x", KEY), None) is True
    assert same_hidden(token("x", KEY), token("y", KEY), None) is False
    assert same_hidden("x", token("x", KEY), KEY) is True
    assert same_hidden(token({"a": 1}, KEY), {"a": 1.0}, KEY) is True
    assert same_hidden(token("x", KEY), 5, KEY) is False


@pytest.mark.parametrize(
    ("a", "b", "key"),
    [
        (token("x", KEY), token("x", OTHER), KEY),
        (token("x", KEY), "x", None),
        (token("x", KEY), "x", OTHER),
        (MARK, MARK, KEY),
        (MARK, token("x", KEY), KEY),
        (f"card {token('x', KEY)}", "card x", KEY),
    ],
)
def test_what_another_key_hid_can_not_be_told(a: Any, b: Any, key: Any) -> None:
    """No key, another key, or a mark: neither the same nor different."""
    assert same_hidden(a, b, key) is None
    assert same_hidden(b, a, key) is None


def test_a_short_key_is_refused_without_being_told() -> None:
    """The error names the length and the remedy, never the secret."""
    with pytest.raises(UnusableKeyError, match=r"8 bytes; at least 16 are needed: openssl rand -hex 32"):
        key_of(b" s3cr3t!!\n")


def test_a_key_does_not_show_its_secret() -> None:
    """Neither in a traceback nor in a log of its holder."""
    assert "0123456789" not in f"{KEY!r}{KEY}"


def test_tokens_and_texts_that_hold_them_are_hidden() -> None:
    """Plain text that looks alike is not."""
    assert is_hidden(token("x", KEY))
    assert is_hidden(f"to {token('x', KEY)}.")
    assert is_hidden(MARK)
    assert not is_hidden("<redacted:12:34>")
    assert not is_hidden(5)
