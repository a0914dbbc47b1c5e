"""What records tell of themselves."""

import pytest
from lanewatch.adapters.records import Disposition, Evidence, Response

from tests.monitors.records import abstention, answer, record, undetermined

REFUSAL = answer(refusal=True)


@pytest.mark.parametrize(
    ("responses", "disposition"),
    [
        ((answer(), REFUSAL, undetermined()), "refused"),
        ((answer(), abstention(), undetermined()), "abstained"),
        ((answer(), undetermined()), "undetermined"),
        ((answer(), answer()), "answered"),
        ((), None),
    ],
)
def test_one_answer_stands_for_a_trace(responses: tuple[Response, ...], disposition: str | None) -> None:
    """What is undetermined keeps a trace from being answered."""
    assert record(responses=responses).disposition == disposition


@pytest.mark.parametrize(
    ("response", "refused", "abstained"),
    [(REFUSAL, True, False), (abstention(), False, True), (answer(), False, False), (undetermined(), None, None)],
)
def test_unknown_is_neither_yes_nor_no(response: Response, refused: bool | None, abstained: bool | None) -> None:
    """A reader who needs the known ones alone gets None for the rest."""
    assert (response.refused, response.abstained) == (refused, abstained)


@pytest.mark.parametrize(
    ("responses", "evidence", "told"),
    [
        ((undetermined(),), Evidence.COMPLETE, False),
        ((undetermined(),), Evidence.PARTIAL, None),
        ((REFUSAL,), Evidence.PARTIAL, True),
        ((), Evidence.COMPLETE, None),
    ],
)
def test_a_refusal_is_told_or_not_of_all_answers_seen(
    responses: tuple[Response, ...], evidence: Evidence, told: bool | None
) -> None:
    """The event of a rate: known wherever the answers were seen, whatever else they are."""
    assert record(responses=responses, evidence={"responses": evidence}).told(Disposition.REFUSED) is told
