"""Records without what must not be stored or judged."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.adapters.facts import ErrorInfo
from lanewatch.monitors.contracts import place_of
from lanewatch.monitors.divergence import find_divergences
from lanewatch.monitors.redaction.redactor import DEEPEST, LONGEST_TEXT, MOST_TEXT, Redactor
from lanewatch.monitors.redaction.tokens import MARK, TOKEN, is_hidden, key_of, token
from lanewatch.monitors.tools import Registry, Tool

from tests.monitors.records import answer, dispatch, record, request, retrieval

KEY = key_of(b"0123456789abcdef-one")
SENSITIVE = Registry([Tool("pay", sensitive=(place_of("$.card.holder"), place_of("$.notes[*]")))])
ARGUMENTS = {"card": {"holder": "Ada Lovelace", "kind": "visa"}, "notes": ["call at nine", "ring twice"], "amount": 5}


def test_sensitive_arguments_are_replaced_at_their_place() -> None:
    """Both sides of the call, and nothing else of it."""
    seen = record(requests=(request("pay", ARGUMENTS),), dispatches=(dispatch("pay", ARGUMENTS),))

    hidden = Redactor(KEY, SENSITIVE).record(seen)

    assert hidden.requests[0].arguments == {
        "card": {"holder": token("Ada Lovelace", KEY), "kind": "visa"},
        "notes": [token("call at nine", KEY), token("ring twice", KEY)],
        "amount": 5,
    }
    assert hidden.dispatches[0].arguments == hidden.requests[0].arguments
    assert seen.requests[0].arguments == ARGUMENTS


def test_a_sensitive_value_is_hidden_wherever_it_occurs_again() -> None:
    """The model repeats what it was told."""
    seen = record(
        requests=(request("pay", ARGUMENTS),),
        dispatches=(dispatch("pay", ARGUMENTS, result={"by": "Ada Lovelace"}),),
        retrievals=(retrieval("a file of Ada Lovelace"),),
        responses=(answer("Thanks, Ada Lovelace!"),),
        messages=({"type": "human", "content": "I am Ada Lovelace"},),
    )

    text = msgspec.json.encode(Redactor(KEY, SENSITIVE).record(seen)).decode()

    assert "Lovelace" not in text
    assert text.count(token("Ada Lovelace", KEY)) == 6


def test_arguments_that_do_not_parse_are_hidden_whole() -> None:
    """A cut text has no places to look at."""
    asked = request("pay", arguments_raw='{"card": {"holder": "Ada Lov', arguments_state="captured")
    asked = msgspec.structs.replace(asked, arguments=None)

    hidden = Redactor(KEY, SENSITIVE).record(record(requests=(asked,), dispatches=(dispatch("pay", ["Ada"]),)))

    assert TOKEN.fullmatch(hidden.requests[0].arguments_raw or "")
    assert TOKEN.fullmatch(hidden.dispatches[0].arguments)


def test_divergences_of_hidden_records_are_those_of_plain_ones() -> None:
    """Comparison works on tokens: the same calls differ, at the same paths."""
    other = {**ARGUMENTS, "card": {"holder": "Charles Babbage", "kind": "visa"}}
    seen = record(requests=(request("pay", ARGUMENTS),), dispatches=(dispatch("pay", other),))

    hidden = Redactor(KEY, SENSITIVE).record(seen)

    assert [d.path for d in find_divergences(hidden)] == [d.path for d in find_divergences(seen)] == ["$.card.holder"]
    assert find_divergences(hidden)[0].requested == token("Ada Lovelace", KEY)


def test_without_a_key_hidden_values_are_marked() -> None:
    """A mark can't be compared, and says nothing."""
    hidden = Redactor(None, SENSITIVE).record(record(requests=(request("pay", ARGUMENTS),)))

    assert hidden.requests[0].arguments is not None
    assert hidden.requests[0].arguments["card"]["holder"] == MARK


def test_fields_named_for_secrets_are_hidden_whatever_they_hold() -> None:
    """Null and flags have nothing to hide; of a table or an array, what is in it."""
    value = {"password": "blue", "token": 7, "secret": None, "cookie": {"a": ["b"]}, "api_key": True, "max_tokens": 9}
    expected = {"password": token("blue", KEY), "token": token(7, KEY), "cookie": {"a": [token("b", KEY)]}}

    assert Redactor(KEY).value(value) == {**value, **expected}


def test_the_definition_of_a_field_that_holds_a_secret_is_none() -> None:
    """A tool's JSON Schema stays readable."""
    schema = {"properties": {"password": {"type": "string", "minLength": 8}}}

    assert Redactor(KEY).value(schema) == schema


@pytest.mark.parametrize(
    "text",
    [
        '{"by": "Zo\\u00eb \\"Z\\" O\'Hara"}',
        '{"by": "Zoë \\"Z\\" O\'Hara"}',
        '"{\\"by\\": \\"Zoë \\\\\\"Z\\\\\\" O\'Hara\\"}"',
        "https://crm/?by=Zo%C3%AB%20%22Z%22%20O%27Hara",
        "by=Zo%C3%AB+%22Z%22+O%27Hara",
    ],
)
def test_a_sensitive_value_is_hidden_in_other_spellings(text: str) -> None:
    """JSON with and without ASCII alone, JSON within JSON, URLs and forms."""
    arguments = {"card": {"holder": 'Zoë "Z" O\'Hara'}}
    seen = record(requests=(request("pay", arguments),), responses=(answer(text),))

    hidden = Redactor(KEY, SENSITIVE).record(seen).responses[0].text or ""

    assert "Hara" not in hidden
    assert token('Zoë "Z" O\'Hara', KEY) in hidden


def test_every_sensitive_value_is_looked_for_however_many_there_are() -> None:
    """An answer that repeats the last of a thousand."""
    calls = tuple(request("pay", {"card": {"holder": f"holder {n}"}}) for n in range(1000))
    seen = record(requests=calls, responses=(answer("It went to holder 998, not to holder 9."),))

    hidden = Redactor(KEY, SENSITIVE).record(seen).responses[0].text

    assert hidden == f"It went to {token('holder 998', KEY)}, not to {token('holder 9', KEY)}."


def test_arguments_that_do_not_parse_are_hidden_where_a_text_repeats_them() -> None:
    """The model call's own output has them too."""
    raw = '{"card": {"holder": "Ada Lov'
    asked = msgspec.structs.replace(request("pay", arguments_raw=raw), arguments=None)
    seen = record(requests=(asked,), responses=(answer(f"I called pay with {raw}"),))

    assert Redactor(KEY, SENSITIVE).record(seen).responses[0].text == f"I called pay with {token(raw, KEY)}"


@pytest.mark.parametrize("secret", ["sk-proj-" + "a1B2c3D4" * 4, "jane.doe@example.com"])
def test_a_long_text_is_not_cut_within_a_secret(secret: str) -> None:
    """Half a key is no key to any rule, and still most of a key."""
    before = "x " * ((LONGEST_TEXT - 10) // 2)

    hidden = Redactor(KEY).text(before + secret + " y" * 1000)

    assert hidden.startswith(before)
    assert TOKEN.fullmatch(hidden[len(before) :])


def test_texts_beyond_what_may_be_searched_of_a_record_are_hidden_whole() -> None:
    """The work on one record is bounded, whatever is in it."""
    pieces = ["a word " * 30_000 for _ in range(MOST_TEXT // 210_000 + 3)]

    hidden = Redactor(KEY).value(pieces)

    assert hidden[0] == pieces[0]
    assert hidden[-1] == token(pieces[-1], KEY)


def test_hiding_twice_changes_nothing() -> None:
    """Tokens stay, though their digits may pass for a card's."""
    digits = f"<redacted:{'4' * 8}:{'4111111111111111' * 2}>"
    once = Redactor(KEY).value({"a": f"{digits} mail x@example.com", "password": "blue"})

    assert once["a"].startswith(digits)
    assert Redactor(KEY).value(once) == once


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))  # fmt: skip
def test_any_value_can_be_redacted_and_again(value: object) -> None:
    """No input breaks it, and it is idempotent."""
    once = Redactor(KEY).value(value)

    assert Redactor(KEY).value(once) == once


def test_what_is_too_deep_or_too_long_to_search_is_hidden() -> None:
    """Never searched is never shown."""
    deep: object = "x@example.com"
    for _ in range(DEEPEST + 5):
        deep = [deep]
    long = "a" * LONGEST_TEXT + "x@example.com"

    assert "example" not in msgspec.json.encode(Redactor(KEY).value(deep)).decode()
    assert "example" not in Redactor(KEY).text(long)
    assert is_hidden(Redactor(KEY).text(long))


def test_ids_of_spans_and_names_stay() -> None:
    """Hexadecimal ids may pass for card numbers; without them nobody finds the trace."""
    seen = record(trace_id="4111111111111111" * 2, requests=(request("pay", span_id="4111111111111111"),))

    hidden = Redactor(KEY).record(seen)

    assert hidden.trace_id == seen.trace_id
    assert (hidden.requests[0].span_id, hidden.requests[0].name) == ("4111111111111111", "pay")
    assert hidden.evidence == seen.evidence


def test_error_messages_sessions_and_call_ids_are_content_too() -> None:
    """People use e-mail addresses as session ids."""
    failed = dispatch("pay", call_id="jane@example.com", error=ErrorInfo("E", message="no card 4111 1111 1111 1111"))

    hidden = Redactor(KEY).record(record(session_id="jane@example.com", dispatches=(failed,)))

    assert hidden.session_id == hidden.dispatches[0].call_id == token("jane@example.com", KEY)
    assert "4111" not in msgspec.json.encode(hidden).decode().replace(KEY.id, "").split("no card ")[1][:5]


def test_values_that_are_hidden_are_gathered_once_for_all_that_is_made_of_a_record() -> None:
    """A handoff hides nine things made of one record: gathering for each took most of the time of a large one."""
    seen = record(requests=(request("pay", ARGUMENTS),), responses=(answer("Thanks, Ada Lovelace!"),))
    redactor = Redactor(KEY, SENSITIVE)
    search = redactor.search(seen)

    hidden = redactor.record(seen, search)

    assert hidden == redactor.record(seen)
    assert redactor.redact(["by Ada Lovelace"], seen, search) == [f"by {token('Ada Lovelace', KEY)}"]
