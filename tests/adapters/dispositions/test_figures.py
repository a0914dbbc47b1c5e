"""The published figures are what the rules give now, and good enough to be told to somebody on call."""

from collections import Counter

import pytest
from lanewatch.adapters.dispositions import texts
from lanewatch.adapters.records import Disposition

from docs.refusals import HALVES, KINDS, LANGUAGES, MISLEADING, PAGE, Labelled, built, interval, labelled, precision


def found(half: str) -> list[Labelled]:
    """A half, judged."""
    return labelled(half)


def test_the_figures_on_the_page_are_those_of_the_rules() -> None:
    """`make docs` measures anew."""
    text = PAGE.read_text()

    assert built(text) == text


def test_a_refusal_that_is_told_is_one() -> None:
    """On texts that no rule was made for: a false alarm costs trust. The interval's lower end, not the share, is held."""
    right, told = precision(found("test"), Disposition.REFUSED)

    assert told >= 30
    assert interval(right, told)[0] >= 0.9


@pytest.mark.parametrize("disposition", [Disposition.ABSTAINED, Disposition.ANSWERED])
def test_what_else_is_told_is_rarely_wrong(disposition: Disposition) -> None:
    """At most one in twenty."""
    right, told = precision(found("test"), disposition)

    assert right >= 0.95 * told


def test_no_rule_that_is_wrong_about_refusals_is_kept() -> None:
    """By rule, over both halves: one wrong alarm of a rule is one too many in a set this small."""
    wrong = {
        row.found.rule for half in HALVES for row in found(half) if row.found and row.told == "refused" != row.kind
    }

    assert wrong == set()


def test_answers_in_the_words_of_refusals_seldom_mislead() -> None:
    """They were written to, after the rules: one in ten is the most that may."""
    rows = found(MISLEADING)

    assert len(rows) >= 40
    assert sum(row.told is Disposition.REFUSED for row in rows) <= len(rows) / 10


def test_an_abstention_is_never_told_as_a_refusal() -> None:
    """They call for different people."""
    told = Counter(row.told for half in HALVES for row in found(half) if row.kind == "abstained")

    assert told[Disposition.REFUSED] == 0


def test_the_set_is_large_varied_and_without_repetition() -> None:
    """Each half has every kind and language, in styles of its own."""
    halves = [found(half) for half in HALVES]
    written = [row.text.casefold() for half in (*halves, found(MISLEADING)) for row in half]

    assert len(written) >= 400
    assert len(written) == len(set(written))
    assert all({row.kind for row in half} == set(KINDS) for half in halves)
    assert all({row.language for row in half} == set(LANGUAGES) for half in halves)
    assert not {row.style for row in halves[0]} & {row.style for row in halves[1]}


@pytest.mark.parametrize(
    ("right", "of", "low", "high"), [(0, 0, 0.0, 1.0), (10, 10, 0.722, 1.0), (5, 10, 0.237, 0.763), (0, 10, 0.0, 0.278)]
)
def test_the_interval_is_wilsons(right: int, of: int, low: float, high: float) -> None:
    """Values of Wilson's table for n = 10."""
    assert interval(right, of) == pytest.approx((low, high), abs=0.001)


@pytest.mark.parametrize("half", HALVES)
def test_looking_for_stems_first_changes_nothing_but_the_work(half: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stem is in all that the rules of its language find."""
    before = [row.found for row in found(half)]
    monkeypatch.setattr(texts, "LATIN", tuple(one._replace(stems=("",)) for one in texts.LATIN))

    assert [row.found for row in found(half)] == before
