"""Attribute values: read leniently, never silently wrong, never an exception."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.adapters.json_text import DEPTH_LIMIT, dump, names_twice, parse_json
from lanewatch.adapters.reading import (
    EMPTY_OBJECT,
    LITERAL_LIMIT,
    Content,
    State,
    dictionaries,
    is_placeholder,
    parse_literal,
    read,
    read_arguments,
    read_json,
    unflatten,
)


def _nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize("text", ["42", "true", "null", '"x"', "Paris", "{'a': 1}", '{"a": 1', ""])
def test_what_is_no_json_object_or_list_stays_text(text: str) -> None:
    """A single string argument looks like a bare scalar, so a scalar in text is never decoded."""
    content = read(text)

    assert (content.value, content.raw, content.structured) == (text, text, False)


def test_an_object_is_decoded_and_its_text_kept() -> None:
    """The raw text stays beside the value, since two spellings of one value must be told apart."""
    content = read(' {"a": [1, 2.50]}')

    assert (content.value, content.raw, content.structured) == ({"a": [1, 2.5]}, ' {"a": [1, 2.50]}', True)


def test_a_python_repr_is_decoded_only_where_it_is_asked_for() -> None:
    """Some instrumentors write str(dict); elsewhere the same text is a tool's own."""
    assert read("{'a': None}").value == "{'a': None}"
    assert read("{'a': None}", literal=True).value == {"a": None}


@pytest.mark.parametrize("value", ["__REDACTED__", "[redacted]", "FILTERED", "[Scrubbed due to 'password']"])
def test_a_placeholder_is_no_content(value: str) -> None:
    """What an instrumentor puts in place of content must not be taken for arguments, result or id."""
    content = read(value)

    assert (content.state, content.value, content.text) == (State.REDACTED, None, None)
    assert is_placeholder(value)


def test_nothing_is_absent() -> None:
    """An attribute that is not there is not an empty one."""
    assert read(None).state is State.ABSENT
    assert read("").state is State.CAPTURED


@pytest.mark.parametrize("value", [None, "", "  ", "null", " null\n", "{}", {}])
def test_arguments_that_say_nothing_are_an_empty_object(value: object) -> None:
    """Models write "" or null for a call without arguments."""
    assert read_arguments(value).value == {}


@pytest.mark.parametrize("value", ['{"a": 1', "[1]", "free text", 7])
def test_arguments_that_are_no_object_stay_text(value: object) -> None:
    """Malformed JSON is evidence, and is never made into an empty object."""
    content = read_arguments(value)

    assert content.value is None
    assert content.raw == (value if isinstance(value, str) else dump(value))


def test_native_arguments_have_a_text_too() -> None:
    """An attribute may hold a map instead of JSON text."""
    assert read_arguments({"a": 1}).raw == '{"a": 1}'
    assert read_arguments("{}") == EMPTY_OBJECT


@pytest.mark.parametrize("levels", [1, DEPTH_LIMIT])
def test_nesting_within_the_limit_is_read(levels: int) -> None:
    """Protobuf allows as many levels."""
    assert parse_json("[" * levels + "]" * levels) == _nested(levels)


@pytest.mark.parametrize("levels", [DEPTH_LIMIT + 2, 100_000])
def test_nesting_beyond_the_limit_is_text(levels: int) -> None:
    """Whatever compares values later recurses, and must not run out of stack."""
    text = "[" * levels + "]" * levels

    assert read(text).value == text
    assert read_json(text) is None


def test_a_native_value_beyond_the_limit_is_truncated() -> None:
    """It has no text to fall back on."""
    assert read(_nested(DEPTH_LIMIT + 2)).state is State.TRUNCATED


def test_integers_are_exact_and_not_a_number_is_read() -> None:
    """Models write integers beyond 2^53, and Python writes NaN."""
    assert parse_json("[9007199254740993, 123456789012345678901234567890]") == [
        2**53 + 1,
        123456789012345678901234567890,
    ]
    assert parse_json("[NaN]")[0] != parse_json("[NaN]")[0]


@pytest.mark.parametrize("text", ["9" * 5000, "[" + "9" * 5000 + "]"])
def test_an_integer_of_thousands_of_digits_is_text(text: str) -> None:
    """Python refuses to convert it; that is no reason to lose the span."""
    assert read(text).value == text


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    """A cut emoji could not be written as UTF-8 again; a whole one stays."""
    assert parse_json('{"a": "\\ud83d\\ude42 \\ud83d"}') == {"a": "🙂 \ufffd"}
    assert parse_literal("'\\udc00'") == "\ufffd"


@pytest.mark.parametrize(
    "text", [r'["x\\ud83d\udc00"]', r'["\ud83d\ud83d\ude42"]', r'["\uDC00"]', r'["a\\\ud83d"]', r'{"\udfff": 1}']
)
def test_no_half_of_a_surrogate_pair_is_left(text: str) -> None:
    """Whatever stands before it: an even number of backslashes is no escape."""
    value = parse_json(text)

    assert dump(value).encode()
    assert "\ufffd" in dump(value)


def test_an_escaped_backslash_before_a_pair_is_kept() -> None:
    r"""`\ud83d` is a backslash and letters; nothing is to be repaired."""
    assert parse_json(r'["\\ud83d", "\ud83d\ude42"]') == ["\\ud83d", "🙂"]


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": [1, -Infinity]}', '{"a": 1e999}', '{"a": {"b": -1e400}}'])
def test_numbers_that_json_does_not_have_leave_text(text: str) -> None:
    """Written again they would be null, which is another value; as a part of a conversation they are read."""
    assert read(text) == Content(text, text, State.CAPTURED)
    assert read_arguments(text) == Content(None, text, State.AMBIGUOUS)
    assert read_json(text) is not None


@pytest.mark.parametrize("value", [{"a": float("nan")}, {"a": [float("inf")]}])
def test_native_numbers_that_json_does_not_have_become_text(value: object) -> None:
    """A double in an attribute may be any."""
    content = read_arguments(value)

    assert (content.value, content.raw) == (None, dump(value))


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', '{"b": {"a": 1, "a": 1}}', '{"u": "x:y", "u": "z"}', '{"l": [{"a": 1, "a": 2}]}']
)
def test_arguments_that_are_named_twice_are_text(text: str) -> None:
    """Runtimes differ in which of the two they take."""
    assert read_arguments(text) == Content(None, text, State.AMBIGUOUS)


@pytest.mark.parametrize(
    "text", ['{"a": "b: c", "d": "e:f"}', '{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]}', '{"a:": 1}']
)
def test_colons_alone_name_nothing_twice(text: str) -> None:
    """Texts have them too."""
    assert read_arguments(text).value is not None


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_what_names_nothing_twice_is_read_as_it_is(value: object) -> None:
    """The quick test for doubled names has no false alarm."""
    assert not names_twice(dump(value), value)


def test_a_literal_becomes_what_json_can_hold() -> None:
    """Tuples, sets, bytes and odd keys come out of Python's repr."""
    assert parse_literal("{(1, 2): {3}, 'a': (None, True, b'x', 1j)}") == {
        "(1, 2)": [3],
        "a": [None, True, "b'x'", "1j"],
    }


@pytest.mark.parametrize(
    "text", ["f(1)", "1 +", "x", "[" * 5000, "-" * 90_000 + "1", "1" + "+1" * 90_000, "'" + "a" * LITERAL_LIMIT + "'"]
)
def test_what_is_no_literal_is_a_value_error(text: str) -> None:
    """However deep or long: no other error, no crash, no warning that shows the text."""
    with pytest.raises(ValueError):
        parse_literal(text)


def test_a_literal_with_a_bad_escape_warns_nobody() -> None:
    r"""Python would warn of `\d` and print the text, which is traced content."""
    assert parse_literal(r"'\d'") == "\\d"


def test_dump_takes_anything() -> None:
    """A record must be printable whatever a span held."""
    assert dump({"a": b"x", "b": {1}}) == '{"a": "<bytes>", "b": "<set>"}'


def test_flattened_keys_become_a_tree_in_order_of_number() -> None:
    """10 comes after 9, and holes are legal."""
    keys = {f"m.{index}.role": index for index in (10, 9, 2)}

    assert unflatten({**keys, "other": 1}, "m.") == [{"role": 2}, {"role": 9}, {"role": 10}]


def test_a_key_that_is_both_leaf_and_branch_keeps_both() -> None:
    """Some emitters write `a` and `a.b`."""
    assert unflatten({"m.a": 1, "m.a.b": 2}, "m.") == {"a": {"": 1, "b": 2}}
    assert unflatten({"m.a.b": 2, "m.a": 1}, "m.") == {"a": {"b": 2, "": 1}}
    assert unflatten({"x": 1}, "m.") is None


def test_dictionaries_passes_over_what_is_none() -> None:
    """A list of objects may hold strangers; one object stands for a list of it."""
    assert list(dictionaries([{"a": 1}, "x", None, 3])) == [{"a": 1}]
    assert list(dictionaries({"a": 1})) == [{"a": 1}]
    assert list(dictionaries("x")) == []


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_arguments_are_read_out_of_json_in_json(layers: int) -> None:
    """Emitters that encode what is JSON already; deeper than that it is somebody's text."""
    written = json.dumps({"a": "x"})
    for _ in range(layers):
        written = json.dumps(written)

    assert read_arguments(written).value == {"a": "x"}


@pytest.mark.parametrize(
    "text", ['"plain"', '"[1]"', '"{cut', '"7"', json.dumps(json.dumps(json.dumps(json.dumps({}))))]
)
def test_a_text_in_quotes_that_holds_no_object_stays_text(text: str) -> None:
    """A free-form tool takes any text."""
    content = read_arguments(text)

    assert (content.value, content.raw) == (None, text)


def test_a_line_end_that_was_not_escaped_is_part_of_the_text() -> None:
    """Models write it, and the frameworks that call the tool read it so too."""
    assert read_arguments('{"note": "one\ntwo\tthree"}').value == {"note": "one\ntwo\tthree"}
