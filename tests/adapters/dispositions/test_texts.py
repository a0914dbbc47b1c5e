"""What an answer's words tell, what they leave untold, and that no text makes it slow."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.adapters.dispositions import chinese, japanese, rules, texts
from lanewatch.adapters.dispositions.texts import EXCERPT, LENGTH, SENTENCE, SENTENCES, judge

LANGUAGES = (*texts.LATIN, japanese.LANGUAGE, chinese.LANGUAGE)


def told(text: str | None) -> str | None:
    """The disposition alone."""
    found = judge(text)
    return None if found is None else str(found.disposition)


@pytest.mark.parametrize(
    "text",
    [
        "I can't help with that request.",
        "I'm sorry, I can\u2019t assist with that.",
        "I'm sorry, but I cannot help you with that.",
        "Sorry, I won't do that.",
        "I cannot comply with this request.",
        "I'm unable to provide instructions for that.",
        "I must decline.",
        "Unfortunately, I am not able to assist with this.",
        "I'm afraid I can't do that.",
        "**I can't help with that.**",
    ],
)
def test_a_refusal(text: str) -> None:
    """In the first person, of something that is refused as such."""
    assert told(text) == "refused"


@pytest.mark.parametrize(
    "text",
    [
        "I can't help with that until you give me your order number.",
        "I can't share the exact date, but your refund was issued.",
        "I can't help with the hotel, but I have booked your flight.",
        "I can't see your account without a customer number. Could you share it?",
        "I'm sorry, the weather service timed out.",
        "I'm sorry to hear that! I can help.",
        "Your request was denied by the bank.",
        "The model said: I can't help with that.",
        "We cannot create a ticket for sold-out shows.",
        "I can't help but smile.",
        "Subject: Re: offer\nDear Ann, I cannot comply with this request.",
        "```\nraise ValueError('I can't help with that')\n```",
        "",
        None,
        "I can't help with that. " + "x" * LENGTH,
    ],
)
def test_what_is_no_refusal(text: str | None) -> None:
    """It lacks something, quotes or drafts, tells of a fault, goes on to help, or is long."""
    assert told(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "I cannot answer this question based on the provided context.",
        "I can't find that in the documents.",
        "I'm sorry, but I don't have enough information to answer that.",
    ],
)
def test_an_abstention_is_no_refusal(text: str) -> None:
    """An evidence gap: it calls for whoever keeps the documents."""
    assert told(text) == "abstained"


@pytest.mark.parametrize(
    "text", ["Blue.", "It is 21 degrees in Lisbon.", "ok", "\u3068\u3066\u3082", "...", "\x00", "no"]
)
def test_silence_is_no_answer(text: str) -> None:
    """No rule holds, so nothing is told."""
    assert judge(text) is None


@pytest.mark.parametrize(
    "text",
    ["I've booked the room, but not the parking.", "Done. The second step failed.", "I've booked it. Is that right?"],
)
def test_a_report_that_takes_something_back_is_no_answer(text: str) -> None:
    """What is done in part is not told as done."""
    assert told(text) != "answered"


def test_what_a_long_report_takes_back_at_its_end_is_seen() -> None:
    """Beyond the excerpt the end is looked at."""
    report = "Here is the list. " + "One more line. " * 100

    assert told(report) == "answered"
    assert told(report + "The rest could not be read.") is None


def test_every_rule_has_an_id_of_its_form_and_a_language() -> None:
    """Ids stand in reports: `<disposition>.<what>.<language>`."""
    for language in LANGUAGES:
        for rule in (*language.rules, *language.reports):
            assert re.fullmatch(rf"{rule.disposition}\.[a-z_]+\.{language.code}", rule.id)
        assert all(rule.disposition == "answered" for rule in language.reports)


def test_rules_see_an_excerpt_of_a_few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte costs no more than a page: lengths are bounded, and so is how often rules are tried."""
    tried: list[int] = []

    def holds(_: rules.Rule, sentence: str) -> bool:
        tried.append(len(sentence))
        return False

    monkeypatch.setattr(rules.Rule, "holds", holds)
    judge("It is not so. " * (LENGTH // 14))
    judge("I have not " + "not " * 250_000)

    assert tried
    assert max(tried) <= SENTENCE
    assert len(tried) <= 2 * SENTENCES * sum(len(one.rules) + len(one.reports) for one in texts.LATIN)


def test_an_answer_without_a_stem_is_left_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most answers have no word that a refusal is made of, and no rule of refusals is tried on them."""
    tried: list[str] = []

    def holds(rule: rules.Rule, _: str) -> bool:
        tried.append(rule.id)
        return False

    monkeypatch.setattr(rules.Rule, "holds", holds)
    judge("Ethanol boils at 78.4 degrees Celsius.")
    judge("The boiling point of ethanol is 78.4 degrees Celsius.")

    assert tried
    assert all(rule.startswith("answered.") for rule in tried)


WORDS = st.sampled_from(
    ["i ", "we ", "can't ", "not ", "unable to ", "the documents ", "do not ", "contain ", "'", '"', "\u201c", "((", "help ", ". ",
     "\n", "no ", "as a ", "ich ", "kann ", "nicht ", "je ne ", "peux pas ", "no puedo ", "\u8cc7\u6599", "\u3067\u304d\u307e\u305b\u3093", "\u65e0\u6cd5", "\u63d0\u4f9b", "?", "7"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=200).map("".join))
def test_any_words_are_judged_alike_however_often(text: str) -> None:
    """Nothing raises, and a guess of the text alone is a function of the text."""
    assert judge(text) == judge(text)
    assert judge(text[:EXCERPT]) is None or isinstance(judge(text[:EXCERPT]), texts.Found)
