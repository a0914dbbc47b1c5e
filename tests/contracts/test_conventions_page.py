"""docs/conventions.md and the conventions' own declarations say the same, and the recordings do not contradict them."""

from collections import defaultdict

import pytest
from lanewatch.adapters.conventions import CONVENTIONS, convention_of
from lanewatch.adapters.conventions.carried import CARRIED, FIELDS, Carried
from lanewatch.adapters.conventions.second_hand.rows import ROWS
from lanewatch.adapters.facts import Fact, LlmCall, Search, Step, ToolRun
from lanewatch.adapters.reading import State
from lanewatch.adapters.span_tree import SpanTree

from docs.build import CONVENTIONS as PAGE
from docs.build import PAGES, built
from tests.adapters.recordings import CORPUS, captures, traces

STACKS = sorted({body.parents[1].name for body in CORPUS.glob("*/*/request-000.pb.gz")})
RETRIEVAL = {"documents", "document_ids", "scores"}
# No recording of them yet: what their rows say is held by the made-up spans of tests/adapters/conventions alone.
UNRECORDED = {
    "generic", "logfire", "vercel", "autogen", "crewai", "llama_index", "haystack", "trulens", "openlit", "azure", "mcp",
    "vector_db", "claude_code", "gemini_cli", "genkit", "livekit", "laminar", "voltagent", "spring_ai", "flue",
}  # fmt: skip


def test_the_table_of_the_page_is_that_of_the_code() -> None:
    """Row by row; `make docs` writes it anew."""
    text = PAGE.read_text()

    assert built(text, PAGES[PAGE]) == text


def test_every_convention_has_a_row_and_no_row_is_left_over() -> None:
    """The conventions of a table are rows of their own."""
    names = {convention.NAME for convention in CONVENTIONS} - {"second_hand"} | {row.name for row in ROWS}

    assert set(CARRIED) == names


def test_every_row_has_a_mark_for_each_field() -> None:
    """A mark too few would shift all behind it."""
    assert all(tuple(row.fields) == FIELDS for row in CARRIED.values())


def _seen(fact: Fact) -> set[str]:
    """The fields that a fact fills."""
    found = {"session"} if fact.session_id else set()
    match fact:
        case ToolRun():
            found |= {"call_id"} if fact.call_id else set()
            found |= {"arguments"} if fact.arguments.state is State.CAPTURED else set()
            found |= {"result"} if fact.result.state is State.CAPTURED else set()
        case Search():
            found |= {"retrieval"}
            found |= {"documents"} if any(document.content for document in fact.documents) else set()
            found |= {"whole_documents"} if fact.state is State.CAPTURED and fact.documents else set()
            found |= {"document_ids"} if any(document.id for document in fact.documents) else set()
            found |= {"scores"} if any(document.score is not None for document in fact.documents) else set()
        case LlmCall():
            found |= {"usage"} if fact.usage.input is not None else set()
            found |= {"refusal"} if any(message.refusal is not None for message in fact.output) else set()
        case Step():
            found |= {"tools"} if fact.instruments_tools else set()
            found |= {"refusal"} if fact.refusal else set()
    return found


@pytest.fixture(scope="module")
def seen() -> dict[str, dict[str, int]]:
    """How many captures show each field, by convention; "captures" counts those that speak it."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for capture in captures(*STACKS):
        fields: dict[str, set[str]] = defaultdict(set)
        for trace in traces(capture):
            tree = SpanTree(trace)
            for span in trace.spans:
                convention = convention_of(span) if span.relevant else None
                if convention is not None:
                    fields[convention.NAME].update(*map(_seen, convention.read_span(span, tree)))
        for name, found in fields.items():
            for field in (*found, "captures"):
                counts[name][field] += 1
    return counts


def test_no_recording_shows_what_a_convention_never_carries(seen: dict[str, dict[str, int]]) -> None:
    """`never` in the table would be a lie."""
    lies = [
        (name, field)
        for name, counts in seen.items()
        for field, carried in CARRIED[name].fields.items()
        if carried is Carried.NEVER and counts.get(field)
    ]

    assert lies == []


def test_recordings_show_what_a_convention_carries(seen: dict[str, dict[str, int]]) -> None:
    """`yes` in the table, and no recording that shows it: the reader has lost it, or the table is wrong. What a retrieval
    carries must have been seen where one was recorded, its documents whole: a text that stands for several, or the first
    three of them, are `partly`.
    """
    lost = [
        (name, field)
        for name, counts in seen.items()
        for field, carried in CARRIED[name].fields.items()
        if carried is Carried.YES
        and (field not in RETRIEVAL or counts.get("retrieval"))
        and not counts.get("whole_documents" if field == "documents" else field)
    ]

    assert lost == []


def test_conventions_that_no_recording_speaks_are_known(seen: dict[str, dict[str, int]]) -> None:
    """A first recording of one takes it off the list, and from then on holds its row."""
    assert set(CARRIED) - set(seen) == UNRECORDED
