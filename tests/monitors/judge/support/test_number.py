"""The numbers of an answer that no context holds."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason
from lanewatch.monitors.judge.support.dates import dates, times
from lanewatch.monitors.judge.support.quantities import quantities

from tests.monitors.judge.support.asking import ask, value


@pytest.mark.parametrize(
    ("answer", "context"),
    [
        ("It costs $1,200.50.", "Price: 1200.50 USD"),
        ("Es kostet 1.200,50 € und ist das beste.", "Der Preis ist 1200,50 EUR und die Steuer."),
        ("Il coûte 1 234,56 € dans la boutique.", "Le prix est 1234,56 EUR."),
        ("It has 1,234,567 rows.", "1234567 rows are there."),
        ("It is 5,000 m away.", "5 km"),
        ("It takes 90 minutes.", "1.5 hours"),
        ("It takes 1½ hours.", "90 min"),
        ("It has 16 GB.", "16,000 MB"),
        ("It fell by 5 %.", "change: -5 percent"),
        ("It takes five to seven days.", "5-7 days"),
        ("About 3.1 million people live there.", "3,142,000 people"),
        ("It raised $5m.", "5 million dollars"),
        ("The building has two hundred and six rooms.", "206 rooms"),
        ("Built on January 5, 2026.", "built 2026-01-05"),
        ("Built in 1889.", "opened on 31 March 1889"),
        ("Due on 05/03/2026.", "due 3 May 2026"),
        ("It opens at 9:30 am.", "from 09:30"),
        ("It closes at 3 pm.", "until 15:00"),
        ("人口は1400万人です。", "人口: 14,000,000人"),
        ("2026年1月2日に始まる。", "start: 2026-01-02"),
        ("It weighs 5.", "5 kg"),
    ],
)
def test_another_writing_of_the_same_number_is_the_same(answer: str, context: str) -> None:
    """Separators, units, scales, words and dates are normalised, not compared as text."""
    assert value("number_support", answer, context) == 1


@pytest.mark.parametrize(
    ("answer", "context"),
    [
        ("It takes 6 days.", "It takes 5 days."),
        ("It has 5 GB.", "It has 5 MB."),
        ("It costs 5 EUR.", "It costs 5 USD."),
        ("It is 5 percent.", "It is 5 kg."),
        ("It was -5 °C.", "It was 5 °C."),
        ("It is 1.5 million.", "It is 1.5 billion."),
        ("Built on January 5, 2026.", "built 2026-05-06"),
        ("It opens at 9:30 am.", "from 21:30"),
        ("It takes 30 days.", "It takes three days."),
        ("In total there are 12 rooms.", "7 rooms upstairs and 5 rooms downstairs"),
        ("It is 40 m long.", "It is 39.6 m long."),
        ("It has 1,234 rows, and that is all of it.", "The table has 1.234 rows in it, as was said."),
    ],
)
def test_another_number_is_not_supported(answer: str, context: str) -> None:
    """No sum is made up, no unit ignored that both tell, and nothing rounded that the answer does not call rounded."""
    assert value("number_support", answer, context) == 0


@pytest.mark.parametrize(
    "answer",
    [
        "It is free of charge.",
        "One of them is free [1]. There are three options.",
        "See source 3 and https://example.org/12/34.",
        "Model AB-1234 with v2.3.1 at 10.0.0.1 has 3D and 5G.",
        "1. Open it\n2. Close it",
        "Is it 5 days?",
    ],
)
def test_a_number_that_counts_nothing_is_no_claim(answer: str) -> None:
    """Codes, citation marks, addresses and the numbers of a list are not checked; the value is missing, and not 1."""
    result = ask("number_support", answer, "nothing of the kind")

    assert (result.outcome, result.reason) == (EvaluationOutcome.NOT_APPLICABLE, Reason.NO_CLAIMS)


def test_a_number_of_the_question_is_no_claim_of_the_answer() -> None:
    """Whoever asks for order 4711 gave that number."""
    result = ask("number_support", "Order 4711 has 3 items.", "3 items", question="Where is order 4711?")

    assert result.value == 1


def test_value_and_coverage_are_shares_of_numbers_and_of_claims() -> None:
    """Two of three numbers are there; two of four claims have a number at all."""
    result = ask("number_support", "It has 5 or 6 rooms. It is red. It costs 9 EUR. It is old.", "5 rooms, 6 doors")

    assert result.value == pytest.approx(2 / 3)
    assert result.coverage == 0.5
    assert result.explanation == "1 of 3 in no context: 9 EUR"


def test_an_ambiguous_number_has_both_readings_where_the_language_does_not_tell() -> None:
    """1.234 is a thousand in German, one and a bit in English."""
    assert quantities("1.234", None)[0].values == (Decimal(1234), Decimal("1.234"))
    assert quantities("1.234", "de")[0].values == (Decimal(1234),)
    assert quantities("1.234", "en")[0].values == (Decimal("1.234"),)


def test_a_date_of_two_orders_has_both_readings_and_an_impossible_one_has_none() -> None:
    """3/4 is in March or in April; there is no thirteenth month."""
    assert dates("03/04/2026")[0].readings == ((2026, 3, 4), (2026, 4, 3))
    assert dates("03.04.2026")[0].readings == ((2026, 4, 3),)
    assert dates("32.13.2026") == []
    assert dates("you may apply, 5 may too") == []
    assert times("25:00 or 9:75") == []


@given(st.integers(0, 10**12), st.sampled_from(["{:d}", "{:,d}"]), st.sampled_from(["{:d}", "{:,d}"]))
def test_every_whole_number_is_found_in_any_of_its_writings(number: int, mine: str, its: str) -> None:
    """With and without marks between its thousands, in English."""
    answer = f"The total of the rows is {mine.format(number)} in the end."
    context = f"This is the count of the table: {its.format(number)} and that is it."

    assert value("number_support", answer, context) == 1


@given(st.integers(13, 10**9), st.integers(13, 10**9))
def test_a_number_is_supported_by_itself_alone(mine: int, its: int) -> None:
    """Two whole numbers support each other if and only if they are equal."""
    found = value("number_support", f"The total is {mine} in the end.", f"This is the count: {its} and that is it.")

    assert found == float(mine == its)


@given(st.text(alphabet=st.sampled_from("0123456789.,- %$€kmMay:/½万年月日 \u00a0"), max_size=60))
def test_no_text_of_figures_is_unreadable(text: str) -> None:
    """Whatever stands there: positions lie inside the text, and every number supports itself."""
    found = quantities(text, None)

    assert all(0 <= one.start < one.end <= len(text) and one.values for one in found)
    assert value("number_support", f"is {text}", f"is {text}") in {None, 1.0}
