"""KNOWN.md is whole: every difference between replay and the truth is in it, has a reason, and no reason is left over."""

import pytest

from tests.corpus.known import CORPUS, UNEXPLAINED, Known, Reason, captures, known, page, read_reasons, table, verdicts

MISSED_AT_MOST = 4  # captures whose divergence no span shows


@pytest.fixture(scope="module")
def found() -> Known:
    """What differs in the whole corpus, by reason."""
    return known({capture: verdicts(capture) for capture in captures()}, read_reasons())


def test_the_page_says_what_the_corpus_says(found: Known) -> None:
    """Row by row; where results changed, `python -m tests.corpus.write_known` writes it anew."""
    text = (CORPUS / "KNOWN.md").read_text()

    assert page(text, found) == text


def test_every_difference_has_a_reason(found: Known) -> None:
    """A change that makes a record less exact says why in known.toml, or is a fault."""
    assert found[None] == {}


def test_every_reason_is_of_use_in_each_of_its_captures_and_facets(found: Known) -> None:
    """What is recovered by now leaves the list: a pattern that fits nothing, a facet that is exact, a miss that is none."""
    for reason, differences in found.items():
        if reason is not None:
            facets = {facet for facets in differences.values() for facet in facets}
            idle = [one for one in reason.captures if known_by(one, reason, differences) == []]

            assert (idle, facets) == ([], set(reason.facets))
            assert (reason.missed != "") == (
                "missed" in {v for facets in differences.values() for v in facets.values()}
            )


def test_what_is_missed_is_in_no_span_or_no_divergence_by_definition(found: Known) -> None:
    """The two are not mixed: for the one no reader of spans can do more, the other is a choice of words."""
    missed = {reason.missed: set(seen) for reason, seen in found.items() if reason is not None and reason.missed}

    assert missed["defined_otherwise"] == {"openai_agents_oi/16_handoff"}
    assert len(missed["in_no_span"]) <= MISSED_AT_MOST


def known_by(pattern: str, reason: Reason, differences: dict[str, dict[str, str]]) -> list[str]:
    """The captures that one pattern of a reason explains."""
    alone = Reason(captures=(pattern,), facets=reason.facets, why=reason.why, missed=reason.missed)
    return [name for name, facets in differences.items() if all(alone.tells(name, f, v) for f, v in facets.items())]


def test_what_has_no_reason_is_shown_as_such() -> None:
    """A miss is explained by an entry of misses alone, and what no entry fits stands in the page, not beside it."""
    reason = Reason(captures=("stack/*",), facets=("divergence", "requests"), why="Because.")
    seen = {"stack/one": {"requests": "flagged", "divergence": "missed"}, "other/two": {"requests": "exact"}}
    rows = list(table(known(seen, [reason])))[2:]

    assert rows == [
        "| `stack/one` | requests flagged | Because. |",
        f"| `stack/one` | divergence missed | {UNEXPLAINED} |",
    ]
