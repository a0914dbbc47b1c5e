"""Records without what must not be stored or judged."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.adapters.facts import ErrorInfo
from lanewatch.monitors.contracts import place_of
from lanewatch.monitors.divergence import find_divergences
from lanewatch.monitors.redaction.redactor import DEEPEST, LONGEST_TEXT, Redactor
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
    """Null, flags and containers have nothing to hide by themselves."""
    value = {"password": "blue", "token": 7, "secret": None, "cookie": {"a": "b"}, "api_key": True, "max_tokens": 9}

    assert Redactor(KEY).value(value) == {**value, "password": token("blue", KEY), "token": token(7, KEY)}


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
