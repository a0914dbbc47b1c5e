"""Names of tools: bounded where they are read, and found by what makes two names one tool's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.adapters.facts import ToolRun
from lanewatch.adapters.identity import same_name
from lanewatch.adapters.messages import ToolCall
from lanewatch.adapters.name_index import NameIndex
from lanewatch.adapters.tool_names import NAME_LIMIT, bounded_name
from lanewatch.collector.spans import Span

NAMES = st.lists(st.sampled_from(["mail", "send", "Send", "-", ".", "__", "_", "mcp", "Ä", "/"]), max_size=6).map(
    "".join
)


@given(st.text(max_size=NAME_LIMIT))
def test_an_ordinary_name_stays_as_it_is(name: str) -> None:
    """Models' APIs allow 64 characters; nothing that is used is cut."""
    assert bounded_name(name) is name


def test_long_names_stay_apart() -> None:
    """A digest tells those apart that begin alike."""
    names = {bounded_name("n" * 1_000_000 + end) for end in "abc"}

    assert len(names) == 3
    assert all(len(name) <= NAME_LIMIT for name in names)


@pytest.mark.parametrize("end", ["", "\ud800"])
def test_calls_and_runs_are_made_with_bounded_names(end: str) -> None:
    """Wherever a convention reads one."""
    name = "n" * 10_000 + end

    assert ToolCall(name).name == ToolRun(Span(b"", b""), "x", name).name == bounded_name(name)


@given(st.lists(NAMES, max_size=12), NAMES)
def test_an_index_finds_what_a_comparison_of_all_would(names: list[str], name: str) -> None:
    """Whichever of the two names has the prefix."""
    index: NameIndex[int] = NameIndex()
    for place, other in enumerate(names):
        index.add(other, place)

    found = list(index.find(name))
    assert sorted(found) == [place for place, other in enumerate(names) if same_name(other, name)]
