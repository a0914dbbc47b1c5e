"""What others wrote never steers a terminal: not one by one, and not in a whole report."""

import enum
import json
import os
import unicodedata
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.config.keys import Config
from lanewatch.monitors.divergence import Boundary
from lanewatch.observation import Observation
from lanewatch.replaying.playback import replay
from lanewatch.replaying.report import print_report
from lanewatch.replaying.totals import Totals
from lanewatch.shown_text import VALUE_LENGTH, escaped, inert_json, shown, shown_line, shown_path
from msgspec.structs import replace
from rich.console import Console

CORPUS = Path(__file__).parent / "corpus"
# Sets the title, clears the screen, colours, a C1 sequence; then moves, reverses and hides; then what UTF-8 can't hold.
HOSTILE = (
    "\x1b]0;t\x07\x1b[2J\x1b[31m\x9b31m\r\n\t\x08\x00\x7f\u202e\u2066\u200b\u200f\u2028\u2029\ufeff\U000e0041\ud83d"
)
STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def steering(text: str) -> set[str]:
    """What in it would steer a terminal, line ends apart."""
    return {char for char in text if unicodedata.category(char) in STEERING} - {"\n"}


@given(st.text(st.characters()) | st.recursive(st.none() | st.text(st.characters()), st.lists))
def test_no_text_steers_a_terminal_or_breaks_a_line(value: Any) -> None:
    """Of any text, and of any value that holds one."""
    text = shown(value)

    assert not steering(text)
    assert "\n" not in text
    assert len(text) <= VALUE_LENGTH + 40
    text.encode()


def test_what_is_shown_says_what_was_there() -> None:
    """Escapes are those of Python and JSON; what any language writes with stays."""
    assert escaped(HOSTILE[:10]) == "\\x1b]0;t\\x07\\x1b[2J"
    assert shown({"é": "\u202e\x9b"}) == '{"é": "\\u202e\\x9b"}'
    assert shown("naïve 東京 😀 a\u00a0b") == "naïve 東京 😀 a\u00a0b"


def test_a_long_value_is_cut_and_says_how_long_it_is() -> None:
    """Also one that is only long when it is escaped."""
    assert shown("x" * 1000, 10) == "xxxxxxxxxx... (1000 characters)"
    assert shown("\x1b" * 9, 10) == "\\x1b\\x1b\\x... (9 characters)"


def test_a_path_that_is_no_text_is_shown() -> None:
    """File names are bytes."""
    assert shown_path(Path(os.fsdecode(b"a\xff\x1b[31m.pb"))) == "a\\udcff\\x1b[31m.pb"
    assert shown_line("/" + "x" * 4000 + ": no such file").endswith("no such file")


@given(st.recursive(st.none() | st.text(st.characters(codec="utf-8")), st.lists))
def test_json_for_a_terminal_is_the_same_json_and_steers_none(value: Any) -> None:
    """C1 controls and bidirectional characters are no control characters to JSON, which writes them as they are."""
    line = msgspec.json.encode([value, "\x7f\x9b\u202e\U000e0041"])

    assert json.loads(inert_json(line)) == json.loads(line)
    assert not steering(inert_json(line).decode())
    assert b"\n" not in inert_json(line)


def hostile(value: Any, seen: set[str]) -> Any:
    """The same value with hostile text in place of each text, and in each field that may hold one and does not."""
    if isinstance(value, msgspec.Struct):
        told = msgspec.inspect.type_info(type(value))
        assert isinstance(told, msgspec.inspect.StructType)
        texts = {field.name for field in told.fields if takes_text(field.type)}
        changed = {}
        for field in msgspec.structs.fields(type(value)):
            old = getattr(value, field.name)
            changed[field.name] = HOSTILE if old is None and field.name in texts else hostile(old, seen)
            seen |= {f"{type(value).__name__}.{field.name}"} if changed[field.name] == HOSTILE else set()
        return replace(value, **changed)
    if isinstance(value, enum.Enum):
        return value
    if isinstance(value, str):
        return HOSTILE
    if isinstance(value, dict):
        words = [key for key in value if isinstance(key, enum.Enum) or key in ("type", "content", "tool_calls", "args")]
        words += ["name", "metadata", "tool_call_id", "requests", "dispatches", "retrievals", "responses"]
        return {(k if k in words else HOSTILE): (v if k == "type" else hostile(v, seen)) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(hostile(one, seen) for one in value)
    return value


def takes_text(kind: Any) -> bool:
    """Whether a field's type is text, or text or nothing, or anything."""
    if isinstance(kind, msgspec.inspect.UnionType):
        return any(takes_text(one) for one in kind.types)
    return isinstance(kind, msgspec.inspect.StrType | msgspec.inspect.AnyType)


CAPTURES = (
    "langchain_oi/07_runtime_rewrite",
    "langchain_traceloop/08_dropped",
    "openai_oi/09b_refusal_field",
    "langchain_oi/10_rag_only",
)


def test_hostile_text_in_every_field_of_a_record_steers_no_terminal() -> None:
    """Whatever field is shown one day: each holds what would show."""
    console = Console(width=200, highlight=False, file=StringIO(), force_terminal=False)
    totals, seen = Totals(), set[str]()
    for capture in CAPTURES:
        replayed = replay(CORPUS / capture, Config())
        bad = tuple(hostile(one, seen) for one in replayed.observations)
        told = tuple(replace(d, boundary=b) for one in bad for d in one.divergences for b in Boundary)
        bad = tuple(replace(one, divergences=(*one.divergences, *told)) for one in bad)
        assert all(isinstance(one, Observation) for one in bad)
        changed = replace(replayed, observations=bad, path=HOSTILE, problems=(HOSTILE, f"x: {HOSTILE}"))
        print_report(changed, console)
        totals.add(changed)
    totals.print(console)
    text = console.file.getvalue()  # type: ignore[attr-defined]

    assert not steering(text)
    assert "\\x1b" in text
    texts = {"ToolRequest.name", "ToolRequest.call_id", "Dispatch.name", "Response.text", "Divergence.tool"}
    assert {*texts, "TraceRecord.service", "TraceRecord.session_id", "Document.id", "Retrieval.query"} <= seen
