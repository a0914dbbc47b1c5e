"""What is found as a secret in text, and what is not."""

import re
from bisect import bisect
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanewatch.monitors.redaction import secrets
from lanewatch.monitors.redaction.secrets import RULES, SHORTEST_WORD, find_secrets, names_a_secret

# Assembled, so that no scanner takes this file for a leak.
BODY = "4eC39HqLyjWDarjtT1zdp7dc0a9b8c7d6e5f4g3h2"
FOUND = [
    ("private_key", f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{BODY}\n-----END RSA PRIVATE KEY-----"),
    ("jwt", f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{BODY}"),
    ("model_key", f"sk-proj-{BODY}"),
    ("model_key", f"sk-ant-api03-{BODY}"),
    ("aws_key", "AKIA" + "IOSFODNN7EXAMPLE"),
    ("github_token", f"ghp_{BODY}"),
    ("gitlab_token", f"glpat-{BODY}"),
    ("slack_token", f"xoxb-{BODY}"),
    ("google_key", "AIza" + BODY[:35]),
    ("stripe_key", f"sk_live_{BODY}"),
    ("registry_token", f"hf_{BODY}"),
    ("sendgrid_key", f"SG.{BODY[:22]}.{BODY}"),
    ("card", "4111 1111 1111 1111"),
    ("card", "5500-0000-0000-0004"),
    ("card", "378282246310005"),
    ("iban", "DE89 3704 0044 0532 0130 00"),
    ("iban", "GB82WEST12345698765432"),
    ("email", "jane.doe+x@mail.example.co.uk"),
    ("email", "jörg@bücher.example"),
    ("email", "o'brien@example.com"),
    ("email", "jane%40example.com"),
    ("email", "jane@xn--e1afmkfd.xn--p1ai"),
    ("email", '"jane doe"@example.com'),
    ("card", "4111\u00a01111\u00a01111\u00a01111"),
    ("card", "4111.1111.1111.1111"),
    ("card", "4111%201111%201111%201111"),
]


def finds(text: str) -> list[tuple[str, str]]:
    """(rule, secret) of each find."""
    return [(rule, text[start:end]) for start, end, rule in find_secrets(text)]


@pytest.mark.parametrize(("rule", "secret"), FOUND)
@pytest.mark.parametrize("around", ["{}", "It is {}, thanks", "[{}]", "a={}\nb"])
def test_a_secret_is_found_whole_in_any_sentence(rule: str, secret: str, around: str) -> None:
    """Each rule takes the whole secret and nothing beside it."""
    assert (rule, secret) in finds(around.format(secret))


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("password: hunter2", "hunter2"),
        ("PASSWORD=correct-horse", "correct-horse"),
        ('{"api_key": "ab cd"}', "ab cd"),
        ('{\\"client_secret\\": \\"abcd\\"}', "abcd"),
        ("my password is hunter2", "hunter2"),
        ('{"password": "a\\"b it\'s"}', "a\\\"b it's"),
        ('{\\"password\\": \\"a\\\\\\"b\\"}', 'a\\\\\\"b'),
        ("q=api_key%3Dabcd%2Fefgh&x=1", "abcd%2Fefgh"),
        ("%7B%22password%22%3A%22hunter22%22%7D", "hunter22"),
        ("Passwort: geheim123", "geheim123"),
        ("password: AKIA" + "IOSFODNN7EXAMPLE-and-more", "AKIA" + "IOSFODNN7EXAMPLE-and-more"),
        ("Authorization: Bearer abc.def-1234567890", "abc.def-1234567890"),
        ("postgres://app:pa55@db:5432/x", "pa55"),
        ("AccountKey=abcdefghijklmnopqrstuvwx==;Endpoint", "abcdefghijklmnopqrstuvwx=="),
    ],
)
def test_what_is_assigned_to_a_secrets_name_is_a_secret(text: str, secret: str) -> None:
    """The name stays readable, the value does not."""
    assert [found for _, found in finds(text)] == [secret]


@pytest.mark.parametrize(
    "text",
    [
        "order 4111111111111112",  # fails Luhn
        "0000 0000 0000 0000",
        "1.4111111111111111",
        "2026-11-30T12:00:00.000000Z",
        "the token limit is 500",
        "author: Smith",
        "A password is required",
        "password: null",
        "tokens: 12345",
        "trace 0af7651916cd43dd8448eb211c80319c",
        "DE88 3704 0044 0532 0130 00",
        "a@b",
        "@app.route",
        "risk-averse-but-very-long-hyphenated-words",
        "task-force-with-a-number-of-long-words",
        "https://example.com/a:b",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    """A record whose order numbers are hidden helps nobody."""
    assert finds(text) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
@pytest.mark.parametrize("piece", ["", "a.", "1 ", "4-", "eyJ.", "a@", "password=\\", "-----BEGIN PRIVATE KEY-----"])
def test_each_rule_gets_through_texts_made_to_hold_it_up(rule: Any, piece: str) -> None:
    """40,000 characters that start a find at each place and finish none; a pattern that goes back and forth never ends."""
    text = ((piece or (rule.signs[0] if rule.signs else "password bearer DE89")) * 20_000)[:40_000]

    assert sum(len(found[0]) for found in rule.pattern.finditer(text)) <= len(text)


@pytest.mark.parametrize("row", range(len(RULES)), ids=lambda row: f"{row}-{RULES[row].id}")
@settings(max_examples=30)
@given(data=st.data())
def test_whatever_a_rule_finds_has_its_signs(row: int, data: st.DataObject) -> None:
    """A text without them is not searched: what is left out must be nothing."""
    rule = RULES[row]
    short = re.sub(
        r"\{(\d+),(\d+)\}", lambda of: f"{{{of[1]},{min(int(of[2]), int(of[1]) + 2)}}}", rule.pattern.pattern
    )
    text = data.draw(st.from_regex(short))

    assert rule.pattern.search(text)
    assert not rule.signs or any(sign in text for sign in rule.signs)
    assert not rule.stems or any(stem in text.casefold() for stem in rule.stems)
    assert len(text) >= SHORTEST_WORD or not text.replace("_", "").isalpha()


@pytest.mark.parametrize(
    "text", ["pa\u017f\u017fword: hunter2", "CRED\u0130ENTIAL=x CREDENT\u0130AL: hunter2", "to\u212aen: hunter2"]
)
def test_letters_that_patterns_take_for_others_hide_no_name(text: str) -> None:
    """Whoever ignores case takes the long s, the Kelvin sign and the i with a dot for the letters they look like."""
    assert [found for _, found in finds(text)][-1:] == ["hunter2"]


def test_many_finds_cost_no_more_than_a_pass_over_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of addresses of a quarter of a megabyte held the reader for 31 seconds, when each was held against each."""
    text = "a@b.cc " * 20_000
    looked: list[int] = []

    def counted(starts: list[int], start: int) -> int:
        looked.append(start)
        return bisect(starts, start)

    monkeypatch.setattr(secrets, "bisect", counted)

    assert len(finds(text)) == 20_000
    assert len(looked) == 20_000


@given(st.text(max_size=300))
def test_finds_are_in_order_and_apart(text: str) -> None:
    """Replacing them one after the other is safe."""
    spans = [(start, end) for start, end, _ in find_secrets(text)]

    assert all(end <= later for (_, end), (later, _) in pairwise(spans))
    assert all(0 <= start < end <= len(text) for start, end in spans)


@pytest.mark.parametrize(
    "name",
    ["password", "X-Api-Key", "dbPassword", "accessToken", "client_secret", "cookie", "cvv", "card_number", "email"],
)
def test_fields_named_for_secrets_are_known(name: str) -> None:
    """Whatever case and separators the application writes."""
    assert names_a_secret(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "author", "pinned", "secretary", "tokenize", "key", "order_id", "x" * 500]
)
def test_other_fields_are_not(name: str) -> None:
    """Counts of tokens, and words that only begin alike."""
    assert not names_a_secret(name)


def test_long_names_are_judged_and_not_kept() -> None:
    """Names of arguments are traced content, and 4,096 of any length would be kept for the life of the process."""
    secrets._known_name.cache_clear()
    long = ["x" * (secrets.LONGEST_KEPT - 8) + "_password", "y" * 1_000_000]

    assert [names_a_secret(name) for name in long] == [True, False]
    assert secrets._known_name.cache_info().currsize == 0
    assert names_a_secret("z" * (secrets.LONGEST_KEPT - 9) + "_password")
    assert secrets._known_name.cache_info().currsize == 1
