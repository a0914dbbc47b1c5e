"""The support signals as an evaluator."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.adapters.records import Disposition
from lanewatch.monitors.judge.metrics import BY_NAME, METRICS, Evaluator
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason
from lanewatch.monitors.judge.samples import Sample
from lanewatch.monitors.judge.support.evaluator import MAX_ANSWER, MAX_CONTEXTS, SIGNALS, SupportEvaluator, support_of

from tests.monitors.judge.support.asking import ask

TEXT = st.text(
    alphabet=st.sampled_from("Aab1 5.,;:!?\n\"'\u201c\u201d[]()*-#|@/_%$\u20ac\u3002\u4e07 not"), max_size=120
)


def test_every_support_metric_has_a_signal() -> None:
    """A row without a rule would be evaluated by nobody."""
    assert set(SIGNALS) == {metric.name for metric in METRICS if metric.evaluator is Evaluator.SUPPORT}


@pytest.mark.parametrize("name", SIGNALS)
def test_what_is_missing_is_named_and_is_no_score(name: str) -> None:
    """No answer, no contexts, an abstention, a refusal: not applicable, by different reasons."""
    metric = BY_NAME[name]
    asked = Sample("trace", 0, "shop", 0, answer="It costs 5 EUR.", contexts=("5 EUR",))
    refused = Sample("t", 0, "shop", 0, answer="No.", contexts=("x",), disposition=Disposition.REFUSED)
    abstained = Sample("t", 0, "shop", 0, answer="No.", contexts=("x",), disposition=Disposition.ABSTAINED)

    assert ask(name, " ", "5 EUR").reason is Reason.NO_ANSWER
    assert ask(name, None, "5 EUR").reason is Reason.NO_ANSWER
    assert ask(name, "It costs 5 EUR.", " ").reason is Reason.NO_CONTEXTS
    assert support_of(metric, refused).reason is Reason.REFUSED
    assert support_of(metric, abstained).reason is Reason.ABSTAINED
    assert asyncio.run(SupportEvaluator().evaluate(metric, asked)) == support_of(metric, asked)


@pytest.mark.parametrize("name", SIGNALS)
def test_what_is_too_long_is_unsupported_and_not_cut(name: str) -> None:
    """A share of a part is no share of the whole."""
    long_answer = ask(name, "a" * (MAX_ANSWER + 1), "5 EUR")
    long_context = ask(name, "It costs 5 EUR.", "a" * MAX_CONTEXTS, "a")

    assert {long_answer.reason, long_context.reason} == {Reason.TOO_LONG}
    assert long_answer.outcome is EvaluationOutcome.UNSUPPORTED


@given(answer=TEXT, context=TEXT, question=TEXT)
@pytest.mark.parametrize("name", SIGNALS)
def test_a_value_is_a_share_and_says_how_much_it_covers(name: str, answer: str, context: str, question: str) -> None:
    """Whatever the texts: 0 to 1 with coverage above 0, or no value and a reason; and the same twice."""
    result = ask(name, answer, context, question=question)

    assert result == ask(name, answer, context, question=question)
    if result.outcome is EvaluationOutcome.SCORED:
        assert 0 <= result.value <= 1  # type: ignore[operator]
        assert result.coverage is None or 0 <= result.coverage <= 1


@given(text=TEXT)
@pytest.mark.parametrize("name", SIGNALS)
def test_a_text_supports_itself(name: str, text: str) -> None:
    """An answer that is its own context has nothing unsupported in it."""
    result = ask(name, text, text)

    assert result.value in {None, 1.0}


@given(answer=TEXT, contexts=st.lists(TEXT, min_size=1, max_size=3), more=TEXT)
@pytest.mark.parametrize("name", ["number_support", "quote_support"])
def test_one_more_context_takes_no_support_away(name: str, answer: str, contexts: list[str], more: str) -> None:
    """A signal counts what some context holds."""
    fewer, all_of_them = ask(name, answer, *contexts), ask(name, answer, *contexts, more)
    if fewer.value is not None and all_of_them.value is not None:
        assert all_of_them.value >= fewer.value


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize(
    "pattern", ["a", "A ", '"', "1,", "a@", "[a] a ", "a_", "\n- ", '"a [b] c [d] a b c" ', "$1 ", "a.1", "A1a"]
)
def test_texts_made_to_trip_patterns_end(name: str, pattern: str) -> None:
    """A pattern with two ways through the same text would not come back from 4,000 characters of it."""
    text = pattern * (4000 // len(pattern))

    assert ask(name, text + "\u00e9 1", text + "\u00e8 2").outcome in EvaluationOutcome
